"""Knapsacks of the column generation: the best pattern of a broker, where every topic
has a set-up, and all brokers as one, a knapsack that every plan fits in.

A topic with n pairs takes (n + 1) times its rate, and gains whatever a table says for
that n. All numbers are whole, so what a price proves is exact.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Int64s

Choices = npt.NDArray[np.uint16]
MOST_PAIRS = 65_535
"""Of a topic in one pattern; a choice is kept in 16 bits."""


@kernel
def most_in_one(
    rates: Int64s, starts: Int64s, value: Int64s, pairs: Int64s, size: int, largest: int
) -> int:
    """The most value that fits in one broker of a size, though it pays a set-up for
    every `largest` that a topic takes.

    A topic with n pairs, of which a broker of size `largest` can hold m at most, loads
    any brokers with n + ceil(n / m) times its rate or more. O(pairs * size).
    """
    best = np.zeros(size + 1, np.int64)
    before = np.empty_like(best)
    for topic in range(len(rates)):
        rate = rates[topic]
        held = largest // rate - 1
        if held < 1:
            continue
        before[:] = best
        count, worth = 0, 0
        for number in range(starts[topic], starts[topic + 1]):
            for _ in range(pairs[number]):
                count += 1
                worth += value[number]
                load = rate * (count + (count + held - 1) // held)
                for c in range(size + 1 - load):
                    best[c + load] = max(best[c + load], before[c] + worth)
    return int(best[size])


class Gains(NamedTuple):
    """n pairs of topic t gain gains[starts[t] + n - 1]."""

    rates: Int64s
    starts: Int64s
    gains: Int64s


class Table(NamedTuple):
    """What a broker of each size up to len(best) - 1 can gain at most; choices[t, c] is
    how many pairs the best pattern of size c over topics 0 to t has of t."""

    best: Int64s
    choices: Choices


@kernel
def price(offer: Gains, most: Int64s, table: Table) -> int:
    """Fill in the table, where topic t may have up to most[t] pairs.

    Returns the steps taken: O(topics * size * pairs of a topic).
    """
    rates, gain_starts, gains = offer
    best, choices = table
    size = len(best) - 1
    best[:] = 0
    before = np.empty_like(best)
    steps = 0
    for topic in range(len(rates)):
        rate = rates[topic]
        choice = choices[topic]
        choice[:] = 0
        limit = min(most[topic], size // rate - 1)
        first = gain_starts[topic] - 1
        if limit < 1:
            continue
        before[:] = best
        for pairs in range(1, limit + 1):
            gain = gains[first + pairs]
            if gain <= 0:
                continue
            load = (pairs + 1) * rate
            steps += size + 1 - load
            for c in range(size + 1 - load):
                worth = before[c] + gain
                if worth > best[c + load]:
                    best[c + load] = worth
                    choice[c + load] = pairs
    return steps


@kernel
def fill_in_turn(
    offer: Gains,
    left: Int64s,
    brokers_left: Int64s,
    sizes: Int64s,
    most_steps: int,
    table: Table,
) -> tuple[Int64s, Int64s, Int64s, int]:
    """One broker after the other gets its best pattern from the pairs that are left.

    `left` is how many pairs of each topic there are, `brokers_left` how many more
    brokers may carry it; both are counted down. Afterwards `table.best` is that of the
    first broker, with all pairs. Ends before a broker that would begin after
    `most_steps`. Returns where each pattern starts, the topics and pairs of the
    patterns, and the steps taken. Before the patterns of the brokers come those that a
    broker of each size but the first would get with all pairs.
    """
    rates, best, choices = offer.rates, table.best, table.choices
    starts = np.zeros(2 * len(sizes) + 1, np.int64)
    changes = np.count_nonzero(sizes[1:] != sizes[:-1])
    room = left.sum() + changes * len(left)
    topics = np.empty(room, np.int64)
    pairs = np.empty(room, np.int64)
    steps = price(offer, left, table)
    first = best.copy()
    count, done = 0, 0
    for other in range(1, len(sizes)):
        if sizes[other] != sizes[other - 1]:
            every, brokers, size = left.copy(), brokers_left.copy(), sizes[other]
            count = _take(rates, every, brokers, choices, size, topics, pairs, count)
            done += 1
            starts[done] = count
    for broker in range(len(sizes)):
        if broker > 0 and steps > most_steps:
            break
        if broker > 0 and starts[done] > starts[done - 1]:
            steps += price(offer, left, table)
        size = sizes[broker]
        count = _take(rates, left, brokers_left, choices, size, topics, pairs, count)
        done += 1
        starts[done] = count
    best[:] = first
    ends = starts[: done + 1].copy()
    return ends, topics[:count].copy(), pairs[:count].copy(), steps


@kernel
def split_in_turn(
    offer: Gains,
    left: Int64s,
    brokers_left: Int64s,
    bandwidth: int,
    toll: int,
    most_steps: int,
    table: Table,
) -> tuple[Int64s, Int64s, Int64s, int]:
    """As `fill_in_turn`, but for brokers of any size within what bandwidth is left.

    A broker gets the size whose gain exceeds its toll by the most, as long as there is
    one; then the bandwidth that is left is spent.
    """
    rates, best, choices = offer.rates, table.best, table.choices
    room = left.sum()
    starts = np.zeros(room + 1, np.int64)
    topics = np.empty(room, np.int64)
    pairs = np.empty(room, np.int64)
    first = best.copy()
    count, steps, brokers = 0, 0, 0
    while bandwidth > 1 and (brokers == 0 or steps <= most_steps):
        steps += price(offer, left, table)
        if brokers == 0:
            first[:] = best
        largest = min(len(best) - 1, bandwidth)
        size, most = largest, 0
        for c in range(largest + 1):
            if best[c] - toll * c > most:
                size, most = c, best[c] - toll * c
        while size > 0 and best[size - 1] == best[size]:
            size -= 1
        if size == 0:
            break
        count = _take(rates, left, brokers_left, choices, size, topics, pairs, count)
        brokers += 1
        starts[brokers] = count
        bandwidth -= size
    best[:] = first
    ends = starts[: brokers + 1].copy()
    return ends, topics[:count].copy(), pairs[:count].copy(), steps


@kernel
def _take(
    rates: Int64s,
    left: Int64s,
    brokers_left: Int64s,
    choices: Choices,
    size: int,
    topics: Int64s,
    pairs: Int64s,
    count: int,
) -> int:
    """Write down the best pattern of a size, and take its pairs from what is left."""
    for topic in range(len(rates) - 1, -1, -1):
        taken = np.int64(choices[topic, size])
        if taken == 0:
            continue
        size -= (taken + 1) * rates[topic]
        left[topic] -= taken
        brokers_left[topic] -= 1
        if brokers_left[topic] <= 0:
            left[topic] = 0
        topics[count] = topic
        pairs[count] = taken
        count += 1
    return count
