"""The linear relaxation over all patterns: column generation, what it proves, and all
that a search over patterns shares, such as the best plan so far.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.planners.fill.columns.master import Limits, Master, Solution
from brokerwise.planners.fill.columns.pricer import Pricer
from brokerwise.planners.fill.columns.supply import Effort, Pattern, Supply
from brokerwise.planners.fill.problem import Demand, served_value, taken_by_class

ROUNDING = 1e-6
_LP_STEPS = 15_000  # that an LP is counted as, for each of its rows
_LP_LEAST = 500_000
_FEW = 400  # patterns; while there are fewer, all are kept, as plans are made of them

Offer = Callable[[list[Pattern]], int]
"""Takes patterns that fill what is left; returns what must be exceeded there."""


@dataclass(frozen=True, eq=False)
class RelaxationResult:
    """Where column generation ended.

    `bound` is proven: no plan within the limits delivers more of what is left.
    """

    bound: int
    solution: Solution
    patterns: list[Pattern]

    def chosen(self) -> Iterator[tuple[Pattern, float]]:
        """The patterns that have a share, with it."""
        for number in np.flatnonzero(self.solution.shares > ROUNDING):
            yield self.patterns[number], float(self.solution.shares[number])


class Relaxation:
    """The relaxation for what is left of the pairs and of the supply."""

    def __init__(
        self,
        demand: Demand,
        left: Int64s,
        supply: Supply,
        pricer: Pricer,
        effort: Effort,
        patterns: Iterable[Pattern] = (),
    ) -> None:
        self._left, self._supply = left, supply
        self._pricer, self._effort = pricer, effort
        self._rates = demand.rates
        of_topic = np.bincount(demand.topic, left, demand.topics)
        self._of_topic = of_topic.astype(np.int64)
        self.master = Master(demand, left, supply)
        self.master.add(patterns)

    def solve(
        self, limits: Limits, offer: Offer, rounds: int = 200, *, trial: bool = False
    ) -> RelaxationResult:
        """Generate patterns until the bound is met, or cannot matter.

        Every round gives patterns for all brokers that are left, which are offered as
        a plan (on trial: for one of each size, and no plan); once the bound is no more
        than what must be exceeded, it ends.
        """
        master = self.master
        master.limit(limits)
        solution = self._resolved() if master.patterns else self._dearest(limits)
        bound = 1 << 62
        for _ in range(rounds):
            priced = self._pricer.price(
                solution, limits, self._left, self._supply, trial=trial
            )
            bound = min(bound, priced.bound)
            if bound <= offer(priced.patterns) or self._effort.over:
                break
            few = len(master.patterns) < _FEW
            if not master.add(priced.all if few else priced.improving):
                break
            solution = self._resolved()
            if floor(solution.value + ROUNDING) >= bound:
                break
        offer(self._whole(solution))
        return RelaxationResult(bound, solution, master.patterns)

    def _whole(self, solution: Solution) -> list[Pattern]:
        """The plan of all patterns that have a whole share, or more."""
        times = np.floor(np.maximum(solution.shares, 0) + ROUNDING).astype(np.int64)
        numbers = np.repeat(np.arange(len(times)), times)
        patterns = (self.master.patterns[number] for number in numbers)
        return self._supply.fitting(patterns, self._of_topic, self._rates)

    def _resolved(self) -> Solution:
        self._effort.spend(_LP_LEAST + _LP_STEPS * self.master.rows)
        return self.master.solve()

    def _dearest(self, limits: Limits) -> Solution:
        """Where no pattern is known: every pair at its full value."""
        return Solution(
            0.0,
            self._pricer.most_value.astype(np.float64),
            np.zeros(len(self._supply.resources)),
            dict.fromkeys(limits, 0.0),
            np.zeros(0),
        )


class Incumbent:
    """Keeps the most valuable of the plans that it is offered."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self.value = -1
        self.patterns: list[Pattern] = []

    def offer(self, patterns: Sequence[Pattern]) -> int:
        """Take a plan if it is better; returns the value of the best."""
        value = served_value(self._demand, served(patterns, self._demand.topics))
        if value > self.value:
            self.value, self.patterns = value, list(patterns)
        return self.value


def served(patterns: Sequence[Pattern], topics: int) -> Int64s:
    """The pairs of each topic that are in patterns."""
    count = np.zeros(topics, np.int64)
    if patterns:
        topic = np.concatenate([pattern.topic for pattern in patterns])
        pairs = np.concatenate([pattern.pairs for pattern in patterns])
        np.add.at(count, topic, pairs)
    return count


class Case:
    """The problem, the best plan so far, and what proves how good it is."""

    def __init__(self, demand: Demand, supply: Supply, effort: Effort) -> None:
        self.demand, self.supply, self.effort = demand, supply, effort
        self.pricer = Pricer(demand, supply.sizes, effort)
        self.best = Incumbent(demand)
        self.bound = demand.total
        largest = supply.sizes[0] // demand.rates - 1
        self._unsplit = np.flatnonzero(demand.followers <= largest)
        self.generated = 0
        self.groups = alike(demand)

    @property
    def proven(self) -> bool:
        return self.best.value >= self.bound

    @property
    def done(self) -> bool:
        return self.proven or self.effort.over

    def relax(
        self,
        fixed: Sequence[Pattern],
        limits: Limits,
        patterns: Sequence[Pattern] = (),
    ) -> RelaxationResult:
        """Relax what is left beside some brokers that are fixed.

        The bound, and what must be exceeded, are those of the whole plan.
        """
        demand = self.demand
        taken = served(fixed, demand.topics)
        left = demand.pairs - taken_by_class(demand, taken)
        of_topic = np.bincount(demand.topic, left, demand.topics).astype(np.int64)
        rest = self.supply.without(list(fixed), demand.rates)
        known = [pattern.within(of_topic) for pattern in patterns]
        already = served_value(demand, taken)
        relaxation = Relaxation(demand, left, rest, self.pricer, self.effort, known)
        before = len(relaxation.master.patterns)

        def offer(found: list[Pattern]) -> int:
            return self.best.offer([*fixed, *found]) - already

        relaxed = relaxation.solve(limits, offer)
        self.generated += len(relaxed.patterns) - before
        return RelaxationResult(
            relaxed.bound + already, relaxed.solution, relaxed.patterns
        )

    def unsplit(self, fixed: Sequence[Pattern]) -> Limits:
        """Limits that keep every topic that fits on one broker on one broker."""
        brokers = np.zeros(self.demand.topics, np.int64)
        for pattern in fixed:
            brokers[pattern.topic] += 1
        return {
            ((int(topic),), 1): (0, max(0, 1 - int(brokers[topic])))
            for topic in self._unsplit
        }


def alike(demand: Demand) -> list[tuple[int, ...]]:
    """Groups of topics that differ in nothing: of equal rate, with equal classes."""
    groups: dict[tuple[int, bytes, bytes], list[int]] = {}
    for topic, (start, end) in enumerate(pairwise(demand.starts)):
        value, pairs = demand.value[start:end], demand.pairs[start:end]
        key = (int(demand.rates[topic]), value.tobytes(), pairs.tobytes())
        groups.setdefault(key, []).append(topic)
    return [tuple(topics) for topics in groups.values()]
