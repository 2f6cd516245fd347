"""First fit of single pairs, block by block.

Room never grows. So when a topic comes to a broker, no earlier one can take it any
more, neither as a newcomer nor as one that has it: only the broker where the topic
went last, and those after it, are ever looked at.
"""

from brokerwise.kernels.compile import kernel
from brokerwise.kernels.packing import next_type, opened, with_row
from brokerwise.kernels.packing_rooms import first_with_room, room_of, set_room
from brokerwise.model.arrays import Int32s, Int64s


@kernel
def first_fit_block(
    topics: Int32s,
    rates: Int64s,
    capacity: Int64s,
    left: Int64s,
    last: Int32s,
    held: Int64s,
    tree: Int64s,
    types: Int32s,
    number: int,
    cuts: Int64s,
    at: int,
) -> tuple[bool, Int64s, Int32s, int, Int64s, int]:
    """Place pairs in their order, each on the first broker with room.

    `last` is the broker where each topic went last (-1: none) and `held` its pairs
    there; both and `left` change in place. What it holds elsewhere is in `cuts`.
    Returns whether the types sufficed, and what may have moved: tree, types, their
    number, cuts and their number.
    """
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
                return False, tree, types, number, cuts, at
            left[kind] -= 1
            room = capacity[kind] - 2 * rate
            tree, types = opened(tree, types, number, kind, room)
            broker, number = number, number + 1
        last[t], held[t] = broker, 1
    return True, tree, types, number, cuts, at


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
