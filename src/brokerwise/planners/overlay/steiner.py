"""Mixing: users go where the trees of their sub-channels would have them."""

import numpy as np

from brokerwise.kernels.overlay_steiner import link_weights, pack_weighted
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.placing import Unplaced, empty_wiring, settled


def steiner(demand: Demand, seed: int = 0) -> Int32s | Unplaced:
    """Steiner-tree mixing of Zhao and Wu (2011), with one tree for each sub-channel.

    A tree over those who want a sub-channel puts each on a broker, and a link's weight
    is the traffic on it; each user, heaviest first, then draws a broker with room by
    the weights of its links. They grow a tree for each publisher, too: as subscribers
    are the same, here publishers join the one tree by their cheapest path
    (`steiner_literal` does as they do).

    O((users + entries) * brokers) for each sub-channel at most.
    """
    offsets, publishers, rates = _by_subchannel(demand)
    weights = link_weights(
        demand.access,
        demand.core,
        *demand.followers,
        offsets,
        publishers,
        rates,
        demand.total,
    )
    return _mixed(demand, weights, seed)


def steiner_literal(demand: Demand, seed: int = 0) -> Int32s | Unplaced:
    """Mixing with a tree for each publisher and sub-channel, which starts from the
    publisher: O(entries * users * brokers) array operations. For comparison."""
    weights = np.zeros((demand.users, demand.brokers), np.int64)
    offsets, publishers, rates = _by_subchannel(demand)
    first, followers = demand.followers
    for c in range(demand.subchannels):
        wanting = followers[first[c] : first[c + 1]]
        for k in range(offsets[c], offsets[c + 1]):
            others = wanting[wanting != publishers[k]]
            for user, home in _tree_from(demand, int(publishers[k]), others).items():
                weights[user, home] += rates[k]
    return _mixed(demand, weights, seed)


def _mixed(demand: Demand, weights: Int64s, seed: int) -> Int32s | Unplaced:
    draws = np.random.default_rng(seed).random(demand.users)
    room, broker = empty_wiring(demand)
    pack_weighted(
        demand.heaviest_first, draws, weights, demand.load, demand.access, room, broker
    )
    return settled(demand, broker)


def _by_subchannel(demand: Demand) -> tuple[Int64s, Int32s, Int64s]:
    """Offsets by sub-channel, the users who publish in each, and their rates."""
    order = np.argsort(demand.rate_subchannels, kind="stable")
    user = np.repeat(np.arange(demand.users), np.diff(demand.rate_offsets))
    counts = np.bincount(demand.rate_subchannels, minlength=demand.subchannels)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return offsets, user[order].astype(np.int32), demand.rates[order]


def _tree_from(demand: Demand, source: int, others: Int32s) -> dict[int, int]:
    """The broker of each user of the tree that starts from `source`.

    Its first path leads to the user whom it costs least to reach and puts both ends
    on brokers; then users join by their cheapest path to a broker of the tree. Of
    equal paths that by the lower broker next to the source, then to the lower broker
    next to the user, then to the lower user.
    """
    far = 2**62
    links = np.where(demand.access >= 0, demand.access, far)
    ends = links[others].min(axis=0)
    known = np.flatnonzero(demand.access[source] >= 0)
    reached = np.flatnonzero(ends < far)
    paths = (
        links[source, known, None] + demand.core[np.ix_(known, reached)] + ends[reached]
    )
    start = int(known[np.argmin(paths.min(axis=1))])
    home = {source: start}
    distance = demand.core[start].copy()
    waiting = others
    while len(waiting):
        paths = np.minimum(links[waiting], far // 2) + distance
        b = int(np.argmin(paths.min(axis=0)))
        at = int(np.argmin(paths[:, b]))
        home[int(waiting[at])] = b
        distance = np.minimum(distance, demand.core[b])
        waiting = np.delete(waiting, at)
    return home
