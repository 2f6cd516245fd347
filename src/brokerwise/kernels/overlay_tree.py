"""What it costs to forward messages along one spanning tree of all brokers, and users
moved to where that costs least.

The tree hangs from broker 0: `order` names the brokers so that each comes after its
`parent`, and link v joins broker v to its parent at cost `up[v]`. For each broker v and
sub-channel, `fans[v]` counts the followers at v and below it, `sent[v]` what is sent
from there; so those of broker 0 count everything. A message crosses a link if somebody
on the other side wants it.
"""

from typing import NamedTuple, TypeVar

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.overlay_forwarding import FAR
from brokerwise.kernels.overlay_packing import User, Users, Wiring, one_of
from brokerwise.model.arrays import Bools, Int32s, Int64s

Counts = TypeVar("Counts", Int32s, Int64s)


class RootedTree(NamedTuple):
    """A tree that hangs from broker 0.

    Attributes
    ----------
    order
        All brokers, each after its parent.
    parent
        Of each broker; -1 of broker 0.
    depth
        How many links each broker is from broker 0.
    up
        Cost of the link from each broker to its parent; 0 of broker 0.
    """

    order: Int32s
    parent: Int32s
    depth: Int32s
    up: Int64s


class TreeTraffic(NamedTuple):
    """Of each broker (row) and sub-channel: the followers at the broker and below it,
    `fans`, and what is sent from there; `traffic` is what crosses the link from each
    broker to its parent."""

    fans: Int32s
    sent: Int64s
    traffic: Int64s


@kernel
def kruskal(low: Int32s, high: Int32s, brokers: int) -> Int32s:
    """Of links in this order, those that join what was not joined yet."""
    links = np.empty((max(brokers - 1, 0), 2), np.int32)
    group = np.arange(brokers)
    found = 0
    for k in range(len(low)):
        a, b = low[k], high[k]
        while group[a] != a:
            group[a] = group[group[a]]
            a = group[a]
        while group[b] != b:
            group[b] = group[group[b]]
            b = group[b]
        if a != b:
            group[a] = b
            links[found, 0], links[found, 1] = low[k], high[k]
            found += 1
            if found == len(links):
                break
    return links


