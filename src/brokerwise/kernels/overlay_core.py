"""What it costs brokers to forward one sub-channel's messages to each other.

A sub-channel's members are the brokers with a user who wants it, `members[:count]`.
Messages from broker s go along the minimum spanning tree over the members and s.
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Int32s, Int64s

FAR = 2**62


@kernel
def spanning(
    core: Int64s,
    members: Int32s,
    count: int,
    parent: Int32s,
    link: Int64s,
    key: Int64s,
) -> int:
    """The weight of the minimum spanning tree over members[:count]: O(count^2).

    Reorders the members so that each comes after its parent: that of members[k] is
    members[parent[k]], at cost link[k]. The first is the root. `key` is scratch.
    """
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
def with_one_more(
    core: Int64s,
    members: Int32s,
    count: int,
    parent: Int32s,
    link: Int64s,
    least: Int64s,
    broker: int,
) -> int:
    """The weight of the minimum spanning tree with one more broker: O(count).

    Below each member, the dearer of the link up and the cheapest link to the new
    broker may go, since both close a circle (Chin and Houck, 1978). `least` is
    scratch.
    """
    if count == 0:
        return 0
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
def forwarding(
    core: Int64s,
    inside: Int32s,
    weights: Int64s,
    members: Int32s,
    parent: Int32s,
    link: Int64s,
    scratch: Int64s,
) -> None:
    """For each broker, what a message from it costs: weights[s].

    `inside` says how many followers each broker has; the last four are scratch.
    """
    count = gather(inside, -1, -1, members)
    weight = spanning(core, members, count, parent, link, scratch)
    for broker in range(len(weights)):
        if inside[broker] > 0:
            weights[broker] = weight
        else:
            weights[broker] = with_one_more(
                core, members, count, parent, link, scratch, broker
            )


@kernel
def core_weights(core: Int64s, followers: Int32s) -> Int64s:
    """What a message of each sub-channel (row) from each broker costs.

    O(brokers^2) for each sub-channel.
    """
    brokers = core.shape[0]
    weights = np.zeros(followers.shape, np.int64)
    members = np.empty(brokers, np.int32)
    parent = np.empty(brokers, np.int32)
    link = np.empty(brokers, np.int64)
    scratch = np.empty(brokers, np.int64)
    for subchannel in range(len(followers)):
        inside = followers[subchannel]
        forwarding(core, inside, weights[subchannel], members, parent, link, scratch)
    return weights


@kernel
def fill_table(core: Int64s, inside: Int32s, table: Int64s) -> None:
    """What a message from each broker (column) would cost if another broker (row) had
    a follower, too. Rows of brokers that have one already are not filled.

    O(outside * (members + outside) * members): what is outside of the tree and in it.
    """
    brokers = len(inside)
    members = np.empty(brokers, np.int32)
    parent = np.empty(brokers, np.int32)
    link = np.empty(brokers, np.int64)
    scratch = np.empty(brokers, np.int64)
    for more in range(brokers):
        if inside[more] > 0:
            continue
        count = gather(inside, -1, more, members)
        weight = spanning(core, members, count, parent, link, scratch)
        for source in range(brokers):
            if inside[source] > 0 or source == more:
                table[more, source] = weight
            elif source < more:
                table[more, source] = table[source, more]
            else:
                table[more, source] = with_one_more(
                    core, members, count, parent, link, scratch, source
                )
