"""How many deliveries sub-channels cause, and how many of them are wanted."""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s


@kernel
def count_deliveries(
    publisher: Int32s,
    subchannel: Int32s,
    points: Float64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
    covered: Bools,
    followers: Int64s,
    certain: Int64s,
    part_offsets: Int64s,
    part_user: Int32s,
    part_box: Int32s,
    low: Float64s,
    high: Float64s,
) -> Int64s:
    """Of some messages: deliveries by sub-channel, and those within the exact ranges.

    A message goes to every user who wants its sub-channel, except for its publisher.
    Only boxes that hold part of the sub-channel are compared with it. The arrays after
    `points` are those of `Interests`.
    """
    caused = np.int64(0)
    exact = np.int64(0)
    for message in range(len(publisher)):
        cell, who = subchannel[message], publisher[message]
        caused += followers[cell]
        exact += certain[cell]
        own = _find(wanted, wanted_offsets[who], wanted_offsets[who + 1], cell)
        if own >= 0:
            caused -= 1
            if covered[own]:
                exact -= 1
        served = -1
        for entry in range(part_offsets[cell], part_offsets[cell + 1]):
            user = part_user[entry]
            hit = _holds(low, high, part_box[entry], points, message)
            # One box of a user is enough. No branches: chance decides which to take.
            exact += hit & (user != served) & (user != who)
            served = user if hit else served
    return np.array([caused, exact])


@leaf
def _find(entries: Int32s, start: int, end: int, wanted: int) -> int:
    """Where a number is among ascending ones, or -1."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and entries[low] == wanted else -1


@leaf
def _holds(
    low: Float64s, high: Float64s, box: int, points: Float64s, message: int
) -> bool:
    inside = True
    for attribute in range(points.shape[1]):
        value = points[message, attribute]
        inside &= (value >= low[box, attribute]) & (value <= high[box, attribute])
    return inside
