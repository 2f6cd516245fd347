"""What requests and answers look like, for the checks and for the API page.

Those of control.py are stated again here, with their bounds: what comes from outside
is checked field by field before anything else sees it.
"""

from typing import Annotated

from pydantic import BaseModel, Field, FiniteFloat, model_validator

from brokerwise.runtime.coordinator.brokers import BrokerState, Then
from brokerwise.runtime.coordinator.moves import MoveState
from brokerwise.runtime.coordinator.routes import MAX_TOPICS
from brokerwise.runtime.net.fields import (
    MAX_URL_LENGTH,
    Body,
    Count,
    Name,
)
from brokerwise.runtime.protocol import control
from brokerwise.runtime.protocol.limits import MAX_TOPICS_PER_FRAME

Topics = Annotated[list[Name], Field(max_length=MAX_TOPICS_PER_FRAME)]
# A broker asks for all of its sessions' topics at once.
BrokerTopics = Annotated[list[Name], Field(max_length=MAX_TOPICS)]
BrokerUrl = Annotated[
    str,
    Field(
        max_length=MAX_URL_LENGTH,
        pattern=r"^wss?://[0-9A-Za-z._:\[\]%-]+$",
        examples=["ws://127.0.0.1:7001"],
    ),
]


class Registration(Body):
    broker: Name
    url: BrokerUrl
    pid: Count

    def plain(self) -> control.BrokerRegistration:
        return control.BrokerRegistration(self.broker, self.url, self.pid)


class Report(Body):
    broker: Name
    epoch: Count
    sessions: Count
    topics: Count
    received: Count
    delivered: Count
    load_per_second: Annotated[FiniteFloat, Field(ge=0)]

    def plain(self) -> control.Heartbeat:
        return control.Heartbeat(**self.model_dump())


class Leaving(Body):
    broker: Name
    epoch: Count


class Join(Body):
    broker: Name
    epoch: Count
    topics: BrokerTopics = Field(default_factory=list)
    leave: BrokerTopics = Field(default_factory=list)

    def plain(self) -> control.JoinRequest:
        return control.JoinRequest(
            self.broker, self.epoch, tuple(self.topics), tuple(self.leave)
        )


class RoutesRequest(Body):
    topics: Topics


class User(Body):
    """`x` and `y` say where the user is, for placement by distance."""

    user: Name
    x: FiniteFloat | None = None
    y: FiniteFloat | None = None

    @model_validator(mode="after")
    def _both_or_none(self) -> "User":
        if (self.x is None) != (self.y is None):
            raise ValueError("x and y go together: give both or none")
        return self

    @property
    def point(self) -> tuple[float, float] | None:
        return None if self.x is None or self.y is None else (self.x, self.y)


class BrokerRequest(Body):
    """Without topics: all that the plan gives the user."""

    user: Name
    topics: Topics | None = None


class MoveRequest(Body):
    user: Name
    source: Annotated[Name, Field(alias="from")]
    target: Annotated[Name, Field(alias="to")]


class DrainRequest(Body):
    """What the broker does once it is empty: stay drained, stop, or restart."""

    broker: Name
    then: Annotated[Then, Field(strict=False)] = Then.STAY


class ActivateRequest(Body):
    broker: Name


class RoutesAnswer(BaseModel):
    """`unknown`: topics that there are none of."""

    routes: list[control.Route]
    unknown: list[str]


class UserAnswer(BaseModel):
    user: str
    token: str


class MoveAnswer(BaseModel):
    """A move of one user's session on one broker to another."""

    id: int
    user: str
    source: Annotated[str, Field(alias="from")]
    target: Annotated[str, Field(alias="to")]
    state: MoveState
    reason: str


class MovesAnswer(BaseModel):
    """The newest first."""

    moves: list[MoveAnswer]


class DrainAnswer(BaseModel):
    """How many users are asked to move."""

    moves: int


class BrokerStatus(BaseModel):
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
    capacity: int | None
    pid: int
    since: float


class StatusAnswer(BaseModel):
    """`moves` counts them by state; `balancer` is what the balancer is at."""

    brokers: list[BrokerStatus]
    moves: dict[str, int]
    kind: str
    plan: str
    digest: str
    placement: str
    period_seconds: int
    balancer: str


class SubchannelsAnswer(BaseModel):
    axes: list[control.Axis]


class TopicsAnswer(BaseModel):
    """Messages a period of each topic; 0 where no plan says. `homes` and `targets`
    (milliseconds) are those of a co-location plan."""

    topics: dict[str, int]
    homes: dict[str, str]
    targets: dict[str, float]
