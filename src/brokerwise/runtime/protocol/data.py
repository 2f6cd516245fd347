"""What brokers, operators and feeders and the data cluster tell each other over HTTP.

Plain dataclasses, as in control.py. Every request of a broker carries its epoch; one
under an epoch that is not the newest the data cluster knows is refused (409), and the
broker says `createbroker` again under the one that it has.

A result's identity is (topic, SOURCE, epoch, seq), where the epoch is the number of
the backend subscription, which is never used again, and seq counts its results from 1.
Times are seconds since 1970 where nothing else is said.
"""

from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class BrokerCreation:
    """POST /createbroker: where a broker listens, http://host:port."""

    broker: str
    epoch: int
    url: str


@dataclass(frozen=True)
class BrokerCreated:
    """`instance` is another one each time the data cluster starts."""

    instance: str


@dataclass(frozen=True)
class Wanted:
    """A user wants a channel's results. It begins after `cursor` (epoch, seq), what it
    has seen; without one where the data cluster knows that it was, or, if it is new or
    asks for the `latest`, with the next result."""

    user: str
    topic: str
    cursor: tuple[int, int] | None = None
    latest: bool = False


@dataclass(frozen=True)
class SubscribeRequest:
    """POST /subscribe."""

    broker: str
    epoch: int
    wanted: tuple[Wanted, ...]


@dataclass(frozen=True)
class Given:
    """The subscription that a user has now: it begins after `start`; `last` is the
    last result that there is."""

    user: str
    topic: str
    subscription: int
    start: int
    last: int


@dataclass(frozen=True)
class Refused:
    user: str
    topic: str
    reason: str


@dataclass(frozen=True)
class SubscribeAnswer:
    """Each one that was wanted is in one of these, in no order."""

    given: tuple[Given, ...]
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class Ended:
    """A user at this broker: no more wants a topic, or has gone offline."""

    user: str
    topic: str


@dataclass(frozen=True)
class UnsubscribeRequest:
    """POST /unsubscribe: these want the topic no more. Of a user whom another broker
    serves by now it says nothing, and is passed over."""

    broker: str
    epoch: int
    ended: tuple[Ended, ...]


@dataclass(frozen=True)
class Done:
    instance: str


@dataclass(frozen=True)
class Seen:
    """A user has had everything up to this result."""

    user: str
    subscription: int
    seq: int


@dataclass(frozen=True)
class AcknowledgeRequest:
    """POST /acknowledge, each second, also without news. `offline`: users whose
    sessions here have ended; their subscriptions wait for them. `serving`, now and
    then: all users that are served here; those who are offline in the data cluster's
    eyes, or whom it has forgotten, are not. A user on the way from one broker to
    another, or cut off in between, may have left them that way."""

    broker: str
    epoch: int
    seen: tuple[Seen, ...] = ()
    offline: tuple[Ended, ...] = ()
    serving: tuple[Seen, ...] = ()


@dataclass(frozen=True)
class Pull:
    """All results of a subscription after this one."""

    subscription: int
    after: int


@dataclass(frozen=True)
class PullRequest:
    """POST /results."""

    broker: str
    epoch: int
    pulls: tuple[Pull, ...]


@dataclass(frozen=True)
class Result:
    """`at`: when its run was committed, milliseconds since 1970."""

    at: float
    data: msgspec.Raw


@dataclass(frozen=True)
class Pulled:
    """Results `after` + 1, `after` + 2, ... of a subscription; `last` is the last that
    there is. `after` is more than was asked for if older ones are not kept any more.
    There may be fewer than there are: ask again."""

    subscription: int
    after: int
    results: tuple[Result, ...]
    last: int


@dataclass(frozen=True)
class PullAnswer:
    """One for each pull, in order; those of subscriptions that there are none of any
    more, and those that the answer had no room for, are left out. `gone` are the
    former."""

    pulled: tuple[Pulled, ...]
    gone: tuple[int, ...] = ()


@dataclass(frozen=True)
class Notification:
    """The data cluster to a broker, POST /notify: these subscriptions have new
    results. The names are those of BAD's brokers; the time comes in either spelling,
    seconds since 1970."""

    channelName: str
    subscriptionIds: tuple[int, ...]
    channelExecutionTime: str | float | None = None
    channelExecutionEpochTime: str | float | None = None


@dataclass(frozen=True)
class Typed:
    """A column or a parameter, as it is shown."""

    name: str
    type: str


@dataclass(frozen=True)
class Reason:
    """Why a record was kept aside; `line` counts from 1 in what was fed."""

    line: int
    reason: str


@dataclass(frozen=True)
class Fed:
    """`rows` were taken, `rejected` kept aside, for `reasons`, of which these are the
    first. `repeated`: the batch had been fed before, and was not again."""

    rows: int
    rejected: int
    repeated: bool = False
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class KeptAside:
    """A record that could not be used: how it begins, and why."""

    batch: str
    line: int
    text: str
    reason: str
    at: float


@dataclass(frozen=True)
class DatasetStatus:
    """`rows`, `segments` and `bytes` are kept now; `fed` and `rejected` count since
    it was made, `last_fed` is when it was fed last, if it was. `last_rejected`, newest
    first, only if it was asked for alone."""

    name: str
    kind: str
    columns: tuple[Typed, ...]
    key: str
    created: float
    rows: int
    segments: int
    bytes: int
    fed: int
    rejected: int
    last_fed: float | None = None
    last_rejected: tuple[KeptAside, ...] = ()


@dataclass(frozen=True)
class SegmentSetAside:
    """Records that a channel cannot process."""

    segment: int
    dataset: str
    reason: str
    at: float


@dataclass(frozen=True)
class Run:
    """Its new records were those of segments `first_segment` to `last_segment`."""

    run: int
    started: float
    seconds: float
    first_segment: int
    last_segment: int
    subscriptions: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class ChannelStatus:
    """`subscriptions` counts those of different parameters, `frontends` those of
    users; `skipped` counts beats; `suspended` says why it does not run, if it does
    not. `set_aside` and `last_runs`, newest first, only if it was asked for alone."""

    name: str
    sql: str
    parameters: tuple[Typed, ...]
    period: float
    datasets: tuple[str, ...]
    created: float
    columns: tuple[Typed, ...]
    subscriptions: int
    frontends: int
    runs: int
    skipped: int
    segment: int
    set_aside_count: int = 0
    suspended: str = ""
    set_aside: tuple[SegmentSetAside, ...] = ()
    last_runs: tuple[Run, ...] = ()


@dataclass(frozen=True)
class DataStatus:
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


@dataclass(frozen=True)
class Datasets:
    datasets: tuple[DatasetStatus, ...]


@dataclass(frozen=True)
class Channels:
    channels: tuple[ChannelStatus, ...]
