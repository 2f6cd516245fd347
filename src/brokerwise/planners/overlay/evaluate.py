"""What a wiring costs: access and core."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.overlay_core import core_weights
from brokerwise.kernels.overlay_local import descend
from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.wiring import Wiring

MOST_TABLED = 50_000_000
"""Numbers (sub-channels times brokers twice) up to which tables are kept: 400 MB."""


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
    """A wiring with what its core costs, kept true as users move.

    Attributes
    ----------
    weights
        What a message of each sub-channel (row) from each broker costs.
    costs
        Of each sub-channel, in the core.
    tables, sums, known
        What it would cost with one more broker, where that was worked out: see
        `kernels/overlay_local.py`. Empty for networks that are too large.
    """

    wiring: Wiring
    weights: Int64s
    costs: Int64s
    tables: Int64s
    sums: Int64s
    known: Bools

    @classmethod
    def of(cls, demand: Demand, broker: Int32s) -> "Evaluation":
        """O(brokers^2) for each sub-channel. `broker` is copied."""
        return cls.on(demand, Wiring.of(demand, broker))

    @classmethod
    def on(cls, demand: Demand, wiring: Wiring) -> "Evaluation":
        """Of a wiring, not a copy, which may count more users than `demand` has."""
        weights = core_weights(demand.core, wiring.followers)
        costs = (wiring.sources * weights).sum(axis=1)
        shape = (demand.subchannels, demand.brokers, demand.brokers)
        kept = shape if np.prod(shape) <= MOST_TABLED else (0, 0, 0)
        return cls(
            wiring,
            weights,
            costs,
            np.zeros(kept, np.int64),
            np.zeros(shape[:2], np.int64),
            np.zeros(demand.subchannels, np.bool_),
        )

    def total(self, demand: Demand) -> Costs:
        core = int(self.costs.sum())
        return Costs(access_cost(demand, self.wiring.broker), core)

    def descend(self, demand: Demand, users: Int64s) -> tuple[int, int]:
        """Each user in turn to the broker where the whole costs least, if that is less
        than now: moves, and what they saved."""
        wiring = self.wiring
        return descend(
            users,
            demand.load,
            demand.access,
            demand.rate_offsets,
            demand.rate_subchannels,
            demand.rates,
            demand.wanted_offsets,
            demand.wanted,
            demand.capacity,
            demand.core,
            wiring.broker,
            wiring.load,
            wiring.followers,
            wiring.sources,
            self.weights,
            self.costs,
            self.tables,
            self.sums,
            self.known,
        )


def costs_of(demand: Demand, broker: Int32s) -> Costs:
    """What a wiring costs, counted once: O(brokers^2) for each sub-channel."""
    wiring = Wiring.of(demand, broker)
    weights = core_weights(demand.core, wiring.followers)
    return Costs(access_cost(demand, broker), int((wiring.sources * weights).sum()))
