"""What selection kernels work on: a block of subscribers and the topics they want.

A subscriber's list holds topic ids ascending, which is rates descending.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import leaf
from brokerwise.model.arrays import Int32s, Int64s

MOST_STEPS = 1 << 16


class Block(NamedTuple):
    """Subscriber i wants `lists[offsets[i]:offsets[i+1]]`, and `needs[i]` of it."""

    offsets: Int64s
    lists: Int32s
    needs: Int64s


class CarriedTopics(NamedTuple):
    """Topics with ids from `low` to before `high` can be carried.

    `steps[x]` is the first topic whose rate is at most x: so ids tell which topics
    fit, and rates need not be looked up for those that do not.
    """

    rates: Int64s
    steps: Int32s
    low: int
    high: int


class SelectedPairs(NamedTuple):
    """Subscriber i gets `topics[ends[i]:ends[i+1]]`; `counts` are by topic."""

    counts: Int64s
    ends: Int64s
    topics: Int32s


def steps_of(rates: Int64s) -> Int32s:
    """The first topic whose rate is at most 0, 1, 2, ..., up to a limit."""
    most = min(int(rates[0]) if len(rates) else 0, MOST_STEPS - 1)
    at_most = np.searchsorted(rates[::-1], np.arange(most + 1), side="right")
    steps: Int32s = (len(rates) - at_most).astype(np.int32)
    return steps


@leaf
def carried_part(block: Block, i: int, low: int, high: int) -> tuple[int, int]:
    """Where subscriber i's topics that can be carried begin and end."""
    end = block.offsets[i + 1]
    begin = first_from(block.lists, block.offsets[i], end, low)
    return begin, first_from(block.lists, begin, end, high)


@leaf
def first_from(lists: Int32s, begin: int, end: int, topic: int) -> int:
    """Where [begin, end) reaches ids of at least `topic`."""
    if begin >= end or lists[begin] >= topic:
        return begin
    if lists[end - 1] < topic:
        return end
    while end - begin > 1:
        middle = (begin + end) >> 1
        if lists[middle] < topic:
            begin = middle
        else:
            end = middle
    return end


@leaf
def first_within(
    lists: Int32s, begin: int, end: int, limit: int, rates: Int64s, steps: Int32s
) -> int:
    """Where [begin, end) reaches topics whose rate is at most `limit`."""
    if limit < len(steps):
        return first_from(lists, begin, end, steps[limit])
    while begin < end and rates[lists[begin]] > limit:
        middle = (begin + end) >> 1
        if rates[lists[middle]] > limit:
            begin = middle + 1
        else:
            begin, end = begin + 1, middle
    return begin


@leaf
def count_chosen(chosen: SelectedPairs, i: int, begin: int, end: int) -> None:
    """Subscriber i gets what was written to [begin, end)."""
    for k in range(begin, end):
        chosen.counts[chosen.topics[k]] += 1
    chosen.ends[i + 1] = end
