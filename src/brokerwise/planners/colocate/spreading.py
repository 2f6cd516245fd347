"""Load spread over a given number of brokers: good where k limits, not latency; and
among plans with as many brokers the one that leaves most room for what models err."""

import numpy as np

from brokerwise.model.arrays import Bools, Int64s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.first_fit import Packing

_BATCH = 8


def spread(oracle: Oracle, brokers: int) -> Packing | None:
    """Replicas, heaviest first, each to the least loaded of so many brokers that stays
    feasible; None if one of them fits nowhere."""
    demand = oracle.demand
    members: Packing = [[] for _ in range(brokers)]
    load, size = np.zeros(brokers), np.zeros(brokers, np.int64)
    for replica in np.argsort(-demand.load, kind="stable").tolist():
        order = np.argsort(load, kind="stable")
        home = _first_home(oracle, replica, members, order[size[order] < oracle.k])
        if home is None:
            return None
        members[home].append(replica)
        load[home] += demand.load[replica]
        size[home] += 1
    return [held for held in members if held]


def _first_home(
    oracle: Oracle, replica: int, members: Packing, order: Int64s
) -> int | None:
    """The first broker in this order that the replica may join."""
    batch, first = _BATCH, 0
    while first < len(order):
        some = order[first : first + batch].tolist()
        joins = joining(oracle, replica, [members[b] for b in some])
        if joins.any():
            return int(some[int(np.argmax(joins))])
        first, batch = first + batch, 2 * batch
    return None


def joining(oracle: Oracle, replica: int, brokers: Packing) -> Bools:
    """Whether a replica may join each of these brokers: a batch for each size."""
    sizes = np.array([len(held) for held in brokers])
    found = np.zeros(len(brokers), np.bool_)
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        sets = np.array([[*brokers[b], replica] for b in at], np.int32)
        found[at] = oracle.feasible(sets)
    return found


def fewest_by_spreading(oracle: Oracle, least: int, most: int) -> Packing | None:
    """The smallest number of brokers found, from `least` to `most`, that spreading
    does with; halves what is between."""
    best = None
    low, high = least, most
    while low <= high:
        middle = (low + high) // 2
        found = spread(oracle, middle)
        if found is None:
            low = middle + 1
        else:
            best, high = found, len(found) - 1
    return best


def tightness(oracle: Oracle, packing: Packing) -> float:
    """How much of its limit a replica is predicted to use, on the mean."""
    used = 0.0
    for size in sorted({len(members) for members in packing}):
        members = [sorted(held) for held in packing if len(held) == size]
        sets = np.array(members, np.int32)
        used += float((oracle.p90_ms(sets) / oracle.demand.limit_ms[sets]).sum())
    return used / max(1, len(oracle.demand))
