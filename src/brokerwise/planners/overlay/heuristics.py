"""The algorithms of Zhao and Wu, "On the Construction of the Minimum Cost Content-Based
Publish/Subscribe Overlays" (IEEE SECON 2011), and chance to compare them with."""

from collections.abc import Callable

import numpy as np

from brokerwise.kernels.overlay_packing import pack_cheapest, pack_drawn
from brokerwise.model.arrays import Int32s
from brokerwise.planners.overlay.clustering import clustering
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.placing import Unplaced, empty_wiring, settled
from brokerwise.planners.overlay.steiner import steiner, steiner_literal


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


Heuristic = Callable[[Demand, int], Int32s | Unplaced]

HEURISTICS: dict[str, Heuristic] = {
    "random": random,
    "greedy": greedy,
    "clustering": clustering,
    "steiner": steiner,
}
"""From demand and seed to the broker of each user, within capacity and reach."""
BY_NAME: dict[str, Heuristic] = HEURISTICS | {"steiner_literal": steiner_literal}
"""These, and those that run only if they are asked for."""
