"""Packing that opens brokers as it goes: the published steps (a) to (e), and first fit.

Topics that sit whole on one broker are in `home`; the pieces of the others are rows
(topic, broker, pairs) of `cuts`, those of one topic in the order of its subscribers. A
broker needs 2 * rate of room for the first pair of a topic and rate for each further
one. Types of brokers come in the order in which they are to be opened; of each, `left`
may still be.

The room that is left on each broker is kept in a tree of maxima: `tree[1]` is the most
room of all; the halves of node i are 2i and 2i + 1; broker b is leaf `len(tree) // 2 +
b`. Leaves past the last broker hold -1, so nothing fits there. A look and a change are
O(log brokers).

First fit of single pairs: room never grows. So when a topic comes to a broker, no
earlier one can take it any more, neither as a newcomer nor as one that has it: only the
broker where the topic went last, and those after it, are ever looked at.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Float64s, Int32s, Int64s

_DIGIT = 2048

IN_ORDER, MOST_FREE, CHEAPER = 0, 1, 2


@kernel
def tree_of(rooms: Int64s) -> Int64s:
    """A tree with a leaf for each broker, and at least one leaf."""
    size = 1
    while size < len(rooms):
        size *= 2
    tree = np.empty(2 * size, np.int64)
    for leaf_at in range(size):
        tree[size + leaf_at] = rooms[leaf_at] if leaf_at < len(rooms) else -1
    for at in range(size - 1, 0, -1):
        tree[at] = max(tree[2 * at], tree[2 * at + 1])
    return tree


@leaf
def room_of(tree: Int64s, broker: int) -> int:
    room: int = tree[len(tree) // 2 + broker]
    return room


@leaf
def set_room(tree: Int64s, broker: int, room: int) -> None:
    at = len(tree) // 2 + broker
    tree[at] = room
    at //= 2
    while at >= 1:
        most = max(tree[2 * at], tree[2 * at + 1])
        if tree[at] == most:
            break
        tree[at] = most
        at //= 2


@leaf
def roomiest(tree: Int64s) -> int:
    """The broker with the most room; the first of several."""
    size = len(tree) // 2
    at = 1
    while at < size:
        at *= 2
        if tree[at] < tree[at + 1]:
            at += 1
    return at - size


@leaf
def first_with_room(tree: Int64s, need: int) -> int:
    """The first broker with at least this much room, -1 if there is none."""
    if tree[1] < need:
        return -1
    size = len(tree) // 2
    at = 1
    while at < size:
        at *= 2
        if tree[at] < need:
            at += 1
    return at - size


@kernel
def largest_first(values: Int64s) -> Int32s:
    """Places by descending value, the first of equals first.

    By digits of 11 bits: O(n) for each that the largest value has. Values are at
    least 0.
    """
    most = 0
    for value in values:
        most = max(most, value)
    order = np.arange(len(values)).astype(np.int32)
    behind = np.empty_like(order)
    starts = np.empty(_DIGIT + 1, np.int64)
    shift = 0
    while most >> shift:
        starts[:] = 0
        for value in values:
            starts[_DIGIT - ((value >> shift) & (_DIGIT - 1))] += 1
        for d in range(1, _DIGIT + 1):
            starts[d] += starts[d - 1]
        for place in order:
            digit = _DIGIT - 1 - ((values[place] >> shift) & (_DIGIT - 1))
            behind[starts[digit]] = place
            starts[digit] += 1
        order, behind = behind, order
        shift += 11
        if shift > 55:
            break
    return order


@kernel
def least_receptions(rates: Int64s, counts: Int64s, capacity: int) -> int:
    """What must be received if no broker is larger than `capacity`.

    A topic with more pairs than one broker can serve is received several times.
    """
    total = 0
    for t in range(len(rates)):
        if counts[t] > 0:
            each = capacity // rates[t] - 1
            total += rates[t] * ((counts[t] + each - 1) // each)
    return total


@kernel
def runs_of(
    home: Int32s, counts: Int64s, cuts: Int64s
) -> tuple[Int32s, Int32s, Int64s]:
    """Runs (topic, broker, pairs) by topic, of homes and of cuts by topic."""
    number = len(cuts)
    for broker in home:
        if broker >= 0:
            number += 1
    topic = np.empty(number, np.int32)
    brokers = np.empty(number, np.int32)
    pairs = np.empty(number, np.int64)
    at, cut = 0, 0
    for t in range(len(home)):
        if home[t] >= 0:
            topic[at], brokers[at], pairs[at] = t, home[t], counts[t]
            at += 1
        while cut < len(cuts) and cuts[cut, 0] == t:
            topic[at], brokers[at], pairs[at] = t, cuts[cut, 1], cuts[cut, 2]
            at, cut = at + 1, cut + 1
    return topic, brokers, pairs


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


@kernel
def pack_whole(
    order: Int32s, rates: Int64s, counts: Int64s, capacity: Int64s, limit: Int64s
) -> tuple[bool, Int32s, Int32s, Int64s]:
    """Topic by topic on the first broker that takes it whole, else on a new one.

    One that is larger than every type fills new brokers, and what remains of it is
    placed as a whole. Returns as `pack_grouped` does.
    """
    left = limit.copy()
    tree, types, number = tree_of(np.empty(0, np.int64)), np.empty(1, np.int32), 0
    home = np.full(len(rates), -1, np.int32)
    cuts, at = np.empty((64, 3), np.int64), 0
    for t in order:
        rate, pairs, start = rates[t], counts[t], at
        while pairs > 0:
            put = pairs
            broker = first_with_room(tree, rate * (pairs + 1))
            if broker < 0:
                kind = next_type(capacity, left, rate * (pairs + 1))
                if kind < 0:
                    kind = next_type(capacity, left, 2 * rate)
                if kind < 0:
                    return False, types[:number], home, cuts[:at]
                put = min(pairs, capacity[kind] // rate - 1)
                left[kind] -= 1
                tree, types = opened(tree, types, number, kind, capacity[kind])
                broker, number = number, number + 1
            set_room(tree, broker, room_of(tree, broker) - rate * (put + 1))
            pairs -= put
            cuts = with_row(cuts, at)
            cuts[at, 0], cuts[at, 1], cuts[at, 2] = t, broker, put
            at += 1
        if at == start + 1:
            home[t] = cuts[start, 1]
            at = start
    return True, types[:number], home, cuts[:at]


class OpenFleet(NamedTuple):
    """Brokers that are open, with the room that is left on each; `types[:number]` are
    theirs, and `cuts[:at]` what is cut."""

    tree: Int64s
    types: Int32s
    number: int
    cuts: Int64s
    at: int


@kernel
def first_fit_block(
    topics: Int32s,
    rates: Int64s,
    capacity: Int64s,
    left: Int64s,
    last: Int32s,
    held: Int64s,
    fleet: OpenFleet,
) -> tuple[bool, OpenFleet]:
    """Place pairs in their order, each on the first broker with room.

    `last` is the broker where each topic went last (-1: none) and `held` its pairs
    there; both and `left` change in place. What it holds elsewhere is in the cuts.
    Returns whether the types sufficed, and what the fleet has become: its arrays may
    have changed, or been replaced by larger ones.
    """
    tree, types, number, cuts, at = fleet
    for t in topics:
        rate, broker = rates[t], last[t]
        if broker >= 0:
            room = room_of(tree, broker)
            if room >= rate:
                held[t] += 1
                set_room(tree, broker, room - rate)
                continue
            cuts = with_row(cuts, at)
            cuts[at, 0], cuts[at, 1], cuts[at, 2] = t, broker, held[t]
            at += 1
        broker = first_with_room(tree, 2 * rate)
        if broker >= 0:
            set_room(tree, broker, room_of(tree, broker) - 2 * rate)
        else:
            kind = next_type(capacity, left, 2 * rate)
            if kind < 0:
                return False, OpenFleet(tree, types, number, cuts, at)
            left[kind] -= 1
            room = capacity[kind] - 2 * rate
            tree, types = opened(tree, types, number, kind, room)
            broker, number = number, number + 1
        last[t], held[t] = broker, 1
    return True, OpenFleet(tree, types, number, cuts, at)


@kernel
def close_runs(
    last: Int32s, held: Int64s, cuts: Int64s, at: int
) -> tuple[Int32s, Int64s]:
    """Homes and cuts: the last piece of a topic that has others joins them."""
    home = last.copy()
    for i in range(at):
        t = cuts[i, 0]
        if home[t] >= 0:
            home[t] = -1
    for i in range(at):
        t = cuts[i, 0]
        if held[t] > 0:
            cuts = with_row(cuts, at)
            cuts[at, 0], cuts[at, 1], cuts[at, 2] = t, last[t], held[t]
            at += 1
            held[t] = 0
    return home, cuts[:at]
