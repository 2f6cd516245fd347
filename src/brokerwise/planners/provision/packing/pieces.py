"""What is packed, how packings hold it, and what comes out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.packing_runs import runs_of
from brokerwise.model.arrays import Int32s, Int64s, read_only
from brokerwise.model.fleet import Fleet
from brokerwise.model.load import refuse_overflow
from brokerwise.model.placement import Placement


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
        """How many there are of each of so many types."""
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
