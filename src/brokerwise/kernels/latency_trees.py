"""Sums of small regression trees, for many rows at once.

A tree is not walked. Every node that sends a row to its right rules out the leaves
at its left: these are bits, and the first leaf that nobody rules out is the one that
the row comes to [1]. What a value of a feature rules out in all trees is worked out
once, for every interval between two thresholds, so that a row costs one run of bytes
per feature.

.. [1] Lucchese et al. (2015). QuickScorer: a fast algorithm to rank documents with
   additive ensembles of regression trees. SIGIR.
"""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Bytes, Float64s, Int32s, Int64s

LEAVES = 8
"""The most that a tree may have: one bit each."""

_BLOCK = 32


@kernel
def predict_trees(
    rows: Float64s,
    bounds: Int64s,
    thresholds: Float64s,
    allowed: Bytes,
    values: Float64s,
    first: float,
) -> Float64s:
    """`first` and the values of the leaves that a row comes to, tree by tree.

    Parameters
    ----------
    bounds, thresholds
        `thresholds[bounds[f] : bounds[f + 1]]` are those of feature f, ascending.
    allowed
        Of shape (thresholds + features, trees): the leaves that remain if so many
        thresholds of a feature are below its value, the intervals of feature f from
        `bounds[f] + f` on.
    values
        Of shape (trees, LEAVES).

    O(rows * trees * features), 32 trees at a time where processors can.
    """
    trees = len(values)
    lowest = _lowest_bits()
    found = np.full(len(rows), first)
    leaves = np.empty((_BLOCK, trees), np.uint8)
    for begin in range(0, len(rows), _BLOCK):
        count = min(_BLOCK, len(rows) - begin)
        leaves[:count] = 255
        for feature in range(len(bounds) - 1):
            low, high = bounds[feature], bounds[feature + 1]
            if low == high:
                continue
            for i in range(count):
                below = _below(thresholds, low, high, rows[begin + i, feature])
                remaining = allowed[below + feature]
                of_row = leaves[i]
                for tree in range(trees):
                    of_row[tree] &= remaining[tree]
        for tree in range(trees):
            of_tree = values[tree]
            for i in range(count):
                found[begin + i] += of_tree[lowest[leaves[i, tree]]]
    return found


@kernel
def _below(thresholds: Float64s, low: int, high: int, value: float) -> int:
    """The place of the first threshold from `low` on that is not below the value."""
    size = high - low
    while size > 0:
        half = size >> 1
        if thresholds[low + half] < value:
            low += half + 1
            size -= half + 1
        else:
            size = half
    return low


@kernel
def _lowest_bits() -> Int64s:
    """For each byte its lowest bit that is set."""
    found = np.zeros(256, np.int64)
    for byte in range(1, 256):
        bit = 0
        while not (byte >> bit) & 1:
            bit += 1
        found[byte] = bit
    return found


@kernel
def leaves_allowed(
    starts: Int64s,
    feature: Int32s,
    threshold: Float64s,
    left: Int32s,
    right: Int32s,
    value: Float64s,
    bounds: Int64s,
    thresholds: Float64s,
) -> tuple[Bytes, Float64s]:
    """`allowed` and `values` of trees; `left` and `right` are 0 at a leaf and else the
    place of a later node of the tree. Leaves are numbered from the left."""
    trees = len(starts) - 1
    allowed = np.full((len(thresholds) + len(bounds) - 1, trees), 255, np.uint8)
    values = np.zeros((trees, LEAVES))
    for tree in range(trees):
        first, last = starts[tree], starts[tree + 1]
        lows, highs = _leaf_ranges(left[first:last], right[first:last])
        for node in range(first, last):
            low = lows[node - first]
            if left[node] == 0:
                values[tree, low] = value[node]
                continue
            split = highs[left[node]]
            ruled_out = np.uint8(255 ^ ((1 << split) - (1 << low)))
            of = feature[node]
            begin, end = bounds[of], bounds[of + 1]
            place = _below(thresholds, begin, end, threshold[node])
            for interval in range(place + 1, end + 1):
                allowed[interval + of, tree] &= ruled_out
    return allowed, values


@kernel
def _leaf_ranges(left: Int32s, right: Int32s) -> tuple[Int64s, Int64s]:
    """The leaves below each node of a tree: from, and up to but without."""
    count = len(left)
    sizes = np.ones(count, np.int64)
    for node in range(count - 1, -1, -1):
        if left[node]:
            sizes[node] = sizes[left[node]] + sizes[right[node]]
    lows = np.zeros(count, np.int64)
    for node in range(count):
        if left[node]:
            lows[left[node]] = lows[node]
            lows[right[node]] = lows[node] + sizes[left[node]]
    return lows, lows + sizes
