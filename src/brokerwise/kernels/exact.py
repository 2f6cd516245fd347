"""The selection that delivers least, and a survey of what every selection must do."""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.blocks import (
    Block,
    Carried,
    Chosen,
    carried_part,
    count_chosen,
    first_within,
)
from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.greedy import first_of_smallest, insert_topic, take_fitting
from brokerwise.kernels.subset_sums import NOTHING, Board, least_reaching
from brokerwise.model.arrays import Bools, Int32s, Int64s

# Where a survey's numbers are in an array.
TOTALS = 6
OUTGOING, PAPER, MODEST, UNREACHABLE, EXAMPLE, NEEDED_RATE = range(TOTALS)


class Desk(NamedTuple):
    """Scratch for one subscriber: rates of its topics, which are picked, and more."""

    rates: Int64s
    picked: Bools
    board: Board

    @classmethod
    def for_lists(cls, offsets: Int64s) -> "Desk":
        longest = int(np.diff(offsets).max(initial=0))
        return cls(
            np.empty(longest, np.int64), np.empty(longest, np.bool_), Board.new()
        )


@leaf
def exact_for_one(
    lists: Int32s,
    begin: int,
    end: int,
    need: int,
    rates: Int64s,
    steps: Int32s,
    found: Int32s,
    start: int,
    desk: Desk,
) -> tuple[int, int]:
    """Write to `found[start:]` topics of [begin, end) with the least total rate that
    meets `need`, all of them if none does.

    Returns where they end and the least total that is proven: the one found, or less
    if the sums are too many to try. What greedy meets exactly is not tried further.
    """
    at, rest, passed_begin, passed_end = take_fitting(
        lists, begin, end, need, rates, steps, found, start
    )
    if rest <= 0 or passed_begin == passed_end:
        return at, need - rest
    extra = lists[first_of_smallest(lists, passed_begin, passed_end, rates)]
    small = first_within(lists, begin, end, need - 1, rates, steps)
    lone, lone_rate = -1, NOTHING
    if small > begin:
        lone = lists[first_of_smallest(lists, begin, small, rates)]
        lone_rate = rates[lone]
    least = proven = NOTHING
    if passed_end > small:  # else all that are smaller were taken, and are not enough
        least, proven = least_of_part(lists, small, end, need, rates, desk)
    greedy = need - rest + rates[extra]
    if lone_rate <= min(least, greedy):
        found[start] = lone
        at = start + 1
    elif greedy <= least:
        at = insert_topic(found, start, at, extra)
    else:
        at = write_picked(lists, small, end, desk.picked, found, start)
    return at, min(proven, lone_rate)


@leaf
def least_of_part(
    lists: Int32s, begin: int, end: int, need: int, rates: Int64s, desk: Desk
) -> tuple[int, int]:
    """Pick of [begin, end), all below the need, the least that meets it."""
    for k in range(begin, end):
        desk.rates[k - begin] = rates[lists[k]]
    return least_reaching(desk.rates, end - begin, need, desk.picked, desk.board)


@leaf
def write_picked(
    lists: Int32s, begin: int, end: int, picked: Bools, found: Int32s, at: int
) -> int:
    for k in range(begin, end):
        found[at] = lists[k]
        at += picked[k - begin]
    return at


@kernel
def exact_block(block: Block, carried: Carried, desk: Desk, chosen: Chosen) -> None:
    """For each subscriber the topics with the least total rate that meets its need."""
    rates, steps, low, high = carried
    lists, found = block.lists, chosen.topics
    at = 0
    for i in range(len(block.needs)):
        start, need = at, block.needs[i]
        begin, end = carried_part(block, i, low, high)
        at, _ = exact_for_one(lists, begin, end, need, rates, steps, found, start, desk)
        count_chosen(chosen, i, start, at)


@kernel
def survey_lists(
    first: int,
    block: Block,
    carried: Carried,
    desk: Desk,
    found: Int32s,
    followers: Int64s,
    counts: Int64s,
    forced: Int64s,
    totals: Int64s,
) -> None:
    """Count what a survey counts; `found` has room for the longest list."""
    rates, steps, low, high = carried
    offsets, lists, needs = block
    for i in range(len(needs)):
        for k in range(offsets[i], offsets[i + 1]):
            followers[lists[k]] += 1
        need = needs[i]
        begin, end = carried_part(block, i, low, high)
        at, least = exact_for_one(lists, begin, end, need, rates, steps, found, 0, desk)
        for k in range(at):
            counts[found[k]] += 1
        totals[OUTGOING] += least
        survey_needs(
            first + i, lists, offsets[i], begin, end, need, rates, forced, totals
        )


@leaf
def survey_needs(
    subscriber: int,
    lists: Int32s,
    start: int,
    begin: int,
    end: int,
    need: int,
    rates: Int64s,
    forced: Int64s,
    totals: Int64s,
) -> None:
    """What one subscriber must get, and what of its topics it cannot do without."""
    carried = 0
    for k in range(begin, end):
        carried += rates[lists[k]]
        if carried - rates[lists[begin]] >= need:
            break  # it can do without any one of them
    wanted = carried
    for k in range(start, begin):
        wanted += rates[lists[k]]
    if need > wanted:
        totals[MODEST] += wanted > 0
        need = wanted
    if need <= 0:
        return
    smallest = rates[lists[end - 1]] if end > begin else 0
    totals[PAPER] += max(need, smallest)
    for k in range(begin, end):
        if carried - rates[lists[k]] >= need:
            break
        forced[lists[k]] += 1
    if carried < need:
        totals[UNREACHABLE] += 1
        if totals[EXAMPLE] < 0 or subscriber < totals[EXAMPLE]:
            totals[EXAMPLE] = subscriber
        while carried < need:
            begin -= 1
            carried += rates[lists[begin]]
        totals[NEEDED_RATE] = max(totals[NEEDED_RATE], rates[lists[begin]])