@kernel
def hang(links: Int32s, brokers: int) -> tuple[Int32s, Int32s, Int32s]:
    """Hang a tree from broker 0: the order, the parents (-1 of broker 0) and how many
    links each broker is from the top. O(brokers)."""
    # The links of each broker are a chain of half-links: 2 k and 2 k + 1 are link k.
    first = np.full(brokers, -1, np.int32)
    following = np.empty(2 * len(links), np.int32)
    for half in range(2 * len(links)):
        end = links[half // 2, half % 2]
        following[half] = first[end]
        first[end] = half
    order = np.zeros(brokers, np.int32)
    parent = np.full(brokers, -1, np.int32)
    depth = np.zeros(brokers, np.int32)
    known = min(brokers, 1)
    for at in range(brokers):
        broker = order[at]
        half = first[broker]
        while half >= 0:
            other = links[half // 2, 1 - half % 2]
            if other != parent[broker]:
                parent[other] = broker
                depth[other] = depth[broker] + 1
                order[known] = other
                known += 1
            half = following[half]
    return order, parent, depth


@kernel
def below(order: Int32s, parent: Int32s, counts: Counts) -> Counts:
    """Sums of counts[sub-channel, broker] over each broker and those below it, one row
    for each broker. O(brokers * sub-channels)."""
    sums = counts.T.copy()
    for at in range(len(order) - 1, 0, -1):
        broker = order[at]
        sums[parent[broker]] += sums[broker]
    return sums


@leaf
def crossing(fans: int, all_fans: int, sent: int, total: int) -> int:
    """What crosses a link with `fans` followers, and `sent`, on one side."""
    found = 0
    if fans < all_fans:
        found += sent
    if fans > 0:
        found += total - sent
    return found


@kernel
def traffic_of(fans: Int32s, sent: Int64s) -> Int64s:
    """What crosses each link; nothing crosses that of broker 0, which has none."""
    traffic = np.zeros(len(fans), np.int64)
    for broker in range(1, len(fans)):
        for row in range(fans.shape[1]):
            traffic[broker] += crossing(
                fans[broker, row], fans[0, row], sent[broker, row], sent[0, row]
            )
    return traffic


@kernel
def best_swap(
    cut: int, core: Int64s, tree: RootedTree, carried: TreeTraffic
) -> tuple[int, int, int]:
    """The link that best replaces link `cut`: by how much the cost changes, and its
    ends. O(brokers * (sub-channels + brokers)).

    A change of 0 means that none is better; of equals, the first by the brokers'
    numbers on the upper side, then the lower.
    """
    brokers = len(tree.order)
    up, traffic = tree.up, carried.traffic
    under = np.zeros(brokers, np.bool_)
    change = np.zeros(brokers, np.int64)
    _reattach(cut, tree, carried, under, change)
    best = 0
    upper, lower = tree.parent[cut], cut
    for a in range(brokers):
        if under[a]:
            continue
        for b in range(brokers):
            if under[b]:
                # The new link parts the brokers as the old one did.
                longer = traffic[cut] * (core[a, b] - up[cut])
                found = longer + change[a] + change[b]
                if found < best:
                    best, upper, lower = found, a, b
    return best, upper, lower


@kernel
def _reattach(
    cut: int, tree: RootedTree, carried: TreeTraffic, under: Bools, change: Int64s
) -> None:
    """What other links cost more if link `cut` gets another upper, or lower, end:
    change[end]. Marks the brokers under it."""
    order, parent, _, up = tree
    fans, sent, traffic = carried
    rows = fans.shape[1]
    far_fans = np.empty(rows, np.int64)
    far_sent = np.empty(rows, np.int64)
    for row in range(rows):
        far_fans[row] = fans[0, row] - fans[cut, row]
        far_sent[row] = sent[0, row] - sent[cut, row]
    climbed = np.zeros(len(order), np.bool_)
    broker = parent[cut]
    climbed[broker] = True
    while broker != 0:
        # What is under the cut now comes from beyond this link.
        crossed = _crossing_with(broker, fans, sent, fans[cut], sent[cut], -1)
        above = parent[broker]
        change[above] = change[broker] + up[broker] * (crossed - traffic[broker])
        climbed[above] = True
        broker = above
    under[cut] = True
    for broker in order[1:]:
        if climbed[broker] or broker == cut:
            continue
        under[broker] = under[parent[broker]]
        if under[broker]:
            crossed = _crossing_with(broker, fans, sent, far_fans, far_sent, 1)
        else:
            crossed = _crossing_with(broker, fans, sent, fans[cut], sent[cut], 1)
        change[broker] = change[parent[broker]] + up[broker] * (
            crossed - traffic[broker]
        )


@leaf
def _crossing_with(
    broker: int,
    fans: Int32s,
    sent: Int64s,
    more_fans: Int64s,
    more_sent: Int64s,
    sign: int,
) -> int:
    """What would cross a link if below it were so much more, or less."""
    crossed = 0
    for row in range(fans.shape[1]):
        crossed += crossing(
            fans[broker, row] + sign * more_fans[row],
            fans[0, row],
            sent[broker, row] + sign * more_sent[row],
            sent[0, row],
        )
    return crossed


@kernel
def tree_move_costs(
    user: User,
    home: int,
    room: Int64s,
    tree: RootedTree,
    carried: TreeTraffic,
    changes: Int64s,
) -> None:
    """How the cost of the whole overlay changes if one user moves: changes[j].

    The user is on broker `home` and counted there. FAR where it may not go, since it
    does not know the broker or there is no `room`; 0 for `home`.
    O(brokers * (wanted + published)).
    """
    order, parent, _, up = tree
    fans, sent = carried.fans, carried.sent
    user_load, access, rate_subchannels, rates, wanted = user
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
    user: User,
    home: int,
    target: int,
    wiring: Wiring,
    tree: RootedTree,
    carried: TreeTraffic,
) -> None:
    """Move one user, and mend the counts along its way, all but its own broker.

    O(links on the way * (wanted + published)).
    """
    load, followers, sources = wiring.load, wiring.followers, wiring.sources
    parent, depth = tree.parent, tree.depth
    fans, sent, traffic = carried
    user_load, _, rate_subchannels, rates, wanted = user
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
    everyone: Users,
    capacity: Int64s,
    wiring: Wiring,
    tree: RootedTree,
    carried: TreeTraffic,
) -> tuple[int, int]:
    """Each of `users` in turn to the broker where the overlay costs least, of equals
    the first, if that is less than now. Returns moves, and by how much it got cheaper.
    """
    changes = np.empty(len(wiring.load), np.int64)
    moves = 0
    saved = 0
    for number in users:
        user, home = one_of(everyone, number), wiring.broker[number]
        room = capacity - wiring.load
        tree_move_costs(user, home, room, tree, carried, changes)
        best = int(np.argmin(changes))
        if changes[best] < 0:
            tree_move_user(user, home, best, wiring, tree, carried)
            wiring.broker[number] = best
            moves += 1
            saved -= changes[best]
    return moves, saved
