"""The pairs of each topic that are still unserved, in classes of equal value.

Classes `starts[t]` to `starts[t + 1]` are those of topic t, the most valuable first,
so that of each topic the best pairs are served first. A pair's weight is its value
over its topic's rate, a whole number; without weights it is one.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Int32s, Int64s

Rows = tuple[Int32s, Int32s, Int64s]


class Unserved(NamedTuple):
    """What is left of each topic."""

    rates: Int64s
    value: Int64s
    left: Int64s  # pairs of each class
    first: Int64s  # of each topic the first class with pairs left
    ends: Int64s  # of each topic one past the last class
    pairs: Int64s  # of each topic
    weight: Int64s  # of them together


@kernel
def all_unserved(
    rates: Int64s, starts: Int64s, value: Int64s, pairs: Int64s
) -> Unserved:
    """Everything, as it is at first."""
    topics = len(rates)
    count, weight = np.empty(topics, np.int64), np.empty(topics, np.int64)
    for t in range(topics):
        worth, n = 0, 0
        for c in range(starts[t], starts[t + 1]):
            worth += pairs[c] * value[c]
            n += pairs[c]
        count[t], weight[t] = n, worth // rates[t]
    first, ends = starts[:topics].copy(), starts[1:]
    return Unserved(rates, value, pairs.copy(), first, ends, count, weight)


@leaf
def serve(unserved: Unserved, topic: int, pairs: int) -> None:
    """Serve so many pairs of a topic, which it has left."""
    unserved.pairs[topic] -= pairs
    if unserved.pairs[topic] == 0:
        unserved.weight[topic] = 0
        return
    while True:
        c = unserved.first[topic]
        taken = min(pairs, unserved.left[c])
        unserved.left[c] -= taken
        unserved.weight[topic] -= taken * (unserved.value[c] // unserved.rates[topic])
        pairs -= taken
        if unserved.left[c]:
            return
        unserved.first[topic] += 1


@kernel
def new_rows(size: int) -> Rows:
    """Space for so many rows (topic, broker, pairs)."""
    return np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)


@kernel
def doubled(rows: Rows) -> Rows:
    """The rows, with as much space behind them."""
    size = len(rows[0])
    more = new_rows(2 * size)
    for i in range(size):
        more[0][i], more[1][i], more[2][i] = rows[0][i], rows[1][i], rows[2][i]
    return more
