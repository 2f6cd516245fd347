"""What operators ask of the coordinator of a fleet, and how they wait for it.

`Operator` has its calls: status, drain, moves, users; `BalanceOperator` those about the
balance. On top of them: drain a broker, restart brokers one by one, follow a decision,
and see the topics, where they are, how busy and how late.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.fleet.files import FleetFile, start_time
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.net.http import HttpClient, ask
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.protocol.balance import (
    Approval,
    ApprovalRequest,
    AwaitedBrokers,
    Balance,
    BalanceOptions,
    Decision,
    DecisionDetails,
    Decisions,
    DecisionState,
    ModeRequest,
)
from brokerwise.runtime.protocol.fields import Empty
from brokerwise.runtime.protocol.fleet import (
    MOVES_UNDER_WAY,
    ActivateRequest,
    BrokerState,
    BrokerStatus,
    DrainAnswer,
    DrainRequest,
    FleetStatus,
    MoveRequest,
    MoveStatus,
    Then,
    TopicLoad,
    TopicPlan,
    TrafficPage,
    UserRegistration,
    UserToken,
)
from brokerwise.runtime.protocol.limits import REQUEST_SECONDS

STALL_SECONDS = 60.0  # without any change: more than the slowest step of a move
STATUS_POLL_SECONDS = 0.1
DECISION_POLL_SECONDS = 0.2
LOOK_SECONDS = 10.0  # the coordinator asks all brokers first
PLAN_SECONDS = 120.0  # a very large fleet takes long to plan
LOAD_SECONDS = 10.0  # a broker may be busy with thousands of sessions
_NOT_EMPTY = (BrokerState.UP, BrokerState.DRAINING)

T = TypeVar("T")
Progress = Callable[[str], None]


class OperationRefusedError(BrokerwiseError):
    """The coordinator will not do it, and says why."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text
        super().__init__(text)


class NoSuchThingError(OperationRefusedError, InputError):
    """What was named is not there, or cannot be a name."""


class Operator:
    """Asks the coordinator of a fleet.

    Every call raises UnreachableError if there is no answer in time,
    OperationRefusedError for one that is an error. Cancelling a call that changes
    something leaves it unknown whether it did; all may be repeated. In `async with` it
    keeps its connection for the next call.
    """

    def __init__(self, fleet: FleetFile) -> None:
        self._fleet = fleet
        self._http = HttpClient(repeatable=True)
        self._ssl = client_tls(fleet.coordinator, fleet.authority)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.close()

    async def status(self) -> FleetStatus:
        return await self.ask("GET", "/status", None, FleetStatus)

    async def drain(self, broker: str, then: str = "stay") -> int:
        """Empty a broker; `then` is stay, stop or restart. The number of moves."""
        body = DrainRequest(broker, Then(then))
        return (await self.ask("POST", "/drain", body, DrainAnswer)).moves

    async def activate(self, broker: str) -> None:
        await self.ask("POST", "/activate", ActivateRequest(broker), Empty)

    async def move(self, user: str, source: str, target: str) -> int:
        """Ask for a session to be moved; the number of the move."""
        body = MoveRequest(user, source, target)
        return (await self.ask("POST", "/moves", body, MoveStatus)).id

    async def move_status(self, move: int) -> MoveStatus:
        return await self.ask("GET", f"/moves/{move}", None, MoveStatus)

    async def register(
        self, user: str, place: tuple[float, float] | None = None
    ) -> str:
        """The token of a user, new or not; `place` is where it is, for `nearest`."""
        body = UserRegistration(user, *(place or (None, None)))
        return (await self.ask("POST", "/registeruser", body, UserToken)).token

    async def ask(
        self,
        method: str,
        path: str,
        body: object,
        kind: type[T],
        seconds: float = REQUEST_SECONDS,
    ) -> T:
        """Any call of the coordinator's API."""
        try:
            return await self._http.ask(
                self._fleet.coordinator + path,
                body,
                kind,
                method=method,
                token=self._fleet.operator_token,
                seconds=seconds,
                ssl=self._ssl,
            )
        except RefusedError as error:
            wrong_name = error.status in (404, 422)
            refused = NoSuchThingError if wrong_name else OperationRefusedError
            raise refused(error.status, error.text) from error


class StalledError(BrokerwiseError):
    """What was waited for does not come."""

    def __init__(self, what: str, seconds: float) -> None:
        self.what, self.seconds = what, seconds
        super().__init__(
            f"waited for {what}, but nothing has changed for {seconds:g} s",
            hint="See where it stands with: brokerwise status",
        )


