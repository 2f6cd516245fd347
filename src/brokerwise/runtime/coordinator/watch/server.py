"""Operators who watch the fleet: they come and go, and are sent lines every second.

What they see of the stored state is read here, once a second.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec.structs import asdict

from brokerwise.runtime.coordinator.balance.answers import balancer_status
from brokerwise.runtime.coordinator.balance.options import read_mode
from brokerwise.runtime.coordinator.balance.service import BalanceService
from brokerwise.runtime.coordinator.brokers import Broker, all_brokers, the_broker
from brokerwise.runtime.coordinator.moves import (
    UNFINISHED,
    Move,
    count_moves,
    last_move,
    newest_moves,
)
from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.coordinator.status import Reports, move_status, shown_state
from brokerwise.runtime.coordinator.store import setting
from brokerwise.runtime.coordinator.watch.memory import (
    DIGITS,
    KEPT_EVENTS,
    DecisionSummary,
    FleetState,
    WatchMemory,
)
from brokerwise.runtime.coordinator.watch.polling import (
    BrokerPages,
    DataSource,
    Poller,
    ask_broker,
)
from brokerwise.runtime.net.errors import UnavailableError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.balance import DecisionState
from brokerwise.runtime.protocol.fleet import Heartbeat, MoveState
from brokerwise.runtime.protocol.watch import (
    BrokerDetails,
    BrokerRow,
    BrokerView,
    FleetInfo,
    HelloLine,
    Line,
    TickLine,
    encode_line,
)

EVERY_SECONDS = 1.0
MAX_WATCHERS = 50
MOVES_SHOWN = 50
_DECISIONS_SEEN = 20

log = logging.getLogger(__name__)


class Mailbox:
    """Lines on their way to one watcher, who may be slower than they come.

    What waits is bounded: of each kind of line only the newest, and some events.

    It is read by iterating over it, by one reader: each item is all that waits. The
    iteration ends once it is closed and empty. Cancelling it loses nothing.
    """

    def __init__(self) -> None:
        self._first: list[bytes] = []
        self._events: deque[bytes] = deque(maxlen=KEPT_EVENTS)
        self._newest: dict[str, bytes] = {}
        self._filled = asyncio.Event()
        self._closed = False

    def begin(self, line: bytes) -> None:
        """A line that comes before all others, and is never left out."""
        self._first.append(line)
        self._filled.set()

    def put(self, kind: str, line: bytes) -> None:
        """It takes the place of one of its kind that waits still."""
        self._newest[kind] = line
        self._filled.set()

    def put_event(self, line: bytes) -> None:
        self._events.append(line)
        self._filled.set()

    def close(self) -> None:
        """What waits is still read, then it is over."""
        self._closed = True
        self._filled.set()

    def __aiter__(self) -> "Mailbox":
        return self

    async def __anext__(self) -> bytes:
        await self._filled.wait()
        content = b"".join([*self._first, *self._events, *self._newest.values()])
        if not content:
            raise StopAsyncIteration
        self._first.clear()
        self._events.clear()
        self._newest.clear()
        if not self._closed:
            self._filled.clear()
        return content


class WatchServer:
    """A line is encoded once for all watchers. `clock` gives seconds that never go
    back, `wall` seconds since 1970; `reports` are the last of each broker that is up.

    Attributes
    ----------
    memory
        What is remembered, also while nobody watches.
    boxes
        The mailboxes of all watchers.
    """

    def __init__(
        self,
        sql: Sql,
        reports: Reports,
        telling: BrokerClient,
        balancing: BalanceService,
        *,
        data: DataSource | None,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._sql, self._reports = sql, reports
        self._telling, self._balancing = telling, balancing
        self._clock, self._wall = clock, wall
        self._fleet = read_fleet(sql, started=wall())
        self.memory = WatchMemory(self._fleet.started, read_last_move(sql))
        self._moves = MoveChanges(sql)
        self._poller = Poller(sql, telling, data, self._publish_line, wall)
        self.boxes: set[Mailbox] = set()
        self._latest: dict[str, bytes] = {}
        self._is_full, self._is_over = False, False

    async def run(self) -> None:
        """Look once a second until cancelled, which loses nothing."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._look(group)
                await asyncio.sleep(EVERY_SECONDS)

    def add_heartbeat(self, report: Heartbeat) -> None:
        self.memory.add_heartbeat(report, self._clock())

    def add_ended_moves(self, moves: Sequence[Move]) -> None:
        self.memory.add_ended_moves(moves, self._wall())
        self._moves.add_ended(moves)

    def refuse_more(self) -> None:
        """Raises UnavailableError if nobody else may watch now."""
        if self._is_over:
            raise UnavailableError("the coordinator ends")
        if len(self.boxes) >= MAX_WATCHERS:
            if not self._is_full:  # once, until one of them goes
                log.warning("watchers are refused: there are %d", MAX_WATCHERS)
            self._is_full = True
            raise UnavailableError(f"{MAX_WATCHERS} are watching already")

    @contextmanager
    def subscribed(self, box: Mailbox) -> Iterator[None]:
        """Lines are put into the box until the context is left."""
        state = read_state(self._sql)
        if not self.boxes:
            self._begin(state)
        self._greet(box, state)
        self.boxes.add(box)
        log.debug("a watcher has come: %d now", len(self.boxes))
        try:
            yield
        finally:
            self.boxes.discard(box)
            self._is_full = False
            log.debug("a watcher has gone: %d left", len(self.boxes))

    async def broker(self, name: str) -> BrokerDetails:
        """One broker, with what it says of itself. Raises NotFoundError if there is
        none of that name."""
        broker = the_broker(self._sql, name)
        report, period = self._reports.get(name), self._fleet.period_seconds
        asked = await ask_broker(self._telling, broker, self._poller.targets)
        return broker_details(broker, report, period, asked)

    def end(self) -> None:
        """Close all watchers' boxes: the coordinator ends."""
        self._is_over = True
        for box in self.boxes:
            box.close()

    def publish(self, kind: str, line: bytes) -> None:
        """Send a line to all; it replaces one of its kind that still waits."""
        self._latest[kind] = line
        for box in self.boxes:
            box.put(kind, line)

    def _publish_line(self, line: Line) -> None:
        self.publish(str(line.__struct_config__.tag), encode_line(line))

    def _begin(self, state: FleetState) -> None:
        """Nobody has watched until now: what was to be sent last is old."""
        self._poller.begin(self._clock())
        self._moves.take()
        self._latest = {}
        self._publish_line(self._tick(state))

    def _greet(self, box: Mailbox, state: FleetState) -> None:
        fleet = msgspec.structs.replace(self._fleet, brokers=len(state.brokers))
        hello = HelloLine(fleet, EVERY_SECONDS, self.memory.history())
        box.begin(encode_line(hello))
        for event in self.memory.events:
            box.begin(encode_line(event))
        for kind, line in self._latest.items():
            box.put(kind, line)

    def _look(self, group: asyncio.TaskGroup) -> None:
        state = read_state(self._sql)
        new = self.memory.update(state, self._reports, self._wall())
        if not self.boxes:
            return
        for event in new:
            line = encode_line(event)
            for box in self.boxes:
                box.put_event(line)
        self._publish_line(self._tick(state))
        running = {name: b for name, b in state.brokers.items() if b.alive}
        self._poller.poll(group, running, self._clock())

    def _tick(self, state: FleetState) -> TickLine:
        memory, balancing = self.memory, self._balancing
        rows = broker_rows(
            state.brokers.values(), self._reports, self._fleet.period_seconds
        )
        mode = balancing.mode
        return TickLine(
            at=memory.at,
            brokers=rows,
            sessions=sum(row.sessions for row in rows),
            messages_per_second=memory.rate.received,
            deliveries_per_second=memory.rate.delivered,
            max_load=memory.spread.max_load,
            mean_load=memory.spread.mean_load,
            cov=memory.spread.cov,
            p90_ms=self._poller.board.worst_p90(),
            moved=[move_status(move) for move in self._moves.take()],
            last_move=memory.last_move,
            balancer_status=balancer_status(
                self._sql, mode, balancing.status, balancing.now()
            ),
            mode=mode.name,
            paused=mode.paused,
            moves=count_moves(self._sql),
        )


