"""Prices for the load of brokers, at which users spread by themselves.

The least access cost of any wiring is at least, for any prices, what users pay if each
goes to its cheapest broker, prices included, less what all capacity is worth. The best
prices are found by raising those of brokers that are overrun.
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.overlay_bound import relaxed_access
from brokerwise.kernels.overlay_packing import pack_cheapest
from brokerwise.model.arrays import Int32s, Int64s, read_only
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.placing import Unplaced, empty_wiring, settled

_PATIENCE = 10  # rounds without progress until steps are halved
_SMALLEST_STEP = 1e-4


@dataclass(frozen=True, eq=False)
class Prices:
    """Of a unit of load on each broker, in thousandths; and the bound on the access
    cost that they prove."""

    prices: Int64s
    bound: int


def find_prices(demand: Demand, target: int, rounds: int) -> Prices:
    """Good prices, by subgradient steps towards `target`, the cost of some wiring.

    Each round costs O(users * brokers).
    """
    best = Prices(np.zeros(demand.brokers, np.int64), -1)
    point = np.zeros(demand.brokers)
    usage = np.zeros(demand.brokers, np.int64)
    step, waited = 1.0, 0
    dearest = demand.access.max(initial=0)
    for _ in range(rounds):
        prices = np.rint(point).astype(np.int64)
        paid, _ = relaxed_access(demand.load, demand.access, prices, usage)
        value = paid - worth(demand.capacity, prices)
        waited += 1
        if value > best.bound:
            best, waited = Prices(prices, value), 0
        over = (usage - demand.capacity).astype(np.float64)
        over[(prices == 0) & (over < 0)] = 0
        if not over.any() or value >= target or step < _SMALLEST_STEP:
            break
        if waited >= _PATIENCE:
            step, waited, point = step / 2, 0, best.prices.astype(np.float64)
            continue
        ahead = point + step * (target - value) / (over @ over) * over
        point = np.clip(ahead, 0, dearest)
    return best


def worth(capacity: Int64s, prices: Int64s) -> int:
    """What all capacity is worth at these prices, however large."""
    pairs = zip(capacity.tolist(), prices.tolist(), strict=True)
    return sum(room * price for room, price in pairs)


def priced(demand: Demand, prices: Int64s) -> Int32s | Unplaced:
    """Each user to its cheapest broker with room, prices included; those first whose
    second choice would cost most more."""
    reached = demand.access >= 0
    asked = np.where(reached, demand.access + prices, np.iinfo(np.int64).max // 2)
    if demand.brokers > 1:
        two = np.partition(asked, 1, axis=1)[:, :2]
        regret = two[:, 1] - two[:, 0]
    else:
        regret = np.zeros(demand.users, np.int64)
    order = np.argsort(-regret, kind="stable")
    room, broker = empty_wiring(demand)
    access = read_only(np.where(reached, asked, -1))
    pack_cheapest(order, demand.load, access, room, broker)
    return settled(demand, broker)
