"""The trees of an overlay plan, against those that its users need."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.auditing.overlay_recount import OverlayRecount
from brokerwise.auditing.overlay_spanning import least_weights
from brokerwise.model.arrays import Bools, Int64s
from brokerwise.model.network import Network
from brokerwise.model.overlay import Trees

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Needed:
    """The trees that messages need, by source, then sub-channel.

    Attributes
    ----------
    pair
        source * sub-channels + sub-channel of each tree, ascending.
    sent
        What takes this tree.
    ends
        The brokers (columns) that each tree (row) must join: its source, and those
        with a user who wants the sub-channel.
    """

    pair: Int64s
    sent: Int64s
    ends: Bools

    @classmethod
    def of(cls, recount: OverlayRecount) -> "Needed":
        subchannels = len(recount.wanted)
        far = recount.wanted.sum(axis=1)[:, None] > recount.wanted
        source, subchannel = np.nonzero(((recount.sent > 0) & far).T)
        ends = recount.wanted[subchannel]
        ends[np.arange(len(source)), source] = True
        sent = recount.sent[subchannel, source]
        return cls(source * subchannels + subchannel, sent, ends)


@dataclass(frozen=True, eq=False)
class Grown:
    """The trees that a plan has, in the order of their pairs; rows as in the plan.

    Attributes
    ----------
    valid
        Rows of brokers and a sub-channel that exist; only these are part of trees.
    disordered
        Valid rows whose pair is below that of the row before.
    pair
        Of each tree, ascending.
    again, early
        Valid rows to a broker that its tree has already, and from one that it does
        not have yet.
    reached, inner
        Brokers (columns) that each tree (row) has, and those that forward.
    weight
        Of each tree.
    """

    valid: Int64s
    disordered: Int64s
    pair: Int64s
    again: Int64s
    early: Int64s
    reached: Bools
    inner: Bools
    weight: Int64s

    @classmethod
    def of(cls, trees: Trees, network: Network) -> "Grown":
        """O(rows log rows + trees * brokers)."""
        brokers, subchannels = network.brokers, len(network.subchannels)
        valid = np.flatnonzero(_exist(trees, brokers, subchannels))
        pairs = trees.source[valid].astype(np.int64) * subchannels
        pairs += trees.subchannel[valid]
        fallen = valid[1:][np.diff(pairs) < 0]
        order = np.argsort(pairs, kind="stable")
        rows = valid[order]
        pair, tree = np.unique(pairs[order], return_inverse=True)
        parent, child = trees.parent[rows], trees.child[rows]
        when = np.full((len(pair), brokers), _NEVER)
        at = np.arange(len(rows))
        np.minimum.at(when, (tree, child), at)
        when[np.arange(len(pair)), pair // max(1, subchannels)] = -1
        inner = np.zeros(when.shape, np.bool_)
        inner[tree, parent] = True
        weight = np.zeros(len(pair), np.int64)
        np.add.at(weight, tree, network.core[parent, child])
        return cls(
            valid=valid,
            disordered=fallen,
            pair=pair,
            again=rows[when[tree, child] != at],
            early=rows[when[tree, parent] >= at],
            reached=when < _NEVER,
            inner=inner,
            weight=weight,
        )

    @property
    def sound(self) -> bool:
        """Whether all rows make trees, each from its source."""
        return not (len(self.again) or len(self.early))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Trees found beside trees needed.

    `both` are the positions, among those needed and those found, of trees that are
    needed and there.
    """

    needed: Needed
    found: Grown
    core: Int64s
    tree: bool

    @cached_property
    def both(self) -> tuple[Int64s, Int64s]:
        _, wanted, there = np.intersect1d(
            self.needed.pair, self.found.pair, assume_unique=True, return_indices=True
        )
        return wanted, there

    @property
    def missing(self) -> Int64s:
        """Pairs that need a tree and have none."""
        return np.setdiff1d(self.needed.pair, self.found.pair, assume_unique=True)

    @property
    def superfluous(self) -> Int64s:
        """Pairs that have a tree and need none."""
        return np.setdiff1d(self.found.pair, self.needed.pair, assume_unique=True)

    @cached_property
    def short(self) -> Bools:
        """Of the trees that are both: brokers that must be reached and are not."""
        wanted, there = self.both
        return self.needed.ends[wanted] & ~self.found.reached[there]

    @cached_property
    def astray(self) -> Bools:
        """Brokers that are reached for nothing: nobody there wants it and, on a
        spanning tree of all brokers, nobody beyond."""
        wanted, there = self.both
        reached = self.found.reached[there]
        if self.tree:
            reached = reached & ~self.found.inner[there]
        return reached & ~self.needed.ends[wanted]

    @cached_property
    def least(self) -> Int64s:
        """The least weight of each tree that is needed, which joins its ends only."""
        return least_weights(self.core, self.needed.ends)

    @property
    def heavy(self) -> tuple[Int64s, Int64s, Int64s]:
        """Pairs of trees that join what they must and are too heavy: the pairs, their
        weights and the least. On one tree of all brokers there is no choice."""
        wanted, there = self.both
        right = ~(self.short.any(axis=1) | self.astray.any(axis=1))
        weight, least = self.found.weight[there], self.least[wanted]
        wrong = right & (weight != least)
        return self.needed.pair[wanted][wrong], weight[wrong], least[wrong]

    def core_cost(self) -> int:
        """What the messages cost between brokers.

        On one tree of all brokers: by the links that are there, for no others are
        known.
        """
        if not self.tree:
            return int(self.needed.sent @ self.least)
        wanted, there = self.both
        return int(self.needed.sent[wanted] @ self.found.weight[there])


def circle(trees: Trees, valid: Int64s) -> tuple[int, int] | None:
    """A link between brokers that other links join already; None if all links
    together are part of a tree."""
    links = np.column_stack([trees.parent[valid], trees.child[valid]])
    links = np.unique(np.sort(links, axis=1), axis=0)
    root: dict[int, int] = {}

    def find(broker: int) -> int:
        while root.setdefault(broker, broker) != broker:
            root[broker] = broker = root[root[broker]]
        return broker

    for a, b in links.tolist():
        if find(a) == find(b):
            return a, b
        root[find(a)] = find(b)
    return None


def _exist(trees: Trees, brokers: int, subchannels: int) -> Bools:
    """Rows of brokers and a sub-channel that the network has."""
    good = (trees.subchannel >= 0) & (trees.subchannel < subchannels)
    for numbers in (trees.source, trees.parent, trees.child):
        good &= (numbers >= 0) & (numbers < brokers)
    return good