class MoveChanges:
    """Moves that have changed since they were last taken: those that were asked for or
    agreed to, which are looked up, and those that have ended, which are added."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._last = last_move(sql)
        self._accepted: set[int] = set()
        self._ended: dict[int, Move] = {}

    def add_ended(self, moves: Iterable[Move]) -> None:
        """Of very many the last are kept."""
        self._ended |= {move.id: move for move in moves}
        for number in list(self._ended)[:-MOVES_SHOWN]:
            del self._ended[number]

    def take(self) -> list[Move]:
        """At most 50, the newest first."""
        changed = self._requested() | self._accepted_moves() | self._ended
        self._ended = {}
        return [changed[n] for n in sorted(changed, reverse=True)][:MOVES_SHOWN]

    def _requested(self) -> dict[int, Move]:
        before, self._last = self._last, last_move(self._sql)
        if self._last == before:
            return {}
        found = newest_moves(self._sql, None, MOVES_SHOWN)
        return {m.id: m for m in found if m.id > before and m.state in UNFINISHED}

    def _accepted_moves(self) -> dict[int, Move]:
        found = newest_moves(self._sql, MoveState.ACCEPTED, MOVES_SHOWN)
        before, self._accepted = self._accepted, {move.id for move in found}
        return {move.id: move for move in found if move.id not in before}


def read_state(sql: Sql) -> FleetState:
    rows = sql.execute(
        "SELECT number, coalesce(ended, begun, at), state, policy, reason, outcome"
        " FROM decisions ORDER BY number DESC LIMIT ?",
        (_DECISIONS_SEEN,),
    )
    seen = [DecisionSummary(n, at, DecisionState(s), *rest) for n, at, s, *rest in rows]
    return FleetState(
        {broker.name: broker for broker in all_brokers(sql)},
        {decision.number: decision for decision in seen},
        read_mode(sql).automatic,
    )


def read_fleet(sql: Sql, started: float) -> FleetInfo:
    return FleetInfo(
        plan=setting(sql, "plan"),
        plan_kind=setting(sql, "kind"),
        digest=setting(sql, "digest"),
        placement=setting(sql, "placement"),
        period_seconds=int(setting(sql, "period_seconds")),
        brokers=0,
        started=started,
    )


def read_last_move(sql: Sql) -> float | None:
    """When the last move that was done was seen to be."""
    (at,) = sql.execute("SELECT max(ended) FROM moves WHERE state = 'done'").fetchone()
    return None if at is None else float(at)


def broker_row(
    broker: Broker, report: Heartbeat | None, period_seconds: int
) -> BrokerRow:
    topics = report.topics if report else 0
    return BrokerRow(
        **asdict(_broker_view(broker, report, period_seconds)), topics=topics
    )


def broker_details(
    broker: Broker, report: Heartbeat | None, period_seconds: int, asked: BrokerPages
) -> BrokerDetails:
    return BrokerDetails(
        **asdict(_broker_view(broker, report, period_seconds)),
        url=broker.url,
        pid=broker.pid,
        epoch=broker.epoch,
        topics=asked.topics,
        topic_count=asked.topic_count,
        session_list=asked.sessions,
        session_count=asked.session_count,
        problem=asked.problem,
    )


def _broker_view(
    broker: Broker, report: Heartbeat | None, period_seconds: int
) -> BrokerView:
    """A broker that is not there carries nothing. Capacities are stored by period."""
    capacity = None
    if broker.capacity is not None and period_seconds:
        capacity = round(broker.capacity / period_seconds, DIGITS)
    return BrokerView(
        name=broker.name,
        state=shown_state(broker),
        since=broker.since,
        sessions=report.sessions if report else 0,
        load=round(report.load_per_second, DIGITS) if report else 0.0,
        capacity=capacity,
        received=report.received if report else 0,
        delivered=report.delivered if report else 0,
    )


def broker_rows(
    brokers: Iterable[Broker], reports: Reports, period_seconds: int
) -> list[BrokerRow]:
    return [broker_row(b, reports.get(b.name), period_seconds) for b in brokers]
