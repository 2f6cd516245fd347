"""What is remembered of a fleet for operators who watch it, now or later. Pure.

Heartbeats, states of the fleet and ended moves in; events, rates and a quarter of an
hour of history out. No I/O and no clock: times come in. Kept whether or not anybody
watches, except for the topics, which brokers are asked for only while somebody does.
"""

from array import array
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from math import sqrt

from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.coordinator.moves import Move
from brokerwise.runtime.coordinator.status import Reports
from brokerwise.runtime.protocol.balance import DecisionState
from brokerwise.runtime.protocol.fleet import (
    BrokerState,
    Heartbeat,
    MoveState,
    Then,
    TrafficPage,
)
from brokerwise.runtime.protocol.names import is_channel
from brokerwise.runtime.protocol.watch import FleetEvent, HistoryColumns, TopicRow

KEPT_EVENTS = 100
KEPT_POINTS = 900
SHOWN_TOPICS = 200
DIGITS = 3  # behind the point: less than that of a message a second is none


@dataclass(frozen=True)
class DecisionSummary:
    """A decision of the balancer without its moves, which may be many. `at` is when
    it came to its state."""

    number: int
    at: float
    state: DecisionState
    policy: str
    reason: str
    outcome: str


@dataclass(frozen=True)
class FleetState:
    """Brokers by name, the newest decisions by number, and whether the balancer decides
    by itself, all at one moment."""

    brokers: Mapping[str, Broker]
    decisions: Mapping[int, DecisionSummary]
    automatic: bool


class WatchMemory:
    """What operators are told first, and every second from then on.

    Attributes
    ----------
    at
        When it was last updated; before that, when the coordinator started. Seconds
        since 1970.
    rate, spread
        Messages a second of all brokers, and how evenly load is spread, as of then.
    last_move
        When the last session was seen to have moved, if any has.
    events
        The last ones, the newest last.
    """

    def __init__(self, started: float, last_move: float | None) -> None:
        self.at = started
        self.rate, self.spread = MessageRate(), LoadSpread(0.0, 0.0, 0.0)
        self.last_move = last_move
        began = FleetEvent(started, "coordinator up", "The coordinator has started.")
        self.events: deque[FleetEvent] = deque([began], maxlen=KEPT_EVENTS)
        self._history, self._meter = LoadHistory(), MessageMeter()
        self._state: FleetState | None = None
        self._done = 0

    def add_heartbeat(self, report: Heartbeat, now: float) -> None:
        """`now` is in seconds of a clock that does not go back."""
        self._meter.add(report, now)

    def add_ended_moves(self, moves: Iterable[Move], at: float) -> None:
        done = sum(move.state is MoveState.DONE for move in moves)
        if done:
            self._done += done
            self.last_move = at

    def update(
        self, state: FleetState, reports: Reports, at: float
    ) -> list[FleetEvent]:
        """Note the fleet as it is now, once a second; returns what has happened since
        the last time. Load is spread over the brokers that sessions may be on."""
        loads = {
            name: round(report.load_per_second, DIGITS)
            for name, report in reports.items()
            if name in state.brokers
        }
        serving = [load for name, load in loads.items() if state.brokers[name].serving]
        self.at = at
        self.rate, self.spread = self._meter.rate(reports), spread_of(serving)
        self._history.add(at, loads, self.spread, self.rate.received, self._done)
        self._done = 0
        new = events_between(self._state or state, state, at)
        self._state = state
        self.events.extend(new)
        return new

    def history(self) -> "HistoryColumns":
        return self._history.columns()


def events_between(
    before: FleetState, after: FleetState, now: float
) -> list[FleetEvent]:
    """What has happened between two states of a fleet, in the order of time."""
    found = [
        *_broker_events(before, after),
        *_decision_events(before, after),
        *_mode_events(before, after, now),
    ]
    return sorted(found, key=lambda event: event.at)


def _broker_events(before: FleetState, after: FleetState) -> Iterator[FleetEvent]:
    for name, broker in after.brokers.items():
        was = before.brokers.get(name)
        if was is not None and (was.state, was.epoch) == (broker.state, broker.epoch):
            continue
        told = _broker_text(was, broker)
        if told is not None:
            what, text = told
            yield FleetEvent(broker.since, what, f"Broker {name} {text}.")


def _broker_text(was: Broker | None, broker: Broker) -> tuple[str, str] | None:
    """What has become of it; None of one that is only expected."""
    epoch = 0 if was is None else was.epoch
    match broker.state:
        case BrokerState.UP if not epoch:
            return "broker up", "is up"
        case BrokerState.UP if epoch != broker.epoch:
            if was is not None and was.state is BrokerState.UP:
                return "broker restarted", "was gone, and another process is up for it"
            return "broker up", "is up again"
        case BrokerState.UP:
            return "activated", "takes sessions again: its drain was ended"
        case BrokerState.DRAINING:
            return "drain", f"is being drained{_AFTERWARDS.get(broker.then, '')}"
        case BrokerState.DRAINED:
            return "drained", "is drained"
        case BrokerState.STOPPED:
            return "broker stopped", "has stopped, as it was told to"
        case BrokerState.LOST:
            return "broker lost", "is lost" if broker.epoch else "has not come up"
        case _:
            return None


