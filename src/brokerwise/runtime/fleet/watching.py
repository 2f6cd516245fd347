"""Waiting for a fleet to come to a state, as long as it is on the way there."""

import asyncio
from collections.abc import Callable

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.fleet.operator import FleetStatus, Operator
from brokerwise.runtime.net.errors import UnreachableError

STALL_SECONDS = 60.0  # without any change: more than the slowest step of a move
POLL_SECONDS = 0.1


class StalledError(BrokerwiseError):
    """What was waited for does not come."""

    def __init__(self, what: str, seconds: float) -> None:
        self.what, self.seconds = what, seconds
        super().__init__(
            f"waited for {what}, but nothing has changed for {seconds:g} s",
            hint="See where it stands with: brokerwise status",
        )


async def until(
    operator: Operator,
    condition: Callable[[FleetStatus], bool],
    what: str,
    *,
    seen: Callable[[FleetStatus], None] = lambda status: None,
    stall_seconds: float = STALL_SECONDS,
) -> FleetStatus:
    """The first status for which the condition holds; `seen` is given every one.

    A coordinator that cannot be reached for a while is waited for too. StalledError
    if states, sessions and moves stay as they are for so long. Cancelling it loses
    nothing.
    """
    loop = asyncio.get_running_loop()
    last: object = None
    changed = loop.time()
    while True:
        status = await _status(operator)
        if status is not None:
            seen(status)
            if condition(status):
                return status
            if _progress(status) != last:
                last, changed = _progress(status), loop.time()
        if loop.time() - changed > stall_seconds:
            raise StalledError(what, stall_seconds)
        await asyncio.sleep(POLL_SECONDS)


async def _status(operator: Operator) -> FleetStatus | None:
    try:
        return await operator.status()
    except UnreachableError:
        return None


def _progress(status: FleetStatus) -> object:
    brokers = [(b.broker, b.state, b.epoch, b.sessions) for b in status.brokers]
    return brokers, status.moves
