"""The trees that a wiring's messages take."""

from brokerwise.kernels.overlay_routes import spanning_routes, tree_routes
from brokerwise.model.arrays import Int32s
from brokerwise.model.overlay import Trees
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.wiring import Wiring


def trees_of(demand: Demand, broker: Int32s, tree: Int32s | None = None) -> Trees:
    """A minimum spanning tree for each source and sub-channel, or the part of `tree`
    (links of all brokers) that leads to followers. Where one broker has all followers
    and the source, there is none."""
    wiring = Wiring.of(demand, broker)
    if tree is None:
        found = spanning_routes(demand.core, wiring.followers, wiring.sources)
    else:
        found, rows = tree_routes(tree, wiring.followers, wiring.sources)
        found = found[:, :rows].copy()
    return Trees(*found)
