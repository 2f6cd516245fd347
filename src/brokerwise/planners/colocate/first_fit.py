"""First fit decreasing: Algorithm 1 of Khare et al. (2018).

Topics by descending latency alone, each to the first broker that stays feasible. That
is the same as to fill one broker after the other: whether a broker takes a topic
depends on what it took before, and on no other broker. So each broker walks over the
topics that are left, many at a time, and leaves out what it has refused: it never takes
it later.
"""

from collections.abc import Sequence

import numpy as np

from brokerwise.kernels.colocate_dominance import heavier
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.colocate.feasibility import Oracle

Packing = list[list[int]]
"""The replicas of each broker."""

_FIRST_BATCH = 64
_PROBES = 64
_LONG = 400  # fewer kinds are asked about at once nearly as soon as some


def ffd(oracle: Oracle, order: Int32s) -> Packing:
    """First fit in the order given. O(replicas * brokers) sets at most are looked at;
    replicas must be feasible alone."""
    brokers: Packing = []
    rest = order
    while len(rest):
        members = fill(oracle, [int(rest[0])], rest[1:])
        brokers.append(members)
        rest = rest[~np.isin(rest, members)]
    return brokers


def fill(oracle: Oracle, members: Sequence[int], order: Int32s) -> list[int]:
    """The members of one broker, and those of the order that first fit adds to them,
    until there are `k`."""
    taken = list(members)
    topic = oracle.demand.topic
    leap = oracle.plain and min(len(order), oracle.demand.kinds) > _LONG
    walk = _Leaps(oracle, order) if leap else _Steps(oracle, order)
    while len(taken) < oracle.k:
        if oracle.demand.split:
            walk.rest = walk.rest[~np.isin(topic[walk.rest], topic[taken])]
        found = walk.first_that_joins(np.array(taken, np.int32))
        if found is None:
            break
        taken.append(found)
    return taken


class _Steps:
    """Walks over an order, a batch at a time; kinds that were refused are skipped."""

    def __init__(self, oracle: Oracle, order: Int32s) -> None:
        self._oracle, self.rest = oracle, order
        self._refused = np.zeros(oracle.demand.kinds, np.bool_)

    def first_that_joins(self, members: Int32s) -> int | None:
        """Take the first of the rest that may join; those before it are refused."""
        kind, batch = self._oracle.demand.kind, _FIRST_BATCH
        while len(self.rest):
            self.rest = self.rest[~self._refused[kind[self.rest]]]
            some = self.rest[:batch]
            joins = self._oracle.joins(members, some)
            at = int(np.argmax(joins)) if joins.any() else len(some)
            self._refused[kind[some[:at]]] = True
            self.rest = self.rest[at + 1 :] if at < len(some) else self.rest[at:]
            if at < len(some):
                return int(some[at])
            batch *= 2
        return None


class _Leaps:
    """Walks over a long order for a model that is monotone: what a broker refuses it
    also refuses if it is heavier, so most of the order need not be asked about."""

    def __init__(self, oracle: Oracle, order: Int32s) -> None:
        demand = oracle.demand
        self._oracle, self.rest = oracle, order
        self._sizes = np.stack(
            (demand.processing_ms, demand.rate_per_second, -demand.limit_ms)
        )

    def first_that_joins(self, members: Int32s) -> int | None:
        """Take the first of the rest that may join; those before it are refused."""
        known = len(self.rest)  # where one is that may join, or the end
        while len(self.rest):
            probes = _probes(max(1, known))
            joins = self._oracle.joins(members, self.rest[probes])
            if joins[0]:
                taken, self.rest = int(self.rest[0]), self.rest[1:]
                return taken
            kept = ~heavier(self._sizes, self.rest, self.rest[probes[~joins]])
            known = int(probes[np.argmax(joins)]) if joins.any() else known
            known = int(np.count_nonzero(kept[:known]))
            self.rest = self.rest[kept]
        return None


def _probes(count: int) -> Int64s:
    """Places from 0 to below `count`: the first few, and then ever further apart."""
    few = np.arange(min(count, _PROBES // 2))
    far = np.geomspace(1, count, _PROBES // 2).astype(np.int64) - 1
    return np.unique(np.concatenate((few, far)))


def descending(oracle: Oracle, names: Sequence[str]) -> Int32s:
    """Replicas by descending latency alone; then by the name of the topic, in the
    order of its bytes, and by number. `names` are those of all topics."""
    demand = oracle.demand
    ranked = sorted(range(len(names)), key=lambda topic: names[topic].encode())
    rank = np.empty(len(names), np.int64)
    rank[ranked] = np.arange(len(names))
    keys = (demand.number, rank[demand.topic], -oracle.alone_ms())
    return np.lexsort(keys).astype(np.int32)
