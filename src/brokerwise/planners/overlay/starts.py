"""Wirings of ours from which a local search begins."""

import numpy as np

from brokerwise.kernels.overlay_core import core_weights
from brokerwise.kernels.overlay_gathering import gather_users
from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.wiring import Wiring

SOFTNESS = (4.0, 1.0)
_SWEEPS = 3  # of all users, at each softness
_FEW = 200  # one user in so many: if fewer move, go on to the next softness


def gathered(demand: Demand, broker: Int32s, users: Int64s) -> Int32s:
    """A wiring in which users who want the same share brokers, made from another by
    moving `users`, in this order.

    Trades access for core: see `gather_users`. Within capacity and reach if the
    other is. O(brokers) for each user and sub-channel that it wants, a few times.
    """
    wiring = Wiring.of(demand, broker)
    for softness in SOFTNESS:
        for _ in range(_SWEEPS):
            moves = gather_users(
                users,
                demand.load,
                demand.access,
                demand.wanted_offsets,
                demand.wanted,
                demand.capacity,
                wiring.broker,
                wiring.load,
                wiring.followers,
                _prices(demand, wiring.broker),
                softness,
                -1,
            )
            if moves * _FEW < len(users):
                break
    return wiring.broker


def emptied(demand: Demand, broker: Int32s, closed: int) -> Int32s:
    """The same wiring, but whoever is on broker `closed` and has room elsewhere is sent
    to where most is to be had of what it wants, and cheaply."""
    wiring = Wiring.of(demand, broker)
    leaving = demand.heaviest_first[broker[demand.heaviest_first] == closed]
    gather_users(
        leaving,
        demand.load,
        demand.access,
        demand.wanted_offsets,
        demand.wanted,
        demand.capacity,
        wiring.broker,
        wiring.load,
        wiring.followers,
        _prices(demand, broker),
        SOFTNESS[-1],
        closed,
    )
    return wiring.broker


def _prices(demand: Demand, broker: Int32s) -> Float64s:
    """What one broker more costs each sub-channel: on average, as things are."""
    wiring = Wiring.of(demand, broker)
    weights = core_weights(demand.core, wiring.followers)
    costs = (wiring.sources * weights).sum(axis=1)
    members = np.maximum(1, (wiring.followers > 0).sum(axis=1))
    prices: Float64s = costs / members
    return prices
