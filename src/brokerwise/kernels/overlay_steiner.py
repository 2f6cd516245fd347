"""Trees that carry sub-channels, and users on brokers that trees put them on: after
Zhao and Wu (2011), Algorithm 3."""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.overlay_packing import NOWHERE, cheapest_with_room
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s

FAR = np.int64(2**62)


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


@kernel
def grow_tree(
    members: Int32s,
    access: Int64s,
    core: Int64s,
    nearest: Int32s,
    waiting: Bools,
    distance: Int64s,
    home: Int32s,
    start: int,
    opened: Bools,
) -> None:
    """A tree over `members`, and the brokers that it attaches them to: home[user].

    Starts with broker `start`, or, if that is NOWHERE, with their cheapest access link;
    then, time and again, the member with the cheapest path to a broker of the tree is
    attached to the broker next to it on that path, which joins the tree: opened[user]
    says whether it did so with this user. Of equal paths that to the lower broker, then
    of the lower user. Ends with distance[b], from broker b to the tree; 0 for an empty
    one. `nearest` has all members, and maybe others. `waiting` is all False, before and
    after. O((members + length of nearest) * brokers).
    """
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
    waiting = np.zeros(users, np.bool_)
    distance = np.empty(brokers, np.int64)
    home = np.empty(users, np.int32)
    opened = np.empty(users, np.bool_)
    for c in range(len(total)):
        if total[c] == 0:
            continue
        members = followers[follower_offsets[c] : follower_offsets[c + 1]]
        grow_tree(
            members, access, core, nearest, waiting, distance, home, NOWHERE, opened
        )
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
    waiting = np.zeros(users, np.bool_)
    distance = np.empty(brokers, np.int64)
    home = np.empty(users, np.int32)
    opened = np.empty(users, np.bool_)
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
            grow_tree(
                members, access, core, nearest, waiting, distance, home, start, opened
            )
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
                    grow_tree(
                        others,
                        access,
                        core,
                        nearest,
                        waiting,
                        distance,
                        home,
                        start,
                        opened,
                    )
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
