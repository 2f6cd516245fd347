"""What the coordinator answers about the balance of a fleet."""

from dataclasses import dataclass, field
from typing import Any

UNDER_WAY = ("starting", "running")


@dataclass(frozen=True)
class BrokerLoad:
    """In bytes a second."""

    broker: str
    load: float
    sessions: int


@dataclass(frozen=True)
class Balance:
    """`mode` is manual or automatic, `mind` what the balancer is at, in words. Loads
    are bytes a second; `problem` says why they cannot be had."""

    mode: str
    paused: bool
    mind: str
    moves_under_way: int
    brokers: tuple[BrokerLoad, ...]
    measured: float | None
    max_load: float | None
    mean_load: float | None
    cov: float | None
    problem: str = ""
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BrokerChange:
    broker: str
    load: float
    load_after: float
    arriving: int
    leaving: int


@dataclass(frozen=True)
class Cost:
    """In dollars, of the fleet as it is and as it would be."""

    hour: float
    hour_after: float
    month: float
    month_after: float


@dataclass(frozen=True)
class Proposal:
    """`kind` is moves, scale-out or scale-in. Loads are bytes a second; no placement
    has a lower maximum than `bound`."""

    kind: str
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


@dataclass(frozen=True)
class PlannedMove:
    id: int
    user: str
    state: str
    reason: str


@dataclass(frozen=True)
class Decision:
    """`state` is noted, proposed, starting, running, done, failed or outdated; times
    are seconds since 1970. `states` counts its moves that were begun. `begins`: by this
    approval, and not by one before. `moves`, and whether the balancer is `paused`, are
    given where one decision is asked for."""

    number: int
    digest: str
    at: float
    state: str
    automatic: bool
    policy: str
    reason: str
    begun: float | None
    ended: float | None
    outcome: str
    states: dict[str, int]
    proposal: Proposal | None
    begins: bool = False
    paused: bool = False
    moves: tuple[PlannedMove, ...] = ()

    @property
    def is_under_way(self) -> bool:
        return self.state in UNDER_WAY


@dataclass(frozen=True)
class Decisions:
    decisions: tuple[Decision, ...]


@dataclass(frozen=True)
class Wanted:
    brokers: tuple[str, ...]
