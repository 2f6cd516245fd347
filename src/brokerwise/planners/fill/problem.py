"""What is wanted of each topic, how the planner may go about it, and answers as numbers
of pairs by topic and broker.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.load import broker_loads, refuse_overflow
from brokerwise.model.units import checked_count
from brokerwise.model.workload import Weights, Workload
from brokerwise.planners.control import Stage, Stop, check_name, never

ALGORITHMS = ("greedy", "mkp", "ilp", "columns")
BOUNDS = ("paper", "certified")


@dataclass(frozen=True)
class Options:
    """How to fill.

    Attributes
    ----------
    bound
        `certified` proves how good the plan is; `paper` is the bound of Lambert and
        Sakellariou, which takes no time and says little.
    stop
        Asked by long searches; once it says yes, the best so far is the answer.
    stage
        Entered with the name of each stage that begins.
    """

    algorithm: str = "columns"
    bound: str = "certified"
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("algorithm", self.algorithm, ALGORITHMS)
        check_name("bound", self.bound, BOUNDS)
        checked_count(self.seed, "seed")


@dataclass(frozen=True, eq=False)
class Demand:
    """Pairs of one topic load a broker alike, so they differ in value only.

    They are counted in classes of equal value, the most valuable first: those of
    topic t are starts[t] to starts[t + 1]. A plan serves the best pairs of a topic
    first, so that it is worth what the numbers of pairs by topic say.

    Attributes
    ----------
    rates
        Of each topic.
    value
        What one pair of a class is worth: its rate times its weights.
    pairs
        How many pairs a class has.
    """

    rates: Int64s
    starts: Int64s
    value: Int64s
    pairs: Int64s

    @classmethod
    def of(cls, workload: Workload, weights: Weights) -> "Demand":
        """The demand of a workload; refuses weights that do not fit it."""
        weights.check(workload)
        rates = workload.rates
        if weights.subscribers is None:
            topic, pairs = np.arange(len(rates)), workload.followers()
            weight = np.ones(len(rates), np.int64)
        else:
            topic, weight, pairs = _classes(workload, weights.subscribers)
        if weights.topics is not None:
            weight = weight * weights.topics[topic]
        times = weight.astype(np.float64) * pairs
        refuse_overflow("value of all pairs", rates[topic], times)
        return cls.of_classes(rates, topic, rates[topic] * weight, pairs)

    @classmethod
    def of_classes(
        cls, rates: Int64s, topic: Int64s, value: Int64s, pairs: Int64s
    ) -> "Demand":
        """From classes by topic, the most valuable first."""
        starts = np.searchsorted(topic, np.arange(len(rates) + 1))
        return cls(rates, starts, value, pairs)

    @property
    def topics(self) -> int:
        return len(self.rates)

    @cached_property
    def topic(self) -> Int64s:
        """The topic of each class."""
        return np.repeat(np.arange(self.topics), np.diff(self.starts))

    @cached_property
    def followers(self) -> Int64s:
        """How many pairs each topic has."""
        before = np.concatenate([[0], np.cumsum(self.pairs)])
        return np.diff(before[self.starts])

    @cached_property
    def better(self) -> Int64s:
        """For each class, how many pairs of its topic are worth more."""
        before: Int64s = np.concatenate([[0], np.cumsum(self.pairs)])
        return before[:-1] - before[self.starts[self.topic]]

    @property
    def total(self) -> int:
        """What all pairs are worth."""
        return int(self.value @ self.pairs)

    def carried(self, capacity: int) -> tuple["Demand", Int64s]:
        """What is worth something, load, and can be carried by a broker of this
        capacity; and the ids that its topics have here."""
        fits = (self.rates > 0) & (self.rates <= capacity // 2)
        kept = fits[self.topic] & (self.value > 0) & (self.pairs > 0)
        topic = self.topic[kept]
        ids, number = np.unique(topic, return_inverse=True)
        value, pairs = self.value[kept], self.pairs[kept]
        return Demand.of_classes(self.rates[ids], number, value, pairs), ids


def _classes(workload: Workload, weights: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Topic, weight of the subscriber, and pairs of each class, in order."""
    weight, rank = np.unique(-weights, return_inverse=True)
    key = workload.interests.topics.astype(np.int64) * max(1, len(weight))
    key += rank[workload.interests.owners()]
    found, pairs = np.unique(key, return_counts=True)
    topic, rank = np.divmod(found, max(1, len(weight)))
    return topic, -weight[rank], pairs


@dataclass(frozen=True, eq=False)
class Draft:
    """So many pairs of a topic on a broker; one entry for a topic and broker, in any
    order."""

    topic: Int32s
    broker: Int32s
    pairs: Int64s

    def served(self, demand: Demand) -> Int64s:
        """The pairs of each topic that are served."""
        count = np.bincount(self.topic, self.pairs, demand.topics)
        return count.astype(np.int64)

    def value(self, demand: Demand) -> int:
        """What it delivers: the best pairs of each topic are served first."""
        return served_value(demand, self.served(demand))

    def loads(self, demand: Demand, brokers: int) -> Int64s:
        return broker_loads(demand.rates, self.topic, self.broker, self.pairs, brokers)


def served_value(demand: Demand, served: Int64s) -> int:
    """What the best `served` pairs of each topic are worth."""
    return int(taken_by_class(demand, served) @ demand.value)


def taken_by_class(demand: Demand, served: Int64s) -> Int64s:
    """The pairs of each class that are served, with `served` of each topic."""
    of_class = served[demand.topic] - demand.better
    taken: Int64s = np.minimum(np.maximum(of_class, 0), demand.pairs)
    return taken


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best draft, a bound that none exceeds, and whether it was stopped."""

    draft: Draft
    bound: int
    stopped: bool = False
    patterns: int = 0
