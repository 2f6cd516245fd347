"""Local search on one tree: users move to other brokers, links of the tree to other
places, while that lowers the cost."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.overlay_tree import below, best_swap, traffic_of
from brokerwise.kernels.overlay_tree_moves import tree_descend
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.control import Stop
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.evaluate import Costs, access_cost
from brokerwise.planners.overlay.tree import Hanging
from brokerwise.planners.overlay.wiring import Wiring

_CHUNK = 200  # users, between which it asks whether to stop
_MOST_SWAPS = 100  # for each broker; each lowers the cost, so few are needed


@dataclass(frozen=True, eq=False)
class TreeEvaluation:
    """A wiring on a tree with what its core costs, kept true as users move.

    Attributes
    ----------
    fans, sent
        Of each broker (row) and sub-channel: the followers at the broker and below
        it, and what is sent from there.
    traffic
        What crosses the link from each broker to its parent.
    """

    wiring: Wiring
    hanging: Hanging
    fans: Int32s
    sent: Int64s
    traffic: Int64s

    @classmethod
    def of(cls, demand: Demand, broker: Int32s, tree: Int32s) -> "TreeEvaluation":
        """O(users + entries + brokers * sub-channels). `broker` is copied."""
        return cls.on(demand, Wiring.of(demand, broker), tree)

    @classmethod
    def on(cls, demand: Demand, wiring: Wiring, tree: Int32s) -> "TreeEvaluation":
        """The same wiring, not a copy, on another tree: O(brokers * sub-channels)."""
        hanging = Hanging.of(tree, demand.core)
        fans = below(hanging.order, hanging.parent, wiring.followers)
        sent = below(hanging.order, hanging.parent, wiring.sources)
        return cls(wiring, hanging, fans, sent, traffic_of(fans, sent))

    def total(self, demand: Demand) -> Costs:
        core = int(self.traffic @ self.hanging.up)
        return Costs(access_cost(demand, self.wiring.broker), core)

    def descend(self, demand: Demand, users: Int64s) -> tuple[int, int]:
        """Each user in turn to the broker where the whole costs least, if that is less
        than now: moves, and what they saved."""
        wiring, tree = self.wiring, self.hanging
        return tree_descend(
            users,
            demand.load,
            demand.access,
            demand.rate_offsets,
            demand.rate_subchannels,
            demand.rates,
            demand.wanted_offsets,
            demand.wanted,
            demand.capacity,
            wiring.broker,
            wiring.load,
            wiring.followers,
            wiring.sources,
            tree.order,
            tree.parent,
            tree.depth,
            tree.up,
            self.fans,
            self.sent,
            self.traffic,
        )

    def swapped(self, demand: Demand, cut: int) -> "TreeEvaluation | None":
        """The link above broker `cut` replaced by the best other; None if it is best.

        O(brokers * (sub-channels + brokers)).
        """
        tree = self.hanging
        change, upper, lower = best_swap(
            cut,
            demand.core,
            tree.order,
            tree.parent,
            tree.up,
            self.fans,
            self.sent,
            self.traffic,
        )
        if change == 0:
            return None
        brokers = np.arange(demand.brokers, dtype=np.int32)
        links = np.stack([tree.parent, brokers], axis=1)
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


def improve_tree(demand: Demand, wiring: Wiring, tree: Int32s, stop: Stop) -> Int32s:
    """The tree with links replaced by others, while that lowers what the core costs."""
    found = settled(demand, TreeEvaluation.on(demand, wiring, tree), stop)
    return found.hanging.links(demand.core)


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
    return found.wiring.broker, found.hanging.links(demand.core), moves
