"""Users on brokers after Zhao and Wu (2011): by what they say to each other (Algorithm
2), and by the trees that carry their sub-channels (Algorithm 3).

As in `overlay_packing`, `room` is what each broker has left, `broker` the broker of
each user or NOWHERE; both are changed in place.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.overlay_packing import (
    NOWHERE,
    Users,
    cheapest_with_room,
    published_by,
    wanted_by,
)
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s

NOBODY = -1
MANY = 100
EXACT = -(2**30)  # never many again

FAR = np.int64(2**62)


class Hopes(NamedTuple):
    """Of each user: what it sends, the most that it may receive from one other, and
    the most that it may exchange with one."""

    outgoing: Int64s
    incoming: Int64s
    limit: Int64s


@leaf
def per_cost(traffic: int, cost: int) -> float:
    """Traffic for each unit of cost; no traffic is worth 0, even if it costs none."""
    if traffic == 0:
        return 0.0
    return np.inf if cost == 0 else traffic / cost


@leaf
def _less(ratio: float, traffic: int, best: float, most: int) -> bool:
    return ratio < best or (ratio == best and traffic < most)


@leaf
def sent(sender: np.int64, reader: np.int64, everyone: Users) -> int:
    """Of what one user publishes, what another wants. O(entries of both)."""
    rate_subchannels, rates = everyone.rate_subchannels, everyone.rates
    wanted = everyone.wanted
    first, last = everyone.rate_offsets[sender], everyone.rate_offsets[sender + 1]
    at, end = everyone.wanted_offsets[reader], everyone.wanted_offsets[reader + 1]
    found = 0
    if first == last or at == end:
        return found
    before, after = first, last  # of rates below the first that is wanted
    while before < after:
        middle = (before + after) // 2
        if rate_subchannels[middle] < wanted[at]:
            before = middle + 1
        else:
            after = middle
    first = before
    while first < last and at < end:
        published, want = rate_subchannels[first], wanted[at]
        if published == want:
            found += rates[first]
        first += published <= want
        at += want <= published
    return found


@leaf
def _hope(i: np.int64, j: np.int64, hopes: Hopes) -> int:
    """The most that two users may send each other, as far as sums tell."""
    there: int = min(hopes.outgoing[i], hopes.incoming[j])
    back: int = min(hopes.outgoing[j], hopes.incoming[i])
    return there + back


@kernel
def best_pair(
    users: Int64s,
    cost: Int64s,
    capacity: int,
    everyone: Users,
    hopes: Hopes,
    spent: Int32s,
) -> tuple[int, int]:
    """The two of `users` with the most traffic between them per cost of both links.

    They come by rising cost; cost[user] is that of the link to the broker, `capacity`
    what both may load it with. Of equals the pair with most traffic, then of the lowest
    numbers; (NOBODY, NOBODY) if no two that fit have traffic. Adds to `spent` how many
    others a user was compared with.

    Branch and bound: a dearer link makes the most that one may hope for worth less.
    O(users^2) pairs at worst; few where costs differ.
    """
    load, limit = everyone.load, hopes.limit
    low, high = NOBODY, NOBODY
    best, most = 0.0, 1
    top = limit[users].max()
    for at in range(1, len(users)):
        i = users[at]
        if _less(per_cost(top, cost[i] + cost[users[0]]), top, best, most):
            break  # later ones are no better
        for j in users[:at]:
            both = cost[i] + cost[j]
            if _less(per_cost(limit[i], both), limit[i], best, most):
                break
            hope = min(limit[j], _hope(i, j, hopes))
            if _less(per_cost(hope, both), hope, best, most):
                continue
            if load[i] + load[j] > capacity:
                continue
            spent[i] += 1
            traffic = sent(i, j, everyone) + sent(j, i, everyone)
            ratio = per_cost(traffic, both)
            if _less(ratio, traffic, best, most):
                continue
            pair = (min(i, j), max(i, j))
            if (ratio, traffic) != (best, most) or pair < (low, high):
                low, high = pair
                best, most = ratio, traffic
    return low, high


@kernel
def _most_exchanged(i: np.int64, users: Int64s, everyone: Users, hopes: Hopes) -> int:
    """The most traffic that a user has with any one of `users`."""
    most = 0
    for j in users:
        if j != i and _hope(i, j, hopes) > most:
            most = max(most, sent(i, j, everyone) + sent(j, i, everyone))
    return most


@kernel
def seed_clusters(everyone: Users, hopes: Hopes, room: Int64s, broker: Int32s) -> None:
    """Give each broker in turn its best pair of the users who have none yet.

    `hopes.limit` is made exact for users who are compared with many: where costs are
    alike, all brokers would compare the same users again.
    """
    load, access = everyone.load, everyone.access
    spent = np.zeros(len(load), np.int32)
    for b in range(len(room)):
        cost = access[:, b].copy()
        free = np.flatnonzero(broker < 0)
        users = free[(cost[free] >= 0) & (load[free] <= room[b])]
        if len(users) < 2:
            continue
        users = users[np.argsort(cost[users], kind="mergesort")]
        i, j = best_pair(users, cost, room[b], everyone, hopes, spent)
        if i >= 0:
            broker[i] = broker[j] = b
            room[b] -= load[i] + load[j]
        for user in free:
            if spent[user] > MANY:
                hopes.limit[user] = _most_exchanged(user, free, everyone, hopes)
                spent[user] = EXACT


@kernel
def join_clusters(
    users: Int64s,
    everyone: Users,
    followers: Int32s,
    sources: Int64s,
    room: Int64s,
    broker: Int32s,
) -> None:
    """Each of `users`, who have no broker yet, in turn to the broker with room whose
    users it has most traffic with per cost of its link.

    Of equals to the one with most traffic, then of the cheapest link, then the first.
    `followers` and `sources` are of the users placed so far (see `Wiring`), and kept
    so. O(brokers) for each entry.
    """
    rate_subchannels, rates = everyone.rate_subchannels, everyone.rates
    traffic = np.empty(len(room), np.int64)
    for user in users:
        published = published_by(everyone, user)
        wants = wanted_by(everyone, user)
        traffic[:] = 0
        for k in range(published.start, published.stop):
            row = followers[rate_subchannels[k]]
            for b in range(len(room)):
                traffic[b] += rates[k] * row[b]
        for subchannel in wants:
            traffic += sources[subchannel]
        load = everyone.load[user]
        chosen = _closest(load, traffic, everyone.access[user], room)
        broker[user] = chosen
        if chosen == NOWHERE:
            continue
        room[chosen] -= load
        for k in range(published.start, published.stop):
            sources[rate_subchannels[k], chosen] += rates[k]
        for subchannel in wants:
            followers[subchannel, chosen] += 1


@leaf
def _closest(user_load: int, traffic: Int64s, access: Int64s, room: Int64s) -> int:
    chosen = NOWHERE
    best, most, least = 0.0, 0, 0
    for b in range(len(room)):
        if access[b] < 0 or room[b] < user_load:
            continue
        ratio = per_cost(traffic[b], access[b])
        if chosen >= 0 and _less(ratio, traffic[b], best, most):
            continue
        if chosen >= 0 and (ratio, traffic[b]) == (best, most) and access[b] >= least:
            continue
        chosen, best, most, least = b, ratio, traffic[b], access[b]
    return chosen


@kernel
def nearest_first(access: Int64s) -> Int32s:
    """For each broker (row) all users by rising access cost, those out of reach first;
    equals by their number."""
    users, brokers = access.shape
    found = np.empty((brokers, users), np.int32)
    for b in range(brokers):
        found[b] = np.argsort(access[:, b].copy(), kind="mergesort")
    return found


@leaf
def _skip(order: Int32s, at: int, b: int, access: Int64s, waiting: Bools) -> int:
    """The next entry, from `at` on, of a user in reach who waits; the end if none."""
    while at < len(order) and not (waiting[order[at]] and access[order[at], b] >= 0):
        at += 1
    return at


class Growth(NamedTuple):
    """A tree as it grows: the broker that it attaches each user to, `home`, and whether
    that joined the tree with this user, `opened`.

    In the end distance[b] is that from broker b to the tree; 0 for an empty one.
    `waiting` is all False, before and after.
    """

    waiting: Bools
    distance: Int64s
    home: Int32s
    opened: Bools


@kernel
def _nothing_grown(users: int, brokers: int) -> Growth:
    return Growth(
        np.zeros(users, np.bool_),
        np.empty(brokers, np.int64),
        np.empty(users, np.int32),
        np.empty(users, np.bool_),
    )


@kernel
def grow_tree(
    members: Int32s,
    access: Int64s,
    core: Int64s,
    nearest: Int32s,
    start: int,
    growth: Growth,
) -> None:
    """A tree over `members`, and the brokers that it attaches them to.

    Starts with broker `start`, or, if that is NOWHERE, with their cheapest access link;
    then, time and again, the member with the cheapest path to a broker of the tree is
    attached to the broker next to it on that path, which joins the tree. Of equal paths
    that to the lower broker, then of the lower user. `nearest` has all members, and
    maybe others. O((members + length of nearest) * brokers).
    """
    waiting, distance, home, opened = growth
    brokers = len(distance)
    heads = np.zeros(brokers, np.int64)
    inside = np.zeros(brokers, np.bool_)
    distance[:] = 0
    if start >= 0:
        inside[start] = True
        distance[:] = core[start]
    for user in members:
        waiting[user] = True
    for done in range(len(members)):
        best, least = NOWHERE, FAR
        for b in range(brokers):
            heads[b] = _skip(nearest[b], heads[b], b, access, waiting)
            if heads[b] < len(nearest[b]):
                path = distance[b] + access[nearest[b, heads[b]], b]
                if path < least:
                    best, least = b, path
        user = nearest[best, heads[best]]
        waiting[user] = False
        home[user] = best
        opened[user] = not inside[best]
        if not inside[best]:
            inside[best] = True
            if done == 0 and start < 0:
                distance[:] = FAR
            for b in range(brokers):
                distance[b] = min(distance[b], core[best, b])


@leaf
def next_to(access: Int64s, distance: Int64s) -> int:
    """The broker next to a user on its cheapest path to the tree."""
    best, least = NOWHERE, FAR
    for b in range(len(distance)):
        if access[b] >= 0 and access[b] + distance[b] < least:
            best, least = b, access[b] + distance[b]
    return best


@kernel
def link_weights(
    access: Int64s,
    core: Int64s,
    follower_offsets: Int64s,
    followers: Int32s,
    publisher_offsets: Int64s,
    publishers: Int32s,
    rates: Int64s,
    total: Int64s,
) -> Int64s:
    """The traffic that trees put on the link of each user (row) to each broker.

    One tree for each sub-channel, over those who want it: they receive and send all
    its traffic, `total`, on their link. A publisher that does not want it sends its
    rate on the first link of its cheapest path to the tree. Followers and publishers
    are listed by sub-channel. A row sums to the user's load.
    """
    users, brokers = access.shape
    weights = np.zeros((users, brokers), np.int64)
    nearest = nearest_first(access)
    growth = _nothing_grown(users, brokers)
    waiting, distance, home = growth.waiting, growth.distance, growth.home
    for c in range(len(total)):
        if total[c] == 0:
            continue
        members = followers[follower_offsets[c] : follower_offsets[c + 1]]
        grow_tree(members, access, core, nearest, NOWHERE, growth)
        for user in members:
            weights[user, home[user]] += total[c]
            waiting[user] = True
        for k in range(publisher_offsets[c], publisher_offsets[c + 1]):
            user = publishers[k]
            if not waiting[user]:
                weights[user, next_to(access[user], distance)] += rates[k]
        for user in members:
            waiting[user] = False
    return weights


@kernel
def publisher_weights(
    access: Int64s,
    core: Int64s,
    follower_offsets: Int64s,
    followers: Int32s,
    publisher_offsets: Int64s,
    publishers: Int32s,
    rates: Int64s,
) -> Int64s:
    """What trees put on links as in `link_weights`, with a tree for each publisher and
    sub-channel, which starts from the publisher and carries its rate.

    Trees over the same users that start from the same broker are the same, and grown
    once. A publisher is no member of its own tree; but leaving it out changes something
    only if it brought a broker into the tree, and then its tree is grown by itself.
    """
    users, brokers = access.shape
    weights = np.zeros((users, brokers), np.int64)
    everyone = nearest_first(access)
    growth = _nothing_grown(users, brokers)
    waiting, home, opened = growth.waiting, growth.home, growth.opened
    for c in range(len(publisher_offsets) - 1):
        first, last = publisher_offsets[c], publisher_offsets[c + 1]
        members = followers[follower_offsets[c] : follower_offsets[c + 1]]
        if first == last:
            continue
        nearest = _only(members, everyone, waiting)
        starts = _first_brokers(publishers[first:last], access, core, nearest)
        for start in range(brokers):
            if not (starts == start).any():
                continue
            opened[:] = False
            home[:] = NOWHERE
            grow_tree(members, access, core, nearest, start, growth)
            alone = opened.copy()
            shared = 0
            for k in range(first, last):
                user = publishers[k]
                if starts[k - first] == start:
                    weights[user, start] += rates[k]
                    if not alone[user]:
                        shared += rates[k]
                        if home[user] >= 0:  # a member: it is sent nothing of its own
                            weights[user, home[user]] -= rates[k]
            for user in members:
                weights[user, home[user]] += shared
            for k in range(first, last):
                user = publishers[k]
                if starts[k - first] == start and alone[user]:
                    others = members[members != user]
                    grow_tree(others, access, core, nearest, start, growth)
                    for other in others:
                        weights[other, home[other]] += rates[k]
    return weights


@kernel
def _only(members: Int32s, nearest: Int32s, waiting: Bools) -> Int32s:
    """The rows of `nearest` with nobody but the members."""
    found = np.empty((len(nearest), len(members)), np.int32)
    for user in members:
        waiting[user] = True
    for b in range(len(nearest)):
        at = 0
        for user in nearest[b]:
            if waiting[user]:
                found[b, at] = user
                at += 1
    for user in members:
        waiting[user] = False
    return found


@kernel
def _first_brokers(
    publishers: Int32s, access: Int64s, core: Int64s, nearest: Int32s
) -> Int32s:
    """The broker next to each publisher on its cheapest path to any other user of
    `nearest`; of equal paths that by the lower one."""
    brokers = len(core)
    found = np.empty(len(publishers), np.int32)
    for i in range(len(publishers)):
        own = access[publishers[i]]
        best, least = NOWHERE, FAR
        for b in range(brokers):
            end = _least_link(nearest[b], b, publishers[i], access)
            for a in range(brokers):
                path = own[a] + core[a, b] + end
                if own[a] >= 0 and (path < least or (path == least and a < best)):
                    best, least = a, path
        found[i] = best
    return found


@leaf
def _least_link(order: Int32s, b: int, but: int, access: Int64s) -> int:
    """What the first in reach costs, but for one; beyond any path if there is none."""
    for user in order:
        if access[user, b] >= 0 and user != but:
            return int(access[user, b])
    return int(FAR)


@kernel
def pack_weighted(
    users: Int64s,
    draws: Float64s,
    weights: Int64s,
    load: Int64s,
    access: Int64s,
    room: Int64s,
    broker: Int32s,
) -> None:
    """Each in turn to a broker with room, as likely as its link's weight among those;
    draws[user], from [0, 1), says which. Without any, to the cheapest with room."""
    for user in users:
        chosen = _drawn(draws[user], weights[user], load[user], room)
        if chosen == NOWHERE:
            chosen = cheapest_with_room(load[user], access[user], room)
        broker[user] = chosen
        if chosen >= 0:
            room[chosen] -= load[user]


@leaf
def _drawn(draw: float, weights: Int64s, user_load: int, room: Int64s) -> int:
    total = 0
    for b in range(len(room)):
        if room[b] >= user_load:
            total += weights[b]
    passed = 0
    chosen = NOWHERE
    for b in range(len(room)):
        if weights[b] > 0 and room[b] >= user_load:
            chosen = b
            passed += weights[b]
            if passed > draw * total:
                break
    return chosen
