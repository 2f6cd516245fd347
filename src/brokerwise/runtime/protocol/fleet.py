"""What coordinator, brokers, users and operators tell each other over HTTP.

Each body is stated here once, with its bounds, and used by both ends. What is told
about the balance is in `balance.py`, to watchers in `watch.py`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from brokerwise.runtime.protocol.fields import Count, Name, SocketUrl
from brokerwise.runtime.protocol.frames import Publish
from brokerwise.runtime.protocol.limits import MAX_TOPICS, MAX_TOPICS_PER_FRAME

CursorRow = tuple[str, str, int, int]  # topic, source, epoch, seq
RateRow = tuple[str, float, float]  # topic, bytes a second, weight of this average
SessionRow = tuple[str, tuple[int, ...], int]  # user, its topics, bytes of its state
Topics = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_TOPICS_PER_FRAME)]
# A broker asks for all of its sessions' topics at once.
BrokerTopics = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_TOPICS)]


class Health(msgspec.Struct, frozen=True):
    status: str


# Routes and overlays


class Address(msgspec.Struct, frozen=True):
    """A broker and where it listens: `url` is ws://host:port or wss://host:port."""

    broker: str
    url: str


class Route(msgspec.Struct, frozen=True):
    """The brokers that carry a topic. A higher generation is newer. `feeder` is the
    one of them that feeds its messages to a dataset, if they go into one."""

    topic: str
    generation: int
    brokers: tuple[Address, ...]
    feeder: str = ""


class Axis(msgspec.Struct, frozen=True):
    """A numeric attribute of an overlay's content, cut at rising edges."""

    attribute: str
    edges: tuple[float, ...]


class Branch(msgspec.Struct, frozen=True):
    """On its way from broker `origin`, content of a sub-channel goes on to these."""

    origin: str
    topic: str
    brokers: tuple[str, ...]


class OverlayPart(msgspec.Struct, frozen=True):
    """What one broker needs to know of an overlay plan. The topic of sub-channel k
    is `subchannel/k`."""

    axes: tuple[Axis, ...]
    branches: tuple[Branch, ...]


class Subchannels(msgspec.Struct, frozen=True):
    """How an overlay's content is cut."""

    axes: tuple[Axis, ...] = ()


class RoutesRequest(msgspec.Struct, frozen=True):
    topics: Topics


class RoutesAnswer(msgspec.Struct, frozen=True):
    """`unknown`: topics that there are none of."""

    routes: tuple[Route, ...]
    unknown: tuple[str, ...] = ()


class RouteChange(msgspec.Struct, frozen=True):
    """The coordinator to a broker: these routes are new."""

    routes: tuple[Route, ...]


class RouteChangeAnswer(msgspec.Struct, frozen=True):
    """What the broker had seen of each topic when the change took effect."""

    cursors: tuple[CursorRow, ...]


# Brokers to the coordinator


class BrokerRegistration(msgspec.Struct, frozen=True):
    """A broker that starts, or comes back after it lost its lease."""

    broker: Name
    url: SocketUrl
    pid: Count


class BrokerConfiguration(msgspec.Struct, frozen=True):
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
    steps: dict[str, str] = {}
    overlay: OverlayPart | None = None
    into: dict[str, str] = {}
    later: dict[str, str] = {}


class Heartbeat(msgspec.Struct, frozen=True):
    """A broker lives. Counts are since it started; rates are moving averages."""

    broker: Name
    epoch: Count
    sessions: Count
    topics: Count
    received: Count
    delivered: Count
    load_per_second: Annotated[float, msgspec.Meta(ge=0)]


class HeartbeatAnswer(msgspec.Struct, frozen=True):
    """`lost`: the coordinator has given this epoch up; close all sessions and
    register again. `brokers`: all that are up, and where they listen."""

    lost: bool
    brokers: tuple[Address, ...] = ()


class Departure(msgspec.Struct, frozen=True):
    """A broker ends in good order."""

    broker: Name
    epoch: Count


