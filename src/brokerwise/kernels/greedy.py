"""Selections that look at a subscriber's list once: `greedy` and `random`."""

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
from brokerwise.kernels.words import Word, finished, mixed
from brokerwise.model.arrays import Bools, Int32s, Int64s

_SALT = Word(0x9E3779B97F4A7C15)


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
def greedy_block(block: Block, carried: Carried, chosen: Chosen) -> None:
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
    seed: Word, first: int, block: Block, carried: Carried, chosen: Chosen
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
