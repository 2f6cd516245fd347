"""What a fleet starts from: its brokers and, if it runs a plan, who goes where."""

from dataclasses import dataclass, field

from brokerwise.runtime.protocol.fleet import OverlayPart


@dataclass(frozen=True)
class SeedBroker:
    """A broker to start. `capacity` is messages a period, None if nobody said."""

    name: str
    capacity: int | None = None
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class SeedSession:
    """One subscriber's pairs on one broker. On an overlay `topics` are the
    sub-channels that the user wants."""

    user: str
    broker: str
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Seed:
    """The state that a new fleet begins with.

    Attributes
    ----------
    kind
        That of the plan: provision, fill, overlay, colocate; empty without a plan,
        and then any topic may be subscribed to, and users are placed by `placement`.
    placement
        nearest, round-robin, random, or plan.
    rates
        Messages a period of each topic that there is.
    steps
        Processing steps by topic or pattern (`gps/*`): `spin:MS` or `module:function`.
    into
        Datasets that what comes out of topics is fed to, by topic or pattern.
    homes
        The broker of each topic, if the plan places topics: whoever wants one goes
        there.
    targets
        Milliseconds that the 90th percentile of a topic's latency should not exceed.
    digest
        Of the plan that was approved.
    period_seconds
        What rates and capacities are counted over; 0 if nobody said.
    """

    brokers: tuple[SeedBroker, ...]
    placement: str
    kind: str = ""
    plan: str = ""
    digest: str = ""
    sessions: tuple[SeedSession, ...] = ()
    rates: dict[str, int] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)
    into: dict[str, str] = field(default_factory=dict)
    overlay: dict[str, OverlayPart] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    targets: dict[str, float] = field(default_factory=dict)
    period_seconds: int = 0
