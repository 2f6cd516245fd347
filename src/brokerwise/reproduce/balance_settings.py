"""What Nguyen et al. (DEBS 2019) print, and our settings: a cell for each run.

Two worlds: the emergency city, which is their prototype's application, and their
simulation. The paper gives thresholds for the simulation only; those of the city are
ours. The city also runs on real processes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from brokerwise.reproduce.emergency.rates import BROKERS as CITY_BROKERS

BROKERS, SUBSCRIBERS = 10, 10_000
"""Of the simulation."""
CROWDED, SPARSE = 2_000, 500
"""Nearest placement: one broker has more subscribers, others have fewer."""
ALPHA, BETA = 0.15, 300e6
"""Of LDM in Figure 13; bytes a second."""
LEAST_ALPHA = 0.05
"""The smallest of Figure 14."""
PLACEMENTS = ("random", "round-robin", "nearest")
NEAREST = "nearest"
POLICIES = ("none", "ldm", "sdm", "gsh", "planned")
TOGETHER = ("ldm+gsh", "sdm+gsh")
"""Figure 9, with nearest placement only."""
GIVEN = "@"
PAPERS, OURS = "ldm", "planned"
MATCHED, PACED = f"{OURS}{GIVEN}{PAPERS}", f"{PAPERS}{GIVEN}{PAPERS}"
"""What is compared over many seeds. `planned@ldm` is planned with the number of moves
that LDM makes in the whole run as its budget, whatever the mean load, and a share of
all sessions at a time. `ldm@ldm` is LDM under the same conditions."""
STEP = 0.01
"""The share of all sessions that a decision moves at most under a budget."""
GAMMA = 0.5
"""Above which cov calls for a shuffle: between what random and nearest placement
give."""
ALPHAS = (LEAST_ALPHA, 0.1, ALPHA, 0.2, 0.3)
BETAS = (BETA, 450e6, 600e6)
SEEDS = 20
QUICK_SEEDS = 3
CITY_SEEDS = 10
"""Of the city where little is moved: what they differ by is noise."""
REPEATED = ("none", "ldm", "sdm")


@dataclass(frozen=True)
class Setting:
    """A world; `alpha` and `beta`, in bytes a second, are those of its figures."""

    key: str
    title: str
    brokers: int
    subscribers: int
    minutes: float
    alpha: float
    beta: float


CITY = Setting("emergency", "emergency city", CITY_BROKERS, 400, 30, ALPHA, 50e3)
PAPER = Setting("simulation", "simulation", BROKERS, SUBSCRIBERS, 30, ALPHA, BETA)
QUICK = replace(PAPER, subscribers=SUBSCRIBERS // 5, minutes=15, beta=BETA / 5)
"""A fifth of the subscribers is about a fifth of the load."""


@dataclass(frozen=True)
class Cell:
    """A run: a world of a seed, a placement, a policy and its thresholds."""

    setting: Setting
    placement: str
    policy: str
    alpha: float
    beta: float
    seed: int

    @property
    def name(self) -> str:
        """A file's name, different for different cells of an experiment."""
        return (
            f"{self.setting.key}-{self.placement}-{self.policy}-{self.alpha:g}-"
            f"{self.beta / 1e3:g}-{self.seed}"
        )

    @property
    def title(self) -> str:
        return f"{self.setting.title}, {self.placement}, {self.policy}"

    def inputs(self) -> dict[str, Any]:
        """All that its result depends on."""
        setting = self.setting
        return {
            "world": setting.key,
            "brokers": setting.brokers,
            "subscribers": setting.subscribers,
            "minutes": setting.minutes,
            "placement": self.placement,
            "policy": self.policy,
            "alpha": self.alpha,
            "beta": self.beta,
            "gamma": GAMMA,
            "seed": self.seed,
        }


def every_cell(*, quick: bool = False, seed: int = 0) -> list[Cell]:
    """Figures 5 to 12 in the city, 13 and 14 in the paper's simulation, and ours
    against LDM over many seeds; what several have in common is there once."""
    paper = QUICK if quick else PAPER
    found = [
        *_figures(CITY, seed),
        *_repeats(CITY, seed, QUICK_SEEDS if quick else CITY_SEEDS),
        *_figures(paper, seed),
        *_sweep(paper, seed, paper.beta / PAPER.beta),
        *_seeds(paper, seed, QUICK_SEEDS if quick else SEEDS),
    ]
    return list(dict.fromkeys(found))


def figure(setting: Setting, placement: str, policy: str, seed: int) -> Cell:
    """One with its setting's thresholds."""
    return Cell(setting, placement, policy, setting.alpha, setting.beta, seed)


def _figures(setting: Setting, seed: int) -> Iterator[Cell]:
    for placement in PLACEMENTS:
        more = (*TOGETHER, MATCHED, PACED) if placement == NEAREST else ()
        for policy in (*POLICIES, *more):
            yield figure(setting, placement, policy, seed)


def _repeats(setting: Setting, seed: int, number: int) -> Iterator[Cell]:
    """Figures 5 to 7 with other seeds."""
    for one in range(seed, seed + number):
        for placement in PLACEMENTS:
            if placement != NEAREST:
                for policy in REPEATED:
                    yield figure(setting, placement, policy, one)


def _sweep(setting: Setting, seed: int, scale: float) -> Iterator[Cell]:
    """Figure 14."""
    for alpha in ALPHAS:
        for beta in BETAS:
            for policy in (PAPERS, OURS):
                yield Cell(setting, NEAREST, policy, alpha, beta * scale, seed)


def _seeds(setting: Setting, seed: int, number: int) -> Iterator[Cell]:
    for one in range(seed, seed + number):
        for policy in (PAPERS, OURS, MATCHED, PACED):
            yield figure(setting, NEAREST, policy, one)


# Runs on real processes


LIVE = "live"
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
        return f"{LIVE}-{self.placement}-{self.policy}"

    @property
    def title(self) -> str:
        return f"live, {self.placement}, {self.policy}"

    def inputs(self) -> dict[str, Any]:
        """All that was chosen about it."""
        return {
            "world": LIVE,
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
