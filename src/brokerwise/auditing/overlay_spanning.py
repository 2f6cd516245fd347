"""The least weight that a tree over given brokers can have."""

import numpy as np

from brokerwise.model.arrays import Bools, Int64s

_FAR = np.iinfo(np.int64).max
_CELLS = 4_000_000  # looked at at once, so that memory is bounded


def least_weights(core: Int64s, members: Bools) -> Int64s:
    """The weight of the minimum spanning tree over each row's members.

    Prim's algorithm on many sets at once; equal sets are gone through once.
    O(rows * brokers^2).
    """
    if members.size == 0:
        return np.zeros(len(members), np.int64)
    packed = np.packbits(members, axis=1)
    _, first, same = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    distinct = members[first]
    step = max(1, _CELLS // members.shape[1])
    parts = [
        _grown(core, distinct[start : start + step])
        for start in range(0, len(distinct), step)
    ]
    weights: Int64s = np.concatenate(parts)[same.ravel()]
    return weights


def _grown(core: Int64s, members: Bools) -> Int64s:
    """Grow all trees by one member a step, each from its first."""
    rows = np.arange(len(members))
    outside = members.copy()
    newest = np.argmax(outside, axis=1)
    outside[rows, newest] = False
    distance = np.full(members.shape, _FAR)
    total = np.zeros(len(members), np.int64)
    for _ in range(int(members.sum(axis=1).max()) - 1):
        np.minimum(distance, core[newest], out=distance)
        reachable = np.where(outside, distance, _FAR)
        newest = np.argmin(reachable, axis=1)
        growing = outside[rows, newest]
        total += np.where(growing, reachable[rows, newest], 0)
        outside[rows, newest] = False
    return total
