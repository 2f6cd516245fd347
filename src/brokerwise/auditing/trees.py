"""The users and the trees of an overlay plan, counted again.

Stated again: a user sends what it publishes in sub-channels that somebody else wants,
and receives what others publish in those that it wants. Both are its load, which its
access link carries once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.storage.overlay_plan import OverlayHeader, OverlayTables, trees_of_table

_REQUIRED = ("access", "core", "cost", "brokers", "load", "most_load")
NOWHERE = -1
"""The home of a user who has none, or one that does not exist."""
_FAR = np.iinfo(np.int64).max
_CELLS = 4_000_000  # looked at at once, so that memory is bounded
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class BrokerRows:
    """The lines of the list of brokers; what is None was not said."""

    broker: Int32s
    load: Int64s
    names: Sequence[str] | None = None
    capacity: Int64s | None = None
    users: Int64s | None = None


@dataclass(frozen=True, eq=False)
class OverlayClaims:
    """A plan's statements: `homes` are the brokers of `users`, row by row.

    `required` figures must be among `figures`.
    """

    status: str
    objective: int | None
    bound: int | None
    gap: float | None
    tree: bool
    users: Int32s
    homes: Int32s
    brokers: BrokerRows
    trees: Trees
    figures: Mapping[str, Any]
    required: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        return self.status not in WITHOUT_PLAN


def claims_of_plan(plan: OverlayPlan) -> OverlayClaims:
    """What a plan in memory says."""
    return OverlayClaims(
        status=plan.status,
        objective=plan.objective,
        bound=plan.bound,
        gap=plan.gap,
        tree=plan.tree,
        users=np.arange(len(plan.broker), dtype=np.int32),
        homes=plan.broker,
        brokers=BrokerRows(np.arange(len(plan.load), dtype=np.int32), plan.load),
        trees=plan.trees,
        figures=plan.figures,
    )


def claims_on_disk(header: OverlayHeader, tables: OverlayTables) -> OverlayClaims:
    """What plan.json and the tables say."""
    brokers = tables.brokers
    return OverlayClaims(
        status=header.status,
        objective=header.objective,
        bound=header.bound,
        gap=header.gap,
        tree=header.tree,
        users=tables.users["user"].to_numpy(),
        homes=tables.users["broker"].to_numpy(),
        brokers=BrokerRows(
            brokers["broker"].to_numpy(),
            brokers["load"].to_numpy(),
            brokers["name"].to_pylist(),
            brokers["capacity"].to_numpy(),
            brokers["users"].to_numpy(),
        ),
        trees=trees_of_table(tables.trees),
        figures=header.figures,
        required=() if header.status in WITHOUT_PLAN else _REQUIRED,
    )


@dataclass(frozen=True, eq=False)
class OverlayRecount:
    """What was counted.

    Attributes
    ----------
    homes
        The broker of each user, or NOWHERE.
    load, users
        Of each broker.
    wanted
        Whether a user on a broker (column) wants a sub-channel (row).
    sent
        What users on a broker (column) send in a sub-channel (row).
    """

    homes: Int64s
    load: Int64s
    users: Int64s
    access: int
    wanted: Bools
    sent: Int64s


def recounted(claims: OverlayClaims, network: Network) -> OverlayRecount:
    """O(users + entries + brokers * sub-channels)."""
    homes = _homes(claims, network)
    brokers, shape = network.brokers, (len(network.subchannels), network.brokers)
    publisher, subscriber = network.published.owners(), network.wanted.owners()
    others = _wanted_by_others(network)
    rates = np.where(others, network.published.rates, 0)
    loads = _sums(publisher, rates, network.users) + _received(network)
    wanted, sent = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
    placed = homes >= 0
    known = placed[subscriber]
    wanted[network.wanted.subchannels[known], homes[subscriber[known]]] = True
    known = placed[publisher]
    at = (network.published.subchannels[known], homes[publisher[known]])
    np.add.at(sent, at, rates[known])
    links = np.maximum(network.access[placed, homes[placed]], 0)
    return OverlayRecount(
        homes=homes,
        load=_sums(homes[placed], loads[placed], brokers),
        users=np.bincount(homes[placed], minlength=brokers),
        access=int(loads[placed] @ links),
        wanted=wanted,
        sent=sent,
    )


def _homes(claims: OverlayClaims, network: Network) -> Int64s:
    """The broker of each user, by the first row that gives it one that exists."""
    homes = np.full(network.users, NOWHERE, np.int64)
    users, brokers = claims.users[::-1], claims.homes[::-1]
    usable = (users >= 0) & (users < network.users)
    usable &= (brokers >= 0) & (brokers < network.brokers)
    homes[users[usable]] = brokers[usable]
    return homes


def _wanted_by_others(network: Network) -> Bools:
    """Of what is published, whether anybody but its publisher wants it."""
    count = len(network.subchannels)
    published, wanted = network.published, network.wanted
    followers = np.bincount(wanted.subchannels, minlength=count)
    return followers[published.subchannels] - _own(network) > 0


def _own(network: Network) -> Bools:
    """Of what is published, whether its publisher wants it too."""
    count = len(network.subchannels)
    published, wanted = network.published, network.wanted
    wishes = wanted.owners() * count + wanted.subchannels
    offers = published.owners() * count + published.subchannels
    if len(wishes) == 0:
        return np.zeros(len(offers), np.bool_)
    at = np.minimum(np.searchsorted(wishes, offers), len(wishes) - 1)
    own: Bools = wishes[at] == offers
    return own


def _received(network: Network) -> Int64s:
    """What each user gets: all that others publish in sub-channels that it wants."""
    published, wanted = network.published, network.wanted
    total = _sums(published.subchannels, published.rates, len(network.subchannels))
    gets = _sums(wanted.owners(), total[wanted.subchannels], network.users)
    own = np.where(_own(network), published.rates, 0)
    return gets - _sums(published.owners(), own, network.users)


def _sums(of: npt.NDArray[np.integer], values: Int64s, count: int) -> Int64s:
    found = np.zeros(count, np.int64)
    np.add.at(found, of, values)
    return found


def least_weights(core: Int64s, members: Bools) -> Int64s:
    """The weight of the minimum spanning tree over each row's members.

    Prim's algorithm on many sets at once; equal sets are gone through once.
    O(rows * brokers^2).
    """
    if members.size == 0:
        return np.zeros(len(members), np.int64)
    packed = np.packbits(members, axis=1)
    _, first, same = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    distinct = members[first]
    step = max(1, _CELLS // members.shape[1])
    parts = [
        _grown(core, distinct[start : start + step])
        for start in range(0, len(distinct), step)
    ]
    weights: Int64s = np.concatenate(parts)[same.ravel()]
    return weights


def _grown(core: Int64s, members: Bools) -> Int64s:
    """Grow all trees by one member a step, each from its first."""
    rows = np.arange(len(members))
    outside = members.copy()
    newest = np.argmax(outside, axis=1)
    outside[rows, newest] = False
    distance = np.full(members.shape, _FAR)
    total = np.zeros(len(members), np.int64)
    for _ in range(int(members.sum(axis=1).max()) - 1):
        np.minimum(distance, core[newest], out=distance)
        reachable = np.where(outside, distance, _FAR)
        newest = np.argmin(reachable, axis=1)
        growing = outside[rows, newest]
        total += np.where(growing, reachable[rows, newest], 0)
        outside[rows, newest] = False
    return total


@dataclass(frozen=True, eq=False)
class NeededTrees:
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
    def of(cls, recount: OverlayRecount) -> "NeededTrees":
        subchannels = len(recount.wanted)
        far = recount.wanted.sum(axis=1)[:, None] > recount.wanted
        source, subchannel = np.nonzero(((recount.sent > 0) & far).T)
        ends = recount.wanted[subchannel]
        ends[np.arange(len(source)), source] = True
        sent = recount.sent[subchannel, source]
        return cls(source * subchannels + subchannel, sent, ends)


@dataclass(frozen=True, eq=False)
class PlannedTrees:
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
    def of(cls, trees: Trees, network: Network) -> "PlannedTrees":
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

    needed: NeededTrees
    found: PlannedTrees
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
