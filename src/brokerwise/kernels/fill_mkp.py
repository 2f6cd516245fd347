"""Filling brokers by knapsacks: MKPBS of Lambert and Sakellariou (2018), Algorithms 2
and 3.

As printed, Algorithm 3 forgets that a broker's room shrinks with every item, and the
refill of Algorithm 2 gives a topic one pair only. The paper does not say in which order
topics are refilled, nor which of several best choices a knapsack makes. Here what
comes first takes as much as fits. Other readings that were tried deliver the same in
the paper's experiments.
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.fill_classes import (
    Rows,
    Unserved,
    all_unserved,
    doubled,
    new_rows,
    serve,
)
from brokerwise.kernels.fill_knapsack import (
    MOST_BITS,
    MOST_CELLS,
    Items,
    fill_room,
    space_for,
)
from brokerwise.kernels.fill_order import descending
from brokerwise.model.arrays import INT64_MAX, Int32s, Int64s

# The load of what is not to be allotted.
_NEVER = INT64_MAX
# Items that a broker passes over at once if it has room for none of them.
_BLOCK = 32


@kernel
def fill_mkp(
    rates: Int64s, starts: Int64s, value: Int64s, pairs: Int64s, capacities: Int64s
) -> Rows:
    """Whole topics first; then, in rounds, topics are allotted to brokers as if each
    had one pair only, and a knapsack fills each broker with pairs of its topics.

    Returns topic, broker and pairs, one entry for a topic and broker, in the order in
    which they were placed. Of equals, the lower number comes first. A broker that
    carries a topic with pairs left has less room than its rate, so that it is not
    allotted it again and pays no set-up twice. A round is O(topics * brokers / 32) at
    most, and what `fill_room` takes for each broker that got topics; every round but
    the last serves pairs, and as a rule there are few.
    """
    unserved = all_unserved(rates, starts, value, pairs)
    rooms = capacities.copy()
    rows, at = new_rows(len(rates)), 0
    if len(rooms) == 0:
        return rows[0][:0], rows[1][:0], rows[2][:0]
    rows, at = place_whole(unserved, rooms, rows, at)
    items, got = space_for(len(value)), np.zeros(len(rates), np.int64)
    before = -1
    while at > before:
        before = at
        rows, at = fill_once(unserved, rooms, rows, at, items, got)
    return rows[0][:at], rows[1][:at], rows[2][:at]


@kernel
def place_whole(
    unserved: Unserved, rooms: Int64s, rows: Rows, at: int
) -> tuple[Rows, int]:
    """Phase 1: topics with all their pairs, by value over load."""
    order = by_value_over_load(unserved)
    load = np.empty(len(order), np.int64)
    for i in range(len(order)):
        rate, count = unserved.rates[order[i]], unserved.pairs[order[i]]
        load[i] = rate * (count + 1) if rate < _NEVER // (count + 1) else _NEVER
    least, given = least_of_blocks(load), np.empty(len(order), np.int32)
    for k in descending(rooms):
        for i in range(allot(load, least, rooms[k], given)):
            t = order[given[i]]
            count = unserved.pairs[t]
            rooms[k] -= unserved.rates[t] * (count + 1)
            unserved.pairs[t] = 0
            rows[0][at], rows[1][at], rows[2][at] = t, k, count
            at += 1
    return rows, at


@kernel
def fill_once(
    unserved: Unserved, rooms: Int64s, rows: Rows, at: int, items: Items, got: Int64s
) -> tuple[Rows, int]:
    """A round of phase 2. The knapsack of a broker concerns no other, so each is
    solved as soon as the broker has its topics."""
    roomiest_first = descending(rooms)
    order = by_weight_left(unserved, rooms[roomiest_first[0]] // 2)
    load = np.empty(len(order), np.int64)
    for i in range(len(order)):
        load[i] = 2 * unserved.rates[order[i]]
    least, given = least_of_blocks(load), np.empty(len(order), np.int32)
    for k in roomiest_first:
        count = allot(load, least, rooms[k], given)
        if count == 0:
            continue
        for i in range(count):
            given[i] = order[given[i]]
        rooms[k] = fill_broker(unserved, given[:count], rooms[k], items, got)
        for t in given[:count]:
            if got[t] > 0:
                if at == len(rows[0]):
                    rows = doubled(rows)
                rows[0][at], rows[1][at], rows[2][at] = t, k, got[t]
                at += 1
                serve(unserved, t, got[t])
                got[t] = 0
    return rows, at


@kernel
def fill_broker(
    unserved: Unserved, topics: Int32s, room: int, items: Items, got: Int64s
) -> int:
    """Set the pairs that a broker gets of the topics allotted to it; returns the room
    that is left. Topics that get none leave their set-up's room to the others."""
    size = list_items(unserved, topics, items)
    spare = room
    for t in topics:
        spare -= unserved.rates[t]
    fill_room(items, size, spare, MOST_BITS, MOST_CELLS)
    for i in range(size):
        t = items.topic[i]
        if items.taken[i] > 0:
            room -= items.rate[i] * (items.taken[i] + (got[t] == 0))
            got[t] += items.taken[i]
    for i in range(size):
        if got[items.topic[i]] > 0:
            more = min(items.pairs[i] - items.taken[i], room // items.rate[i])
            room -= items.rate[i] * more
            got[items.topic[i]] += more
    return room


@kernel
def list_items(unserved: Unserved, topics: Int32s, items: Items) -> int:
    """The classes with pairs left of some topics, by descending weight; how many."""
    size, in_order = 0, True
    for t in topics:
        for c in range(unserved.first[t], unserved.ends[t]):
            items.topic[size], items.free[size] = t, c
            items.weight[size] = unserved.value[c] // unserved.rates[t]
            in_order &= size == 0 or items.weight[size] <= items.weight[size - 1]
            size += 1
    if not in_order:
        sort_by_weight(items, size)
    for i in range(size):
        items.rate[i] = unserved.rates[items.topic[i]]
        items.pairs[i] = unserved.left[items.free[i]]
    return size


@kernel
def sort_by_weight(items: Items, size: int) -> None:
    """Sort topics, weights, and the classes that are in `free`."""
    order = descending(items.weight[:size])
    for values in (items.topic, items.weight, items.free):
        for i in range(size):
            items.taken[i] = values[order[i]]
        for i in range(size):
            values[i] = items.taken[i]


@kernel
def by_value_over_load(unserved: Unserved) -> Int32s:
    """Topics by what all their pairs are worth over the load that they are.

    Without weights, n / (n + 1) for n pairs: more pairs, more worth.
    """
    ratio, plain = np.empty(len(unserved.rates)), True
    for t in range(len(ratio)):
        ratio[t] = unserved.weight[t] / (unserved.pairs[t] + 1)
        plain &= unserved.weight[t] == unserved.pairs[t]
    if plain:
        return descending(unserved.pairs)
    return descending(ratio.view(np.int64))  # of floats above zero the order is that


@kernel
def by_weight_left(unserved: Unserved, most: int) -> Int32s:
    """Topics with pairs left and a rate of at most `most`, by their weight left, which
    orders as what they are worth over twice the rate."""
    topics, size = np.empty(len(unserved.rates), np.int32), 0
    for t in range(len(topics)):
        if unserved.pairs[t] > 0 and unserved.rates[t] <= most:
            topics[size] = t
            size += 1
    weight = np.empty(size, np.int64)
    for i in range(size):
        weight[i] = unserved.weight[topics[i]]
    order = descending(weight)
    for i in range(size):
        order[i] = topics[order[i]]
    return order


@kernel
def least_of_blocks(load: Int64s) -> Int64s:
    """The least load in each block of items."""
    least = np.full((len(load) + _BLOCK - 1) // _BLOCK, _NEVER)
    for i in range(len(load)):
        least[i // _BLOCK] = min(least[i // _BLOCK], load[i])
    return least


@leaf
def allot(load: Int64s, least: Int64s, room: int, given: Int32s) -> int:
    """Give a broker one item after the other that fits its room, and take them from
    the others; the number of items, whose places are then the first in `given`."""
    count, room = 0, min(room, _NEVER - 1)
    for block in range(len(least)):
        if least[block] > room:
            continue
        rest = _NEVER
        for i in range(block * _BLOCK, min((block + 1) * _BLOCK, len(load))):
            if load[i] <= room:
                room -= load[i]
                load[i] = _NEVER
                given[count] = i
                count += 1
            else:
                rest = min(rest, load[i])
        least[block] = rest
    return count