async def wait_for_status(
    operator: Operator,
    condition: Callable[[FleetStatus], bool],
    what: str,
    *,
    stall_seconds: float = STALL_SECONDS,
) -> FleetStatus:
    """The first status for which the condition holds.

    A coordinator that cannot be reached for a while is waited for too. StalledError
    if states, sessions and moves stay as they are for `stall_seconds`. Cancelling it
    loses nothing.
    """
    loop = asyncio.get_running_loop()
    last: object = None
    changed = loop.time()
    while True:
        status = await _status_or_none(operator)
        if status is not None:
            if condition(status):
                return status
            if _status_progress(status) != last:
                last, changed = _status_progress(status), loop.time()
        if loop.time() - changed > stall_seconds:
            raise StalledError(what, stall_seconds)
        await asyncio.sleep(STATUS_POLL_SECONDS)


async def _status_or_none(operator: Operator) -> FleetStatus | None:
    try:
        return await operator.status()
    except UnreachableError:
        return None


def _status_progress(status: FleetStatus) -> object:
    brokers = [(b.broker, b.state, b.epoch, b.sessions) for b in status.brokers]
    return brokers, status.moves


class UnknownBrokerError(InputError):
    """The fleet has no broker of this name, or it is not there now."""

    def __init__(self, broker: str, known: Iterable[str], state: str = "") -> None:
        self.broker, self.state = broker, state
        wrong = f"is {state}" if state else "is not one of this fleet"
        super().__init__(
            f"broker {broker!r} {wrong}", hint=f"Brokers up: {', '.join(known) or '-'}"
        )


async def drain_broker(
    operator: Operator, broker: str, *, stop: bool, tell: Progress
) -> int:
    """Move all sessions of a broker elsewhere; with `stop` it ends then.

    Returns the number of moves once the broker is empty, and has gone if it was to.
    Cancelling it stops the waiting, not the drain.
    """
    process = _serving(await operator.status(), broker).pid
    moves = await operator.drain(broker, "stop" if stop else "stay")
    tell(f"{broker}: {session_count(moves)} to move")

    def empty(status: FleetStatus) -> bool:
        found = status.broker(broker)
        if found is not None and found.state in _NOT_EMPTY:
            return False
        return not stop or start_time(process) is None

    await wait_for_status(operator, empty, f"broker {broker!r} to be drained")
    tell(f"{broker}: {'stopped' if stop else 'drained'}")
    return moves


async def rolling_restart(
    operator: Operator,
    brokers: Sequence[str] = (),
    *,
    tell: Progress,
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
    operator: Operator, broker: str, turn: str, tell: Progress, stall_seconds: float
) -> int:
    before = _serving(await operator.status(), broker).epoch
    moves = await operator.drain(broker, "restart")
    tell(f"{turn}: {session_count(moves)} to move")

    def registered(status: FleetStatus) -> bool:
        found = status.broker(broker)
        return found is not None and not found.gone and found.epoch != before

    def settled(status: FleetStatus) -> bool:
        found = status.broker(broker)
        up = found is not None and found.state is BrokerState.UP
        return up and not status.moves_under_way

    status = await wait_for_status(
        operator,
        registered,
        f"broker {broker!r} to come back",
        stall_seconds=stall_seconds,
    )
    if not settled(status) and _serving(status, broker).state is not BrokerState.UP:
        await operator.activate(broker)
    await wait_for_status(
        operator,
        settled,
        f"broker {broker!r} to be in service again",
        stall_seconds=stall_seconds,
    )
    tell(f"{turn}: up again")
    return moves


def _serving(status: FleetStatus, name: str) -> BrokerStatus:
    found = status.broker(name)
    known = [b.broker for b in status.brokers if b.state is BrokerState.UP]
    if found is None:
        raise UnknownBrokerError(name, known)
    if found.gone:
        raise UnknownBrokerError(name, known, found.state)
    return found


def session_count(count: int) -> str:
    return "1 session" if count == 1 else f"{count:,} sessions"


