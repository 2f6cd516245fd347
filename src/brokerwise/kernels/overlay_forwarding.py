"""How brokers forward a sub-channel's messages to each other: what that costs, and the
links that messages take.

A sub-channel's members are the brokers with a user who wants it, `members[:count]`.
Messages from broker s go along the minimum spanning tree over the members and s.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Int32s, Int64s

FAR = 2**62


class Span(NamedTuple):
    """Space for a spanning tree over some of all brokers: `members[:count]`, ordered so
    that each comes after its parent. That of members[k] is members[parent[k]], at cost
    link[k]; the first is the root. `key` is scratch."""

    members: Int32s
    parent: Int32s
    link: Int64s
    key: Int64s


@kernel
def span_for(brokers: int) -> Span:
    return Span(
        np.empty(brokers, np.int32),
        np.empty(brokers, np.int32),
        np.empty(brokers, np.int64),
        np.empty(brokers, np.int64),
    )


@kernel
def spanning(core: Int64s, count: int, span: Span) -> int:
    """The weight of the minimum spanning tree over members[:count], which it orders:
    O(count^2)."""
    members, parent, link, key = span
    total = 0
    for at in range(count):
        key[at] = FAR
        parent[at] = 0
    for at in range(1, count):
        newest = members[at - 1]
        best = at
        for other in range(at, count):
            cost = core[newest, members[other]]
            if cost < key[other]:
                key[other] = cost
                parent[other] = at - 1
            if key[other] < key[best]:
                best = other
        members[at], members[best] = members[best], members[at]
        key[at], key[best] = key[best], key[at]
        parent[at], parent[best] = parent[best], parent[at]
        link[at] = key[at]
        total += key[at]
    return total


@leaf
def with_one_more(core: Int64s, count: int, span: Span, broker: int) -> int:
    """The weight of the minimum spanning tree with one more broker: O(count).

    Below each member, the dearer of the link up and the cheapest link to the new
    broker may go, since both close a circle (Chin and Houck, 1978).
    """
    if count == 0:
        return 0
    members, parent, link, least = span
    costs = core[broker]
    for at in range(count):
        least[at] = costs[members[at]]
    total = 0
    for at in range(count - 1, 0, -1):
        up, down = link[at], least[at]
        if up < down:
            up, down = down, up
        total += down
        if up < least[parent[at]]:
            least[parent[at]] = up
    return total + int(least[0])


@kernel
def gather(inside: Int32s, without: int, also: int, members: Int32s) -> int:
    """Brokers with followers, without one and with another (-1: none)."""
    count = 0
    for broker in range(len(inside)):
        if (inside[broker] > 0 and broker != without) or broker == also:
            members[count] = broker
            count += 1
    return count


@kernel
def forwarding(core: Int64s, inside: Int32s, weights: Int64s, span: Span) -> None:
    """For each broker, what a message from it costs: weights[s].

    `inside` says how many followers each broker has.
    """
    count = gather(inside, -1, -1, span.members)
    weight = spanning(core, count, span)
    for broker in range(len(weights)):
        if inside[broker] > 0:
            weights[broker] = weight
        else:
            weights[broker] = with_one_more(core, count, span, broker)


@kernel
def core_weights(core: Int64s, followers: Int32s) -> Int64s:
    """What a message of each sub-channel (row) from each broker costs.

    O(brokers^2) for each sub-channel.
    """
    brokers = core.shape[0]
    weights = np.zeros(followers.shape, np.int64)
    span = span_for(brokers)
    for subchannel in range(len(followers)):
        inside = followers[subchannel]
        forwarding(core, inside, weights[subchannel], span)
    return weights


@kernel
def fill_table(core: Int64s, inside: Int32s, table: Int64s) -> None:
    """What a message from each broker (column) would cost if another broker (row) had
    a follower, too. Rows of brokers that have one already are not filled.

    O(outside * (members + outside) * members): what is outside of the tree and in it.
    """
    brokers = len(inside)
    span = span_for(brokers)
    for more in range(brokers):
        if inside[more] > 0:
            continue
        count = gather(inside, -1, more, span.members)
        weight = spanning(core, count, span)
        for source in range(brokers):
            if inside[source] > 0 or source == more:
                table[more, source] = weight
            elif source < more:
                table[more, source] = table[source, more]
            else:
                table[more, source] = with_one_more(core, count, span, source)


@kernel
def count_links(followers: Int32s, sources: Int64s) -> int:
    """How many links the minimum spanning trees have, over all sources and
    sub-channels in which something is sent."""
    links = 0
    for subchannel in range(len(followers)):
        members = 0
        for broker in range(followers.shape[1]):
            members += followers[subchannel, broker] > 0
        for source in range(followers.shape[1]):
            if sources[subchannel, source] > 0 and members > 0:
                links += members - (followers[subchannel, source] > 0)
    return links


@kernel
def spanning_routes(core: Int64s, followers: Int32s, sources: Int64s) -> Int32s:
    """Source, sub-channel, parent and child (rows) of each link of the minimum spanning
    trees, by source and sub-channel, each broker after its parent.

    O(members^2) for each tree.
    """
    brokers = followers.shape[1]
    found = np.empty((4, count_links(followers, sources)), np.int32)
    span = span_for(brokers)
    members, parent = span.members, span.parent
    row = 0
    for source in range(brokers):
        for subchannel in range(len(followers)):
            if sources[subchannel, source] == 0:
                continue
            members[0] = source
            count = 1 + gather(followers[subchannel], source, -1, members[1:])
            spanning(core, count, span)
            for at in range(1, count):
                found[0, row], found[1, row] = source, subchannel
                found[2, row], found[3, row] = members[parent[at]], members[at]
                row += 1
    return found


@kernel
def tree_routes(
    links: Int32s, followers: Int32s, sources: Int64s
) -> tuple[Int32s, int]:
    """The same along one tree of all brokers, of which each message takes the links
    that lead to followers. Also returns how many columns are filled.

    O(brokers) for each source and sub-channel, and O(brokers^2) for each source.
    """
    brokers = followers.shape[1]
    room = np.count_nonzero(sources) * max(0, brokers - 1)
    found = np.empty((4, room), np.int32)
    order = np.empty(brokers, np.int32)
    parent = np.empty(brokers, np.int32)
    needed = np.empty(brokers, np.bool_)
    row = 0
    for source in range(brokers):
        _hang_from(source, links, order, parent)
        for subchannel in range(len(followers)):
            if sources[subchannel, source] == 0:
                continue
            for broker in range(brokers):
                needed[broker] = followers[subchannel, broker] > 0
            for at in range(brokers - 1, 0, -1):
                if needed[order[at]]:
                    needed[parent[order[at]]] = True
            for at in range(1, brokers):
                broker = order[at]
                if needed[broker]:
                    found[0, row], found[1, row] = source, subchannel
                    found[2, row], found[3, row] = parent[broker], broker
                    row += 1
    return found, row


@kernel
def _hang_from(root: int, links: Int32s, order: Int32s, parent: Int32s) -> None:
    """All brokers, each after its parent, from the root."""
    brokers = len(order)
    parent[:] = -1
    parent[root] = root
    order[0] = root
    filled = 1
    for at in range(brokers):
        here = order[at]
        for link in range(len(links)):
            a, b = links[link]
            if b == here:
                a, b = b, a
            if a == here and parent[b] < 0:
                parent[b] = here
                order[filled] = b
                filled += 1
