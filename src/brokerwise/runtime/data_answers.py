"""What the data cluster answers to operators and to whoever feeds it.

Plain dataclasses, as in data_control.py. Times are seconds since 1970.
"""

from dataclasses import dataclass


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