class JoinRequest(msgspec.Struct, frozen=True):
    """A broker has sessions for topics that it does not carry yet, or (`leave`)
    carries topics for which it has none any more."""

    broker: Name
    epoch: Count
    topics: BrokerTopics = ()
    leave: BrokerTopics = ()


class JoinAnswer(msgspec.Struct, frozen=True):
    """`routes`: of the topics joined and left, as they are now; `unknown`: topics
    that there are none of; `cursors`: what the brokers that carried a topic before
    have seen of it: whatever comes after, they pass on."""

    routes: tuple[Route, ...]
    unknown: tuple[str, ...] = ()
    cursors: tuple[CursorRow, ...] = ()


# The coordinator and operators to brokers


class BrokerHealth(msgspec.Struct, frozen=True):
    """What a broker answers to GET /health. `renewed` is how many seconds ago the
    coordinator answered it last."""

    status: str
    broker: str
    epoch: int
    renewed: float


class MoveOrder(msgspec.Struct, frozen=True):
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


class MoveAnswer(msgspec.Struct, frozen=True):
    answer: str
    reason: str = ""


class StopOrder(msgspec.Struct, frozen=True):
    """Ends the broker; with `restart`, its parent process starts it again."""

    restart: bool = False


class PostedMessage(Publish, frozen=True, tag="publish"):
    """A message published over HTTP: here it names its source itself."""

    source: str = ""


class BalancePage(msgspec.Struct, frozen=True):
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


class TopicLoad(msgspec.Struct, frozen=True, gc=False):
    """A topic on a broker: counts since the broker started, moving averages, and
    latencies from arrival until a message is handed to all sessions; 0 before anything
    was delivered."""

    received: int = 0
    delivered: int = 0
    sessions: int = 0
    received_per_second: float = 0.0
    delivered_per_second: float = 0.0
    p50_ms: float = 0.0
    p90_ms: float = 0.0
    p99_ms: float = 0.0


class LinkLoad(msgspec.Struct, frozen=True):
    """Messages that a broker passed on to another."""

    forwarded: int = 0


class UserLoad(msgspec.Struct, frozen=True):
    """Messages that a broker got from a user, and delivered to it."""

    received: int = 0
    delivered: int = 0


class TrafficPage(msgspec.Struct, frozen=True):
    """The part of GET /load that is about messages, by topic, by broker that they were
    passed on to and, on an overlay only, by user. Who needs no more reads no more."""

    broker: str = ""
    epoch: int = 0
    topics: Mapping[str, TopicLoad] = {}
    links: Mapping[str, LinkLoad] = {}
    users: Mapping[str, UserLoad] | msgspec.UnsetType = msgspec.UNSET


class LoadPage(TrafficPage, frozen=True):
    """GET /load. `dropped` counts messages for other brokers, `fed_dropped` records for
    datasets."""

    sessions: int = 0
    received: int = 0
    delivered: int = 0
    load_per_second: float = 0.0
    dropped: int = 0
    steps: Mapping[str, Mapping[str, Any]] = {}
    fed: int = 0
    fed_dropped: int = 0


class SessionState(msgspec.Struct, frozen=True):
    """GET /sessions: one session, by its user."""

    topics: tuple[str, ...] = ()
    sent: int = 0
    acknowledged: int = 0
    cursors: tuple[CursorRow, ...] = ()


# Users


class UserRegistration(msgspec.Struct, frozen=True):
    """`x` and `y` say where the user is, for placement by distance."""

    user: Name
    x: float | None = None
    y: float | None = None

    def __post_init__(self) -> None:
        if (self.x is None) != (self.y is None):
            raise ValueError("x and y go together: give both or none")

    @property
    def point(self) -> tuple[float, float] | None:
        return None if self.x is None or self.y is None else (self.x, self.y)


class UserToken(msgspec.Struct, frozen=True):
    user: str
    token: str


class BrokerRequest(msgspec.Struct, frozen=True):
    """Which brokers serve a user. Without topics: all that the plan gives the user."""

    user: Name
    topics: Topics | None = None