class BalanceOperator:
    """Raises what `Operator` does."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    async def look(self) -> Balance:
        return await self._operator.ask("GET", "/balance", None, Balance, LOOK_SECONDS)

    async def plan(self, options: BalanceOptions | None = None) -> Decision:
        """What would be done; nothing is, before its digest is approved."""
        body = options or BalanceOptions()
        return await self._operator.ask(
            "POST", "/balance/plan", body, Decision, PLAN_SECONDS
        )

    async def approve(self, digest: str) -> Approval:
        """Begin what was proposed, or say that it has begun before (`begins`). Raises
        OperationRefusedError, with what has changed, if the fleet is another now."""
        body = ApprovalRequest(digest)
        return await self._operator.ask("POST", "/balance/approve", body, Approval)

    async def set_mode(self, mode: ModeRequest) -> None:
        await self._operator.ask("POST", "/balance/mode", mode, Empty)

    async def pause(self) -> None:
        await self._operator.ask("POST", "/balance/pause", Empty(), Empty)

    async def resume(self) -> None:
        await self._operator.ask("POST", "/balance/resume", Empty(), Empty)

    async def decisions(self, limit: int = 20) -> tuple[Decision, ...]:
        """The newest first."""
        path = f"/balance/decisions?limit={limit}"
        return (await self._operator.ask("GET", path, None, Decisions)).decisions

    async def decision(self, number: int) -> DecisionDetails:
        path = f"/balance/decisions/{number}"
        return await self._operator.ask("GET", path, None, DecisionDetails)

    async def wanted(self) -> tuple[str, ...]:
        """Brokers that a decision waits for: whoever keeps the fleet starts them."""
        path = "/balance/wanted"
        return (await self._operator.ask("GET", path, None, AwaitedBrokers)).brokers


async def follow_decision(
    operator: BalanceOperator, number: int, tell: Progress
) -> DecisionDetails:
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
            tell(_decision_progress(found))
        elif loop.time() - since > STALL_SECONDS:
            raise StalledError(f"decision {number} to be over", STALL_SECONDS)
        await asyncio.sleep(DECISION_POLL_SECONDS)


def _decision_progress(decision: Decision) -> str:
    if decision.state is DecisionState.STARTING:
        return "waiting for brokers to come up"
    counts = decision.states
    left = sum(counts.get(state, 0) for state in MOVES_UNDER_WAY)
    total = sum(counts.values())
    return f"{total - left:,} of {total:,} moves are over"


@dataclass(frozen=True)
class TopicStatus:
    """A topic on a broker that carries it.

    Latencies are from when a message came to the broker until it was handed to its
    sessions, processing included, over all messages since the broker started; None if
    there were none. `target_ms` is None without one.
    """

    topic: str
    broker: str
    home: str
    received: int
    delivered: int
    received_per_second: float
    p50_ms: float | None
    p90_ms: float | None
    target_ms: float | None

    @property
    def met(self) -> bool | None:
        """Whether it has met its target so far; None if nobody can say."""
        if self.p90_ms is None or self.target_ms is None:
            return None
        return self.p90_ms <= self.target_ms


async def topic_statuses(
    fleet: FleetFile, brokers: Iterable[BrokerStatus]
) -> list[TopicStatus]:
    """The topics that these brokers carry, the one that is latest for its target
    first. Raises UnreachableError if one does not answer. Cancelling it loses
    nothing."""
    planned = await Operator(fleet).ask("GET", "/topics", None, TopicPlan)
    up = [broker for broker in brokers if not broker.gone]
    loads = await asyncio.gather(*(_load(fleet, broker.url) for broker in up))
    return sorted(_joined(planned, loads), key=_worst_first)


def _joined(planned: TopicPlan, loads: Iterable[TrafficPage]) -> Iterable[TopicStatus]:
    for load in loads:
        for topic, counted in load.topics.items():
            yield _topic_status(
                topic, load.broker, counted, planned.homes, planned.targets
            )


def _topic_status(
    topic: str,
    broker: str,
    counted: TopicLoad,
    homes: Mapping[str, str],
    targets: Mapping[str, float],
) -> TopicStatus:
    known = counted.delivered > 0
    return TopicStatus(
        topic=topic,
        broker=broker,
        home=homes.get(topic, ""),
        received=counted.received,
        delivered=counted.delivered,
        received_per_second=counted.received_per_second,
        p50_ms=counted.p50_ms if known else None,
        p90_ms=counted.p90_ms if known else None,
        target_ms=targets.get(topic),
    )


def _worst_first(status: TopicStatus) -> tuple[float, str, str]:
    late = 0.0
    if status.p90_ms is not None:
        late = status.p90_ms / (status.target_ms or float("inf"))
    return -late, status.topic, status.broker


async def _load(fleet: FleetFile, url: str) -> TrafficPage:
    return await ask(
        f"{url.replace('ws', 'http', 1)}/load",
        None,
        TrafficPage,
        method="GET",
        token=fleet.broker_token,
        seconds=LOAD_SECONDS,
        ssl=client_tls(fleet.coordinator, fleet.authority),
    )
