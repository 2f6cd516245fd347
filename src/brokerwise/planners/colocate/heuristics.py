"""The algorithms of Khare et al. (2018): first fit decreasing, largest feasible sets,
and both together.

First fit decreasing (Algorithm 1): topics by descending latency alone, each to the
first broker that stays feasible. That is the same as to fill one broker after the
other: whether a broker takes a topic depends on what it took before, and on no other
broker. So each broker walks over the topics that are left, many at a time, and leaves
out what it has refused: it never takes it later.

In print, Algorithm 2 never empties T after the matching, and skips the matching when it
is entered with k = 2; Algorithm 3 changes T while it walks over it. Here the matching
takes all that is left, whenever two is the most that may share a broker, and first fit
walks over topics that no broker has yet.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.colocate import NONE, heavier, maximum_matching
from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.control import Stop, never

Packing = list[list[int]]
"""The replicas of each broker."""

_FIRST_BATCH = 64
_PROBES = 64
_LONG = 400  # fewer kinds are asked about at once nearly as soon as some

_PAIRS_AT_ONCE = 1_000_000

MOST_ROWS = 2_000_000
"""Topics of sets that a model may be asked about before first fit does the rest."""

_LOOKS_PER_ROW = 50  # what is known already costs so much less


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


def compatible(oracle: Oracle, replicas: Int32s) -> Bools:
    """Which two of these may share a broker, as a symmetric matrix without a diagonal.

    O(n^2) memory; asks for each pair of kinds once.
    """
    demand = oracle.demand
    kinds, of = np.unique(demand.kind[replicas], return_inverse=True)
    may = of_kinds(oracle, kinds)[np.ix_(of, of)]
    if demand.split:
        topic = demand.topic[replicas]
        may &= topic[:, None] != topic
    np.fill_diagonal(may, False)
    return may


def of_kinds(oracle: Oracle, kinds: Int32s) -> Bools:
    """Which two kinds may share a broker; a kind with itself, too."""
    count = len(kinds)
    may = np.zeros((count, count), np.bool_)
    each = max(1, _PAIRS_AT_ONCE // max(1, count))
    for first in range(0, count, each):
        rows, columns = np.triu_indices(min(each, count - first), 0, count - first)
        rows, columns = rows + first, columns + first
        pairs = np.column_stack((kinds[rows], kinds[columns]))
        may[rows, columns] = may[columns, rows] = oracle.of_kinds(pairs)
    return may


def matched(may: Bools) -> list[list[int]]:
    """A maximum matching: pairs, then those that are left alone, in order."""
    offsets = np.zeros(len(may) + 1, np.int64)
    np.cumsum(may.sum(axis=1), out=offsets[1:])
    match = maximum_matching(offsets, np.nonzero(may)[1].astype(np.int32))
    pairs = [[v, int(m)] for v, m in enumerate(match) if v < m]
    return pairs + [[v] for v, m in enumerate(match) if m == NONE]


def paired(oracle: Oracle, replicas: Int32s) -> Packing:
    """The fewest brokers for these replicas with at most two on each: optimal."""
    if oracle.k < 2:
        return [[int(replica)] for replica in replicas]
    groups = matched(compatible(oracle, replicas))
    return [[int(replicas[v]) for v in group] for group in groups]


@dataclass
class Effort:
    """How much may be done, and whether it was not enough: work, or time."""

    most_rows: int = MOST_ROWS
    stop: Stop = never
    stopped: str = ""


def lfs(oracle: Oracle, order: Int32s, effort: Effort, k: int | None = None) -> Packing:
    """Again and again the first feasible set of k in lexicographic order, then of k-1,
    and so on; what is left when two is the size is matched, which is optimal.

    Exponential in k at worst: once too many sets were looked at, the rest is done by
    first fit, and `effort` says so.
    """
    size = min(oracle.k if k is None else k, oracle.k)
    brokers: Packing = []
    rest = order
    while size > 2 and len(rest) and not effort.stopped:
        brokers += first_sets(oracle, rest, size, effort)
        rest = without(rest, brokers)
        size -= 1
    if effort.stopped:
        return brokers + ffd(oracle, rest)
    return brokers + (paired(oracle, rest) if size == 2 else [[int(r)] for r in rest])


def hybrid(oracle: Oracle, order: Int32s, opening: int, effort: Effort) -> Packing:
    """Brokers are opened with the first feasible set of `opening` replicas, and filled
    by first fit up to k; the rest goes by `lfs` with opening - 1.

    With an opening of 1 this is `ffd`, with k it is `lfs`.
    """
    opening = min(opening, oracle.k)
    if opening == 1:
        return ffd(oracle, order)
    if opening == oracle.k:
        return lfs(oracle, order, effort)
    brokers: Packing = []
    sweep = _Sweep(oracle, order, opening, effort)
    for found in sweep:
        sweep.take(found)
        members = fill(oracle, found, sweep.left())
        sweep.take(members)
        brokers.append(members)
    return brokers + lfs(oracle, sweep.left(), effort, opening - 1)


def first_sets(
    oracle: Oracle, order: Int32s, size: int, effort: Effort
) -> Iterator[list[int]]:
    """Feasible sets of a size, each the first in lexicographic order among those that
    are left by the ones before."""
    sweep = _Sweep(oracle, order, size, effort)
    for found in sweep:
        sweep.take(found)
        yield found


def without(order: Int32s, brokers: Packing) -> Int32s:
    """Those of the order that no broker has."""
    taken = [replica for members in brokers for replica in members]
    return order[~np.isin(order, np.array(taken, np.int32))]


class _Sweep:
    """One pass over the sets of a size in lexicographic order.

    A set that comes before one that was found is infeasible, or has a replica that is
    taken by now: so the pass goes on where it was. A set is looked at only if all of
    its beginnings are feasible, and all children of a beginning at once.
    """

    def __init__(
        self, oracle: Oracle, order: Int32s, size: int, effort: Effort
    ) -> None:
        self._oracle, self._order, self._size = oracle, order, size
        self._effort = effort
        self._free: Bools = np.ones(len(order), np.bool_)
        self._place = {int(replica): at for at, replica in enumerate(order)}
        self._looked = 0
        self._rows = oracle.rows

    def left(self) -> Int32s:
        return self._order[self._free]

    def take(self, members: list[int]) -> None:
        self._free[[self._place[member] for member in members]] = False

    def __iter__(self) -> Iterator[list[int]]:
        every = np.arange(len(self._order))
        for places in self._below((), every):
            yield [int(replica) for replica in self._order[list(places)]]

    def _below(
        self, prefix: tuple[int, ...], candidates: np.ndarray
    ) -> Iterator[tuple[int, ...]]:
        """Feasible sets that begin with a prefix; each candidate may join it."""
        need = self._size - len(prefix)
        for at, place in enumerate(candidates.tolist()):
            if not self._free[list(prefix)].all():
                return
            if not self._free[place]:
                continue
            later = candidates[at + 1 :]
            later = later[self._free[later]]
            if len(later) < need - 1 or self._tired():
                return
            longer = (*prefix, place)
            if need == 1:
                yield longer
                continue
            joining = later[self._joins(longer, later)]
            if len(joining) >= need - 1:
                yield from self._below(longer, joining)

    def _joins(self, prefix: tuple[int, ...], places: np.ndarray) -> Bools:
        self._looked += len(places)
        members = self._order[list(prefix)]
        return self._oracle.joins(members, self._order[places])

    def _tired(self) -> bool:
        if self._effort.stop():
            self._effort.stopped = "time"
        elif self._work() > self._effort.most_rows:
            self._effort.stopped = "work"
        else:
            return False
        return True

    def _work(self) -> int:
        return self._oracle.rows - self._rows + self._looked // _LOOKS_PER_ROW
