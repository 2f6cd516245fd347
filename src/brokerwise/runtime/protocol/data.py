"""What brokers, operators and feeders and the data cluster tell each other over HTTP.

Each body is stated here once, with its bounds, and used by both ends; datasets and
channels are also stored as they are sent. Every request of a broker carries its epoch;
one under an epoch that is not the newest the data cluster knows is refused (409), and
the broker says `createbroker` again under the one that it has.

A result's identity is (topic, SOURCE, epoch, seq), where the epoch is the number of
the backend subscription, which is never used again, and seq counts its results from 1.
Times are seconds since 1970 where nothing else is said.
"""

import re
from enum import StrEnum
from typing import Annotated, TypeVar

import msgspec

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.fields import Count, HttpUrl, Name
from brokerwise.runtime.protocol.limits import MAX_CURSORS_PER_FRAME, MAX_NAME_BYTES

MAX_COLUMNS = 200
MAX_SQL_LENGTH = 20_000
SHORTEST_PERIOD, LONGEST_PERIOD = 1.0, 86_400.0  # seconds
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
NAME_RULE = "letters, digits and _, a letter first, at most 63"

T = TypeVar("T")
Many = Annotated[tuple[T, ...], msgspec.Meta(max_length=MAX_CURSORS_PER_FRAME)]

# Datasets and channels


class DatasetKind(StrEnum):
    """append: a channel sees the records since its last run; keyed: the latest of
    each key; static: all."""

    APPEND = "append"
    KEYED = "keyed"
    STATIC = "static"


class ColumnType(StrEnum):
    """What a column or a parameter holds. Timestamps are texts as in ISO 8601, or
    milliseconds since 1970."""

    STRING = "string"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class Column(msgspec.Struct, frozen=True):
    """Of a dataset, or a parameter of a channel."""

    name: Name
    type: ColumnType

    def __post_init__(self) -> None:
        check_name("column", self.name)


Columns = Annotated[tuple[Column, ...], msgspec.Meta(max_length=MAX_COLUMNS)]


class Dataset(msgspec.Struct, frozen=True):
    """`key` is the column that a keyed dataset has the latest record of each value
    of; empty for the other kinds."""

    name: Name
    kind: DatasetKind
    columns: Columns
    key: Annotated[str, msgspec.Meta(max_length=MAX_NAME_BYTES)] = ""

    def __post_init__(self) -> None:
        check_name("dataset", self.name)
        names = [column.name.lower() for column in self.columns]
        if not 0 < len(names) <= MAX_COLUMNS:
            raise InputError(
                f"dataset {self.name!r}: found {len(names)} columns, expected 1 to "
                f"{MAX_COLUMNS}"
            )
        _check_distinct(f"dataset {self.name!r}: column", names)
        if self.kind is DatasetKind.KEYED:
            if self.key not in {column.name for column in self.columns}:
                raise InputError(
                    f"dataset {self.name!r}: found key {self.key!r}, expected one of "
                    f"its columns"
                )
        elif self.key:
            raise InputError(
                f"dataset {self.name!r}: found key {self.key!r}, but it is "
                f"{self.kind}: only keyed datasets have one"
            )


class Channel(msgspec.Struct, frozen=True):
    """A question that is asked again each period (seconds), for all subscriptions at
    once. `sql` has its parameters as `:name`."""

    name: Name
    sql: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SQL_LENGTH)]
    period: float
    parameters: Columns = ()

    def __post_init__(self) -> None:
        check_name("channel", self.name)
        names = [column.name.lower() for column in self.parameters]
        _check_distinct(f"channel {self.name!r}: parameter", names)
        if not SHORTEST_PERIOD <= self.period <= LONGEST_PERIOD:
            raise InputError(
                f"channel {self.name!r}: found a period of {self.period:g} s, expected "
                f"{SHORTEST_PERIOD:g} to {LONGEST_PERIOD:g}"
            )
        if len(self.sql) > MAX_SQL_LENGTH:
            raise InputError(
                f"channel {self.name!r}: the SQL has {len(self.sql):,} characters, "
                f"expected at most {MAX_SQL_LENGTH:,}"
            )


