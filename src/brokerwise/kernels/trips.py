"""Taxis that drive straight from where they start to where they end, at one speed.

Places are whole millimetres and times whole milliseconds, so where a taxi is when it
tells its position is exact.
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Int64s

_HALF = 1 << 31


@leaf
def _first(begin: int, time: int, every: int) -> int:
    """The number of the first position at a time or later."""
    return max(0, -((begin - time) // every))


@leaf
def _key(x: int, y: int, dx: int, dy: int, done: int, whole: int, cell: int) -> int:
    """The region of a taxi that has `done` so much of its `whole` time."""
    column = (x * whole + dx * done) // (cell * whole)
    row = (y * whole + dy * done) // (cell * whole)
    return (column << 32) + (row + _HALF)


@kernel
def _grown(values: Int64s) -> Int64s:
    """The same, with room for as many again."""
    found = np.empty(2 * len(values), np.int64)
    found[: len(values)] = values
    return found


@kernel
def visits(
    begin: Int64s,
    end: Int64s,
    places: Int64s,
    every: int,
    cell: int,
    window: tuple[int, int],
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Which regions trips come through, in their order.

    A trip tells a position at its beginning and each `every` milliseconds, but for its
    end; only those in [window[0], window[1]) count. `places` has x, y of the start and
    of the end in its columns. Returns for each stay in a region the trip, the region's
    key, the time of the first position there, and how many there are.
    """
    trip = np.empty(len(begin), np.int64)
    key = np.empty(len(begin), np.int64)
    time = np.empty(len(begin), np.int64)
    count = np.empty(len(begin), np.int64)
    size = 0
    for i in range(len(begin)):
        whole = end[i] - begin[i]
        x, y = places[i, 0], places[i, 1]
        dx, dy = places[i, 2] - x, places[i, 3] - y
        fresh = True
        stop = min(_first(begin[i], end[i], every), _first(begin[i], window[1], every))
        for k in range(_first(begin[i], window[0], every), stop):
            here = _key(x, y, dx, dy, k * every, whole, cell)
            if not fresh and here == key[size - 1]:
                count[size - 1] += 1
                continue
            if size == len(key):
                trip, key = _grown(trip), _grown(key)
                time, count = _grown(time), _grown(count)
            trip[size], key[size] = i, here
            time[size], count[size] = begin[i] + k * every, 1
            size += 1
            fresh = False
    return trip[:size], key[:size], time[:size], count[:size]


@kernel
def most_at_once(starts: Int64s, ends: Int64s, offsets: Int64s) -> Int64s:
    """For each list of times (list i is [offsets[i], offsets[i + 1])) the largest
    number of spans [start, end) that have a moment in common. Starts and ends ascend
    within each list, each by itself."""
    most = np.zeros(len(offsets) - 1, np.int64)
    for i in range(len(offsets) - 1):
        ended = offsets[i]
        for at in range(offsets[i], offsets[i + 1]):
            while ends[ended] <= starts[at]:
                ended += 1
            most[i] = max(most[i], at + 1 - ended)
    return most
