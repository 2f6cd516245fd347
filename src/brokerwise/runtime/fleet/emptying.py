"""Taking brokers out of service without loss: drain, and the rolling restart."""

from collections.abc import Iterable, Sequence

from brokerwise.model.errors import InputError
from brokerwise.runtime.fleet.keeper import Tell
from brokerwise.runtime.fleet.operator import BrokerStatus, FleetStatus, Operator
from brokerwise.runtime.fleet.processes import started
from brokerwise.runtime.fleet.watching import STALL_SECONDS, until

_UNDER_WAY = ("up", "draining")


class UnknownBrokerError(InputError):
    """The fleet has no broker of this name, or it is not there now."""

    def __init__(self, broker: str, known: Iterable[str], state: str = "") -> None:
        self.broker, self.state = broker, state
        wrong = f"is {state}" if state else "is not one of this fleet"
        super().__init__(
            f"broker {broker!r} {wrong}", hint=f"Brokers up: {', '.join(known) or '-'}"
        )


async def drain(operator: Operator, broker: str, *, stop: bool, tell: Tell) -> int:
    """Move all sessions of a broker elsewhere; with `stop` it ends then.

    Returns the number of moves once the broker is empty, and has gone if it was to.
    Cancelling it stops the waiting, not the drain.
    """
    process = _serving(await operator.status(), broker).pid
    moves = await operator.drain(broker, "stop" if stop else "stay")
    tell(f"{broker}: {sessions(moves)} to move")

    def empty(status: FleetStatus) -> bool:
        found = status.broker(broker)
        if found is not None and found.state in _UNDER_WAY:
            return False
        return not stop or started(process) is None

    await until(operator, empty, f"broker {broker!r} to be drained")
    tell(f"{broker}: {'stopped' if stop else 'drained'}")
    return moves


async def rolling_restart(
    operator: Operator,
    brokers: Sequence[str] = (),
    *,
    tell: Tell,
    stall_seconds: float = STALL_SECONDS,
) -> dict[str, int]:
    """Restart brokers one by one, each after its sessions have moved away.

    All that are up, unless some are named. The next one's turn comes when the last
    is up again and no session is moving. Returns the moves of each. Cancelling it
    leaves the broker whose turn it is to finish by itself, and the rest as they are.
    """
    status = await operator.status()
    names = list(brokers) or [b.broker for b in status.brokers if not b.gone]
    for name in names:
        _serving(status, name)
    moves = {}
    for number, name in enumerate(names, 1):
        turn = f"{number}/{len(names)} {name}"
        moves[name] = await _restart(operator, name, turn, tell, stall_seconds)
    return moves


async def _restart(
    operator: Operator, broker: str, turn: str, tell: Tell, stall_seconds: float
) -> int:
    before = _serving(await operator.status(), broker).epoch
    moves = await operator.drain(broker, "restart")
    tell(f"{turn}: {sessions(moves)} to move")

    def registered(status: FleetStatus) -> bool:
        found = status.broker(broker)
        return found is not None and not found.gone and found.epoch != before

    def settled(status: FleetStatus) -> bool:
        found = status.broker(broker)
        up = found is not None and found.state == "up"
        return up and not status.moves_under_way

    status = await until(
        operator,
        registered,
        f"broker {broker!r} to come back",
        stall_seconds=stall_seconds,
    )
    if not settled(status) and _serving(status, broker).state != "up":
        await operator.activate(broker)
    await until(
        operator,
        settled,
        f"broker {broker!r} to be in service again",
        stall_seconds=stall_seconds,
    )
    tell(f"{turn}: up again")
    return moves


def _serving(status: FleetStatus, name: str) -> BrokerStatus:
    found = status.broker(name)
    known = [b.broker for b in status.brokers if b.state == "up"]
    if found is None:
        raise UnknownBrokerError(name, known)
    if found.gone:
        raise UnknownBrokerError(name, known, found.state)
    return found


def sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count:,} sessions"