_AFTERWARDS: Mapping[Then | None, str] = {
    Then.STOP: ", and stops then",
    Then.RESTART: ", and restarts then",
}


def _decision_events(before: FleetState, after: FleetState) -> Iterator[FleetEvent]:
    newest = max(before.decisions, default=0)
    for number, decision in after.decisions.items():
        was = before.decisions.get(number)
        is_new = was is None and number > newest
        if is_new or (was is not None and was.state is not decision.state):
            is_note = decision.state is DecisionState.NOTED
            what = "balancer" if is_note else f"decision {decision.state}"
            yield FleetEvent(decision.at, what, _decision_text(decision))


def _decision_text(decision: DecisionSummary) -> str:
    head = f"Decision {decision.number} ({decision.policy})"
    match decision.state:
        case DecisionState.NOTED:
            return f"Balancer: {decision.reason}."
        case DecisionState.PROPOSED:
            return f"{head} waits for approval: {decision.reason}."
        case DecisionState.STARTING:
            return f"{head} is approved and waits for new brokers."
        case DecisionState.RUNNING:
            return f"{head} is carried out: {decision.reason}."
        case DecisionState.DONE:
            return f"{head} is done: {decision.outcome}."
        case DecisionState.FAILED:
            return f"{head} has failed: {decision.outcome}."
        case DecisionState.OUTDATED:
            return f"{head} is out of date: {decision.outcome}."


def _mode_events(
    before: FleetState, after: FleetState, now: float
) -> Iterator[FleetEvent]:
    if before.automatic is not after.automatic:
        how = "by itself" if after.automatic else "only when asked"
        yield FleetEvent(now, "balancer", f"The balancer decides {how}.")


@dataclass(frozen=True)
class MessageRate:
    """Messages a second: received by brokers, and delivered by them."""

    received: float = 0.0
    delivered: float = 0.0


@dataclass(frozen=True)
class _Count:
    at: float
    received: int
    delivered: int

    def rate_since(self, before: "_Count") -> MessageRate:
        seconds = self.at - before.at
        return MessageRate(
            (self.received - before.received) / seconds,
            (self.delivered - before.delivered) / seconds,
        )


@dataclass
class _BrokerMeter:
    """A broker's last count, the one that its last rate was computed up to, and that
    rate."""

    last: _Count
    rated: _Count
    rate: MessageRate = MessageRate()


class MessageMeter:
    """Messages a second, from what brokers have counted.

    Brokers report more often than rates are asked for, and at times of their own. So
    what was counted in between is divided by the time between the reports that say so.
    """

    def __init__(self) -> None:
        self._brokers: dict[str, _BrokerMeter] = {}

    def add(self, report: Heartbeat, now: float) -> None:
        """`now` is in seconds of a clock that does not go back."""
        count = _Count(now, report.received, report.delivered)
        known = self._brokers.get(report.broker)
        if known is None or count.received < known.last.received:  # a new process
            self._brokers[report.broker] = _BrokerMeter(count, count)
        else:
            known.last = count

    def rate(self, brokers: Collection[str]) -> MessageRate:
        """Of these brokers together, since the last time; others are forgotten. A
        broker that has not reported since keeps its rate."""
        for name in self._brokers.keys() - set(brokers):
            del self._brokers[name]
        for known in self._brokers.values():
            if known.last.at > known.rated.at:
                known.rate = known.last.rate_since(known.rated)
                known.rated = known.last
        rates = [known.rate for known in self._brokers.values()]
        return MessageRate(
            round(sum(rate.received for rate in rates), DIGITS),
            round(sum(rate.delivered for rate in rates), DIGITS),
        )


@dataclass(frozen=True)
class LoadSpread:
    """How evenly load is spread: `cov` is its standard deviation over its mean, 0
    without load."""

    max_load: float
    mean_load: float
    cov: float


def spread_of(loads: Collection[float]) -> LoadSpread:
    mean = sum(loads) / len(loads) if loads else 0.0
    if not mean:
        return LoadSpread(0.0, 0.0, 0.0)
    deviation = sqrt(sum((load - mean) ** 2 for load in loads) / len(loads))
    return LoadSpread(
        *(round(value, DIGITS) for value in (max(loads), mean, deviation / mean))
    )


@dataclass(frozen=True, slots=True)
class _Point:
    at: float
    brokers: tuple[str, ...]
    loads: "array[float]"
    spread: LoadSpread
    messages_per_second: float
    moves: int


