"""One spanning tree of all brokers, along which every message goes."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.overlay_tree import hang, kruskal, tree_weights
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.wiring import Wiring


def spanning_tree(core: Int64s) -> Int32s:
    """The minimum spanning tree of link costs: a row for each link, with its lower
    broker first, sorted by cost, then by brokers.

    By Kruskal; links of equal cost are tried by their lower, then their higher broker.
    """
    low, high = np.triu_indices(len(core), 1)
    first = np.argsort(core[low, high], kind="stable")
    ends = low[first].astype(np.int32), high[first].astype(np.int32)
    return kruskal(*ends, len(core))


def sorted_links(links: Int32s, core: Int64s) -> Int32s:
    """As `spanning_tree` has them: lower broker first, by cost, then by brokers."""
    low, high = links.min(axis=1), links.max(axis=1)
    first = np.lexsort((high, low, core[low, high]))
    return np.stack([low[first], high[first]], axis=1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Hanging:
    """A tree that hangs from broker 0.

    Attributes
    ----------
    order
        All brokers, each after its parent.
    parent
        Of each broker; -1 of broker 0.
    depth
        How many links each broker is from broker 0.
    up
        Cost of the link from each broker to its parent; 0 of broker 0.
    """

    order: Int32s
    parent: Int32s
    depth: Int32s
    up: Int64s

    @classmethod
    def of(cls, links: Int32s, core: Int64s) -> "Hanging":
        order, parent, depth = hang(links, len(core))
        up = core[np.arange(len(core)), parent]
        up[:1] = 0
        return cls(order, parent, depth, up)

    def links(self, core: Int64s) -> Int32s:
        """Its links, sorted."""
        brokers = np.arange(len(self.parent), dtype=np.int32)
        return sorted_links(np.stack([self.parent, brokers], axis=1)[1:], core)

    def weights(self, followers: Int32s) -> Int64s:
        """What a message of each sub-channel (row) from each broker costs."""
        return tree_weights(self.order, self.parent, self.up, followers)


def tree_costs(demand: Demand, wiring: Wiring, tree: Int32s) -> int:
    """What the core costs when all messages go along one tree.

    O(brokers * sub-channels).
    """
    weights = Hanging.of(tree, demand.core).weights(wiring.followers)
    return int((wiring.sources * weights).sum())
