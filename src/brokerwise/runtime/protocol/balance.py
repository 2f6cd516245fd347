"""What operators and the coordinator tell each other about the balance of a fleet.

Loads, and the options `beta`, `theta` and `capacity`, are bytes a second; times are
seconds since 1970.
"""

from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from brokerwise.planners.balance.problem import POLICIES, PolicyOptions
from brokerwise.runtime.protocol.fields import Count, matching, one_of
from brokerwise.runtime.protocol.fleet import PlannedMove

_MOST_BYTES_PER_SECOND = 1e14
_MOST_SECONDS = 1e6

Share = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Bandwidth = Annotated[float, msgspec.Meta(ge=0, le=_MOST_BYTES_PER_SECOND)]
Capacity = Annotated[float, msgspec.Meta(ge=1, le=_MOST_BYTES_PER_SECOND)]
Price = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class BalanceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to balance: as the planner's `PolicyOptions`, which explains them, but by
    the second. `capacity` is what a broker can carry: with it more or fewer brokers may
    be proposed. `broker_hour` is what one costs, in dollars. `hot` 0.2 relieves only
    brokers that are 20 % above the mean, `max_bytes` bounds the state that is copied.
    """

    policy: Annotated[str, one_of(POLICIES)] = PolicyOptions.policy
    alpha: Share = PolicyOptions.alpha
    beta: Bandwidth = PolicyOptions.beta
    gamma: Share = PolicyOptions.gamma
    theta: Bandwidth = PolicyOptions.theta
    max_moves: Count | None = PolicyOptions.max_moves
    max_bytes: Count | None = PolicyOptions.max_bytes
    hot: Share | None = PolicyOptions.hot
    capacity: Capacity | None = None
    broker_hour: Price | None = None


class AutomaticOptions(BalanceOptions, frozen=True, kw_only=True):
    """`every_seconds` the balancer looks, and acts when `confirm` looks in a row call
    for it; a session that was moved rests for `window_seconds`, and within any hour at
    most `hourly_moves` are made."""

    every_seconds: Annotated[float, msgspec.Meta(ge=0.1, le=_MOST_SECONDS)] = 10.0
    window_seconds: Annotated[float, msgspec.Meta(ge=0, le=_MOST_SECONDS)] = 300.0
    confirm: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 2
    hourly_moves: Count | None = None


class ModeRequest(AutomaticOptions, frozen=True, kw_only=True):
    """Whether the balancer decides by itself, and by which options."""

    automatic: bool


class ApprovalRequest(msgspec.Struct, frozen=True):
    """The beginning of a digest, or all of it."""

    digest: Annotated[str, matching("^[0-9a-f]{6,64}$", example="0a1b2c3d4e5f")]


class BrokerLoad(msgspec.Struct, frozen=True):
    broker: str
    load: float
    sessions: int


class Balance(msgspec.Struct, frozen=True):
    """`balancer_status` is what the balancer is doing, in words. Loads are as they were
    `measured`; if they cannot be had, `problem` says why."""

    mode: Literal["manual", "automatic"]
    paused: bool
    balancer_status: str
    moves_under_way: int
    brokers: tuple[BrokerLoad, ...] = ()
    measured: float | None = None
    max_load: float | None = None
    mean_load: float | None = None
    cov: float | None = None
    problem: str = ""
    options: AutomaticOptions = AutomaticOptions()


class BrokerChange(msgspec.Struct, frozen=True):
    """Sessions come and go."""

    broker: str
    load: float
    load_after: float
    arriving: int
    leaving: int


class Cost(msgspec.Struct, frozen=True):
    """In dollars, of the fleet as it is and as it would be."""

    hour: float
    hour_after: float
    month: float
    month_after: float


class Proposal(msgspec.Struct, frozen=True):
    """`bound`: no placement has a lower maximum load. `added` brokers are started
    first, `closing` ones end last."""

    kind: Literal["moves", "scale-out", "scale-in"]
    brokers: tuple[BrokerChange, ...]
    added: tuple[str, ...]
    closing: tuple[str, ...]
    max_load: float
    max_load_after: float
    bound: float
    cov: float
    cov_after: float
    moves: int
    state_bytes: int
    capacity: float | None = None
    cost: Cost | None = None


class DecisionState(StrEnum):
    """`noted`: there is nothing to do, only to know. `starting`: it waits for brokers
    that it needs. `outdated`: something else was done."""

    NOTED = "noted"
    PROPOSED = "proposed"
    STARTING = "starting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    OUTDATED = "outdated"


class Decision(msgspec.Struct, frozen=True):
    """Without a proposal it is something to know only. `automatic`: nobody asked for
    it. `outcome` says what came of it; `states` counts its moves that were begun."""

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
    proposal: Proposal | None

    @property
    def is_under_way(self) -> bool:
        return self.state in (DecisionState.STARTING, DecisionState.RUNNING)


class Approval(Decision, frozen=True):
    """`begins`: by this approval; if not, it was approved before."""

    begins: bool


class DecisionDetails(Decision, frozen=True):
    """With its moves. `paused`: the balancer is."""

    moves: tuple[PlannedMove, ...]
    paused: bool


class Decisions(msgspec.Struct, frozen=True):
    """The newest first."""

    decisions: tuple[Decision, ...]


class AwaitedBrokers(msgspec.Struct, frozen=True):
    """Brokers that have to be started: an approved decision waits for them."""

    brokers: tuple[str, ...]
