"""An operator's calls about the balance of a fleet."""

import asyncio
from collections.abc import Mapping
from typing import Any

from brokerwise.runtime.fleet.balance_answers import (
    Balance,
    Decision,
    Decisions,
    Wanted,
)
from brokerwise.runtime.fleet.keeper import Tell
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.watching import STALL_SECONDS, StalledError
from brokerwise.runtime.net.errors import UnreachableError

LOOK_SECONDS = 10.0  # the coordinator asks all brokers first
PLAN_SECONDS = 120.0  # a very large fleet takes long to plan
POLL_SECONDS = 0.2


class BalanceOperator:
    """Raises what `Operator` does. Options are those of the coordinator's API; loads
    and capacities in them are bytes a second."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    async def look(self) -> Balance:
        return await self._operator.ask("GET", "/balance", None, Balance, LOOK_SECONDS)

    async def plan(self, options: Mapping[str, Any] | None = None) -> Decision:
        """What would be done; nothing is, before its digest is approved."""
        body = dict(options or {})
        return await self._operator.ask(
            "POST", "/balance/plan", body, Decision, PLAN_SECONDS
        )

    async def approve(self, digest: str) -> Decision:
        """Begin what was proposed, or say that it has begun before (`begins`). Raises
        OperationRefusedError, with what has changed, if the fleet is another now."""
        body = {"digest": digest}
        return await self._operator.ask("POST", "/balance/approve", body, Decision)

    async def set_mode(
        self, automatic: bool, options: Mapping[str, Any] | None = None
    ) -> None:
        body = {"automatic": automatic, **(options or {})}
        await self._operator.ask("POST", "/balance/mode", body, dict[str, Any])

    async def pause(self) -> None:
        await self._operator.ask("POST", "/balance/pause", {}, dict[str, Any])

    async def resume(self) -> None:
        await self._operator.ask("POST", "/balance/resume", {}, dict[str, Any])

    async def decisions(self, limit: int = 20) -> tuple[Decision, ...]:
        """The newest first."""
        path = f"/balance/decisions?limit={limit}"
        return (await self._operator.ask("GET", path, None, Decisions)).decisions

    async def decision(self, number: int) -> Decision:
        """One of them, with its moves."""
        path = f"/balance/decisions/{number}"
        return await self._operator.ask("GET", path, None, Decision)

    async def wanted(self) -> tuple[str, ...]:
        """Brokers that a decision waits for: whoever keeps the fleet starts them."""
        return (
            await self._operator.ask("GET", "/balance/wanted", None, Wanted)
        ).brokers


async def followed(operator: BalanceOperator, number: int, tell: Tell) -> Decision:
    """A decision once it is over, or (while the balancer is paused) as it stands.

    `tell` is given a line whenever it has come further. A coordinator that cannot be
    reached for a while is waited for. StalledError if nothing changes for too long.
    Cancelling it stops the waiting, not what is done.
    """
    loop = asyncio.get_running_loop()
    last, since = None, loop.time()
    while True:
        try:
            found = await operator.decision(number)
            if found.paused or not found.is_under_way:
                return found
        except UnreachableError:
            found = None
        stand = found and (found.state, tuple(sorted(found.states.items())))
        if found is not None and stand != last:
            last, since = stand, loop.time()
            tell(_progress(found))
        elif loop.time() - since > STALL_SECONDS:
            raise StalledError(f"decision {number} to be over", STALL_SECONDS)
        await asyncio.sleep(POLL_SECONDS)


def _progress(decision: Decision) -> str:
    if decision.state == "starting":
        return "waiting for brokers to come up"
    counts = decision.states
    left = sum(counts.get(state, 0) for state in ("requested", "accepted"))
    total = sum(counts.values())
    return f"{total - left:,} of {total:,} moves are over"
