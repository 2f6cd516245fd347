"""One spanning tree of all brokers, along which every message goes; and local search on
it: users move to other brokers, links to other places, while that lowers the cost.
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.overlay_packing import Wiring
from brokerwise.kernels.overlay_tree import (
    RootedTree,
    TreeTraffic,
    below,
    best_swap,
    hang,
    kruskal,
    traffic_of,
    tree_descend,
)
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.control import Stop
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.wiring import Costs, access_cost, wiring_of

_CHUNK = 200  # users, between which it asks whether to stop
_MOST_SWAPS = 100  # for each broker; each lowers the cost, so few are needed


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


def rooted(links: Int32s, core: Int64s) -> RootedTree:
    """The tree with these links, as it hangs from broker 0."""
    order, parent, depth = hang(links, len(core))
    up = core[np.arange(len(core)), parent]
    up[:1] = 0
    return RootedTree(order, parent, depth, up)


def links_of(tree: RootedTree, core: Int64s) -> Int32s:
    """Its links, sorted."""
    brokers = np.arange(len(tree.parent), dtype=np.int32)
    return sorted_links(np.stack([tree.parent, brokers], axis=1)[1:], core)


@dataclass(frozen=True, eq=False)
class TreeEvaluation:
    """A wiring on a tree with what crosses its links, kept true as users move."""

    wiring: Wiring
    tree: RootedTree
    carried: TreeTraffic

    @classmethod
    def of(cls, demand: Demand, broker: Int32s, tree: Int32s) -> "TreeEvaluation":
        """O(users + entries + brokers * sub-channels). `broker` is copied."""
        return cls.on(demand, wiring_of(demand, broker), tree)

    @classmethod
    def on(cls, demand: Demand, wiring: Wiring, tree: Int32s) -> "TreeEvaluation":
        """The same wiring, not a copy, on another tree: O(brokers * sub-channels)."""
        hung = rooted(tree, demand.core)
        fans = below(hung.order, hung.parent, wiring.followers)
        sent = below(hung.order, hung.parent, wiring.sources)
        return cls(wiring, hung, TreeTraffic(fans, sent, traffic_of(fans, sent)))

    def total(self, demand: Demand) -> Costs:
        core = int(self.carried.traffic @ self.tree.up)
        return Costs(access_cost(demand, self.wiring.broker), core)

    def descend(self, demand: Demand, users: Int64s) -> tuple[int, int]:
        """Each user in turn to the broker where the whole costs least, if that is less
        than now: moves, and what they saved."""
        return tree_descend(
            users,
            demand.everyone,
            demand.capacity,
            self.wiring,
            self.tree,
            self.carried,
        )

    def swapped(self, demand: Demand, cut: int) -> "TreeEvaluation | None":
        """The link above broker `cut` replaced by the best other; None if it is best.

        O(brokers * (sub-channels + brokers)).
        """
        change, upper, lower = best_swap(cut, demand.core, self.tree, self.carried)
        if change == 0:
            return None
        brokers = np.arange(demand.brokers, dtype=np.int32)
        links = np.stack([self.tree.parent, brokers], axis=1)
        links[cut] = upper, lower
        return TreeEvaluation.on(demand, self.wiring, links[1:])


def settled(demand: Demand, found: TreeEvaluation, stop: Stop) -> TreeEvaluation:
    """The same wiring on a tree where no one link can be replaced by a better one.

    Links are tried in turn, and each is replaced by the best other at once. All
    replacements are tried: those of one link cost one pass over the tree.
    """
    cut, tried = 0, 0
    swaps = _MOST_SWAPS * demand.brokers
    while tried < demand.brokers - 1 and swaps > 0 and not stop():
        cut = cut % (demand.brokers - 1) + 1
        better = found.swapped(demand, cut)
        tried += 1
        if better is not None:
            found, tried = better, 0
            swaps -= 1
    return found


def tree_local(
    demand: Demand, broker: Int32s, tree: Int32s, *, stop: Stop
) -> tuple[Int32s, Int32s, int]:
    """Move users, heaviest first, and links of the tree in turn, until neither lowers
    the cost; returns the brokers, the tree and how many users were moved.

    Never dearer than what it is given. Once `stop` says yes, the best so far.
    """
    found = settled(demand, TreeEvaluation.of(demand, broker, tree), stop)
    users = demand.heaviest_first
    moves, idle, at = 0, 0, 0
    while idle < demand.users and not stop():
        chunk = users[at : at + _CHUNK]
        moved, _ = found.descend(demand, chunk)
        moves += moved
        at += len(chunk)
        idle = 0 if moved else idle + len(chunk)
        if at == demand.users:
            at = 0
            better = settled(demand, found, stop)
            if better is not found:
                found, idle = better, 0
    return found.wiring.broker, links_of(found.tree, demand.core), moves
