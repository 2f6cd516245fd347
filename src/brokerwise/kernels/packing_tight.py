"""Packing into brokers that are given: whole where it fits, cut where it must be."""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.packing_steps import (
    first_with_room,
    room_of,
    roomiest,
    set_room,
    tree_of,
)
from brokerwise.model.arrays import Int32s, Int64s

ROOMIEST, FIRST, SNUGGEST = 0, 1, 2


@leaf
def fill(
    order: Int32s,
    rates: Int64s,
    counts: Int64s,
    tree: Int64s,
    rule: int,
    home: Int32s,
    cuts: Int64s,
) -> tuple[int, int, int, int]:
    """Place topics in their order; the tree keeps the room that is left.

    A topic goes whole on the roomiest broker, or on the first or the snuggest that
    takes it whole, by `rule`. If none does, it fills the roomiest, and what remains
    of it is placed by the same rule. Returns the load that found no place, what is
    received beyond once for each topic (where all are placed), the number of pieces
    of topics that were cut, and the first topic that found no place (-1: all did).
    `home` and `cuts` are written as far as they reach.
    """
    unplaced, extra, at, lost = 0, 0, 0, -1
    for t in order:
        rate, pairs = rates[t], counts[t]
        start = at
        while pairs > 0:
            broker = roomiest(tree)
            room = room_of(tree, broker)
            whole = rate * (pairs + 1)
            put = pairs
            if room < 2 * rate:
                unplaced += whole
                lost = t if lost < 0 else lost
                break
            if room < whole:
                put = room // rate - 1
            elif rule != ROOMIEST:
                broker = taker(tree, whole, rule)
                room = room_of(tree, broker)
            set_room(tree, broker, room - rate * (put + 1))
            pairs -= put
            if pairs == 0 and at == start:
                if len(home):
                    home[t] = broker
                break
            if at < len(cuts):
                cuts[at, 0], cuts[at, 1], cuts[at, 2] = t, broker, put
            at += 1
            if pairs > 0:
                extra += rate
    return unplaced, extra, at, lost


@leaf
def taker(tree: Int64s, whole: int, rule: int) -> int:
    """A broker that has room for all of it, of which there is one."""
    first = first_with_room(tree, whole)
    if rule == FIRST:
        return first
    size = len(tree) // 2
    best = size + first
    for at in range(best + 1, 2 * size):
        if whole <= tree[at] < tree[best]:
            best = at
    return best - size


@kernel
def filled(
    order: Int32s, rates: Int64s, counts: Int64s, capacities: Int64s, rule: int
) -> tuple[int, int, int, Int32s, Int64s]:
    """What `fill` leaves unplaced, the first of that, the extra traffic, and homes
    and cuts."""
    cuts = np.empty((2 * len(capacities) + 64, 3), np.int64)
    while True:
        home = np.full(len(rates), -1, np.int32)
        tree = tree_of(capacities)
        unplaced, extra, at, lost = fill(order, rates, counts, tree, rule, home, cuts)
        if at <= len(cuts):
            return unplaced, lost, extra, home, cuts[:at]
        cuts = np.empty((at, 3), np.int64)


@leaf
def shuffled(state: int) -> int:
    """The next of a sequence of pseudo-random numbers (xorshift)."""
    state ^= (state << 13) & 0x7FFFFFFFFFFFFFFF
    state ^= state >> 7
    state ^= (state << 17) & 0x7FFFFFFFFFFFFFFF
    return state


@leaf
def move(order: Int32s, source: int, target: int) -> None:
    """Take what is at `source` to `target`; what is between makes way."""
    topic = order[source]
    step = 1 if target > source else -1
    for i in range(source, target, step):
        order[i] = order[i + step]
    order[target] = topic


@kernel
def climb(
    order: Int32s,
    rates: Int64s,
    counts: Int64s,
    capacities: Int64s,
    rule: int,
    tries: int,
    enough: int,
    seed: int,
) -> tuple[int, int, int]:
    """Move single topics in the order, in place, and keep what is no worse.

    Worse is more unplaced load, then more extra traffic; `enough` extra with all
    placed ends it. Returns both, and the tries made.
    """
    empty = tree_of(capacities)
    tree = empty.copy()
    home, cuts = np.empty(0, np.int32), np.empty((0, 3), np.int64)
    unplaced, extra, _, _ = fill(order, rates, counts, tree, rule, home, cuts)
    state = 88172645463325252 + seed
    made = 0
    while made < tries and (unplaced > 0 or extra > enough):
        state = shuffled(state)
        source = (state >> 8) % len(order)
        state = shuffled(state)
        target = (state >> 8) % len(order)
        move(order, source, target)
        tree[:] = empty
        missing, more, _, _ = fill(order, rates, counts, tree, rule, home, cuts)
        if missing < unplaced or (missing == unplaced and more <= extra):
            unplaced, extra = missing, more
        else:
            move(order, target, source)
        made += 1
    return unplaced, extra, made


@kernel
def fill_exactly(
    loads: Int64s, capacities: Int64s, largest_first: bool, limit: int
) -> tuple[bool, Int32s, int]:
    """Place everything whole: brokers one after the other, each as full as can be.

    `loads` go from the largest to the smallest. Of two brokers this misses nothing,
    but with `largest_first`, where each broker gets the largest that is left and fits,
    only of two equal ones. Returns whether all is placed, where, and the sums that
    were looked at; beyond `limit` of them it gives up.
    """
    home = np.full(len(loads), -1, np.int32)
    sums, starts = np.empty(64, np.int64), np.empty(len(loads) + 2, np.int64)
    items = np.empty(len(loads), np.int64)
    made = 0
    for broker in range(len(capacities)):
        room, number = capacities[broker], 0
        for i in range(len(loads)):
            if home[i] < 0 and loads[i] <= room:
                if largest_first and room == capacities[broker]:
                    home[i] = broker
                    room -= loads[i]
                else:
                    items[number] = i
                    number += 1
        # Row k has what the first k items can add up to, ascending.
        sums[0], starts[0], starts[1], rows = 0, 0, 1, 1
        for k in range(number):
            begin, end, load = starts[k], starts[k + 1], loads[items[k]]
            made += end - begin
            if made > limit:
                return False, home, made
            sums = with_space(sums, 3 * end)
            at, plain, added = end, begin, begin
            while plain < end or (added < end and sums[added] + load <= room):
                more = sums[added] + load if added < end else room + 1
                if plain < end and sums[plain] <= more:
                    sums[at] = sums[plain]
                    added += sums[plain] == more
                    plain += 1
                else:
                    sums[at] = more
                    added += 1
                at += 1
            starts[k + 2], rows = at, k + 2
            if sums[at - 1] == room:
                break
        total = sums[starts[rows] - 1]
        for k in range(rows - 1, 0, -1):
            before = sums[starts[k - 1] : starts[k]]
            place = np.searchsorted(before, total)
            if place == len(before) or before[place] != total:
                home[items[k - 1]] = broker
                total -= loads[items[k - 1]]
    return home.min() >= 0, home, made


@kernel
def with_space(values: Int64s, size: int) -> Int64s:
    """The values, in an array of at least this size."""
    if size <= len(values):
        return values
    grown = np.empty(2 * size, np.int64)
    grown[: len(values)] = values
    return grown
