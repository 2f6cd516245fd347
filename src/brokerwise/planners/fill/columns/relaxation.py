"""The linear relaxation over all patterns: column generation, and what it proves."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import floor

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.planners.fill.columns.effort import Effort
from brokerwise.planners.fill.columns.master import Limits, Master, Solution
from brokerwise.planners.fill.columns.pricer import Pricer
from brokerwise.planners.fill.columns.supply import Pattern, Supply
from brokerwise.planners.fill.demand import Demand

ROUNDING = 1e-6
_LP_STEPS = 15_000  # an LP is counted as so many steps for each of its rows
_LP_LEAST = 500_000
_FEW = 400  # patterns; while there are fewer, all are kept, as plans are made of them

Offer = Callable[[list[Pattern]], int]
"""Takes patterns that fill what is left; returns what must be exceeded there."""


@dataclass(frozen=True, eq=False)
class Relaxed:
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
    ) -> Relaxed:
        """Generate patterns until the bound is met, or cannot matter any more.

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
        return Relaxed(bound, solution, master.patterns)

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