class DropRequest(msgspec.Struct, frozen=True):
    """The dataset or the channel that is to go."""

    name: Name


def check_name(what: str, name: str) -> None:
    """Names of datasets, columns, channels and parameters go into SQL."""
    if not NAME.fullmatch(name):
        raise InputError(f"{what}: found the name {name[:80]!r}, expected {NAME_RULE}")


def _check_distinct(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{what} {name!r} is there twice")


# Brokers


class BrokerCreation(msgspec.Struct, frozen=True):
    """POST /createbroker: where a broker listens, http://host:port."""

    broker: Name
    epoch: Count
    url: HttpUrl


class Instance(msgspec.Struct, frozen=True):
    """What answers brokers: another one each time the data cluster starts."""

    instance: str


class Interest(msgspec.Struct, frozen=True):
    """A user wants a channel's results. It begins after `cursor` (epoch, seq), what it
    has seen; without one where the data cluster knows that it was, or, if it is new or
    asks for the `latest`, with the next result."""

    user: Name
    topic: Name
    cursor: tuple[Count, Count] | None = None
    latest: bool = False


class SubscribeRequest(msgspec.Struct, frozen=True):
    """POST /subscribe."""

    broker: Name
    epoch: Count
    wanted: Many[Interest]


class Subscription(msgspec.Struct, frozen=True):
    """The subscription that a user has now: it begins after `start`; `last` is the
    last result that there is."""

    user: str
    topic: str
    subscription: int
    start: int
    last: int


class SubscriptionRefusal(msgspec.Struct, frozen=True):
    user: str
    topic: str
    reason: str


class SubscribeAnswer(msgspec.Struct, frozen=True):
    """Each one that was wanted is in one of these, in no order."""

    given: tuple[Subscription, ...]
    refused: tuple[SubscriptionRefusal, ...] = ()


class UserTopic(msgspec.Struct, frozen=True):
    """A topic that a user at this broker wants no more, or is offline for."""

    user: Name
    topic: Name


class UnsubscribeRequest(msgspec.Struct, frozen=True):
    """POST /unsubscribe: these want the topic no more. Of a user whom another broker
    serves by now it says nothing, and is passed over."""

    broker: Name
    epoch: Count
    ended: Many[UserTopic]


class UserCursor(msgspec.Struct, frozen=True):
    """A user has had everything up to this result."""

    user: Name
    subscription: Count
    seq: Count


class AcknowledgeRequest(msgspec.Struct, frozen=True):
    """POST /acknowledge, each second, also without news. `offline`: users whose
    sessions here have ended; their subscriptions wait for them. `serving`, now and
    then: all users that are served here; those who are offline in the data cluster's
    eyes, or whom it has forgotten, are not. A user on the way from one broker to
    another, or cut off in between, may have left them that way."""

    broker: Name
    epoch: Count
    seen: Many[UserCursor] = ()
    offline: Many[UserTopic] = ()
    serving: Many[UserCursor] = ()


class Pull(msgspec.Struct, frozen=True):
    """All results of a subscription after this one."""

    subscription: Count
    after: Count


class PullRequest(msgspec.Struct, frozen=True):
    """POST /results."""

    broker: Name
    epoch: Count
    pulls: Many[Pull]


class Result(msgspec.Struct, frozen=True):
    """One row of a channel's query, as an object; `at` is when its run was committed,
    in milliseconds since 1970."""

    at: float
    data: Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]


class ResultBatch(msgspec.Struct, frozen=True):
    """Results `after` + 1, `after` + 2, ... of a subscription; `last` is the last that
    there is. `after` is more than was asked for if older ones are not kept any more.
    There may be fewer than there are: ask again."""

    subscription: int
    after: int
    results: tuple[Result, ...]
    last: int


