"""What may be chosen about how a fleet is balanced."""

from dataclasses import dataclass
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stop, check_name, never

POLICIES = ("none", "ldm", "sdm", "gsh", "ldm+gsh", "sdm+gsh", "planned")
"""The paper's stages by their names, alone and together; `planned` is ours."""


@dataclass(frozen=True)
class PolicyOptions:
    """When to move sessions, and how many: declared here once, for planners, running
    fleets and simulations.

    Attributes
    ----------
    alpha, beta
        Sessions move only while cov is above `alpha` and the mean load above `beta`,
        in the unit of the snapshot's rates.
    gamma, theta
        The same for a shuffle of all sessions (`gsh`).
    max_moves, max_bytes
        At most so many sessions, with at most so much state to copy; None: any. For
        `planned`; the paper's policies end where these are used up.
    hot
        Relieve only brokers whose load is above (1 + hot) times the mean, and only
        until it is not; None: all.
    """

    policy: str = "planned"
    alpha: float = 0.1
    beta: float = 0.0
    gamma: float = 0.5
    theta: float = 0.0
    max_moves: int | None = None
    max_bytes: int | None = None
    hot: float | None = None

    def __post_init__(self) -> None:
        check_name("policy", self.policy, POLICIES)
        for field in ("alpha", "beta", "gamma", "theta", "hot"):
            found = getattr(self, field)
            if found is not None and not (isfinite(found) and found >= 0):
                raise InputError(f"{field}: found {found!r}, expected 0 or more")
        for field in ("max_moves", "max_bytes"):
            if getattr(self, field) is not None:
                checked_count(getattr(self, field), field)


@dataclass(frozen=True)
class Options(PolicyOptions):
    """What a planner is asked for."""

    stop: Stop = never
