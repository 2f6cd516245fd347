"""Which broker each user is on, what follows for brokers and sub-channels, and what
that costs: access and core.
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.overlay_forwarding import core_weights
from brokerwise.kernels.overlay_local import CoreCosts, descend
from brokerwise.kernels.overlay_packing import Wiring
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.problem import Demand

MOST_TABLED = 50_000_000
"""Numbers (sub-channels times brokers twice) up to which tables are kept: 400 MB."""


def wiring_of(demand: Demand, broker: Int32s) -> Wiring:
    """O(users + entries). `broker` is copied."""
    shape = (demand.subchannels, demand.brokers)
    load = np.zeros(demand.brokers, np.int64)
    np.add.at(load, broker, demand.load)
    followers = np.zeros(shape, np.int32)
    fan = np.repeat(broker, np.diff(demand.wanted_offsets))
    np.add.at(followers, (demand.wanted, fan), 1)
    sources = np.zeros(shape, np.int64)
    origin = np.repeat(broker, np.diff(demand.rate_offsets))
    np.add.at(sources, (demand.rate_subchannels, origin), demand.rates)
    return Wiring(broker.astype(np.int32), load, followers, sources)


@dataclass(frozen=True)
class Costs:
    """In thousandths."""

    access: int
    core: int

    @property
    def total(self) -> int:
        return self.access + self.core


def access_cost(demand: Demand, broker: Int32s) -> int:
    links = demand.access[np.arange(demand.users), broker]
    return int(demand.load @ links)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A wiring with what its core costs, kept true as users move."""

    wiring: Wiring
    forwarded: CoreCosts

    @classmethod
    def of(cls, demand: Demand, broker: Int32s) -> "Evaluation":
        """O(brokers^2) for each sub-channel. `broker` is copied."""
        wiring = wiring_of(demand, broker)
        weights = core_weights(demand.core, wiring.followers)
        shape = (demand.subchannels, demand.brokers, demand.brokers)
        kept = shape if np.prod(shape) <= MOST_TABLED else (0, 0, 0)
        forwarded = CoreCosts(
            demand.core,
            weights,
            (wiring.sources * weights).sum(axis=1),
            np.zeros(kept, np.int64),
            np.zeros(shape[:2], np.int64),
            np.zeros(demand.subchannels, np.bool_),
        )
        return cls(wiring, forwarded)

    def total(self, demand: Demand) -> Costs:
        core = int(self.forwarded.costs.sum())
        return Costs(access_cost(demand, self.wiring.broker), core)

    def descend(self, demand: Demand, users: Int64s) -> tuple[int, int]:
        """Each user in turn to the broker where the whole costs least, if that is less
        than now: moves, and what they saved."""
        return descend(
            users, demand.everyone, demand.capacity, self.wiring, self.forwarded
        )


def costs_of(demand: Demand, broker: Int32s) -> Costs:
    """What a wiring costs, counted once: O(brokers^2) for each sub-channel."""
    wiring = wiring_of(demand, broker)
    weights = core_weights(demand.core, wiring.followers)
    return Costs(access_cost(demand, broker), int((wiring.sources * weights).sum()))