class PullAnswer(msgspec.Struct, frozen=True):
    """One for each pull, in order; those of subscriptions that there are none of any
    more, and those that the answer had no room for, are left out. `gone` are the
    former."""

    pulled: tuple[ResultBatch, ...]
    gone: tuple[int, ...] = ()


class Notification(msgspec.Struct, frozen=True):
    """The data cluster to a broker, POST /notify: these subscriptions have new
    results. The names are those of BAD's brokers; the time comes in either spelling,
    seconds since 1970."""

    channelName: str
    subscriptionIds: tuple[int, ...]
    channelExecutionTime: str | float | None = None
    channelExecutionEpochTime: str | float | None = None


class ColumnInfo(msgspec.Struct, frozen=True):
    """A column or a parameter, as it is shown."""

    name: str
    type: str


class Rejection(msgspec.Struct, frozen=True):
    """Why a record was kept aside; `line` counts from 1 in what was fed."""

    line: int
    reason: str


class FeedAnswer(msgspec.Struct, frozen=True):
    """`rows` were taken, `rejected` kept aside, for `reasons`, of which these are the
    first. `repeated`: the batch had been fed before, and was not again."""

    rows: int
    rejected: int
    repeated: bool = False
    reasons: tuple[Rejection, ...] = ()


class RejectedRecord(msgspec.Struct, frozen=True):
    """A record that could not be used: how it begins, and why."""

    batch: str
    line: int
    text: str
    reason: str
    at: float


class DatasetStatus(msgspec.Struct, frozen=True):
    """`rows`, `segments` and `bytes` are kept now; `fed` and `rejected` count since
    it was made, `last_fed` is when it was fed last, if it was. `last_rejected`, newest
    first, only if it was asked for alone."""

    name: str
    kind: str
    columns: tuple[ColumnInfo, ...]
    key: str
    created: float
    rows: int
    segments: int
    bytes: int
    fed: int
    rejected: int
    last_fed: float | None = None
    last_rejected: tuple[RejectedRecord, ...] = ()


class SegmentSetAside(msgspec.Struct, frozen=True):
    """Records that a channel cannot process."""

    segment: int
    dataset: str
    reason: str
    at: float


class Run(msgspec.Struct, frozen=True):
    """Its new records were those of segments `first_segment` to `last_segment`."""

    run: int
    started: float
    seconds: float
    first_segment: int
    last_segment: int
    subscriptions: int
    rows: int
    bytes: int


class ChannelStatus(msgspec.Struct, frozen=True):
    """`subscriptions` counts those of different parameters, `frontends` those of
    users; `skipped` counts beats; `suspended` says why it does not run, if it does
    not. `set_aside` and `last_runs`, newest first, only if it was asked for alone."""

    name: str
    sql: str
    parameters: tuple[ColumnInfo, ...]
    period: float
    datasets: tuple[str, ...]
    created: float
    columns: tuple[ColumnInfo, ...]
    subscriptions: int
    frontends: int
    runs: int
    skipped: int
    segment: int
    set_aside_count: int = 0
    suspended: str = ""
    set_aside: tuple[SegmentSetAside, ...] = ()
    last_runs: tuple[Run, ...] = ()


class DataStatus(msgspec.Struct, frozen=True):
    """`spark` is starting or up; `online` counts the frontends whose user is."""

    instance: str
    started: float
    spark: str
    master: str
    spark_cpu_seconds: float
    datasets: int
    channels: int
    subscriptions: int
    frontends: int
    online: int
    skipped: int
    set_aside: int


class Datasets(msgspec.Struct, frozen=True):
    datasets: tuple[DatasetStatus, ...]


class Channels(msgspec.Struct, frozen=True):
    channels: tuple[ChannelStatus, ...]