class SessionPlace(msgspec.Struct, frozen=True):
    """A session that a user has or should have: where, and for which topics; None:
    whatever it asks for."""

    broker: str
    url: str
    topics: tuple[str, ...] | None = None


class BrokerAnswer(msgspec.Struct, frozen=True):
    """The answer to requestbroker. `unserved`: topics asked for that the plan gives
    this user no broker for."""

    sessions: tuple[SessionPlace, ...]
    unserved: tuple[str, ...] = ()


# Operators


class BrokerState(StrEnum):
    """`expected`: to be started with the fleet, and not heard of yet; `stopped`: it
    was told to end, and has."""

    EXPECTED = "expected"
    UP = "up"
    DRAINING = "draining"
    DRAINED = "drained"
    LOST = "lost"
    STOPPED = "stopped"


class Then(StrEnum):
    """What a broker does once it is drained."""

    STAY = "stay"
    STOP = "stop"
    RESTART = "restart"


class MoveState(StrEnum):
    REQUESTED = "requested"
    ACCEPTED = "accepted"
    DONE = "done"
    DECLINED = "declined"
    FAILED = "failed"


MOVES_UNDER_WAY = (MoveState.REQUESTED, MoveState.ACCEPTED)


class BrokerStatus(msgspec.Struct, frozen=True):
    """Counts are since its process started, as it reported them last; `capacity` is
    messages a period, null if nobody said; `since` is when its state last changed, in
    seconds since 1970. One that has not started yet is `lost` and of epoch 0."""

    broker: str
    url: str
    state: BrokerState
    epoch: int
    sessions: int
    topics: int
    received: int
    delivered: int
    load_per_second: float
    capacity: int | None = None
    pid: int = 0
    since: float = 0.0

    @property
    def gone(self) -> bool:
        """It does not run, as far as the coordinator knows."""
        return self.state in (BrokerState.LOST, BrokerState.STOPPED)


class FleetStatus(msgspec.Struct, frozen=True):
    """`moves` counts them by state; capacities are messages in `period_seconds`, 0 if
    nobody said; `balancer` is what the balancer is at."""

    brokers: tuple[BrokerStatus, ...]
    moves: dict[str, int]
    kind: str = ""
    plan: str = ""
    digest: str = ""
    placement: str = ""
    period_seconds: int = 0
    balancer: str = ""

    def broker(self, name: str) -> BrokerStatus | None:
        return next((b for b in self.brokers if b.broker == name), None)

    @property
    def moves_under_way(self) -> int:
        return sum(self.moves.get(state, 0) for state in MOVES_UNDER_WAY)


class MoveRequest(
    msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}
):
    user: Name
    source: Name
    target: Name


class PlannedMove(
    msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}
):
    """A move of one user's session on one broker to another. One that has not begun
    has number 0 and is `planned`."""

    id: int
    user: str
    source: str
    target: str
    state: str
    reason: str = ""


class MoveStatus(PlannedMove, frozen=True, rename={"source": "from", "target": "to"}):
    """A move that was begun."""

    state: MoveState

    @property
    def is_over(self) -> bool:
        return self.state not in MOVES_UNDER_WAY


class Moves(msgspec.Struct, frozen=True):
    """The newest first."""

    moves: tuple[MoveStatus, ...]


class DrainRequest(msgspec.Struct, frozen=True):
    """What the broker does once it is empty: stay drained, stop, or restart."""

    broker: Name
    then: Then = Then.STAY


class DrainAnswer(msgspec.Struct, frozen=True):
    """How many users are asked to move."""

    moves: int


class ActivateRequest(msgspec.Struct, frozen=True):
    broker: Name


class TopicPlan(msgspec.Struct, frozen=True):
    """Messages a period of each topic; 0 where no plan says. `homes` and `targets`
    (milliseconds) are those of a co-location plan."""

    topics: dict[str, int]
    homes: dict[str, str]
    targets: dict[str, float]
