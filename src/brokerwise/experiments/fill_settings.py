"""The settings of Lambert and Sakellariou's experiment, a cell for each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from brokerwise.experiments.fill_published import (
    RECEIVED,
    RECEIVED_CAPACITY,
    RECEIVED_DISTRIBUTION,
    SOLVED,
    Received,
)
from brokerwise.pipeline.trace import RateRange, Uniform


@dataclass(frozen=True)
class Distribution:
    """How rates of topics are drawn; `family` is what the paper calls it."""

    key: str
    family: str
    title: str
    rates: str


HOMOGENEOUS = Distribution("homogeneous", "Homogeneous", "Homogeneous", "10")
LOW_PRINTED = Distribution("low-8-19", "LowVariance", "LowVariance 8-19", "8-19")
LOW_MEANT = Distribution("low-8-12", "LowVariance", "LowVariance 8-12", "8-12")
"""The paper prints 8 to 19, whose mean is 13.5; with 8 to 12 it is 10, as that of the
other two, and its figures fit."""
HIGH = Distribution("high", "HighVariance", "HighVariance", "1-19")
DISTRIBUTIONS = (HOMOGENEOUS, LOW_PRINTED, LOW_MEANT, HIGH)


@dataclass(frozen=True)
class Shape:
    """Sizes of instances: each subscriber wants `each` of the topics."""

    topics: int
    subscribers: int
    each: int

    def trace(self, distribution: Distribution) -> Uniform:
        rates = RateRange.parse(distribution.rates)
        return Uniform(self.topics, self.subscribers, self.each, rates)

    @property
    def pairs(self) -> int:
        return self.subscribers * self.each

    @cached_property
    def wanted_topics(self) -> float:
        """Topics that somebody wants, on average."""
        unwanted = (1 - self.each / self.topics) ** self.subscribers
        return self.topics * (1 - unwanted)


SMALL = (Shape(100, 100, 5), Shape(1000, 100, 5))
SCALED = (Shape(1000, 1000, 50), Shape(10_000, 1000, 50))
SMALL_CAPACITIES = (200, 500)
SMALL_BROKERS = tuple(range(5, 51, 5))
SCALED_BROKERS = tuple(range(50, 501, 50))
# Figures 10 and 11, 12, 13.
SCALED_SETTINGS = ((SCALED[0], 5000), (SCALED[1], 5000), (SCALED[0], 2000))
CERTIFIED_BROKERS = (100, 250)
CERTIFIED_INSTANCES = 3
"""Of the scaled cells those that `columns` also fills, and how many instances: the
paper has no ILP there."""


@dataclass(frozen=True)
class Cell:
    """One setting: `brokers` of `capacity`, filled with instances of one shape.

    `columns` is the number of instances that the solver with a certificate gets as
    well as the heuristics; None is all.
    """

    shape: Shape
    distribution: Distribution
    capacity: int
    brokers: int
    columns: int | None = None

    @property
    def name(self) -> str:
        """A file's name, different for different settings."""
        s = self.shape
        sizes = f"{s.topics}x{s.subscribers}x{s.each}"
        return f"{sizes}-{self.distribution.key}-b{self.capacity}-m{self.brokers}"

    @property
    def title(self) -> str:
        return (
            f"{self.shape.topics:,} topics, {self.distribution.title}, "
            f"{self.brokers} x {self.capacity:,}"
        )

    @property
    def small(self) -> bool:
        return self.shape in SMALL

    @property
    def tried(self) -> bool:
        """Whether the paper says how many instances its ILP solved."""
        return self.small and self.solved is not None

    @property
    def solved(self) -> int | None:
        """Instances, of 50, that the paper's ILP solved in an hour."""
        table = SOLVED.get(self.shape.topics) if self.small else None
        known = table and table.get((self.distribution.family, self.capacity))
        return known.of(self.brokers) if known else None

    @property
    def received(self) -> Received | None:
        """What Tables III and IV say of it."""
        common = (RECEIVED_DISTRIBUTION, RECEIVED_CAPACITY)
        if not self.small or (self.distribution.family, self.capacity) != common:
            return None
        return RECEIVED.get(self.shape.topics, {}).get(self.brokers)

    @property
    def short(self) -> bool:
        """Whether bandwidth is short, as far as averages tell; else it is easy."""
        rates = RateRange.parse(self.distribution.rates)
        mean = (rates.least + rates.most) / 2
        needed = (self.shape.pairs + self.shape.wanted_topics) * mean
        return self.brokers * self.capacity < needed


def every_cell(quick: bool = False) -> list[Cell]:
    """All of the paper's cells, in an order in which a part of them is of use.

    First Tables III and IV, then what the paper's ILP was tried on, then the scaled
    ones, then the rest. `quick` certifies fewer of the scaled instances.
    """
    cells = [*_small(), *_scaled(1 if quick else CERTIFIED_INSTANCES)]
    return sorted(cells, key=_turn)  # stable: otherwise as they are


def _turn(cell: Cell) -> int:
    if cell.received is not None:
        return 0
    if cell.tried:
        return 1
    return 3 if cell.small else 2


def _small() -> Iterator[Cell]:
    for shape in SMALL:
        for distribution in DISTRIBUTIONS:
            for capacity in reversed(SMALL_CAPACITIES):
                for brokers in SMALL_BROKERS:
                    yield Cell(shape, distribution, capacity, brokers)


def _scaled(certified: int) -> Iterator[Cell]:
    for shape, capacity in SCALED_SETTINGS:
        for distribution in DISTRIBUTIONS:
            for brokers in SCALED_BROKERS:
                number = certified if brokers in CERTIFIED_BROKERS else 0
                yield Cell(shape, distribution, capacity, brokers, columns=number)
