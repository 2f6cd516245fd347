"""The lines of JSON that operators who watch are sent, each with its kind. Pure.

Loads are messages a second, in and out, times seconds since 1970.
"""

from collections.abc import Iterable

import msgspec

from brokerwise.runtime.coordinator.brokers import Broker, BrokerState
from brokerwise.runtime.coordinator.status import MoveStatus, Reports, shown_state
from brokerwise.runtime.coordinator.watch.memory import (
    DIGITS,
    FleetEvent,
    HistoryColumns,
    TopicRow,
)
from brokerwise.runtime.protocol.control import Heartbeat

EVERY_SECONDS = 1.0


class FleetInfo(msgspec.Struct, frozen=True):
    """What does not change while the coordinator runs, and the number of brokers.
    `started` is when the coordinator was, and with it the history."""

    plan: str
    plan_kind: str
    digest: str
    placement: str
    period_seconds: int
    brokers: int
    started: float


class HelloLine(msgspec.Struct, frozen=True, tag_field="kind", tag="hello"):
    fleet: FleetInfo
    every_seconds: float
    history: HistoryColumns


class BrokerRow(msgspec.Struct, frozen=True):
    name: str
    state: BrokerState
    since: float
    sessions: int
    topics: int
    load: float
    capacity: float | None
    received: int
    delivered: int


class TickLine(msgspec.Struct, frozen=True, tag_field="kind", tag="tick"):
    """`mind` is the state of the balancer in a line; `moved` are the moves that have
    changed since the last tick, `moves` counts all by state."""

    at: float
    brokers: list[BrokerRow]
    sessions: int
    messages_per_second: float
    deliveries_per_second: float
    max_load: float
    mean_load: float
    cov: float
    p90_ms: float | None
    moved: list[MoveStatus]
    last_move: float | None
    mind: str
    mode: str
    paused: bool
    moves: dict[str, int]


class TopicsLine(msgspec.Struct, frozen=True, tag_field="kind", tag="topics"):
    """How many topics there are, how many of them a broker carries, how many miss their
    target, and the ones that are shown."""

    at: float
    count: int
    carried: int
    late: int
    topics: list[TopicRow]


class ChannelRow(msgspec.Struct, frozen=True):
    """`results` are those of the last run, `failures` segments that were set aside,
    and `error` why it does not run, or why the last of those were."""

    name: str
    every_seconds: float
    subscriptions: int
    last_run: float | None
    took_ms: float | None
    results: int | None
    error: str
    failures: int


class DatasetRow(msgspec.Struct, frozen=True):
    """`records` are kept now; `fed` and `errors` count since it was made; `error` is
    what was wrong last."""

    name: str
    kind: str
    records: int
    fed: int
    last_fed: float | None
    errors: int
    error: str


class DataLine(msgspec.Struct, frozen=True, tag_field="kind", tag="data"):
    """The data cluster; `problem` says why it could not be asked."""

    at: float
    problem: str
    channels: list[ChannelRow]
    datasets: list[DatasetRow]


Line = HelloLine | TickLine | TopicsLine | DataLine | FleetEvent


def encode_line(line: Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def broker_row(
    broker: Broker, report: Heartbeat | None, period_seconds: int
) -> BrokerRow:
    """A broker that is not there carries nothing. Capacities are stored by period."""
    capacity = None
    if broker.capacity is not None and period_seconds:
        capacity = round(broker.capacity / period_seconds, DIGITS)
    return BrokerRow(
        name=broker.name,
        state=shown_state(broker),
        since=broker.since,
        sessions=report.sessions if report else 0,
        topics=report.topics if report else 0,
        load=round(report.load_per_second, DIGITS) if report else 0.0,
        capacity=capacity,
        received=report.received if report else 0,
        delivered=report.delivered if report else 0,
    )


def broker_rows(
    brokers: Iterable[Broker], reports: Reports, period_seconds: int
) -> list[BrokerRow]:
    return [broker_row(b, reports.get(b.name), period_seconds) for b in brokers]
