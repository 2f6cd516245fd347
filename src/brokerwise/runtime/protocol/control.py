"""What coordinator, brokers and operators tell each other over HTTP.

Plain dataclasses: the coordinator's API page is made from them, and a broker reads
them with msgspec. `convert` is the one way from JSON to them.
"""

from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES

T = TypeVar("T")
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_BYTES)]
CursorRow = tuple[str, str, int, int]  # topic, source, epoch, seq
RateRow = tuple[str, float, float]  # topic, bytes a second, weight of this average
SessionRow = tuple[str, tuple[int, ...], int]  # user, its topics, bytes of its state


@dataclass(frozen=True)
class Address:
    """A broker and where it listens: `url` is ws://host:port or wss://host:port."""

    broker: str
    url: str


@dataclass(frozen=True)
class Route:
    """The brokers that carry a topic. A higher generation is newer. `feeder` is the
    one of them that feeds its messages to a dataset, if they go into one."""

    topic: str
    generation: int
    brokers: tuple[Address, ...]
    feeder: str = ""


@dataclass(frozen=True)
class Axis:
    """A numeric attribute of an overlay's content, cut at rising edges."""

    attribute: str
    edges: tuple[float, ...]


@dataclass(frozen=True)
class Branch:
    """On its way from broker `origin`, content of a sub-channel goes on to these."""

    origin: str
    topic: str
    brokers: tuple[str, ...]


@dataclass(frozen=True)
class OverlayPart:
    """What one broker needs to know of an overlay plan. The topic of sub-channel k
    is `subchannel/k`."""

    axes: tuple[Axis, ...]
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class BrokerRegistration:
    """A broker that starts, or comes back after it lost its lease."""

    broker: str
    url: str
    pid: int


@dataclass(frozen=True)
class BrokerConfiguration:
    """What a broker that registered needs to know. `epoch` is new each time.

    `steps` gives the processing step of a topic: `spin:MS` or `module:function`, and
    `into` the dataset that what comes out of it is fed to. Both may be given for
    several topics at once, as `gps/*`. `later` are steps of topics that are at home on
    other brokers: they are started when a message of theirs comes nevertheless.
    """

    epoch: int
    lease_seconds: float
    heartbeat_seconds: float
    routes: tuple[Route, ...] = ()
    brokers: tuple[Address, ...] = ()
    steps: dict[str, str] = field(default_factory=dict)
    overlay: OverlayPart | None = None
    into: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Heartbeat:
    """A broker lives. Counts are since it started; rates are moving averages."""

    broker: str
    epoch: int
    sessions: int
    topics: int
    received: int
    delivered: int
    load_per_second: float


@dataclass(frozen=True)
class HeartbeatAnswer:
    """`lost`: the coordinator has given this epoch up; close all sessions and
    register again. `brokers`: all that are up, and where they listen."""

    lost: bool
    brokers: tuple[Address, ...] = ()


@dataclass(frozen=True)
class JoinRequest:
    """A broker has sessions for topics that it does not carry yet, or (`leave`)
    carries topics for which it has none any more."""

    broker: str
    epoch: int
    topics: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()


@dataclass(frozen=True)
class JoinAnswer:
    """`routes`: of the topics joined and left, as they are now; `unknown`: topics
    that there are none of; `cursors`: what the brokers that carried a topic before
    have seen of it: whatever comes after, they pass on."""

    routes: tuple[Route, ...]
    unknown: tuple[str, ...] = ()
    cursors: tuple[CursorRow, ...] = ()


@dataclass(frozen=True)
class RouteChange:
    """The coordinator to a broker: these routes are new."""

    routes: tuple[Route, ...]


@dataclass(frozen=True)
class RouteChangeAnswer:
    """What the broker had seen of each topic when the change took effect."""

    cursors: tuple[CursorRow, ...]


@dataclass(frozen=True)
class MoveOrder:
    """The coordinator to the broker that a session is on, one for each step.

    `step` is `request_to_move` (answers accepted, declined, absent, timeout) or
    `connect` (answers moved, absent, timeout). The same order again, after either
    side has forgotten, gives the same answer and does nothing twice. `topics` are those
    that shall move, None: all that the user has there.
    """

    move: int
    step: str
    user: str
    to: Address
    topics: tuple[str, ...] | None = None


@dataclass(frozen=True)
class MoveAnswer:
    answer: str
    reason: str = ""


@dataclass(frozen=True)
class BalancePage:
    """What a broker carries, for those who balance the fleet.

    `topics` are those that a session has, each with the bytes a second that its
    messages come to, framed, each counted once: a moving average, whose weight goes
    from 0 towards 1 with the time that it has been taken over. A session names its
    topics by their place in that list, and says how much there is to copy if it moves.
    `left` are topics whose last session has gone, as they were known then; their weight
    falls with time.
    """

    broker: str
    epoch: int
    topics: tuple[RateRow, ...]
    sessions: tuple[SessionRow, ...]
    left: tuple[RateRow, ...] = ()


@dataclass(frozen=True)
class SessionPlace:
    """A session that a user has or should have: where, and for which topics; None:
    whatever it asks for."""

    broker: str
    url: str
    topics: tuple[str, ...] | None = None


@dataclass(frozen=True)
class BrokerAnswer:
    """The answer to requestbroker. `unserved`: topics asked for that the plan gives
    this user no broker for."""

    sessions: tuple[SessionPlace, ...]
    unserved: tuple[str, ...] = ()


def convert(content: bytes, kind: type[T]) -> T:
    """Raises BrokerwiseError for an answer that is not of this kind."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (ValueError, RecursionError) as cause:
        raise BrokerwiseError(
            f"cannot read an answer as {kind.__name__}: {cause}"
        ) from cause
