"""Prices in, patterns out, and what the prices prove."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from brokerwise.kernels.fill_columns import (
    MOST_PAIRS,
    Gains,
    Table,
    fill_in_turn,
    split_in_turn,
)
from brokerwise.model.arrays import Int64s
from brokerwise.planners.fill.columns.master import PENALTY, Limits, Solution, Step
from brokerwise.planners.fill.columns.supply import Effort, Pattern, Supply
from brokerwise.planners.fill.problem import Demand

_FINEST = 1 << 20
_LARGEST = 1 << 61
_UNLIMITED = 1 << 40
_CELLS = 100_000_000
_LONGEST = 2_000_000_000  # steps to price once; seconds, in which nothing stops it
_ROUNDING = 1.0  # units of price
_MOST_STEPS = 300_000_000  # between two questions whether to stop


@dataclass(frozen=True, eq=False)
class PricingResult:
    """The best patterns at some prices, one broker after the other, and the bound.

    `others` are what brokers of smaller sizes would get if they came first.
    `improving` are those of all that gain more than what they use up costs.
    """

    patterns: list[Pattern]
    others: list[Pattern]
    improving: list[Pattern]
    bound: int

    @property
    def all(self) -> list[Pattern]:
        return self.others + self.patterns


class Pricer:
    """Finds patterns by a dynamic program over loads; exact in whole numbers.

    Prices are rounded to whole multiples of a small unit; whatever they are, what
    they prove holds.
    """

    def __init__(self, demand: Demand, sizes: Int64s, effort: Effort) -> None:
        self._demand, self._sizes, self._effort = demand, sizes, effort
        self._most = np.minimum(demand.followers, sizes[0] // demand.rates - 1)
        self._starts = np.concatenate([[0], np.cumsum(self._most)])
        self._topic = np.repeat(np.arange(demand.topics), self._most)
        self._pairs = np.arange(len(self._topic)) - self._starts[self._topic] + 1
        self._best = np.zeros(sizes[0] + 1, np.int64)
        self._choices = np.zeros((demand.topics, sizes[0] + 1), np.uint16)
        self._unit = _FINEST
        dearest = _dearest(demand, sizes)
        while self._unit > 1 and dearest * self._unit > _LARGEST:
            self._unit //= 2
        self.most_value = np.maximum.reduceat(demand.value, demand.starts[:-1])
        self.grain = int(np.gcd.reduce(demand.value))

    @staticmethod
    def can_price(demand: Demand, sizes: Int64s) -> bool:
        """Whether the table fits in memory, its choices in 16 bits and its gains in 64,
        and it does not take too long to fill it in.

        Sizes are in units of the greatest common divisor of the rates.
        """
        cells = demand.topics * (int(sizes[0]) + 1)
        rates = demand.rates // np.gcd.reduce(demand.rates)
        pairs = np.minimum(demand.followers, sizes[0] // rates - 1)
        small = cells <= _CELLS and pairs.max() <= MOST_PAIRS
        quick = int(pairs.sum()) * int(sizes[0]) <= _LONGEST
        return bool(small and quick) and _dearest(demand, sizes) <= _LARGEST

    def price(
        self,
        solution: Solution,
        limits: Limits,
        left: Int64s,
        supply: Supply,
        *,
        trial: bool = False,
    ) -> PricingResult:
        """Patterns that are best at a solution's prices, within what is left.

        `left` is how many pairs of each class there are. The bound is the Lagrangian
        one: the pairs that are worth more than their price, the fees of limited steps,
        and for every broker its best pattern. On `trial` only one broker of each size
        gets a pattern.
        """
        demand, unit = self._demand, self._unit
        worth = np.rint(np.maximum(solution.worth, 0) * unit).astype(np.int64)
        worth = np.minimum(worth, self.most_value * unit)
        fees = _whole_fees(solution.fees, limits, unit)
        gains = self._gains(worth, fees)
        pairs_left = np.bincount(demand.topic, left, demand.topics).astype(np.int64)
        brokers_left = np.full(demand.topics, _UNLIMITED)
        for (topics, pairs), (_, most) in limits.items():
            if pairs == 1 and most >= 0:
                for topic in topics:
                    brokers_left[topic] = min(brokers_left[topic], most)
        pairs_left[brokers_left <= 0] = 0
        some = supply.one_of_each() if trial else supply
        found = self._fill(pairs_left, brokers_left, gains, solution, some)
        others, patterns = found
        improving = self._improving(others + patterns, gains, solution, supply)
        total = int(left @ np.maximum(demand.value * unit - worth[demand.topic], 0))
        for step, fee in fees.items():
            least, most = limits[step]
            total += fee * (most if fee > 0 else least)
        total += self._best_of_all(supply)
        bound = total // unit // self.grain * self.grain
        return PricingResult(patterns, others, improving, bound)

    def _gains(self, worth: Int64s, fees: Mapping[Step, int]) -> Int64s:
        gains: Int64s = self._pairs * worth[self._topic]
        for (topics, pairs), fee in fees.items():
            for topic in topics:
                first, last = self._starts[topic], self._starts[topic + 1]
                gains[first + pairs - 1 : last] -= fee
        return gains

    def _fill(
        self,
        left: Int64s,
        brokers_left: Int64s,
        gains: Int64s,
        solution: Solution,
        supply: Supply,
    ) -> tuple[list[Pattern], list[Pattern]]:
        """What smaller brokers would get if they came first, and what brokers get.

        Asks between whiles whether there is effort left; some brokers get nothing then.
        """
        there = np.flatnonzero(left)
        left, brokers_left = left[there], brokers_left[there]  # counted down below
        offer = Gains(self._demand.rates[there], self._starts[there], gains)
        table = Table(self._best, self._choices)
        toll = int(max(0.0, float(solution.tolls[0])) * self._unit)
        others: list[Pattern] = []
        patterns: list[Pattern] = []
        first: Int64s | None = None
        while first is None or not (supply.empty or self._effort.over):
            if supply.bandwidth is not None:
                found = split_in_turn(
                    offer,
                    left,
                    brokers_left,
                    supply.bandwidth,
                    toll,
                    _MOST_STEPS,
                    table,
                )
                before = 0
                numbers = np.zeros(len(found[0]) - 1, np.int64)
            else:
                brokers = supply.brokers
                sizes = supply.sizes[brokers]
                found = fill_in_turn(
                    offer, left, brokers_left, sizes, _MOST_STEPS, table
                )
                smaller = np.unique(brokers)[1:]
                before, numbers = len(smaller), np.concatenate([smaller, brokers])
            starts, topics, pairs, steps = found
            self._effort.spend(steps)
            cuts = pairwise(starts)
            new = [
                Pattern(int(number), there[topics[start:end]], pairs[start:end])
                for number, (start, end) in zip(numbers, cuts, strict=False)
            ]
            others, patterns = others + new[:before], patterns + new[before:]
            supply = supply.without(new[before:], self._demand.rates)
            if first is None:
                first = self._best.copy()
            if not any(len(pattern.topic) for pattern in new[before:]):
                break
        self._best[:] = first
        return others, patterns

    def _improving(
        self,
        patterns: list[Pattern],
        gains: Int64s,
        solution: Solution,
        supply: Supply,
    ) -> list[Pattern]:
        found = []
        for pattern in patterns:
            gain = int(gains[self._starts[pattern.topic] + pattern.pairs - 1].sum())
            use = supply.use(pattern, self._demand.rates)
            toll = solution.tolls[supply.resource(pattern)]
            if gain > use * toll * self._unit + _ROUNDING:
                found.append(pattern)
        return found

    def _best_of_all(self, supply: Supply) -> int:
        """What the supply gains at most, at the prices that were priced last."""
        if supply.bandwidth is None:
            best = self._best[supply.sizes].tolist()
            return sum(b * n for b, n in zip(best, supply.counts.tolist(), strict=True))
        size = min(len(self._best) - 1, supply.bandwidth)
        if size < 1:
            return 0
        each = self._best[1 : size + 1] / np.arange(1, size + 1)
        near = np.flatnonzero(each >= each.max() * (1 - 1e-9)) + 1
        return max(int(self._best[c]) * supply.bandwidth // int(c) for c in near)


def _dearest(demand: Demand, sizes: Int64s) -> int:
    """More than any pattern gains, even with a penalty to save for each topic."""
    most = np.maximum.reduceat(demand.value, demand.starts[:-1]).tolist()
    all_at_most: int = sum(
        v * n for v, n in zip(most, demand.followers.tolist(), strict=True)
    )
    penalties = (demand.total + 1) * PENALTY * min(demand.topics, int(sizes[0]))
    return all_at_most + penalties


def _whole_fees(
    fees: Mapping[Step, float], limits: Limits, unit: int
) -> dict[Step, int]:
    """Fees in whole units, of a sign that their limits allow."""
    whole = {}
    for step, fee in fees.items():
        least, most = limits[step]
        rounded = round(fee * unit)
        if (rounded > 0 and most >= 0) or (rounded < 0 and least > 0):
            whole[step] = rounded
    return whole
