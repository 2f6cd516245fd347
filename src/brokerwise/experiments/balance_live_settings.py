"""The runs of the emergency city on real processes, a cell each."""

from dataclasses import dataclass
from typing import Any

from brokerwise.experiments.balance_settings import (
    CITY,
    GAMMA,
    NEAREST,
    PLACEMENTS,
    TOGETHER,
)

WORLD = "live"
MINUTES = 5.0
"""Unless told: all of it is then there and balanced for half of the time."""
_ALONE = ("none", "ldm", "sdm")


@dataclass(frozen=True)
class LiveCell:
    """A fleet, its placement and policy; the city's thresholds, and its users."""

    placement: str
    policy: str
    minutes: float = MINUTES
    brokers: int = CITY.brokers
    users: int = CITY.subscribers
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{WORLD}-{self.placement}-{self.policy}"

    @property
    def title(self) -> str:
        return f"live, {self.placement}, {self.policy}"

    def inputs(self) -> dict[str, Any]:
        """All that was chosen about it."""
        return {
            "world": WORLD,
            "brokers": self.brokers,
            "subscribers": self.users,
            "minutes": self.minutes,
            "placement": self.placement,
            "policy": self.policy,
            "alpha": CITY.alpha,
            "beta": CITY.beta,
            "gamma": GAMMA,
            "seed": self.seed,
        }


def live_cells(minutes: float = MINUTES, seed: int = 0) -> list[LiveCell]:
    """Nearest placement with everything, as that is where most is to be seen; then
    the paper's others."""
    near = (*_ALONE, "gsh", "planned", *TOGETHER)
    pairs = [(NEAREST, policy) for policy in near]
    pairs += [(p, policy) for p in PLACEMENTS if p != NEAREST for policy in _ALONE]
    return [
        LiveCell(placement, policy, minutes, seed=seed) for placement, policy in pairs
    ]
