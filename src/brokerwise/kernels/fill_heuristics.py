"""The heuristics that fill brokers, and which pairs are served in the end.

The pairs of each topic that are still unserved are in classes of equal value. Classes
`starts[t]` to `starts[t + 1]` are those of topic t, the most valuable first, so that of
each topic the best pairs are served first. A pair's weight is its value over its
topic's rate, a whole number; without weights it is one.

GS and MKPBS are of Lambert and Sakellariou (2018). As printed, GS (Algorithm 1) never
ends when the broker with most room cannot take the topic; but then no broker can, so
the topic is dropped and the broker kept. As printed, Algorithm 3 forgets that a
broker's room shrinks with every item, and the refill of Algorithm 2 gives a topic one
pair only. The paper does not say in which order topics are refilled, nor which of
several best choices a knapsack makes. Here what comes first takes as much as fits.
Other readings that were tried deliver the same in the paper's experiments.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.fill_knapsack import (
    MOST_BITS,
    MOST_CELLS,
    Items,
    fill_room,
    space_for,
)
from brokerwise.kernels.lists import counting_order
from brokerwise.model.arrays import INT64_MAX, Int32s, Int64s

Rows = tuple[Int32s, Int32s, Int64s]

# Digits by which many and few keys are sorted: counting costs their number of values.
_MANY, _BITS_OF_MANY, _BITS_OF_FEW = 4096, 11, 8

# The load of what is not to be allotted.
_NEVER = INT64_MAX
# Items that a broker passes over at once if it has room for none of them.
_BLOCK = 32


class UnservedPairs(NamedTuple):
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
) -> UnservedPairs:
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
    return UnservedPairs(rates, value, pairs.copy(), first, ends, count, weight)


@leaf
def serve(unserved: UnservedPairs, topic: int, pairs: int) -> None:
    """Serve `pairs` of a topic, which it has left."""
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
    """Space for `size` rows (topic, broker, pairs)."""
    return np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)


@kernel
def doubled(rows: Rows) -> Rows:
    """The rows, with as much space behind them."""
    size = len(rows[0])
    more = new_rows(2 * size)
    for i in range(size):
        more[0][i], more[1][i], more[2][i] = rows[0][i], rows[1][i], rows[2][i]
    return more


@kernel
def descending(keys: Int64s) -> Int32s:
    """Numbers in order, by digits; no key is below zero.

    O(keys + values of a digit) for each digit of the largest.
    """
    most = 0
    for key in keys:
        most = max(most, key)
    bits = _BITS_OF_MANY if len(keys) >= _MANY else _BITS_OF_FEW
    order = np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        order[i] = i
    behind = np.empty_like(order)
    starts = np.empty(1 << bits, np.int64)
    for shift in range(0, 63, bits):
        if most >> shift == 0:
            break
        sort_by_digit(keys, order, behind, starts, shift)
        order, behind = behind, order
    return order


@leaf
def sort_by_digit(
    keys: Int64s, order: Int32s, behind: Int32s, starts: Int64s, shift: int
) -> None:
    """Write to `behind` what `order` holds, by descending digit, else as it was."""
    mask = len(starts) - 1
    starts[:] = 0
    for key in keys:
        starts[mask - ((key >> shift) & mask)] += 1
    before = 0
    for digit in range(len(starts)):
        before, starts[digit] = before + starts[digit], before
    for number in order:
        digit = mask - ((keys[number] >> shift) & mask)
        behind[starts[digit]] = number
        starts[digit] += 1


class Heap(NamedTuple):
    """What comes first is at 0; what is at i comes before those at 2i + 1, 2i + 2.

    The caller keeps its size.
    """

    keys: Int64s
    numbers: Int32s


@kernel
def heap_of(keys: Int64s) -> Heap:
    """With all numbers."""
    order = descending(keys)
    return Heap(keys[order], order)


@leaf
def sink(heap: Heap, size: int, key: int, number: int) -> None:
    """Put this in place of the first, of which there is one."""
    at, below = 0, 1
    while below < size:
        if below + 1 < size and is_before(
            heap.keys[below + 1], heap.numbers[below + 1], heap, below
        ):
            below += 1
        if is_before(key, number, heap, below):
            break
        heap.keys[at], heap.numbers[at] = heap.keys[below], heap.numbers[below]
        at, below = below, 2 * below + 1
    heap.keys[at], heap.numbers[at] = key, number


@leaf
def rise(heap: Heap, size: int, key: int, number: int) -> None:
    """Add this to a heap of `size` before."""
    at = size
    while at > 0 and is_before(key, number, heap, (at - 1) >> 1):
        above = (at - 1) >> 1
        heap.keys[at], heap.numbers[at] = heap.keys[above], heap.numbers[above]
        at = above
    heap.keys[at], heap.numbers[at] = key, number


@leaf
def is_before(key: int, number: int, heap: Heap, at: int) -> bool:
    """Whether this comes before what is at `at`."""
    other = heap.keys[at]
    return bool(key > other or (key == other and number < heap.numbers[at]))


@kernel
def fill_greedy(
    rates: Int64s, starts: Int64s, value: Int64s, pairs: Int64s, capacities: Int64s
) -> Rows:
    """The topic with the most unserved weight (without weights: pairs) goes to the
    broker with most room, as many of its pairs as fit; and so on.

    Returns topic, broker and pairs, one entry for a topic and broker, in the order in
    which they were placed. Of equals, the lower number comes first. A broker that has
    filled up with a topic has less than its rate left, so that it does not meet it
    again. O(entries * (log topics + log brokers)), after O(classes) once.
    """
    unserved = all_unserved(rates, starts, value, pairs)
    brokers = heap_of(capacities)
    # Few topics come back, so these have a heap and the others are sorted.
    order = descending(unserved.weight)
    back = Heap(np.empty(len(rates), np.int64), np.empty(len(rates), np.int32))
    fresh, waiting = len(order) if len(capacities) else 0, 0
    rows, at = new_rows(len(rates)), 0
    while fresh or waiting:
        t = order[-fresh]
        if waiting and (fresh == 0 or not is_before(unserved.weight[t], t, back, 0)):
            t = back.numbers[0]
            waiting -= 1
            sink(back, waiting, back.keys[waiting], back.numbers[waiting])
        else:
            fresh -= 1
        rate, room, k = rates[t], brokers.keys[0], brokers.numbers[0]
        if room // rate < 2:
            continue
        put = min(unserved.pairs[t], room // rate - 1)
        sink(brokers, len(capacities), room - rate * (put + 1), k)
        serve(unserved, t, put)
        if at == len(rows[0]):
            rows = doubled(rows)
        rows[0][at], rows[1][at], rows[2][at] = t, k, put
        at += 1
        if unserved.pairs[t] > 0:
            rise(back, waiting, unserved.weight[t], t)
            waiting += 1
    return rows[0][:at], rows[1][:at], rows[2][:at]


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
    unserved: UnservedPairs, rooms: Int64s, rows: Rows, at: int
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
    unserved: UnservedPairs,
    rooms: Int64s,
    rows: Rows,
    at: int,
    items: Items,
    got: Int64s,
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
    unserved: UnservedPairs, topics: Int32s, room: int, items: Items, got: Int64s
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
def list_items(unserved: UnservedPairs, topics: Int32s, items: Items) -> int:
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
def by_value_over_load(unserved: UnservedPairs) -> Int32s:
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
def by_weight_left(unserved: UnservedPairs, most: int) -> Int32s:
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


@kernel
def select_best(
    offsets: Int64s, topics: Int32s, weights: Int64s, served: Int64s
) -> tuple[Int64s, Int32s]:
    """The `served[t]` pairs of each topic t whose subscribers weigh most; of equal
    ones those of lower number. O(pairs log pairs of a topic)."""
    cut, spare = _cuts(offsets, topics, weights, served)
    kept = np.zeros(len(offsets), np.int64)
    chosen = np.empty(served.sum(), np.int32)
    count = 0
    for subscriber in range(len(offsets) - 1):
        weight = weights[subscriber]
        for pair in range(offsets[subscriber], offsets[subscriber + 1]):
            topic = topics[pair]
            take = weight > cut[topic]
            if weight == cut[topic] and spare[topic] > 0:
                spare[topic] -= 1
                take = True
            if take:
                chosen[count] = topic
                count += 1
        kept[subscriber + 1] = count
    return kept, chosen


@kernel
def _cuts(
    offsets: Int64s, topics: Int32s, weights: Int64s, served: Int64s
) -> tuple[Int64s, Int64s]:
    """For each topic the weight of its last pair that is served, and how many pairs
    of just that weight are."""
    count = len(served)
    weight = np.empty(len(topics), np.int64)
    for subscriber in range(len(offsets) - 1):
        weight[offsets[subscriber] : offsets[subscriber + 1]] = weights[subscriber]
    order, starts = counting_order(topics, count)
    found = weight[order]
    cut = np.full(count, np.iinfo(np.int64).max, np.int64)
    spare = np.zeros(count, np.int64)
    for topic in range(count):
        if served[topic] == 0:
            continue
        of_topic = np.sort(found[starts[topic] : starts[topic + 1]])
        first = len(of_topic) - served[topic]
        cut[topic] = of_topic[first]
        spare[topic] = np.searchsorted(of_topic, cut[topic], side="right") - first
    return cut, spare
