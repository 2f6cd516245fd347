"""The published packings, (a) to (e) of Setty et al., ICDCS 2014.

Each opens brokers as it goes. A new one is of the type with the least rent for its
capacity, of those that can carry the topic and are not used up.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.kernels.packing import CHEAPER, pack_grouped
from brokerwise.kernels.packing_first_fit import close_runs, first_fit_block
from brokerwise.kernels.packing_rooms import tree_of
from brokerwise.kernels.packing_runs import largest_first
from brokerwise.kernels.packing_whole import pack_whole
from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.cost import Prices
from brokerwise.model.fleet import Fleet
from brokerwise.planners.provision.cover import rational
from brokerwise.planners.provision.packing.pieces import Demand, Pieces

UNLIMITED = 2**62


@dataclass(frozen=True, eq=False)
class Counter:
    """Where brokers come from: the types in the order in which they are opened."""

    fleet: Fleet
    prices: Prices

    @cached_property
    def order(self) -> Int32s:
        types, usd = self.fleet.broker_types, self.prices.brokers
        by_value = sorted(
            range(len(types)), key=lambda i: rational(usd[i]) / types[i].capacity
        )
        return np.array(by_value, np.int32)

    @property
    def capacity(self) -> Int64s:
        return np.array([t.capacity for t in self.fleet], np.int64)[self.order]

    @property
    def limit(self) -> Int64s:
        counts = [UNLIMITED if t.count is None else t.count for t in self.fleet]
        return np.array(counts, np.int64)[self.order]

    @property
    def rent(self) -> Float64s:
        return np.array(self.prices.brokers, np.float64)[self.order]

    def pieces(
        self, done: bool, types: Int32s, home: Int32s, cuts: Int64s
    ) -> Pieces | None:
        return Pieces(self.order[types], home, cuts) if done else None


def by_rate(demand: Demand) -> Int32s:
    """The topics that are carried, by id, which is by descending rate."""
    return np.flatnonzero(demand.counts).astype(np.int32)


def by_volume(demand: Demand) -> Int32s:
    """The topics that are carried, by descending outgoing volume, then by id."""
    topics = by_rate(demand)
    return topics[largest_first(demand.rates[topics] * demand.counts[topics])]


def first_fit(demand: Demand, counter: Counter) -> Pieces | None:
    """(a) Pair by pair in order of subscribers, on the first broker with room.

    O(pairs log brokers).
    """
    capacity, left = counter.capacity, counter.limit
    last = np.full(len(demand.rates), -1, np.int32)
    held = np.zeros(len(demand.rates), np.int64)
    tree, types, number = tree_of(np.empty(0, np.int64)), np.empty(1, np.int32), 0
    cuts, at = np.empty((64, 3), np.int64), 0
    for offsets, lists in demand.lists():
        topics = lists[offsets[0] : offsets[-1]]
        done, tree, types, number, cuts, at = first_fit_block(
            topics,
            demand.rates,
            capacity,
            left,
            last,
            held,
            tree,
            types,
            number,
            cuts,
            at,
        )
        if not done:
            return None
    home, cuts = close_runs(last, held, cuts, at)
    return counter.pieces(True, types[:number], home, cuts)


def grouped(
    demand: Demand, counter: Counter, order: Int32s, rule: int
) -> Pieces | None:
    """(b) to (e): topic by topic, spread by `rule` where the newest broker does not
    take it whole. O(topics log brokers), and as much again for every cut."""
    return counter.pieces(
        *pack_grouped(
            order,
            demand.rates,
            demand.counts,
            counter.capacity,
            counter.limit,
            counter.rent,
            counter.prices.incoming,
            rule,
        )
    )


def custom(demand: Demand, counter: Counter, order: Int32s) -> Pieces | None:
    """(e) Largest volume first, spread over the roomiest where that is cheaper."""
    return grouped(demand, counter, order, CHEAPER)


def whole(demand: Demand, counter: Counter, order: Int32s) -> Pieces | None:
    """First fit of whole topics; ours, for where traffic is dearer than brokers."""
    return counter.pieces(
        *pack_whole(order, demand.rates, demand.counts, counter.capacity, counter.limit)
    )
