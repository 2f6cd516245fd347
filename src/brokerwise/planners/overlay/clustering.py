"""Two-stage clustering: users who talk to each other share a broker."""

import numpy as np

from brokerwise.kernels.overlay_clustering import join_clusters, seed_clusters
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.placing import Unplaced, empty_wiring, settled


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
    lists = (
        demand.rate_offsets,
        demand.rate_subchannels,
        demand.rates,
        demand.wanted_offsets,
        demand.wanted,
    )
    outgoing, incoming, limit = _limits(demand)
    seed_clusters(
        demand.load, demand.access, outgoing, incoming, limit, room, broker, *lists
    )
    users = demand.heaviest_first[broker[demand.heaviest_first] < 0]
    followers, sources = _clusters(demand, broker)
    join_clusters(
        users, demand.load, demand.access, followers, sources, room, broker, *lists
    )
    return settled(demand, broker)


def _limits(demand: Demand) -> tuple[Int64s, Int64s, Int64s]:
    """What each user publishes; what it would receive from one other that publishes in
    each sub-channel as much as anybody does; and the most that it may send to and
    receive from one other."""
    outgoing = _sums(demand.rates, demand.rate_offsets)
    most = np.zeros(demand.subchannels, np.int64)
    np.maximum.at(most, demand.rate_subchannels, demand.rates)
    incoming = _sums(most[demand.wanted], demand.wanted_offsets)
    sends = np.minimum(outgoing, incoming.max(initial=0))
    receives = np.minimum(incoming, outgoing.max(initial=0))
    return outgoing, incoming, sends + receives


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
