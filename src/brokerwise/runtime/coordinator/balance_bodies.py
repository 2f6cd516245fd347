"""What requests to the balancer and its answers look like."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, FiniteFloat

from brokerwise.runtime.coordinator.balance.options import BalanceOptions
from brokerwise.runtime.coordinator.balance.proposals import DecisionState
from brokerwise.runtime.net.fields import Body, Count

MOST_BYTES_PER_SECOND = 1e14
MOST_SECONDS = 1e6

Share = Annotated[FiniteFloat, Field(ge=0, le=1e6)]
Bandwidth = Annotated[FiniteFloat, Field(ge=0, le=MOST_BYTES_PER_SECOND)]
Capacity = Annotated[FiniteFloat, Field(ge=1, le=MOST_BYTES_PER_SECOND)]
Price = Annotated[FiniteFloat, Field(ge=0, le=1e12)]


class Request(Body):
    """How to balance. `beta`, `theta` and `capacity` (what a broker can carry) are
    bytes a second, `broker_hour` is dollars, `hot` 0.2 relieves only brokers that are
    20 % above the mean, `max_bytes` bounds the state that is copied."""

    policy: Literal["none", "ldm", "sdm", "gsh", "ldm+gsh", "sdm+gsh", "planned"] = (
        "planned"
    )
    alpha: Share = BalanceOptions.alpha
    beta: Bandwidth = BalanceOptions.beta
    gamma: Share = BalanceOptions.gamma
    theta: Bandwidth = BalanceOptions.theta
    max_moves: Count | None = None
    max_bytes: Count | None = None
    hot: Share | None = None
    capacity: Capacity | None = None
    broker_hour: Price | None = None

    def wishes(self) -> BalanceOptions:
        return BalanceOptions(**self.model_dump())


class ModeRequest(Request):
    """`every_seconds` it looks, and acts when `confirm` looks in a row call for it; a
    session that was moved rests for `window_seconds`, and within any hour at most
    `hourly_moves` are made."""

    automatic: bool
    every_seconds: Annotated[FiniteFloat, Field(ge=0.1, le=MOST_SECONDS)] = 10.0
    window_seconds: Annotated[FiniteFloat, Field(ge=0, le=MOST_SECONDS)] = 300.0
    confirm: Annotated[int, Field(ge=1, le=1_000)] = 2
    hourly_moves: Count | None = None

    def wishes(self) -> BalanceOptions:
        return BalanceOptions(**self.model_dump(exclude={"automatic"}))


class Approval(Body):
    """The beginning of a digest, or all of it."""

    digest: Annotated[str, Field(pattern="^[0-9a-f]{6,64}$")]


class BrokerLoad(BaseModel):
    broker: str
    load: float
    sessions: int


class BalanceAnswer(BaseModel):
    """`mind` is what the balancer is at, in words. Loads are bytes a second, as they
    were `measured` (seconds since 1970); if they cannot be had, `problem` says why."""

    mode: Literal["manual", "automatic"]
    paused: bool
    mind: str
    options: BalanceOptions
    moves_under_way: int
    brokers: list[BrokerLoad]
    measured: float | None
    max_load: float | None
    mean_load: float | None
    cov: float | None
    problem: str


class BrokerChange(BaseModel):
    """Sessions come and go; loads in bytes a second."""

    broker: str
    load: float
    load_after: float
    arriving: int
    leaving: int


class Cost(BaseModel):
    """In dollars."""

    hour: float
    hour_after: float
    month: float
    month_after: float


class ProposalAnswer(BaseModel):
    """`bound`: no placement has a lower maximum load. `added` brokers are started
    first, `closing` ones end last."""

    kind: Literal["moves", "scale-out", "scale-in"]
    brokers: list[BrokerChange]
    added: list[str]
    closing: list[str]
    max_load: float
    max_load_after: float
    bound: float
    cov: float
    cov_after: float
    moves: int
    state_bytes: int
    capacity: float | None
    cost: Cost | None


class DecisionAnswer(BaseModel):
    """Without a proposal it is something to know only. `states` counts the moves that
    were begun; times are seconds since 1970."""

    number: int
    digest: str
    at: float
    state: DecisionState
    automatic: bool
    policy: str
    reason: str
    begun: float | None
    ended: float | None
    outcome: str
    states: dict[str, int]
    proposal: ProposalAnswer | None


class ApprovalAnswer(DecisionAnswer):
    """`begins`: by this approval; if not, it was approved before."""

    begins: bool


class DecisionsAnswer(BaseModel):
    """The newest first."""

    decisions: list[DecisionAnswer]


class PlannedMove(BaseModel):
    """One that has not begun has number 0 and is `planned`."""

    id: int
    user: str
    source: Annotated[str, Field(alias="from")]
    target: Annotated[str, Field(alias="to")]
    state: str
    reason: str


class DecisionMovesAnswer(DecisionAnswer):
    """`paused`: the balancer is."""

    moves: list[PlannedMove]
    paused: bool


class WantedAnswer(BaseModel):
    """Brokers that have to be started: an approved decision waits for them."""

    brokers: list[str]
