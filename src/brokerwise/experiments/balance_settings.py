"""The settings of the experiments of Nguyen et al., a cell for each run.

Two worlds: the emergency city, which is their prototype's application, and their
simulation. The paper gives thresholds for the simulation only; those of the city are
ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from brokerwise.experiments.balance_published import (
    ALPHA,
    BETA,
    BROKERS,
    LEAST_ALPHA,
    SUBSCRIBERS,
)
from brokerwise.experiments.emergency.simulating import BROKERS as CITY_BROKERS

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
