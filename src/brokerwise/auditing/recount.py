"""What a placement amounts to, counted from its pairs.

Both engines fill in a `Recount`; the judgement on it is written once. The value of
pairs, stated again: a pair is worth its rate, times the weight of its topic and of its
subscriber where those have one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from brokerwise.model.arrays import Int64s

Example = TypeVar("Example", bound=tuple[int, ...])
# Sums up to here, added up in floating point, fit in 64 bits for certain.
_SAFE = float(2**62)


class BrokerCount(NamedTuple):
    """What one broker carries. `incoming` and `outgoing` add up to its load."""

    topics: int
    pairs: int
    incoming: int
    outgoing: int

    @property
    def load(self) -> int:
        return self.incoming + self.outgoing


class Run(NamedTuple):
    """Pairs of a topic on a broker: found in the placement, said by the plan.

    `rows` is how often the plan's assignment lists this topic and broker.
    """

    topic: int
    broker: int
    found: int
    said: int
    rows: int


class Worth(NamedTuple):
    """What a plan to fill is about: the rate of all pairs that are wanted, what those
    are worth and what those are that brokers carry, and how many of the topics that
    are wanted no broker can carry."""

    wanted: int
    wanted_value: int
    served_value: int
    left_out: int


class Row(NamedTuple):
    """A subscriber's row of the placement; how often it is there."""

    subscriber: int
    rows: int


class Step(NamedTuple):
    """Two rows of the placement that follow each other in the wrong order."""

    subscriber: int
    after: int


class Lists(NamedTuple):
    """A row whose lists differ in length."""

    subscriber: int
    topics: int
    brokers: int


class Pair(NamedTuple):
    """A pair, and how often it is served."""

    subscriber: int
    topic: int
    times: int


class Shortfall(NamedTuple):
    """A subscriber that receives less than its threshold."""

    subscriber: int
    received: int
    threshold: int


@dataclass(frozen=True)
class Tally(Generic[Example]):
    """How many there are, and the first few."""

    total: int = 0
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Recount:
    """The truth about a placement.

    `brokers` holds the brokers of the plan that carry something. Pairs on other
    brokers are in `unhosted` and load nothing; topics the workload does not have
    count with rate 0. Where lists differ in length the longer one's end is ignored.
    Only plans to fill have a `worth`.
    """

    subscribers: int
    brokers: Mapping[int, BrokerCount]
    runs: Tally[Run] = field(default_factory=Tally)
    unhosted: Tally[Run] = field(default_factory=Tally)
    missing: Tally[Row] = field(default_factory=Tally)
    strangers: Tally[Row] = field(default_factory=Tally)
    doubled: Tally[Row] = field(default_factory=Tally)
    disordered: Tally[Step] = field(default_factory=Tally)
    misaligned: Tally[Lists] = field(default_factory=Tally)
    repeated: Tally[Pair] = field(default_factory=Tally)
    unwanted: Tally[Pair] = field(default_factory=Tally)
    short: Tally[Shortfall] = field(default_factory=Tally)
    worth: Worth | None = None

    def total(self) -> BrokerCount:
        """All brokers together; a topic counts once for each that carries it."""
        counts = (BrokerCount(0, 0, 0, 0), *self.brokers.values())
        return BrokerCount(*(sum(column) for column in zip(*counts, strict=True)))

    def named_topics(self) -> set[int]:
        """The topics that a message will name."""
        return {
            *(run.topic for run in self.runs.examples),
            *(run.topic for run in self.unhosted.examples),
            *(pair.topic for pair in self.repeated.examples),
            *(pair.topic for pair in self.unwanted.examples),
        }

    def named_subscribers(self) -> set[int]:
        """The subscribers that a message will name."""
        return {
            *(row.subscriber for row in self.missing.examples),
            *(row.subscriber for row in self.doubled.examples),
            *(row.subscriber for row in self.misaligned.examples),
            *(pair.subscriber for pair in self.repeated.examples),
            *(pair.subscriber for pair in self.unwanted.examples),
            *(short.subscriber for short in self.short.examples),
            *(id for step in self.disordered.examples for id in step),
        }


@dataclass(frozen=True, eq=False)
class TopicSums:
    """By topic: how many subscribers want it, what those weigh together, and what
    those weigh who are served."""

    followers: npt.NDArray[np.integer]
    wanted: npt.NDArray[np.integer]
    served: npt.NDArray[np.integer]


def worth_of(
    sums: TopicSums, rates: Int64s, weights: Int64s | None, largest: int
) -> Worth:
    """What the sums come to; `weights` are those of topics, `largest` is what one
    broker can carry at most."""
    weight = np.ones_like(rates) if weights is None else weights
    # Already one pair takes twice its rate: once in, once out.
    homeless = rates > largest // 2
    return Worth(
        wanted=_exact_sum(rates, sums.followers),
        wanted_value=_exact_sum(rates, weight, sums.wanted),
        served_value=_exact_sum(rates, weight, sums.served),
        left_out=int(np.count_nonzero(homeless & (sums.followers > 0))),
    )


def _exact_sum(*factors: npt.NDArray[np.integer]) -> int:
    """The sum of products of numbers from 0 up, however large."""
    products = np.prod([f.astype(np.float64) for f in factors], axis=0)
    kind = np.int64 if products.sum() <= _SAFE else object
    exact = np.ones(len(products), kind)
    for factor in factors:
        exact *= factor.astype(kind)
    return int(exact.sum())
