"""Packing that cuts only what is larger than a broker, and opens brokers for it."""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.kernels.packing import next_type, opened, with_row
from brokerwise.kernels.packing_rooms import (
    first_with_room,
    room_of,
    set_room,
    tree_of,
)
from brokerwise.model.arrays import Int32s, Int64s


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
