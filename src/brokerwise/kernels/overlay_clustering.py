"""Users on brokers by what they say to each other: Zhao and Wu (2011), Algorithm 2.

As in `overlay_packing`, `room` is what each broker has left, `broker` the broker of
each user or NOWHERE; both are changed in place.
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.overlay_packing import NOWHERE
from brokerwise.model.arrays import Int32s, Int64s

NOBODY = -1
MANY = 100
EXACT = -(2**30)  # never many again


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
def sent(
    sender: np.int64,
    reader: np.int64,
    rate_offsets: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
) -> int:
    """Of what one user publishes, what another wants. O(entries of both)."""
    first, last = rate_offsets[sender], rate_offsets[sender + 1]
    at, end = wanted_offsets[reader], wanted_offsets[reader + 1]
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
def _hope(i: np.int64, j: np.int64, outgoing: Int64s, incoming: Int64s) -> int:
    """The most that two users may send each other, as far as sums tell."""
    there: int = min(outgoing[i], incoming[j])
    back: int = min(outgoing[j], incoming[i])
    return there + back


@kernel
def best_pair(
    users: Int64s,
    cost: Int64s,
    load: Int64s,
    capacity: int,
    outgoing: Int64s,
    incoming: Int64s,
    limit: Int64s,
    spent: Int32s,
    rate_offsets: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
) -> tuple[int, int]:
    """The two of `users` with the most traffic between them per cost of both links.

    They come by rising cost; cost[user] is that of the link to the broker, `capacity`
    what both may load it with. `outgoing` is what each user sends, `incoming` the most
    that it may receive from one other, `limit` the most that it may exchange with one.
    Of equals the pair with most traffic, then of the lowest numbers; (NOBODY, NOBODY)
    if no two that fit have traffic. Adds to `spent` how many others a user was
    compared with.

    Branch and bound: a dearer link makes the most that one may hope for worth less.
    O(users^2) pairs at worst; few where costs differ.
    """
    lists = (rate_offsets, rate_subchannels, rates, wanted_offsets, wanted)
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
            hope = min(limit[j], _hope(i, j, outgoing, incoming))
            if _less(per_cost(hope, both), hope, best, most):
                continue
            if load[i] + load[j] > capacity:
                continue
            spent[i] += 1
            traffic = sent(i, j, *lists) + sent(j, i, *lists)
            ratio = per_cost(traffic, both)
            if _less(ratio, traffic, best, most):
                continue
            pair = (min(i, j), max(i, j))
            if (ratio, traffic) != (best, most) or pair < (low, high):
                low, high = pair
                best, most = ratio, traffic
    return low, high


@kernel
def _most_exchanged(
    i: np.int64,
    users: Int64s,
    outgoing: Int64s,
    incoming: Int64s,
    rate_offsets: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
) -> int:
    """The most traffic that a user has with any one of `users`."""
    lists = (rate_offsets, rate_subchannels, rates, wanted_offsets, wanted)
    most = 0
    for j in users:
        if j != i and _hope(i, j, outgoing, incoming) > most:
            most = max(most, sent(i, j, *lists) + sent(j, i, *lists))
    return most


@kernel
def seed_clusters(
    load: Int64s,
    access: Int64s,
    outgoing: Int64s,
    incoming: Int64s,
    limit: Int64s,
    room: Int64s,
    broker: Int32s,
    rate_offsets: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
) -> None:
    """Give each broker in turn its best pair of the users who have none yet.

    `limit` is made exact for users who are compared with many: where costs are alike,
    all brokers would compare the same users again.
    """
    lists = (rate_offsets, rate_subchannels, rates, wanted_offsets, wanted)
    spent = np.zeros(len(load), np.int32)
    for b in range(len(room)):
        cost = access[:, b].copy()
        free = np.flatnonzero(broker < 0)
        users = free[(cost[free] >= 0) & (load[free] <= room[b])]
        if len(users) < 2:
            continue
        users = users[np.argsort(cost[users], kind="mergesort")]
        i, j = best_pair(
            users, cost, load, room[b], outgoing, incoming, limit, spent, *lists
        )
        if i >= 0:
            broker[i] = broker[j] = b
            room[b] -= load[i] + load[j]
        for user in free:
            if spent[user] > MANY:
                limit[user] = _most_exchanged(user, free, outgoing, incoming, *lists)
                spent[user] = EXACT


@kernel
def join_clusters(
    users: Int64s,
    load: Int64s,
    access: Int64s,
    followers: Int32s,
    sources: Int64s,
    room: Int64s,
    broker: Int32s,
    rate_offsets: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
) -> None:
    """Each of `users`, who have no broker yet, in turn to the broker with room whose
    users it has most traffic with per cost of its link.

    Of equals to the one with most traffic, then of the cheapest link, then the first.
    `followers` and `sources` are of the users placed so far (see `Wiring`), and kept
    so. O(brokers) for each entry.
    """
    traffic = np.empty(len(room), np.int64)
    for user in users:
        published = slice(rate_offsets[user], rate_offsets[user + 1])
        wants = wanted[wanted_offsets[user] : wanted_offsets[user + 1]]
        traffic[:] = 0
        for k in range(published.start, published.stop):
            row = followers[rate_subchannels[k]]
            for b in range(len(room)):
                traffic[b] += rates[k] * row[b]
        for subchannel in wants:
            traffic += sources[subchannel]
        chosen = _closest(load[user], traffic, access[user], room)
        broker[user] = chosen
        if chosen == NOWHERE:
            continue
        room[chosen] -= load[user]
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
