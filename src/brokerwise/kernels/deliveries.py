"""How many deliveries sub-channels cause, and how many of them are wanted."""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s


class Coverage(NamedTuple):
    """How far subscriptions cover the sub-channels that users want.

    Attributes
    ----------
    covered
        For each wanted entry: whether one box of the user holds all of the
        sub-channel, so that every message in it is wanted.
    followers, certain
        Of each sub-channel: users who want it, and those who want all of it.
    offsets, user, box
        For each sub-channel c, in [offsets[c], offsets[c + 1]), the boxes that hold
        only some of it, by users who do not want all of it; ascending by user.
    low, high
        The boxes.
    """

    covered: Bools
    followers: Int64s
    certain: Int64s
    offsets: Int64s
    user: Int32s
    box: Int32s
    low: Float64s
    high: Float64s


@kernel
def count_deliveries(
    publisher: Int32s,
    subchannel: Int32s,
    points: Float64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
    coverage: Coverage,
) -> Int64s:
    """Of some messages: deliveries by sub-channel, and those within the exact ranges.

    A message goes to every user who wants its sub-channel, except for its publisher.
    Only boxes that hold part of the sub-channel are compared with it.
    """
    covered, followers, certain, part_offsets, part_user, part_box, low, high = coverage
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
