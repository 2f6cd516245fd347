"""What latency models are made of: features of topics that share a broker, and sums of
small regression trees.

Every feature rises, or stays, when a topic is added or when any topic takes more
processing or more messages: exactly, with rounding, because sums run over values in
descending order and every step of the arithmetic is one that rounding keeps in order.

A tree is not walked. Every node that sends a row to its right rules out the leaves at
its left: these are bits, and the first leaf that nobody rules out is the one that the
row comes to [1]. What a value of a feature rules out in all trees is worked out once,
for every interval between two thresholds, so that a row costs one run of bytes per
feature.

.. [1] Lucchese et al. (2015). QuickScorer: a fast algorithm to rank documents with
   additive ensembles of regression trees. SIGIR.
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bytes, Float64s, Int32s, Int64s

FEATURES = (
    "own processing",
    "own rate",
    "own load",
    "processing of others",
    "rate of others",
    "load of others",
    "longest processing of others",
    "number of others",
    "load of all",
    "own load over own share",
    "own processing over own share",
    "others that are busy",
    "processing while others are busy",
    "processing and waiting over own share",
)
OVER, STRETCHED = 9, 10
_NEARLY_FULL = 0.98
_WAITING = 1.15  # half of log(10): the 90th percentile of a wait that is exponential

LEAVES = 8
"""The most that a tree may have: one bit each."""

_BLOCK = 32


@kernel
def sharing_features(
    processing: Float64s, rates: Float64s, cores: float
) -> Float64s:  # shape (sets * topics, features)
    """FEATURES of each topic of each set. `processing` (ms) and `rates` (per second)
    have shape (sets, topics); what a message costs beside its processing is in it.

    A topic's share is what it could use of a core if it always had work and every
    other topic took as much as it needs, up to an equal part. O(sets * topics^2).
    """
    sets, topics = processing.shape
    found = np.empty((sets * topics, len(FEATURES)))
    loads, over = np.empty(topics), np.empty(topics)
    shares, busy = np.empty(topics), np.empty(topics)
    by_time, by_rate = np.empty(topics, np.int64), np.empty(topics, np.int64)
    by_load, by_busy = np.empty(topics, np.int64), np.empty(topics, np.int64)
    for i in range(sets):
        times, messages = processing[i], rates[i]
        for j in range(topics):
            loads[j] = times[j] * messages[j] / 1000
        _descend(times, by_time)
        _descend(messages, by_rate)
        _descend(loads, by_load)
        for j in range(topics):
            shares[j] = _share(loads, by_load, j, cores)
            over[j] = loads[j] / shares[j]
            busy[j] = min(1.0, over[j])
        _descend(busy, by_busy)
        everything = _sum_without(loads, by_load, -1)
        for j in range(topics):
            row = found[i * topics + j]
            row[0], row[1], row[2] = times[j], messages[j], loads[j]
            row[3] = _sum_without(times, by_time, j)
            row[4] = _sum_without(messages, by_rate, j)
            row[5] = _sum_without(loads, by_load, j)
            row[6] = 0.0
            for other in range(topics):
                if other != j:
                    row[6] = max(row[6], times[other])
            row[7], row[8] = topics - 1, everything
            row[9] = over[j]
            row[10] = times[j] / shares[j]
            row[11] = _sum_without(busy, by_busy, j)
            row[12] = times[j] * (1.0 + row[11] / cores)
            use = min(over[j], _NEARLY_FULL)
            row[13] = row[10] * (1.0 + _WAITING * (use / (1.0 - use)))
    return found


@kernel
def queueing_estimate(features: Float64s, horizon: float) -> Float64s:
    """The logarithm of about the 90th percentile (ms) that rows of
    `sharing_features` have, if traffic lasts `horizon` ms.

    The wait w of a topic with service time s and utilisation u solves
    w^2 / horizon + w (1 - u) / (1.15 u) = s: far below saturation this is that of a
    queue with constant service, at saturation it grows with the root of the time,
    and above it in proportion to the time and to what is too much.
    """
    found = np.empty(len(features))
    for i in range(len(features)):
        over, service = features[i, OVER], features[i, STRETCHED]
        room = (1.0 - over) / (_WAITING * over)
        root = np.sqrt(room * room + 4.0 * service / horizon)
        if room > 0:  # the other form would lose digits
            waiting = 2.0 * service / (room + root)
        else:
            waiting = horizon / 2.0 * (root - room)
        found[i] = np.log(service + waiting)
    return found


@leaf
def _descend(values: Float64s, order: Int64s) -> None:
    """Put the places of a few values in order, the largest first."""
    for place in range(len(values)):
        at = place
        while at > 0 and values[order[at - 1]] < values[place]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place


@leaf
def _share(loads: Float64s, descending: Int64s, topic: int, cores: float) -> float:
    """The level up to which cores are filled when one topic takes all it can get.

    It is the largest of what is left for each of the others if only the smallest j
    are served in full, for any j.
    """
    left = len(loads)
    level, served = cores / left, 0.0
    for at in range(len(loads) - 1, -1, -1):
        other = descending[at]
        if other != topic:
            left -= 1
            served += loads[other]
            level = max(level, (cores - served) / left)
    return min(1.0, level)


@leaf
def _sum_without(values: Float64s, descending: Int64s, topic: int) -> float:
    total = 0.0
    for at in range(len(values)):
        if descending[at] != topic:
            total += values[descending[at]]
    return total


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
