"""What it costs to forward messages along one spanning tree of all brokers.

The tree hangs from broker 0: `order` names the brokers so that each comes after its
`parent`, and link v joins broker v to its parent at cost `up[v]`. For each broker v and
sub-channel, `fans[v]` counts the followers at v and below it, `sent[v]` what is sent
from there; so those of broker 0 count everything. A message crosses a link if somebody
on the other side wants it.
"""

from typing import TypeVar

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Int32s, Int64s

Counts = TypeVar("Counts", Int32s, Int64s)


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
    """What crosses a link with so many followers, and so much sent, on one side."""
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
def tree_weights(
    order: Int32s, parent: Int32s, up: Int64s, followers: Int32s
) -> Int64s:
    """What a message of each sub-channel (row) from each broker costs: the weight of
    the smallest part of the tree that joins the broker with all that have followers.

    O(brokers * sub-channels). 0 where nobody follows.
    """
    weights = np.zeros(followers.shape, np.int64)
    fans = np.empty(followers.shape[1], np.int64)
    for row in range(len(followers)):
        fans[:] = followers[row]
        for at in range(len(order) - 1, 0, -1):
            broker = order[at]
            fans[parent[broker]] += fans[broker]
            if fans[broker] > 0:
                weights[row, 0] += up[broker]
        for broker in order[1:]:
            # One link further down, messages go up this link instead of down.
            weight = weights[row, parent[broker]]
            if fans[broker] > 0:
                weight -= up[broker]
            if fans[broker] < fans[0]:
                weight += up[broker]
            weights[row, broker] = weight
    return weights


@kernel
def best_swap(
    cut: int,
    core: Int64s,
    order: Int32s,
    parent: Int32s,
    up: Int64s,
    fans: Int32s,
    sent: Int64s,
    traffic: Int64s,
) -> tuple[int, int, int]:
    """The link that best replaces link `cut`: by how much the cost changes, and its
    ends. O(brokers * (sub-channels + brokers)).

    A change of 0 means that none is better; of equals, the first by the brokers'
    numbers on the upper side, then the lower.
    """
    brokers = len(order)
    under = np.zeros(brokers, np.bool_)
    change = np.zeros(brokers, np.int64)
    _reattach(cut, order, parent, up, fans, sent, traffic, under, change)
    best = 0
    upper, lower = parent[cut], cut
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
    cut: int,
    order: Int32s,
    parent: Int32s,
    up: Int64s,
    fans: Int32s,
    sent: Int64s,
    traffic: Int64s,
    under: Bools,
    change: Int64s,
) -> None:
    """What other links cost more if link `cut` gets another upper, or lower, end:
    change[end]. Marks the brokers under it."""
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
