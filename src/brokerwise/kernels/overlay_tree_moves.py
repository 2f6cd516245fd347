"""Moving one user to the broker where an overlay on one tree costs least.

The arrays of a tree are those of `overlay_tree`.
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.overlay_core import FAR
from brokerwise.kernels.overlay_tree import crossing
from brokerwise.model.arrays import Int32s, Int64s


@kernel
def tree_move_costs(
    user_load: int,
    access: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted: Int32s,
    home: int,
    room: Int64s,
    order: Int32s,
    parent: Int32s,
    up: Int64s,
    fans: Int32s,
    sent: Int64s,
    changes: Int64s,
) -> None:
    """How the cost of the whole overlay changes if one user moves: changes[j].

    The user is on broker `home` and counted there. FAR where it may not go, since it
    does not know the broker or there is no `room`; 0 for `home`.
    O(brokers * (wanted + published)).
    """
    climbed = np.zeros(len(order), np.bool_)
    changes[home] = 0
    climbed[home] = True
    broker = home
    while broker != 0:
        crossed = _more(broker, True, rate_subchannels, rates, wanted, fans, sent)
        above = parent[broker]
        changes[above] = changes[broker] + up[broker] * crossed
        climbed[above] = True
        broker = above
    for broker in order[1:]:
        if not climbed[broker]:
            crossed = _more(broker, False, rate_subchannels, rates, wanted, fans, sent)
            changes[broker] = changes[parent[broker]] + up[broker] * crossed
    _with_access(user_load, access, home, room, changes)


@leaf
def _with_access(
    user_load: int, access: Int64s, home: int, room: Int64s, changes: Int64s
) -> None:
    for broker in range(len(changes)):
        if broker == home:
            continue
        if access[broker] < 0 or room[broker] < user_load:
            changes[broker] = FAR
        else:
            changes[broker] += user_load * (access[broker] - access[home])


@leaf
def _more(
    link: int,
    upwards: bool,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted: Int32s,
    fans: Int32s,
    sent: Int64s,
) -> int:
    """How much more crosses a link if a user moves across it, up or down."""
    more = 0
    k = 0
    for row in wanted:
        while k < len(rates) and rate_subchannels[k] < row:
            more += rates[k] * _further(link, upwards, rate_subchannels[k], fans)
            k += 1
        rate = 0
        if k < len(rates) and rate_subchannels[k] == row:
            rate = rates[k]
            k += 1
        count, total = fans[0, row], sent[0, row]
        near_fans, near_sent = fans[link, row], sent[link, row]
        if not upwards:
            near_fans, near_sent = count - near_fans, total - near_sent
        more += crossing(near_fans - 1, count, near_sent - rate, total)
        more -= crossing(near_fans, count, near_sent, total)
    while k < len(rates):
        more += rates[k] * _further(link, upwards, rate_subchannels[k], fans)
        k += 1
    return more


@leaf
def _further(link: int, upwards: bool, row: int, fans: Int32s) -> int:
    """How many times more a message crosses a link if it comes from the other side."""
    low, all_fans = fans[link, row], fans[0, row]
    back = int(low > 0) - int(low < all_fans)
    return back if upwards else -back


@kernel
def tree_move_user(
    user_load: int,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted: Int32s,
    home: int,
    target: int,
    load: Int64s,
    followers: Int32s,
    sources: Int64s,
    parent: Int32s,
    depth: Int32s,
    fans: Int32s,
    sent: Int64s,
    traffic: Int64s,
) -> None:
    """Move one user, and mend the counts along its way.

    O(links on the way * (wanted + published)).
    """
    load[home] -= user_load
    load[target] += user_load
    for k in range(len(rates)):
        sources[rate_subchannels[k], home] -= rates[k]
        sources[rate_subchannels[k], target] += rates[k]
    for row in wanted:
        followers[row, home] -= 1
        followers[row, target] += 1
    a, b = home, target
    while a != b:
        upwards = depth[a] >= depth[b]
        link = a if upwards else b
        traffic[link] += _more(
            link, upwards, rate_subchannels, rates, wanted, fans, sent
        )
        sign = -1 if upwards else 1
        for k in range(len(rates)):
            sent[link, rate_subchannels[k]] += sign * rates[k]
        for row in wanted:
            fans[link, row] += sign
        if upwards:
            a = parent[a]
        else:
            b = parent[b]


@kernel
def tree_descend(
    users: Int64s,
    user_loads: Int64s,
    access: Int64s,
    rate_offsets: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
    capacity: Int64s,
    home: Int32s,
    load: Int64s,
    followers: Int32s,
    sources: Int64s,
    order: Int32s,
    parent: Int32s,
    depth: Int32s,
    up: Int64s,
    fans: Int32s,
    sent: Int64s,
    traffic: Int64s,
) -> tuple[int, int]:
    """Each of `users` in turn to the broker where the overlay costs least, of equals
    the first, if that is less than now. Returns moves, and by how much it got cheaper.
    """
    changes = np.empty(len(load), np.int64)
    moves = 0
    saved = 0
    for user in users:
        published = slice(rate_offsets[user], rate_offsets[user + 1])
        wants = wanted[wanted_offsets[user] : wanted_offsets[user + 1]]
        tree_move_costs(
            user_loads[user],
            access[user],
            rate_subchannels[published],
            rates[published],
            wants,
            home[user],
            capacity - load,
            order,
            parent,
            up,
            fans,
            sent,
            changes,
        )
        best = int(np.argmin(changes))
        if changes[best] < 0:
            tree_move_user(
                user_loads[user],
                rate_subchannels[published],
                rates[published],
                wants,
                home[user],
                best,
                load,
                followers,
                sources,
                parent,
                depth,
                fans,
                sent,
                traffic,
            )
            home[user] = best
            moves += 1
            saved -= changes[best]
    return moves, saved
