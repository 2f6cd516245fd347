"""What Zhao and Wu (IEEE SECON 2011) print, and our settings.

Figures 9 and 10 are plots without numbers; what is known of them is the text's order
of the algorithms. Table I is all there is in numbers. The paper does not say how link
costs are drawn, so there are two readings, `plane` and `independent`; and a regime of
ours in which the core matters.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s
from brokerwise.pipeline.networks.files import read_latency
from brokerwise.pipeline.networks.generate import INDEPENDENT, PLANE, NetworkSettings
from brokerwise.storage.place import Place

MIXING = "mixing"
ORDER = (MIXING, "clustering", "greedy")
"""From the largest cost reduction ratio to the smallest, which is above that of random
(1). Theirs of Figure 9, and of Figure 10 at ratio 1. Their mixing is `steiner_literal`;
`steiner` is our variant of it."""

SAMPLES = 100
"""Networks of each setting."""

PAPERS = ("greedy", "clustering", "steiner")
"""Algorithms that wire all samples; `steiner` is our variant of the paper's mixing."""
LITERAL = "steiner_literal"
"""The paper's own mixing."""
OURS = "local"
TABLE_I: Mapping[str, float] = {
    "random": 0.9,
    "greedy": 91.445,
    "clustering": 100.235,
    "steiner_literal": 179.654,
}
"""Seconds at 10,000 users, 100 brokers and ratio 1: C++ without optimisation, one core
of a processor of 2008."""


USERS_PER_BROKER = 100
SIZES = tuple(range(1000, 10_001, 1000))
QUICK_SIZES = (1000, 2000)
QUICK_RATIOS = (0.01, 0.1, 1.0, 10.0)
QUICK_SAMPLES = 10
LOCAL_SAMPLES = 10
"""Of networks with more users than `LOCAL_USERS`, those that `local` wires, too."""
LOCAL_USERS = 3000
LITERAL_SAMPLES = 10
"""Samples that `steiner_literal` wires, up to `LITERAL_USERS`. Of larger networks,
which take up to a minute, only the first of the largest, at the ratio of
Figure 9."""
LITERAL_USERS = 3000
SITES_USERS = 3000
QUICK_SITES_USERS = 1000
SITES_SAMPLES = 10
NARROW = 0.02
"""Share of the content space of the widest narrow interest: two of 100 sub-channels."""


@dataclass(frozen=True, eq=False)
class Sites:
    """Latencies between the sites of a file, NaN where unknown."""

    name: str
    latency: Float64s

    @classmethod
    def read(cls, path: Path) -> "Sites":
        return cls(path.stem, read_latency(Place(str(path))).costs)

    @property
    def digest(self) -> str:
        numbers = np.ascontiguousarray(self.latency, "<f8")
        return hashlib.sha256(numbers.tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class Regime:
    """How links cost and what users want.

    `ratio` is that of Figure 9; `ratios` those of Figure 10, with it among them.
    """

    key: str
    title: str
    ratio: float
    ratios: tuple[float, ...]
    costs: str = PLANE
    width: float = 1.0
    sites: Sites | None = None


_PAPER_RATIOS = (1.0, 2.0, 5.0, 10.0)
REGIMES = (
    Regime("plane", "plane", 1.0, _PAPER_RATIOS),
    Regime("independent", "independent", 1.0, _PAPER_RATIOS, costs=INDEPENDENT),
    Regime(
        "core",
        "core matters (plane, narrow interests, dear core)",
        0.01,
        (0.01, 0.03, 0.1, 0.3, 1.0, 10.0),
        width=NARROW,
    ),
)


@dataclass(frozen=True)
class Cell:
    """Networks of one size, wired at each of the ratios.

    `local` is the number of samples, the first ones, that `local` wires as well, and
    `literal` of those that `steiner_literal` does.
    """

    regime: Regime
    users: int
    ratios: tuple[float, ...]
    samples: int
    local: int
    subchannels: int = 100
    literal: int = 0

    @property
    def brokers(self) -> int:
        return max(1, self.users // USERS_PER_BROKER)

    @property
    def name(self) -> str:
        """A file's name, different for different settings of an experiment."""
        return f"{self.regime.key}-{self.users}"

    @property
    def title(self) -> str:
        return f"{self.regime.title}, {self.users:,} users"

    def is_literal(self, number: int, ratio: float) -> bool:
        """Whether `steiner_literal` wires a sample at a ratio."""
        affordable = self.users <= LITERAL_USERS or ratio == self.regime.ratio
        return number < self.literal and affordable

    def settings(self, ratio: float) -> NetworkSettings:
        regime = self.regime
        return NetworkSettings(
            users=self.users,
            brokers=self.brokers,
            subchannels=self.subchannels,
            costs=regime.costs,
            ratio=ratio,
            width=regime.width,
            latency=None if regime.sites is None else regime.sites.latency,
        )

    def inputs(self) -> dict[str, Any]:
        """All that a sample's result depends on, but for its number and the seed."""
        sites = self.regime.sites
        return {
            **self.settings(1.0).as_json(),
            "ratio": list(self.ratios),
            "latency": None if sites is None else sites.digest,
        }


def every_cell(
    *, quick: bool = False, samples: int | None = None, sites: Sequence[Sites] = ()
) -> list[Cell]:
    """All of the paper's cells, and those at the sites of latency files.

    The largest network of each regime is wired at all ratios of Figure 10, of which
    one is Figure 9's.
    """
    sizes = QUICK_SIZES if quick else SIZES
    number = samples or (QUICK_SAMPLES if quick else SAMPLES)
    cells = [
        _cell(regime, users, number, sweep=users == max(sizes))
        for regime in (map(_quick, REGIMES) if quick else REGIMES)
        for users in sizes
    ]
    users = QUICK_SITES_USERS if quick else SITES_USERS
    for place in sites:
        for regime in _regimes_at(place):
            few = min(number, SITES_SAMPLES)
            cells.append(_cell(regime, users, few, sweep=True))
    return cells


def _quick(regime: Regime) -> Regime:
    fewer = tuple(ratio for ratio in regime.ratios if ratio in QUICK_RATIOS)
    return replace(regime, ratios=fewer)


def _cell(regime: Regime, users: int, samples: int, *, sweep: bool) -> Cell:
    ratios = regime.ratios if sweep else (regime.ratio,)
    local = samples if users <= LOCAL_USERS else min(samples, LOCAL_SAMPLES)
    literal = LITERAL_SAMPLES if users <= LITERAL_USERS else int(sweep)
    return Cell(regime, users, ratios, samples, local, literal=min(samples, literal))


def _regimes_at(place: Sites) -> Iterator[Regime]:
    """Latencies as they are, and divided so that those between brokers matter."""
    key, name = f"{place.name}-{place.digest[:6]}", place.name
    yield Regime(f"{key}-wide", f"{name}, any interests", 1.0, (1.0,), sites=place)
    yield Regime(
        f"{key}-narrow",
        f"{name}, narrow interests",
        1.0,
        (0.01, 1.0),
        width=NARROW,
        sites=place,
    )
