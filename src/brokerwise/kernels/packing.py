"""Packing that opens brokers as it goes: the published steps (a) to (e).

Topics that sit whole on one broker are in `home`; the pieces of the others are rows
(topic, broker, pairs) of `cuts`, those of one topic in the order of its subscribers.
A broker needs 2 * rate of room for the first pair of a topic and rate for each
further one. Types of brokers come in the order in which they are to be opened; of
each, `left` may still be.
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.packing_rooms import (
    first_with_room,
    room_of,
    roomiest,
    set_room,
    tree_of,
)
from brokerwise.model.arrays import Float64s, Int32s, Int64s

IN_ORDER, MOST_FREE, CHEAPER = 0, 1, 2


@leaf
def next_type(capacity: Int64s, left: Int64s, need: int) -> int:
    """The first type that has this much capacity and is not used up, else -1."""
    for k in range(len(capacity)):
        if left[k] > 0 and capacity[k] >= need:
            return k
    return -1


@kernel
def with_row(rows: Int64s, at: int) -> Int64s:
    """The rows, with space for one at `at`."""
    if at < len(rows):
        return rows
    grown = np.empty((2 * at, 3), np.int64)
    for i in range(at):
        for k in range(3):
            grown[i, k] = rows[i, k]
    return grown


@kernel
def opened(
    tree: Int64s, types: Int32s, number: int, kind: int, room: int
) -> tuple[Int64s, Int32s]:
    """One more broker, the `number`-th, of type `kind`."""
    if number == len(types):
        more = np.empty(2 * number, np.int32)
        rooms = np.empty(2 * number, np.int64)
        for i in range(number):
            more[i] = types[i]
            rooms[i] = room_of(tree, i)
            rooms[number + i] = -1
        types, tree = more, tree_of(rooms)
    types[number] = kind
    set_room(tree, number, room)
    return tree, types


@kernel
def pack_grouped(
    order: Int32s,
    rates: Int64s,
    counts: Int64s,
    capacity: Int64s,
    limit: Int64s,
    rent: Float64s,
    incoming: float,
    rule: int,
) -> tuple[bool, Int32s, Int32s, Int64s]:
    """Topic by topic (of those that have pairs): on the newest broker if all its
    pairs fit, else spread over those there are, and what is left goes on new ones.

    `rule` says which come first when spreading; CHEAPER spreads over the roomiest,
    and only where that costs less than new brokers (Alg. 7). Returns whether the
    types sufficed, the type of each broker, and the homes and cuts.
    """
    left = limit.copy()
    tree, types, number = tree_of(np.empty(0, np.int64)), np.empty(1, np.int32), 0
    home = np.full(len(rates), -1, np.int32)
    cuts, at = np.empty((64, 3), np.int64), 0
    for t in order:
        rate, pairs = rates[t], counts[t]
        if number and room_of(tree, number - 1) >= rate * (pairs + 1):
            home[t] = number - 1
            set_room(tree, number - 1, room_of(tree, number - 1) - rate * (pairs + 1))
            continue
        start = at
        cuts, at, rest = spread(tree, cuts, at, t, rate, pairs, rule)
        if rule == CHEAPER and not is_cheaper(
            rate, pairs, rest, at - start, capacity, left, rent, incoming
        ):
            take_back(tree, cuts, start, at, rate)
            at, rest = start, pairs
        while rest > 0:
            kind = next_type(capacity, left, 2 * rate)
            if kind < 0:
                return False, types[:number], home, cuts[:at]
            put = min(rest, capacity[kind] // rate - 1)
            room = capacity[kind] - rate * (put + 1)
            tree, types = opened(tree, types, number, kind, room)
            left[kind] -= 1
            cuts = with_row(cuts, at)
            cuts[at, 0], cuts[at, 1], cuts[at, 2] = t, number, put
            number, at, rest = number + 1, at + 1, rest - put
        if at == start + 1:
            home[t] = cuts[start, 1]
            at = start
    return True, types[:number], home, cuts[:at]


@kernel
def spread(
    tree: Int64s, cuts: Int64s, at: int, topic: int, rate: int, pairs: int, rule: int
) -> tuple[Int64s, int, int]:
    """Fill one broker after the other; returns the pairs that found no room.

    One that is filled has less than `rate` left, so it does not come up again.
    """
    while pairs > 0:
        broker = first_with_room(tree, 2 * rate)
        if broker < 0:
            break
        if rule != IN_ORDER:
            broker = roomiest(tree)
        room = room_of(tree, broker)
        put = min(pairs, room // rate - 1)
        set_room(tree, broker, room - rate * (put + 1))
        cuts = with_row(cuts, at)
        cuts[at, 0], cuts[at, 1], cuts[at, 2] = topic, broker, put
        at, pairs = at + 1, pairs - put
    return cuts, at, pairs


@leaf
def take_back(tree: Int64s, cuts: Int64s, start: int, end: int, rate: int) -> None:
    for i in range(start, end):
        broker = cuts[i, 1]
        set_room(tree, broker, room_of(tree, broker) + rate * (cuts[i, 2] + 1))


@leaf
def is_cheaper(
    rate: int,
    pairs: int,
    rest: int,
    spread_over: int,
    capacity: Int64s,
    left: Int64s,
    rent: Float64s,
    incoming: float,
) -> bool:
    """Whether to keep a topic spread over existing brokers, and `rest` pairs on new
    ones, rather than to put all its pairs on new ones.

    Dollars decide, then brokers. What is sent is the same either way.
    """
    new_rent, new, fits = new_brokers(rate, pairs, capacity, left, rent)
    if not fits:
        return True
    rest_rent, extra, _ = new_brokers(rate, rest, capacity, left, rent)
    spread_usd = rest_rent + (spread_over + extra) * rate * incoming
    new_usd = new_rent + new * rate * incoming
    return spread_usd < new_usd or (spread_usd == new_usd and extra < new)


@leaf
def new_brokers(
    rate: int, pairs: int, capacity: Int64s, left: Int64s, rent: Float64s
) -> tuple[float, int, bool]:
    """The rent and number of new brokers for some pairs, and whether they suffice."""
    usd, number = 0.0, 0
    for k in range(len(capacity)):
        each = capacity[k] // rate - 1
        if pairs > 0 and each > 0:
            take = min(left[k], (pairs + each - 1) // each)
            usd += take * rent[k]
            number += take
            pairs -= take * each
    return usd, number, pairs <= 0
