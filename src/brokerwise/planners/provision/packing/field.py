"""What a search for a packing compares and may spend."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from brokerwise.kernels.packing_runs import least_receptions
from brokerwise.planners.provision.cover import ROUNDING, cover_bound, fewest_brokers
from brokerwise.planners.provision.packing.pieces import (
    Demand,
    Pieces,
    brokers_of_types,
)
from brokerwise.planners.provision.packing.steps import Counter

# Extra traffic, as a part of the load, that is not worth a search.
CLOSE = 1e-6

Key = tuple[float, float, int]
"""What packings are compared by: cost, brokers, load."""


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
