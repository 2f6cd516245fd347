"""Which sets hold one that was seen to miss, and which lie in one that met."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.planners.colocate.demand import Demand
from brokerwise.planners.colocate.problem import Seen


@dataclass(frozen=True, eq=False)
class Observed:
    """Observed sets, by kind of replica.

    `of[kind]` are the numbers of the sets that a kind counts for, then -1; `sizes`
    are the sets' sizes. No set of kinds that is asked about has a topic twice.
    """

    of: Int64s
    sizes: Int64s

    @classmethod
    def missed(cls, demand: Demand, seen: Sequence[Seen]) -> "Observed":
        """A replica stands for a topic that was seen at its rate or a lower one."""
        return cls._of(demand, seen, lambda rate, then: rate >= then)

    @classmethod
    def met(cls, demand: Demand, seen: Sequence[Seen]) -> "Observed":
        """A replica stands for a topic that was seen at its rate or a higher one."""
        return cls._of(demand, seen, lambda rate, then: rate <= then)

    @classmethod
    def _of(
        cls,
        demand: Demand,
        seen: Sequence[Seen],
        counts: Callable[[float, float], bool],
    ) -> "Observed":
        lists: list[list[int]] = [[] for _ in range(demand.kinds)]
        kinds, first = np.unique(demand.kind, return_index=True)
        by_topic: dict[int, list[tuple[int, float]]] = {}
        for kind, at in zip(kinds.tolist(), first.tolist(), strict=True):
            row = (kind, float(demand.rate_per_second[at]))
            by_topic.setdefault(int(demand.topic[at]), []).append(row)
        for number, one in enumerate(seen):
            for topic, then in zip(one.topics, one.rates, strict=True):
                for kind, rate in by_topic.get(topic, ()):
                    if counts(rate, then):
                        lists[kind].append(number)
        width = max(map(len, lists), default=0)
        of = np.full((len(lists), width), -1)
        for kind, numbers in enumerate(lists):
            of[kind, : len(numbers)] = numbers
        return cls(of, np.array([len(one.topics) for one in seen], np.int64))

    def within_one(self, sets: Int32s) -> Bools:
        """Whether all kinds of a set count for one and the same observed set."""
        return self._counted(sets, lambda number, here: here == sets.shape[1])

    def holds_one(self, sets: Int32s) -> Bools:
        """Whether a set has kinds for every topic of some observed set."""
        return self._counted(sets, lambda number, here: here == self.sizes[number])

    def _counted(
        self, sets: Int32s, enough: Callable[[Int64s, Int64s], Bools]
    ) -> Bools:
        found = np.zeros(len(sets), np.bool_)
        if not len(self.sizes):
            return found
        numbers = self.of[sets]  # sets, topics, observed sets
        for column in range(sets.shape[1]):
            for place in range(numbers.shape[2]):
                number = numbers[:, column, place]
                here = (numbers == number[:, None, None]).any(axis=2).sum(axis=1)
                found |= (number >= 0) & enough(number, here)
        return found
