"""Largest feasible sets: Algorithms 2 and 3 of Khare et al. (2018).

In print, Algorithm 2 never empties T after the matching, and skips the matching when it
is entered with k = 2; Algorithm 3 changes T while it walks over it. Here the matching
takes all that is left, whenever two is the most that may share a broker, and first fit
walks over topics that no broker has yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Int32s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.first_fit import Packing, ffd, fill
from brokerwise.planners.colocate.pairs import paired
from brokerwise.planners.control import Stop, never

MOST_ROWS = 2_000_000
"""Topics of sets that a model may be asked about before first fit does the rest."""

_LOOKS_PER_ROW = 50  # what is known already costs so much less


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
