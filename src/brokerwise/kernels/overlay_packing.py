"""Users on brokers within capacity and reach.

`room` is what each broker has left, `broker` the broker of each user or -1; both are
changed in place. A user of load 0 fits on every broker in its reach.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Float64s, Int32s, Int64s

NOWHERE = -1


class Users(NamedTuple):
    """User i loads its broker with load[i], and its link to broker b costs
    access[i, b], below 0 out of reach.

    It publishes rates[k] in sub-channel rate_subchannels[k], for k from rate_offsets[i]
    to rate_offsets[i + 1], and wants the sub-channels
    wanted[wanted_offsets[i]:wanted_offsets[i + 1]]. Lists ascend.
    """

    load: Int64s
    access: Int64s
    rate_offsets: Int64s
    rate_subchannels: Int32s
    rates: Int64s
    wanted_offsets: Int64s
    wanted: Int32s


class User(NamedTuple):
    """One of the users: its load, its access costs, what it publishes and wants."""

    load: int
    access: Int64s
    rate_subchannels: Int32s
    rates: Int64s
    wanted: Int32s


class Wiring(NamedTuple):
    """Which broker each user is on, and what follows; a search changes all of it.

    Attributes
    ----------
    broker
        Of each user.
    load
        Of each broker.
    followers
        How many users on each broker (column) want each sub-channel (row).
    sources
        What users on each broker (column) send in each sub-channel (row).
    """

    broker: Int32s
    load: Int64s
    followers: Int32s
    sources: Int64s


@leaf
def published_by(everyone: Users, user: int) -> slice:
    """Where the rates of a user are."""
    return slice(everyone.rate_offsets[user], everyone.rate_offsets[user + 1])


@kernel
def wanted_by(everyone: Users, user: int) -> Int32s:
    """The sub-channels that a user wants."""
    first, last = everyone.wanted_offsets[user], everyone.wanted_offsets[user + 1]
    return everyone.wanted[first:last]


@kernel
def one_of(everyone: Users, user: int) -> User:
    published = published_by(everyone, user)
    return User(
        everyone.load[user],
        everyone.access[user],
        everyone.rate_subchannels[published],
        everyone.rates[published],
        wanted_by(everyone, user),
    )


@leaf
def cheapest_with_room(
    user_load: int, access: Int64s, room: Int64s, but: int = NOWHERE
) -> int:
    """The broker of the cheapest link, of equals the first, but for one; NOWHERE if
    the user fits on none in reach."""
    best = NOWHERE
    for b in range(len(room)):
        fits = b != but and access[b] >= 0 and room[b] >= user_load
        if fits and (best < 0 or access[b] < access[best]):
            best = b
    return best


@kernel
def pack_cheapest(
    users: Int64s, load: Int64s, access: Int64s, room: Int64s, broker: Int32s
) -> None:
    """Each in turn to its cheapest access link whose broker has room."""
    for user in users:
        best = cheapest_with_room(load[user], access[user], room)
        broker[user] = best
        if best >= 0:
            room[best] -= load[user]


@kernel
def pack_drawn(
    users: Int64s,
    draws: Float64s,
    load: Int64s,
    access: Int64s,
    room: Int64s,
    broker: Int32s,
) -> None:
    """Each in turn to any broker in reach with room; draws[user], from [0, 1), says
    which."""
    fitting = np.empty(len(room), np.int32)
    for user in users:
        count = 0
        for b in range(len(room)):
            if access[user, b] >= 0 and room[b] >= load[user]:
                fitting[count] = b
                count += 1
        broker[user] = NOWHERE
        if count > 0:
            chosen = fitting[int(draws[user] * count)]
            broker[user] = chosen
            room[chosen] -= load[user]


@kernel
def pack_tight(
    users: Int64s,
    load: Int64s,
    access: Int64s,
    room: Int64s,
    broker: Int32s,
    roomiest: bool,
) -> None:
    """Each in turn to the broker in reach that it fills most, or, with `roomiest`, to
    the one with most room; of equals to the cheaper link, then to the first."""
    for user in users:
        best = NOWHERE
        for b in range(len(room)):
            if access[user, b] < 0 or room[b] < load[user]:
                continue
            if best < 0 or room[b] == room[best]:
                better = best < 0 or access[user, b] < access[user, best]
            else:
                better = (room[b] > room[best]) == roomiest
            if better:
                best = b
        broker[user] = best
        if best >= 0:
            room[best] -= load[user]


@kernel
def squeeze_in(
    users: Int64s,
    by_load: Int64s,
    load: Int64s,
    access: Int64s,
    room: Int64s,
    broker: Int32s,
    budget: int,
) -> None:
    """Find room for each of `users`, who have none yet: as it is, by moving another
    user, or by exchanges of others that gather room.

    Who has a broker keeps one. `by_load` has all users by rising load. Each looks at
    O(users * brokers) moves; all together try at most `budget` exchanges.
    """
    sorted_loads = load[by_load]
    for user in users:
        best = cheapest_with_room(load[user], access[user], room)
        if best < 0:
            best = _eject(user, load, access, room, broker)
        if best < 0:
            best, budget = _gather(
                user, by_load, sorted_loads, load, access, room, broker, budget
            )
        if best >= 0:
            broker[user] = best
            room[best] -= load[user]


@kernel
def _eject(
    user: int, load: Int64s, access: Int64s, room: Int64s, broker: Int32s
) -> int:
    """Move the one user that makes room at least cost; returns where room is now."""
    chosen, target = NOWHERE, NOWHERE
    least = 0
    for other in range(len(load)):
        b = broker[other]
        if b < 0 or access[user, b] < 0 or room[b] + load[other] < load[user]:
            continue
        t = cheapest_with_room(load[other], access[other], room, b)
        if t < 0:
            continue
        cost = load[user] * access[user, b]
        cost += load[other] * (access[other, t] - access[other, b])
        if chosen < 0 or cost < least:
            chosen, target, least = other, t, cost
    if chosen < 0:
        return NOWHERE
    home = broker[chosen]
    _move(chosen, target, load, room, broker)
    return int(home)


@leaf
def _move(
    user: int | np.int64, target: int, load: Int64s, room: Int64s, broker: Int32s
) -> None:
    room[broker[user]] += load[user]
    broker[user] = target
    room[target] -= load[user]


@kernel
def _gather(
    user: int,
    by_load: Int64s,
    sorted_loads: Int64s,
    load: Int64s,
    access: Int64s,
    room: Int64s,
    broker: Int32s,
    budget: int,
) -> tuple[int, int]:
    """Exchange users of one broker for lighter ones of others, those that gain most
    first, until it has room; brokers with most room are tried first."""
    for b in np.argsort(-room):
        while access[user, b] >= 0:
            if room[b] >= load[user]:
                return int(b), budget
            heavy, light, budget = _most_gained(
                b, by_load, sorted_loads, load, access, room, broker, budget
            )
            if heavy == NOWHERE:
                break
            _move(heavy, broker[light], load, room, broker)
            _move(light, b, load, room, broker)
    return NOWHERE, budget


@kernel
def _most_gained(
    b: int,
    by_load: Int64s,
    sorted_loads: Int64s,
    load: Int64s,
    access: Int64s,
    room: Int64s,
    broker: Int32s,
    budget: int,
) -> tuple[np.int64, np.int64, int]:
    """The user of broker b and the lighter one elsewhere whose exchange makes most
    room on b, and the budget that is left."""
    heavy, light = np.int64(NOWHERE), np.int64(NOWHERE)
    most, most_room = np.int64(0), room.max()
    for user in np.flatnonzero(broker == b):
        # From the lightest that may come, who gains most, to one that gains no more.
        at = np.searchsorted(sorted_loads, load[user] - most_room)
        while at < len(by_load) and load[user] - sorted_loads[at] > most:
            if budget == 0:
                return np.int64(NOWHERE), np.int64(NOWHERE), 0
            budget -= 1
            other = by_load[at]
            t = broker[other]
            at += 1
            if t < 0 or t == b or access[user, t] < 0 or access[other, b] < 0:
                continue
            if load[user] - load[other] <= room[t]:
                heavy, light, most = user, other, load[user] - load[other]
    return heavy, light, budget


@kernel
def search_packing(
    users: Int64s,
    load: Int64s,
    access: Int64s,
    room: Int64s,
    broker: Int32s,
    budget: int,
) -> tuple[bool, bool]:
    """Try all ways to place `users`, which come by falling load, until one fits.

    Returns whether one was found, and whether it looked everywhere: then, if it found
    none, there is none. Ends after `budget` placements.
    """
    spare = room.sum() - load[users].sum()
    depth = 0
    while 0 <= depth < len(users) and spare >= 0:
        user = users[depth]
        tried = broker[user]
        if tried >= 0:
            room[tried] += load[user]
        broker[user] = _next_with_room(load[user], access[user], room, tried)
        if broker[user] < 0:
            depth -= 1
            continue
        if budget == 0:
            return False, False
        budget -= 1
        room[broker[user]] -= load[user]
        if _unusable(room, load[users[-1]]) <= spare:
            depth += 1
    return depth == len(users), True


@leaf
def _next_with_room(user_load: int, access: Int64s, room: Int64s, after: int) -> int:
    for b in range(after + 1, len(room)):
        if access[b] >= 0 and room[b] >= user_load:
            return b
    return NOWHERE


@leaf
def _unusable(room: Int64s, lightest: int) -> int:
    """Room on brokers that have too little for anyone."""
    found = 0
    for b in range(len(room)):
        if room[b] < lightest:
            found += room[b]
    return found
