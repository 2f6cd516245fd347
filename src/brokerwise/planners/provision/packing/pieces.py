"""What is packed, how packings hold it, and the published packings, (a) to (e) of Setty
et al., ICDCS 2014.

Each of these opens brokers as it goes. A new one is of the type with the least rent for
its capacity, of those that can carry the topic and are not used up.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.kernels.packing_steps import (
    CHEAPER,
    OpenFleet,
    close_runs,
    first_fit_block,
    largest_first,
    pack_grouped,
    pack_whole,
    runs_of,
    tree_of,
)
from brokerwise.model.arrays import Float64s, Int32s, Int64s, read_only
from brokerwise.model.fleet import Fleet, Prices
from brokerwise.model.load import refuse_overflow
from brokerwise.model.placement import Placement
from brokerwise.planners.provision.cover import rational

UNLIMITED = 2**62


@dataclass(frozen=True, eq=False)
class Demand:
    """What is to be packed.

    Attributes
    ----------
    rates
        Of all topics, descending.
    counts
        Selected pairs of each topic; 0: it is not carried.
    lists
        The selected topics in order of subscribers, block by block (offsets,
        topics). Only `first-fit` asks for them.
    """

    rates: Int64s
    counts: Int64s
    lists: Callable[[], Iterator[tuple[Int64s, Int32s]]]

    def __post_init__(self) -> None:
        """Rates are read-only in a workload, so they are here, wherever they come
        from: kernels are compiled for one kind of array."""
        object.__setattr__(self, "rates", read_only(self.rates))

    def check(self, fleet: Fleet) -> None:
        """Refuse what no packing of the fleet could hold."""
        carried = self.counts > 0
        if not carried.any():
            return
        most, least = self.rates[carried][[0, -1]].tolist()
        if least < 1:
            raise ValueError("a topic of rate 0 is selected: nothing is to be sent")
        if 2 * most > fleet.largest_capacity:
            raise ValueError(
                f"a topic of rate {most:,} is selected: it needs {2 * most:,}, "
                f"the largest broker has {fleet.largest_capacity:,}"
            )
        # No topic is received more often than it is sent.
        refuse_overflow("load", self.rates, 2 * self.counts)


@dataclass(frozen=True, eq=False)
class Packing:
    """Brokers, and where each pair goes.

    `broker_type` is the type of each broker, by its place in the fleet.
    """

    broker_type: Int32s
    placement: Placement

    def incoming(self, rates: Int64s) -> int:
        """What all brokers receive."""
        return int(rates[self.placement.topic].sum())

    def outgoing(self, rates: Int64s) -> int:
        """What all brokers send."""
        return int(rates[self.placement.topic] @ self.placement.pairs)

    def brokers_of_types(self, types: int) -> list[int]:
        """How many there are of each of `types` types."""
        return brokers_of_types(self.broker_type, types)


@dataclass(frozen=True, eq=False)
class Pieces:
    """A packing as kernels leave it: quick to compare, and made into runs once.

    Topics that sit on one broker have it as their `home`; what is cut is in rows
    (topic, broker, pairs) of `cuts`.
    """

    broker_type: Int32s
    home: Int32s
    cuts: Int64s

    def extra(self, rates: Int64s) -> int:
        """What is received beyond once for each topic."""
        topic = self.cuts[:, 0]
        return int(rates[topic].sum() - rates[np.unique(topic)].sum())

    def loads(self, demand: Demand) -> Int64s:
        """The load of each broker."""
        loads = np.zeros(len(self.broker_type), np.int64)
        at_home = np.flatnonzero(self.home >= 0)
        whole = demand.rates[at_home] * (demand.counts[at_home] + 1)
        np.add.at(loads, self.home[at_home], whole)
        topic, broker, pairs = self.cuts.T
        np.add.at(loads, broker, demand.rates[topic] * (pairs + 1))
        return loads

    def without_idle(self) -> "Pieces":
        """Only brokers that carry something, in the order they had."""
        used = np.zeros(len(self.broker_type) + 1, np.bool_)
        used[self.home] = True  # -1 is the place behind the last
        used[self.cuts[:, 1]] = True
        used = used[:-1]
        if used.all():
            return self
        new = np.append(np.cumsum(used, dtype=np.int32) - 1, np.int32(-1))
        cuts = self.cuts.copy()
        cuts[:, 1] = new[cuts[:, 1]]
        return Pieces(self.broker_type[used], new[self.home], cuts)

    def packing(self, counts: Int64s) -> Packing:
        """As runs by topic."""
        cuts = self.cuts[np.argsort(self.cuts[:, 0], kind="stable")]
        return Packing(self.broker_type, Placement(*runs_of(self.home, counts, cuts)))


def brokers_of_types(broker_type: Int32s, types: int) -> list[int]:
    found: list[int] = np.bincount(broker_type, minlength=types).tolist()
    return found


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
    nothing = tree_of(np.empty(0, np.int64))
    fleet = OpenFleet(nothing, np.empty(1, np.int32), 0, np.empty((64, 3), np.int64), 0)
    for offsets, lists in demand.lists():
        topics = lists[offsets[0] : offsets[-1]]
        done, fleet = first_fit_block(
            topics, demand.rates, capacity, left, last, held, fleet
        )
        if not done:
            return None
    home, cuts = close_runs(last, held, fleet.cuts, fleet.at)
    return counter.pieces(True, fleet.types[: fleet.number], home, cuts)


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
