"""What operators who watch a fleet are sent, and what they ask about it.

`Line` is what comes over GET /watch: JSON, each with its kind. Loads are messages a
second, in and out, times seconds since 1970.
"""

import msgspec

from brokerwise.runtime.protocol.fleet import BrokerState, MoveStatus

# Lines


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


class HistoryColumns(msgspec.Struct, frozen=True):
    """The history in columns, oldest first; a load is None where the broker was not
    there, and `moves` has only the times at which some were done."""

    at: list[float]
    max_load: list[float]
    mean_load: list[float]
    cov: list[float]
    loads: dict[str, list[float | None]]
    moves: list[tuple[float, int]]
    messages_per_second: list[float]


class HelloLine(msgspec.Struct, frozen=True, tag_field="kind", tag="hello"):
    fleet: FleetInfo
    every_seconds: float
    history: HistoryColumns


class BrokerView(msgspec.Struct, frozen=True, kw_only=True):
    """A broker as it is watched; `capacity` is messages a second, null if nobody
    said."""

    name: str
    state: BrokerState
    since: float
    sessions: int
    load: float
    capacity: float | None
    received: int
    delivered: int


class BrokerRow(BrokerView, frozen=True, kw_only=True):
    """With the number of its topics."""

    topics: int


class TickLine(msgspec.Struct, frozen=True, tag_field="kind", tag="tick"):
    """`balancer_status` is what the balancer is doing, in a line; `moved` are the moves
    that have changed since the last tick, `moves` counts all by state."""

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
    balancer_status: str
    mode: str
    paused: bool
    moves: dict[str, int]


class TopicView(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A topic on a broker. Latencies are null before anything was delivered,
    `target_ms` without one, `met` if nobody can say."""

    topic: str
    received_per_second: float
    p50_ms: float | None
    p90_ms: float | None
    target_ms: float | None
    met: bool | None


class TopicRow(TopicView, frozen=True, gc=False, kw_only=True):
    """With its broker."""

    broker: str


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


class FleetEvent(msgspec.Struct, frozen=True, tag_field="kind", tag="event"):
    """`at` is seconds since 1970, `what` for programs, `text` for people."""

    at: float
    what: str
    text: str


Line = HelloLine | TickLine | TopicsLine | DataLine | FleetEvent


def encode_line(line: Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


# Answers


class SessionView(msgspec.Struct, frozen=True):
    """Of a user who is connected, with so many topics."""

    user: str
    topics: int


class BrokerDetails(BrokerView, frozen=True, kw_only=True):
    """`topics` are the 500 busiest, `session_list` the first 500. If the broker cannot
    be asked for them, `problem` says why."""

    url: str
    pid: int
    epoch: int
    topics: list[TopicView]
    topic_count: int
    session_list: list[SessionView]
    session_count: int
    problem: str


class TopicMatch(msgspec.Struct, frozen=True):
    """The brokers that carry it, and the one that the plan chose, if it did; `rate` is
    the planned one, in messages a second."""

    topic: str
    brokers: tuple[str, ...]
    home: str
    rate: float | None
    target_ms: float | None
    why: str


class SessionMatch(msgspec.Struct, frozen=True):
    """`home` is the plan's broker; `topics` are the first 100, and their number is null
    without a plan, as the session then takes whatever its user asks for."""

    broker: str
    home: str
    topics: tuple[str, ...]
    topic_count: int | None


class UserMatch(msgspec.Struct, frozen=True):
    user: str
    sessions: tuple[SessionMatch, ...]
    why: str


class SearchResult(msgspec.Struct, frozen=True):
    """`more`: there may be others that fit."""

    topics: tuple[TopicMatch, ...]
    users: tuple[UserMatch, ...]
    more: bool
