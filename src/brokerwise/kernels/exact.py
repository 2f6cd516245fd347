"""Selections that do without prices, and a survey of what every selection must do.

`greedy` and `random` look at a subscriber's list once; `exact` delivers least.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.blocks import (
    Block,
    CarriedTopics,
    SelectedPairs,
    carried_part,
    count_chosen,
    first_within,
)
from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.names import Word, finished, mixed
from brokerwise.kernels.subset_sums import NOTHING, Board, least_reaching
from brokerwise.model.arrays import Bools, Int32s, Int64s

_SALT = Word(0x9E3779B97F4A7C15)

# Where a survey's numbers are in an array.
TOTALS = 6
OUTGOING, PAPER, MODEST, UNREACHABLE, EXAMPLE, NEEDED_RATE = range(TOTALS)


@leaf
def take_fitting(
    lists: Int32s,
    begin: int,
    end: int,
    need: int,
    rates: Int64s,
    steps: Int32s,
    found: Int32s,
    at: int,
) -> tuple[int, int, int, int]:
    """Write to `found[at:]` what fits in what remains of `need`, largest first.

    What does not fit once never fits again, so one pass does. Returns where `found`
    ends, what remains, and the last part of the list that was passed over: its last
    topic is the smallest not taken. That part is empty if everything was taken or
    nothing remains.
    """
    passed_begin = passed_end = begin
    while need > 0 and begin < end:
        fitting = first_within(lists, begin, end, need, rates, steps)
        if fitting > begin:
            passed_begin, passed_end = begin, fitting
            begin = fitting
            if begin == end:
                break
        found[at] = lists[begin]
        need -= rates[lists[begin]]
        at += 1
        begin += 1
    return at, need, passed_begin, passed_end


@leaf
def first_of_smallest(lists: Int32s, begin: int, end: int, rates: Int64s) -> int:
    """Where in [begin, end), not empty, those with the least rate begin."""
    at = end - 1
    rate = rates[lists[at]]
    while at > begin and rates[lists[at - 1]] == rate:
        at -= 1
    return at


@leaf
def insert_topic(found: Int32s, start: int, at: int, topic: int) -> int:
    """Add a topic to `found[start:at]`, which is ascending and stays so."""
    place = at
    while place > start and found[place - 1] > topic:
        found[place] = found[place - 1]
        place -= 1
    found[place] = topic
    return at + 1


@kernel
def greedy_block(block: Block, carried: CarriedTopics, chosen: SelectedPairs) -> None:
    """GSP of Setty et al. (Algorithms 1 and 2): what fits in what remains, largest
    first; when nothing fits, the smallest of the rest, of equal rates the first.

    Where all topics together are less than the need, all are taken, as they should.
    """
    rates, steps, low, high = carried
    lists, found = block.lists, chosen.topics
    at = 0
    for i in range(len(block.needs)):
        start = at
        begin, end = carried_part(block, i, low, high)
        at, rest, passed_begin, passed_end = take_fitting(
            lists, begin, end, block.needs[i], rates, steps, found, at
        )
        if rest > 0 and passed_end > passed_begin:
            extra = first_of_smallest(lists, passed_begin, passed_end, rates)
            at = insert_topic(found, start, at, lists[extra])
        count_chosen(chosen, i, start, at)


@kernel
def random_block(
    seed: Word, first: int, block: Block, carried: CarriedTopics, chosen: SelectedPairs
) -> None:
    """RSP (Algorithm 6): topics in random order until the need is met.

    The order depends on the seed, the subscriber's id and its list, nothing else.
    """
    rates, _, low, high = carried
    lists, found = block.lists, chosen.topics
    longest = 0
    for i in range(len(block.needs)):
        longest = max(longest, block.offsets[i + 1] - block.offsets[i])
    order = np.empty(longest, np.int32)
    drawn = np.zeros(longest, np.bool_)
    at = 0
    for i in range(len(block.needs)):
        start, need = at, block.needs[i]
        begin, end = carried_part(block, i, low, high)
        state = mixed(mixed(seed, _SALT), Word(first + i))
        draw_until(lists, begin, end, need, rates, state, order, drawn)
        for k in range(end - begin):
            if drawn[k]:
                found[at] = lists[begin + k]
                at += 1
                drawn[k] = False
        count_chosen(chosen, i, start, at)


@leaf
def draw_until(
    lists: Int32s,
    begin: int,
    end: int,
    need: int,
    rates: Int64s,
    state: Word,
    order: Int32s,
    drawn: Bools,
) -> None:
    """Draw from [begin, end) without repeats until the rates meet the need."""
    size = end - begin
    for k in range(size):
        order[k] = k
    taken = 0
    while need > 0 and taken < size:
        state = mixed(state, Word(taken + 1))
        high_half = finished(state) >> Word(32)
        pick = taken + np.int64((high_half * Word(size - taken)) >> Word(32))
        place = order[pick]
        order[pick] = order[taken]
        drawn[place] = True
        need -= rates[lists[begin + place]]
        taken += 1


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
    carried: CarriedTopics,
    found: Int32s,
    start: int,
    desk: Desk,
) -> tuple[int, int]:
    """Write to `found[start:]` topics of [begin, end) with the least total rate that
    meets `need`, all of them if none does.

    Returns where they end and the least total that is proven: the one found, or less
    if the sums are too many to try. What greedy meets exactly is not tried further.
    """
    rates, steps = carried.rates, carried.steps
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
def exact_block(
    block: Block, carried: CarriedTopics, desk: Desk, chosen: SelectedPairs
) -> None:
    """For each subscriber the topics with the least total rate that meets its need."""
    lists, found = block.lists, chosen.topics
    at = 0
    for i in range(len(block.needs)):
        start, need = at, block.needs[i]
        begin, end = carried_part(block, i, carried.low, carried.high)
        at, _ = exact_for_one(lists, begin, end, need, carried, found, start, desk)
        count_chosen(chosen, i, start, at)


class SurveyCounts(NamedTuple):
    """What a survey counts: `followers`, `counts` and `forced` by topic, as `Survey`
    has them, and `totals`."""

    followers: Int64s
    counts: Int64s
    forced: Int64s
    totals: Int64s


@kernel
def survey_lists(
    first: int,
    block: Block,
    carried: CarriedTopics,
    desk: Desk,
    found: Int32s,
    survey: SurveyCounts,
) -> None:
    """Count what a survey counts; `found` has room for the longest list."""
    offsets, lists, needs = block
    for i in range(len(needs)):
        for k in range(offsets[i], offsets[i + 1]):
            survey.followers[lists[k]] += 1
        begin, end = carried_part(block, i, carried.low, carried.high)
        at, least = exact_for_one(lists, begin, end, needs[i], carried, found, 0, desk)
        for k in range(at):
            survey.counts[found[k]] += 1
        survey.totals[OUTGOING] += least
        survey_needs(first, i, block, begin, end, carried.rates, survey)


@leaf
def survey_needs(
    first: int,
    i: int,
    block: Block,
    begin: int,
    end: int,
    rates: Int64s,
    survey: SurveyCounts,
) -> None:
    """What one subscriber must get, and what of its topics it cannot do without."""
    lists, need = block.lists, block.needs[i]
    forced, totals = survey.forced, survey.totals
    carried = 0
    for k in range(begin, end):
        carried += rates[lists[k]]
        if carried - rates[lists[begin]] >= need:
            break  # it can do without any one of them
    wanted = carried
    for k in range(block.offsets[i], begin):
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
        if totals[EXAMPLE] < 0 or first + i < totals[EXAMPLE]:
            totals[EXAMPLE] = first + i
        while carried < need:
            begin -= 1
            carried += rates[lists[begin]]
        totals[NEEDED_RATE] = max(totals[NEEDED_RATE], rates[lists[begin]])
