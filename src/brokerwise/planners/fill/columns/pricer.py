"""Prices in, patterns out, and what the prices prove."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.pricing import MOST_PAIRS, fill_in_turn, split_in_turn
from brokerwise.model.arrays import Int64s
from brokerwise.planners.fill.columns.effort import Effort
from brokerwise.planners.fill.columns.master import PENALTY, Limits, Solution, Step
from brokerwise.planners.fill.columns.supply import Pattern, Supply
from brokerwise.planners.fill.demand import Demand

_FINEST = 1 << 20
_LARGEST = 1 << 61
_UNLIMITED = 1 << 40
_CELLS = 100_000_000


@dataclass(frozen=True, eq=False)
class Priced:
    """The best patterns at some prices, one broker after the other, and the bound."""

    patterns: list[Pattern]
    bound: int


class Pricer:
    """Finds patterns by a dynamic program over loads; exact in whole numbers.

    Prices are rounded to whole multiples of a small unit; whatever they are, what
    they prove holds.
    """

    def __init__(self, demand: Demand, sizes: Int64s, effort: Effort) -> None:
        self._demand, self._sizes, self._effort = demand, sizes, effort
        most = np.minimum(demand.followers, sizes[0] // demand.rates - 1)
        self._most = np.minimum(most, MOST_PAIRS)
        self._starts = np.concatenate([[0], np.cumsum(self._most)])
        self._topic = np.repeat(np.arange(demand.topics), self._most)
        self._pairs = np.arange(len(self._topic)) - self._starts[self._topic] + 1
        self._best = np.zeros(sizes[0] + 1, np.int64)
        self._choices = np.zeros((demand.topics, sizes[0] + 1), np.uint16)
        self._unit = _FINEST
        while _dearest(demand, sizes) * self._unit > _LARGEST:
            self._unit //= 2
        self.most_value = np.maximum.reduceat(demand.value, demand.starts[:-1])
        self.grain = int(np.gcd.reduce(demand.value))

    @staticmethod
    def can_price(demand: Demand, sizes: Int64s) -> bool:
        """Whether the table fits in memory, and its numbers in 64 bits."""
        cells = demand.topics * (int(sizes[0]) + 1)
        return cells <= _CELLS and _dearest(demand, sizes) <= _LARGEST

    def price(
        self, solution: Solution, limits: Limits, left: Int64s, supply: Supply
    ) -> Priced:
        """Patterns that are best at a solution's prices, within what is left.

        `left` is how many pairs of each class there are. The bound is the Lagrangian
        one: the pairs that are worth more than their price, the fees of limited steps,
        and for every broker its best pattern.
        """
        demand, unit = self._demand, self._unit
        worth = np.rint(np.maximum(solution.worth, 0) * unit).astype(np.int64)
        worth = np.minimum(worth, self.most_value * unit)
        fees = _whole_fees(solution.fees, limits, unit)
        gains = self._gains(worth, fees)
        pairs_left = np.bincount(demand.topic, left, demand.topics).astype(np.int64)
        brokers_left = np.full(demand.topics, _UNLIMITED)
        for (topic, pairs), (_, most) in limits.items():
            if pairs == 1 and most >= 0:
                brokers_left[topic] = most
        pairs_left[brokers_left <= 0] = 0
        patterns = self._fill(pairs_left, brokers_left, gains, solution, supply)
        total = int(left @ np.maximum(demand.value * unit - worth[demand.topic], 0))
        for step, fee in fees.items():
            least, most = limits[step]
            total += fee * (most if fee > 0 else least)
        total += self._best_of_all(supply)
        return Priced(patterns, total // unit // self.grain * self.grain)

    def _gains(self, worth: Int64s, fees: Mapping[Step, int]) -> Int64s:
        gains: Int64s = self._pairs * worth[self._topic]
        for (topic, pairs), fee in fees.items():
            gains[self._starts[topic] + pairs - 1 : self._starts[topic + 1]] -= fee
        return gains

    def _fill(
        self,
        left: Int64s,
        brokers_left: Int64s,
        gains: Int64s,
        solution: Solution,
        supply: Supply,
    ) -> list[Pattern]:
        there = np.flatnonzero(left)
        same = (
            self._demand.rates[there],
            left[there],
            brokers_left[there],
            self._starts[there],
            gains,
        )
        tables = (self._best, self._choices)
        if supply.bandwidth is not None:
            toll = int(max(0.0, float(solution.tolls[0])) * self._unit)
            found = split_in_turn(*same, supply.bandwidth, toll, *tables)
            numbers = np.zeros(len(found[0]) - 1, np.int64)
        else:
            numbers = supply.brokers
            found = fill_in_turn(*same, supply.sizes[numbers], *tables)
        starts, topics, pairs, steps = found
        self._effort.spend(steps)
        topics = there[topics]
        return [
            Pattern(int(size), topics[start:end], pairs[start:end])
            for size, start, end in zip(numbers, starts[:-1], starts[1:], strict=True)
        ]

    def _best_of_all(self, supply: Supply) -> int:
        """What the supply gains at most, at the prices that were priced last."""
        if supply.bandwidth is None:
            return int(self._best[supply.sizes] @ supply.counts)
        size = min(len(self._best) - 1, supply.bandwidth)
        if size < 1:
            return 0
        each = self._best[1 : size + 1] / np.arange(1, size + 1)
        near = np.flatnonzero(each >= each.max() * (1 - 1e-9)) + 1
        return max(int(self._best[c]) * supply.bandwidth // int(c) for c in near)


def _dearest(demand: Demand, sizes: Int64s) -> int:
    """More than any pattern gains, even with a penalty to save for each topic."""
    return (demand.total + 1) * PENALTY * min(demand.topics, int(sizes[0]))


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
