"""A problem of fixed brokers, and all that a search over patterns shares."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from brokerwise.planners.fill.columns.effort import Effort
from brokerwise.planners.fill.columns.incumbent import Incumbent, served
from brokerwise.planners.fill.columns.master import Limits
from brokerwise.planners.fill.columns.pricer import Pricer
from brokerwise.planners.fill.columns.relaxation import Relaxation, Relaxed
from brokerwise.planners.fill.columns.supply import Pattern, Supply
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.draft import served_value, taken_by_class


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
    ) -> Relaxed:
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
        return Relaxed(relaxed.bound + already, relaxed.solution, relaxed.patterns)

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