class LoadHistory:
    """The last quarter of an hour, a point a second. Loads are messages a second. 100
    brokers take 1 MB."""

    def __init__(self) -> None:
        self._points: deque[_Point] = deque(maxlen=KEPT_POINTS)
        self._brokers: tuple[str, ...] = ()

    def add(
        self,
        at: float,
        loads: Mapping[str, float],
        spread: LoadSpread,
        messages_per_second: float,
        moves: int,
    ) -> None:
        """One second: `loads` of the brokers that there are, how evenly they are
        spread, and how many moves were done."""
        if tuple(loads) != self._brokers:
            self._brokers = tuple(loads)  # the same one for all points until it changes
        values = array("d", loads.values())
        self._points.append(
            _Point(at, self._brokers, values, spread, messages_per_second, moves)
        )

    def columns(self) -> HistoryColumns:
        points = self._points
        return HistoryColumns(
            at=[p.at for p in points],
            max_load=[p.spread.max_load for p in points],
            mean_load=[p.spread.mean_load for p in points],
            cov=[p.spread.cov for p in points],
            loads=self._loads(),
            moves=[(p.at, p.moves) for p in points if p.moves],
            messages_per_second=[p.messages_per_second for p in points],
        )

    def _loads(self) -> dict[str, list[float | None]]:
        count = len(self._points)
        names = sorted({name for point in self._points for name in point.brokers})
        found: dict[str, list[float | None]] = {name: [None] * count for name in names}
        for place, point in enumerate(self._points):
            for name, load in zip(point.brokers, point.loads, strict=True):
                found[name][place] = load
        return found


def topic_rows(
    broker: str, page: TrafficPage, targets: Mapping[str, float]
) -> Iterator[TopicRow]:
    for topic, load in page.topics.items():
        is_known = load.delivered > 0
        target = targets.get(topic)
        yield TopicRow(
            topic=topic,
            broker=broker,
            received_per_second=round(load.received_per_second, 3),
            p50_ms=load.p50_ms if is_known else None,
            p90_ms=load.p90_ms if is_known else None,
            target_ms=target,
            met=load.p90_ms <= target if is_known and target is not None else None,
        )


def busiest(rows: Iterable[TopicRow], most: int) -> list[TopicRow]:
    return nsmallest(most, rows, key=lambda r: (-r.received_per_second, r.topic))


def most_concerning(
    rows: Iterable[TopicRow], most: int = SHOWN_TOPICS
) -> list[TopicRow]:
    """Those furthest above their latency targets first, then the busiest."""
    return nsmallest(most, rows, key=_concern)


def _concern(row: TopicRow) -> tuple[float, float, str, str]:
    late = 0.0
    if row.p90_ms is not None and row.target_ms is not None:
        late = row.p90_ms / row.target_ms if row.target_ms else float("inf")
    return -late, -row.received_per_second, row.topic, row.broker


@dataclass(frozen=True)
class _BrokerTopics:
    """What a broker said last: the rows that may be shown, the topics that are late,
    those of channels, and the worst p90 of those with a target and of all."""

    rows: list[TopicRow]
    late: frozenset[str]
    channels: frozenset[str]
    worst_targeted: float | None
    worst: float | None


class TopicBoard:
    """The topics of all brokers, as each of them said last. A fleet may have very many:
    of each broker only the rows are kept that may be among those that are shown."""

    def __init__(self) -> None:
        self._brokers: dict[str, _BrokerTopics] = {}

    def replace(
        self, broker: str, page: TrafficPage, targets: Mapping[str, float]
    ) -> None:
        rows = list(topic_rows(broker, page, targets))
        targeted = (row for row in rows if row.target_ms is not None)
        self._brokers[broker] = _BrokerTopics(
            most_concerning(rows),
            frozenset(row.topic for row in rows if row.met is False),
            frozenset(filter(is_channel, page.topics)),
            _worst(row.p90_ms for row in targeted),
            _worst(row.p90_ms for row in rows),
        )

    def forget(self, broker: str) -> None:
        self._brokers.pop(broker, None)

    def keep_only(self, brokers: Collection[str]) -> None:
        """Forget all other brokers."""
        self._brokers = {b: has for b, has in self._brokers.items() if b in brokers}

    def rows(self) -> list[TopicRow]:
        return most_concerning(
            chain.from_iterable(b.rows for b in self._brokers.values())
        )

    def late(self) -> int:
        """How many topics have not met their target."""
        return len({topic for b in self._brokers.values() for topic in b.late})

    def channels(self) -> int:
        """How many topics are channels', which the coordinator does not know."""
        return len({topic for b in self._brokers.values() for topic in b.channels})

    def worst_p90(self) -> float | None:
        """Of a topic that has a target, or, if none has, of any."""
        found = self._brokers.values()
        targeted = _worst(each.worst_targeted for each in found)
        return _worst(each.worst for each in found) if targeted is None else targeted


def _worst(latencies: Iterable[float | None]) -> float | None:
    return max((ms for ms in latencies if ms is not None), default=None)
