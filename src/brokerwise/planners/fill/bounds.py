"""What no plan can exceed, without a search."""

from math import floor

import numpy as np

from brokerwise.kernels.merging import most_in_one
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.planners.fill.demand import Demand

# Far above what rounding can add up to in sums over a billion classes.
_ROUNDING = 1e-9
_STEPS = 500_000_000  # under a second
_LARGEST = 10_000_000  # a table of 160 MB


def paper_bound(demand: Demand, bandwidth: int) -> int:
    """All that is wanted, or all bandwidth spent on the most valuable pairs.

    Without weights it is the smaller of total bandwidth and rate of all pairs, as
    Lambert and Sakellariou have it: set-ups and pairs that do not fit are ignored.
    """
    rates = demand.rates[demand.topic]
    weight = demand.value // np.maximum(rates, 1)
    order = np.argsort(-weight, kind="stable")
    load = (rates * demand.pairs)[order]
    room = np.clip(bandwidth - (np.cumsum(load) - load), 0, load)
    return int(room @ weight[order])


def quick_bound(demand: Demand, bandwidth: int, largest: int) -> int:
    """All bandwidth spent where it is worth the most, set-ups included.

    A broker that has n pairs of a topic spends n + 1 times its rate on them, and no
    broker has more than the largest can carry: so every pair takes its rate and a
    share of a set-up. O(classes log classes).
    """
    most = np.minimum(demand.followers, largest // demand.rates - 1)
    load: Float64s = demand.rates * (1 + 1 / np.maximum(most, 1))
    each = load[demand.topic]
    order = np.argsort(-(demand.value / each), kind="stable")
    loads = (each * demand.pairs)[order]
    room = np.clip(bandwidth - (np.cumsum(loads) - loads), 0, loads)
    value = float((room / each[order]) @ demand.value[order])
    return min(demand.total, _floor(value * (1 + _ROUNDING) + _ROUNDING, demand.value))


def merged_bound(demand: Demand, bandwidth: int, largest: int) -> int:
    """What one broker with all bandwidth could carry, if topics that are too large for
    the largest broker paid for their set-ups; exact, by a dynamic program.

    Where that takes too long, the quick bound. Unlike relaxations it knows that pairs
    and set-ups are whole, but not that brokers must be filled one by one.
    """
    unit = int(np.gcd.reduce(demand.rates)) if demand.topics else 1
    bound = quick_bound(demand, bandwidth, largest)
    size = bandwidth // unit
    if size > _LARGEST or int(demand.pairs.sum()) * size > _STEPS:
        return bound
    arrays = (demand.rates // unit, demand.starts, demand.value, demand.pairs)
    return min(bound, int(most_in_one(*arrays, size, largest // unit)))


def _floor(bound: float, values: Int64s) -> int:
    """Down to a number that values can add up to."""
    grain = int(np.gcd.reduce(values)) if len(values) else 1
    return floor(bound) // grain * grain
