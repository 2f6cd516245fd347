"""Attempts to pack into given brokers: what a search compares and may spend."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from brokerwise.kernels.packing_steps import largest_first, least_receptions
from brokerwise.kernels.packing_tight import (
    FIRST,
    ROOMIEST,
    SNUGGEST,
    climb,
    fill_exactly,
    filled,
)
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.provision.cover import ROUNDING, cover_bound, fewest_brokers
from brokerwise.planners.provision.packing.pieces import (
    Counter,
    Demand,
    Pieces,
    brokers_of_types,
)

# Extra traffic, as a part of the load, that is not worth a search.
CLOSE = 1e-6

Key = tuple[float, float, int]
"""What packings are compared by: cost, brokers, load."""

# Topics and pieces placed between two looks at whether to stop.
PART = 2_000_000
# Brokers up to which all are looked at for the one with the least room that does.
FEW_BROKERS = 64
# Sums of loads looked at to fill brokers exactly, and how many take as long as placing
# one topic.
SUMS, SUMS_PER_TOPIC = 1 << 18, 8


@dataclass(frozen=True, eq=False)
class Field:
    """The demand with what does not change during a search."""

    demand: Demand
    counter: Counter
    _extra: dict[int, int] = field(default_factory=dict)

    @cached_property
    def once(self) -> int:
        """What is received if every topic has one home."""
        return int(self.demand.rates[self.demand.counts > 0].sum())

    @cached_property
    def outgoing(self) -> int:
        return int(self.demand.rates @ self.demand.counts)

    def least_extra(self, capacity: int) -> int:
        """What must be received in addition if no broker is larger than this."""
        if capacity not in self._extra:
            rates, counts = self.demand.rates, self.demand.counts
            received = int(least_receptions(rates, counts, capacity))
            self._extra[capacity] = received - self.once
        return self._extra[capacity]

    def load(self, extra: int) -> int:
        return self.outgoing + self.once + extra

    @cached_property
    def negligible(self) -> int:
        """Traffic that is not worth a search; 0 where loads are small."""
        return int(CLOSE * self.load(0))

    def key(self, brokers: list[int], extra: int) -> Key:
        incoming = self.once + extra
        cost = self.counter.prices.cost(brokers, incoming, self.outgoing)
        return cost.total, sum(brokers), incoming + self.outgoing

    @cached_property
    def least(self) -> Key:
        """What no packing is below; infinite if the fleet is known to be too small."""
        fleet, prices = self.counter.fleet, self.counter.prices
        capacity = fleet.largest_capacity
        extra = self.least_extra(capacity)
        load = self.load(extra)
        fewest = fewest_brokers(load, fleet)
        brokers = max(self.least_brokers(capacity), inf if fewest is None else fewest)
        rent = cover_bound(load, fleet, prices)
        if brokers < inf:
            rounded = 1 if len(prices.brokers) == 1 else 1 - ROUNDING
            rent = max(rent, brokers * min(prices.brokers) * rounded)
        nothing = [0] * len(prices.brokers)
        bandwidth = prices.cost(nothing, self.once + extra, self.outgoing).bandwidth
        return rent + bandwidth, brokers, load

    def least_brokers(self, capacity: int) -> int:
        """Brokers that large topics need, if none is larger than this.

        A topic takes at least twice its rate, so that two with more than a quarter of
        the capacity each do not go on one broker.
        """
        rates, counts = self.demand.rates, self.demand.counts
        large = (4 * rates > capacity) & (counts > 0)
        each = capacity // rates[large] - 1
        return int(np.sum(-(-counts[large] // each)))

    def key_of(self, pieces: Pieces) -> Key:
        types = len(self.counter.fleet.broker_types)
        brokers = brokers_of_types(pieces.broker_type, types)
        return self.key(brokers, pieces.extra(self.demand.rates))


class Budget:
    """The work that may still be done, in topics and pieces placed; None is endless."""

    def __init__(self, work: int | None, stop: Callable[[], bool]) -> None:
        self._work, self.stop = work, stop

    def allows(self, topics: int) -> bool:
        return not self.stop() and (self._work is None or self._work >= topics)

    def spend(self, topics: int) -> None:
        if self._work is not None:
            self._work = max(0, self._work - topics)

    def tries(self, topics: int, most: int) -> int:
        """How often an eighth of what is left places so many topics."""
        return most if self._work is None else min(most, self._work // (8 * topics))


@dataclass(frozen=True, eq=False)
class Attempt:
    """An order and a rule, and what came of them.

    `lost` is the first topic that found no place; with all placed, -1.
    """

    order: Int32s
    rule: int
    unplaced: int
    extra: int
    lost: int

    @property
    def rank(self) -> tuple[int, int]:
        return self.unplaced, self.extra


@dataclass(eq=False)
class Packer:
    """Packs into brokers in several ways, and offers what it finds."""

    field: Field
    by_rate: Int32s
    by_volume: Int32s
    budget: Budget
    offer: Callable[[Pieces], None]
    _seed: int = 0

    def attempt(
        self, types: Int32s, capacities: Int64s, enough: int, tries: int
    ) -> Attempt:
        """Try some orders and rules, improve the best two, return the best.

        With all placed, `enough` extra traffic ends it; one order is always tried.
        """
        made: list[Attempt] = []
        for order, rule in self._starts(len(types)):
            if made and not self.budget.allows(_work(order, types)):
                break
            made.append(self._fill(order, rule, types, capacities))
            if made[-1].rank <= (0, enough):
                return made[-1]
        exact = self._exactly(types, capacities)
        if exact is not None:
            return exact
        made.sort(key=lambda a: a.rank)
        for start in made[:2]:
            made.append(self._climb(start, types, capacities, enough, tries))
        return min(made, key=lambda a: a.rank)

    def _starts(self, brokers: int) -> list[tuple[Int32s, int]]:
        return [
            (self.by_rate, ROOMIEST),
            (self.by_volume, ROOMIEST),
            (self.by_volume, SNUGGEST if brokers <= FEW_BROKERS else FIRST),
            (self.by_rate, FIRST),
        ]

    def _fill(
        self, order: Int32s, rule: int, types: Int32s, capacities: Int64s
    ) -> Attempt:
        demand = self.field.demand
        unplaced, lost, extra, home, cuts = filled(
            order, demand.rates, demand.counts, capacities, rule
        )
        self.budget.spend(_work(order, types))
        if not unplaced:
            self.offer(Pieces(types, home, cuts).without_idle())
        return Attempt(order, rule, unplaced, extra, lost)

    def _exactly(self, types: Int32s, capacities: Int64s) -> Attempt | None:
        """Everything whole, by subset sums: for few topics, or few different loads."""
        demand = self.field.demand
        loads = demand.rates[self.by_rate] * (demand.counts[self.by_rate] + 1)
        if loads.max() > capacities[0] or loads.sum() > capacities.sum():
            return None
        by_load = largest_first(loads)
        for largest in (True, False):
            if not self.budget.allows(SUMS // SUMS_PER_TOPIC):
                return None
            done, where, made = fill_exactly(loads[by_load], capacities, largest, SUMS)
            self.budget.spend(made // SUMS_PER_TOPIC)
            if done:
                home = np.full(len(demand.rates), -1, np.int32)
                home[self.by_rate[by_load]] = where
                cuts = np.empty((0, 3), np.int64)
                self.offer(Pieces(types, home, cuts).without_idle())
                return Attempt(self.by_rate, FIRST, 0, 0, -1)
        return None

    def _climb(
        self,
        start: Attempt,
        types: Int32s,
        capacities: Int64s,
        enough: int,
        tries: int,
    ) -> Attempt:
        """Improve the order, in parts between which the search can be stopped."""
        demand, order, rank = self.field.demand, start.order.copy(), start.rank
        work = _work(order, types)
        tries = self.budget.tries(work, tries)
        part = max(1, min(tries, PART // work))
        made = part
        while tries > 0 and made == part and self.budget.allows(part * work):
            self._seed += 1
            unplaced, extra, made = climb(
                order,
                demand.rates,
                demand.counts,
                capacities,
                start.rule,
                part,
                enough,
                self._seed,
            )
            rank = (unplaced, extra)
            tries -= made
            self.budget.spend(made * work)
        if rank == start.rank:
            return start
        return self._fill(order, start.rule, types, capacities)


def _work(order: Int32s, types: Int32s) -> int:
    """What one fill takes: each topic is placed once, and again for each broker that
    it fills."""
    return len(order) + len(types)
