"""Mixing: users go where the trees of their sub-channels would have them."""

import numpy as np

from brokerwise.kernels.overlay_steiner import (
    link_weights,
    pack_weighted,
    publisher_weights,
)
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.placing import Unplaced, empty_wiring, settled


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
