"""The algorithms of Zhao and Wu, "On the Construction of the Minimum Cost Content-Based
Publish/Subscribe Overlays" (IEEE SECON 2011), and chance to compare them with.
"""

from collections.abc import Callable

import numpy as np

from brokerwise.kernels.overlay_heuristics import (
    Hopes,
    join_clusters,
    link_weights,
    pack_weighted,
    publisher_weights,
    seed_clusters,
)
from brokerwise.kernels.overlay_packing import pack_cheapest, pack_drawn
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.placing import Unplaced, empty_wiring, settled
from brokerwise.planners.overlay.problem import Demand

Heuristic = Callable[[Demand, int], Int32s | Unplaced]


def clustering(demand: Demand, seed: int = 0) -> Int32s | Unplaced:
    """Algorithm 2 of Zhao and Wu (2011), without chance: `seed` changes nothing.

    Each broker, by number, gets the two free users with the most traffic between them
    per cost of their links to it; then each other user, heaviest first, goes to the
    broker with room whose users it has most traffic with per cost of its link. (They
    print the least; the most is meant.) A broker that no two free users with traffic
    between them fit on gets no pair.

    O(entries * brokers), and what `best_pair` looks at; no users x users matrix.
    """
    room, broker = empty_wiring(demand)
    seed_clusters(demand.everyone, _hopes(demand), room, broker)
    users = demand.heaviest_first[broker[demand.heaviest_first] < 0]
    followers, sources = _clusters(demand, broker)
    join_clusters(users, demand.everyone, followers, sources, room, broker)
    return settled(demand, broker)


def _hopes(demand: Demand) -> Hopes:
    """What each user publishes; what it would receive from one other that publishes in
    each sub-channel as much as anybody does; and the most that it may send to and
    receive from one other."""
    outgoing = _sums(demand.rates, demand.rate_offsets)
    most = np.zeros(demand.subchannels, np.int64)
    np.maximum.at(most, demand.rate_subchannels, demand.rates)
    incoming = _sums(most[demand.wanted], demand.wanted_offsets)
    sends = np.minimum(outgoing, incoming.max(initial=0))
    receives = np.minimum(incoming, outgoing.max(initial=0))
    return Hopes(outgoing, incoming, sends + receives)


def _sums(values: Int64s, offsets: Int64s) -> Int64s:
    """Of the entries from each offset to the next."""
    before = np.concatenate([[0], np.cumsum(values)])
    return np.diff(before[offsets])


def _clusters(demand: Demand, broker: Int32s) -> tuple[Int32s, Int64s]:
    """Followers and sources, as in `Wiring`, of those who have a broker."""
    shape = (demand.subchannels, demand.brokers)
    followers, sources = np.zeros(shape, np.int32), np.zeros(shape, np.int64)
    for user in np.flatnonzero(broker >= 0):
        first, last = demand.wanted_offsets[user : user + 2]
        followers[demand.wanted[first:last], broker[user]] += 1
        first, last = demand.rate_offsets[user : user + 2]
        home = broker[user]
        sources[demand.rate_subchannels[first:last], home] += demand.rates[first:last]
    return followers, sources


def steiner(demand: Demand, seed: int = 0) -> Int32s | Unplaced:
    """Our variant of the Steiner-tree mixing of Zhao and Wu (2011): one tree for each
    sub-channel.

    A tree over those who want a sub-channel puts each on a broker, and a link's weight
    is the traffic on it; each user, heaviest first, then draws a broker with room by
    the weights of its links. They grow a tree for each publisher and sub-channel, as
    `steiner_literal` does; here publishers join the one tree by their cheapest path.

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
    """Steiner-tree mixing of Zhao and Wu (2011) to the letter: a tree for each
    publisher and sub-channel, which starts from the publisher.

    O(trees * users * brokers), where publishers of a sub-channel mostly share a tree if
    it starts from the same broker.
    """
    offsets, publishers, rates = _by_subchannel(demand)
    weights = publisher_weights(
        demand.access, demand.core, *demand.followers, offsets, publishers, rates
    )
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


def random(demand: Demand, seed: int = 0) -> Int32s | Unplaced:
    """Users in random order, each on a random broker in reach that has room."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(demand.users)
    draws = generator.random(demand.users)
    room, broker = empty_wiring(demand)
    pack_drawn(order, draws, demand.load, demand.access, room, broker)
    return settled(demand, broker)


def greedy(demand: Demand, seed: int = 0) -> Int32s | Unplaced:
    """Algorithm 1: users by number, each to its cheapest access link whose broker has
    room, of equals to the lower broker. `seed` changes nothing."""
    room, broker = empty_wiring(demand)
    users = np.arange(demand.users)
    pack_cheapest(users, demand.load, demand.access, room, broker)
    return settled(demand, broker)


HEURISTICS: dict[str, Heuristic] = {
    "random": random,
    "greedy": greedy,
    "clustering": clustering,
    "steiner": steiner,
}
"""From demand and seed to the broker of each user, within capacity and reach."""
BY_NAME: dict[str, Heuristic] = HEURISTICS | {"steiner_literal": steiner_literal}
"""These, and those that run only if they are asked for."""
