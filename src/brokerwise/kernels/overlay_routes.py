"""The links that messages take, from each source outwards."""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.kernels.overlay_core import gather, spanning
from brokerwise.model.arrays import Int32s, Int64s


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
    members = np.empty(brokers, np.int32)
    parent = np.empty(brokers, np.int32)
    link = np.empty(brokers, np.int64)
    scratch = np.empty(brokers, np.int64)
    row = 0
    for source in range(brokers):
        for subchannel in range(len(followers)):
            if sources[subchannel, source] == 0:
                continue
            members[0] = source
            count = 1 + gather(followers[subchannel], source, -1, members[1:])
            spanning(core, members, count, parent, link, scratch)
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
    that lead to followers; only the first so many columns are filled.

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
