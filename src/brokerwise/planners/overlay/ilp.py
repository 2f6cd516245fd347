"""The cheapest wiring of a small network, proven by HiGHS.

It follows the formulation by sub-channels of Zhao and Wu (2011), with the cost of
`wiring`. Sub-channels with the same followers are one group: the same brokers have
followers of them. HiGHS calculates in double precision, and is asked for errors below
10^-9: what it proves is as exact as that.
"""

from dataclasses import dataclass
from itertools import product
from math import ceil, inf, isfinite
from typing import Any

import highspy
import numpy as np

from brokerwise.kernels.overlay_forwarding import core_weights
from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.planners.control import Stop
from brokerwise.planners.highs import run, silent
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.tree import (
    TreeEvaluation,
    rooted,
    sorted_links,
    spanning_tree,
)
from brokerwise.planners.overlay.wiring import Evaluation

_LARGEST = 1e6  # coefficient of the objective: solvers calculate best with such
_TOLERANCE = 1e-9  # of what HiGHS calculates, with the tolerance that it gets here
_OPTIONS: dict[str, Any] = {
    "mip_rel_gap": 0.0,
    "mip_feasibility_tolerance": _TOLERANCE,
    "primal_feasibility_tolerance": _TOLERANCE,
    "dual_feasibility_tolerance": _TOLERANCE,
}

MOST_BROKERS = 8
MOST_BROKERS_ON_A_TREE = 5
_ROUNDING = 1e-6  # between what HiGHS adds up and what it is


@dataclass(frozen=True, eq=False)
class Solution:
    """What HiGHS found.

    Attributes
    ----------
    broker
        Of each user, or None.
    cost
        Of it, as HiGHS adds it up.
    bound
        No wiring costs less, or less than the limit that was set.
    ended
        The search was not stopped.
    """

    broker: Int32s | None
    cost: float
    bound: int
    ended: bool


class Program:
    """Columns `x[user, broker]` say who is where; -1 where a user cannot be."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._highs = silent(**_OPTIONS)
        self._charges: list[tuple[Int64s, Int64s]] = []
        self._unit = 0
        fits = demand.load[:, None] <= demand.capacity[None, :]
        there = (demand.access >= 0) & fits
        self.x = self.columns(there, whole=True)
        self.charge(self.x[there], (demand.load[:, None] * demand.access)[there])
        for user in range(demand.users):
            self.row(1, 1, (self.x[user], 1))
        self._limit_loads()

    def _limit_loads(self) -> None:
        unit = max(int(np.gcd.reduce(self._demand.load)), 1)
        loads = self._demand.load // unit
        rooms = np.minimum(self._demand.capacity // unit, loads.sum())
        for broker, room in enumerate(rooms):
            self.row(-inf, float(room), (self.x[:, broker], loads))

    def columns(self, some: Bools, whole: bool = False) -> Int64s:
        """New columns from 0 to 1, where there should be `some`; -1 elsewhere."""
        first, count = self._highs.getNumCol(), int(some.sum())
        found = np.full(some.shape, -1, np.int64)
        found[some] = np.arange(first, first + count)
        if count:
            self._highs.addVars(count, np.zeros(count), np.ones(count))
        if count and whole:
            kinds = np.full(count, highspy.HighsVarType.kInteger)
            new = found[some].astype(np.int32)
            self._highs.changeColsIntegrality(count, new, kinds)
        return found

    def row(self, least: float, most: float, *parts: tuple[Int64s, Any]) -> None:
        """least <= sum of parts (columns, coefficients) <= most; -1 is no column."""
        columns = np.concatenate([columns for columns, _ in parts])
        values = np.concatenate([np.broadcast_to(v, c.shape) for c, v in parts])
        there = (columns >= 0) & (values != 0)
        self._highs.addRow(
            least,
            most,
            int(there.sum()),
            columns[there].astype(np.int32),
            values[there].astype(np.float64),
        )

    def charge(
        self, columns: Int64s, costs: Int64s, grain: Int64s | None = None
    ) -> None:
        """What columns cost. Their shares cost multiples of `grain`, if any may be
        taken in part; else they are taken or not."""
        self._charges.append((columns, costs))
        grains = costs if grain is None else grain
        self._unit = int(np.gcd.reduce(grains, initial=self._unit))

    def solve(
        self, stop: Stop, *, limit: int | None = None, begin: Int32s | None = None
    ) -> Solution:
        """The cheapest wiring; with a `limit`, it need not look for one that costs as
        much. `begin` is a wiring to start from."""
        columns = np.concatenate([columns for columns, _ in self._charges])
        costs = np.concatenate([costs for _, costs in self._charges])
        unit = max(self._unit, 1)
        scale = max(unit, int(costs.max(initial=0)) / _LARGEST)
        self._highs.changeColsCost(
            len(columns), columns.astype(np.int32), costs / scale
        )
        below = inf if limit is None else (limit - unit / 2) / scale
        self._highs.setOptionValue("objective_bound", below)
        self._highs.setOptionValue("mip_abs_gap", max(unit / scale / 2, 1e-6))
        self._start(begin)
        run(self._highs, stop)
        while self._forbid_overfull():
            run(self._highs, stop)
        cost = self._highs.getInfo().objective_function_value * scale
        return Solution(self._broker(), cost, self._bound(unit, scale), self._ended())

    def _start(self, begin: Int32s | None) -> None:
        if begin is not None:
            there = self.x >= 0
            taken = np.arange(self._demand.brokers)[None, :] == begin[:, None]
            columns, values = self.x[there].astype(np.int32), taken[there]
            self._highs.setSolution(len(columns), columns, values.astype(np.float64))

    def _broker(self) -> Int32s | None:
        found = self._highs.getSolution()
        if not found.value_valid:
            return None
        values = np.append(np.array(found.col_value), 0.0)
        broker: Int32s = np.argmax(values[self.x], axis=1).astype(np.int32)
        return broker

    def _forbid_overfull(self) -> bool:
        """Whether a broker has more than it can carry, in whole numbers, which to
        HiGHS may look as if it fitted: then not the same users may be there again."""
        broker, demand = self._broker(), self._demand
        if broker is None:
            return False
        overfull = False
        for number in range(demand.brokers):
            users = np.flatnonzero(broker == number)
            if demand.load[users].sum() > demand.capacity[number]:
                self.row(-inf, len(users) - 1, (self.x[users, number], 1))
                overfull = True
        return overfull

    def _bound(self, unit: int, scale: float) -> int:
        dual = float(self._highs.getInfo().mip_dual_bound) * scale / unit
        if not isfinite(dual):
            return 0
        return max(ceil(dual - abs(dual) * _TOLERANCE - _TOLERANCE), 0) * unit

    def _ended(self) -> bool:
        status = self._highs.getModelStatus()
        known = highspy.HighsModelStatus
        return status in (known.kOptimal, known.kInfeasible, known.kObjectiveBound)


@dataclass(frozen=True, eq=False)
class Group:
    """Sub-channels that the same users want, and what each user sends in them."""

    followers: tuple[int, ...]
    sent: Int64s


def groups_of(demand: Demand) -> list[Group]:
    """Every sub-channel in which something is sent, in one of the groups."""
    offsets, users = demand.followers
    sender = np.repeat(np.arange(demand.users), np.diff(demand.rate_offsets))
    sent: dict[tuple[int, ...], Int64s] = {}
    for c in np.flatnonzero(demand.total):
        key = tuple(users[offsets[c] : offsets[c + 1]].tolist())
        here = demand.rate_subchannels == c
        group = sent.setdefault(key, np.zeros(demand.users, np.int64))
        group[sender[here]] += demand.rates[here]
    return [Group(key, rates) for key, rates in sent.items()]


def charge_sets(program: Program, demand: Demand) -> None:
    """Messages go along the minimum spanning tree over their source and the brokers
    with followers.

    For each group and set of brokers, z says that these are the brokers, exactly: a
    tree over more of them may weigh less. Columns grow with 2^brokers.
    """
    sets = sets_of(demand.brokers)
    weights = core_weights(demand.core, sets.astype(np.int32))
    for group in groups_of(demand):
        possible = sets.sum(axis=1) <= len(group.followers)
        _charge_group(program, group, sets[possible], weights[possible])


def _charge_group(program: Program, group: Group, sets: Bools, weights: Int64s) -> None:
    """What is sent from broker s is split over the sets: w, as a share of all that is
    sent in the group, so that products of x and z are exact."""
    x, insiders = program.x, list(group.followers)
    share = group.sent / group.sent.sum()
    outsiders = share.copy()
    outsiders[insiders] = 0
    z = program.columns(np.ones(len(sets), np.bool_), whole=True)
    w = program.columns(np.ones(sets.shape, np.bool_))
    program.row(1, 1, (z, 1))
    for number in range(len(sets)):
        program.row(0, 0, (w[number], 1), (z[number : number + 1], -1))
    for broker, inside in enumerate(sets.T):
        having = (z[inside], 1)
        for one in insiders:
            program.row(0, inf, having, (x[one, broker : broker + 1], -1))
        program.row(-inf, 0, having, (x[insiders, broker], -1))
        program.row(0, 0, (w[:, broker], 1), (x[:, broker], -share))
        # Followers send from a broker with followers. It follows, but saves time.
        program.row(-inf, 0, (w[~inside, broker], 1), (x[:, broker], -outsiders))
    total, grain = group.sent.sum(), np.gcd.reduce(group.sent)
    program.charge(w.ravel(), (total * weights).ravel(), (grain * weights).ravel())


def charge_links(program: Program, demand: Demand, tree: Int32s) -> None:
    """Messages go along one tree: across each link from what is on one side, if there
    is a follower on the other.

    For each link and group, `any` and `all` say whether any or all followers are below
    the link, and for each sender p whether its messages cross.
    """
    hung = rooted(tree, demand.core)
    under = np.eye(demand.brokers, dtype=np.bool_)
    for broker in hung.order[:0:-1]:
        under[hung.parent[broker]] |= under[broker]
    groups = groups_of(demand)
    for link in range(1, demand.brokers):
        below = program.x[:, under[link]]
        for group in groups:
            _charge_link(program, group, below, int(hung.up[link]))


def _charge_link(program: Program, group: Group, below: Int64s, cost: int) -> None:
    ends = program.columns(np.ones(2, np.bool_))
    some, every = ends[:1], ends[1:]
    for follower in group.followers:
        program.row(0, inf, (some, 1), (below[follower], -1))
        program.row(-inf, 0, (every, 1), (below[follower], -1))
    senders = np.flatnonzero(group.sent)
    crosses = program.columns(np.ones(len(senders), np.bool_))
    for number, sender in enumerate(senders):
        p = crosses[number : number + 1]
        program.row(0, inf, (p, 1), (some, -1), (below[sender], 1))
        program.row(0, inf, (p, 1), (every, 1), (below[sender], -1))
    program.charge(crosses, group.sent[senders] * cost)


def sets_of(brokers: int) -> Bools:
    """Every set of brokers but the empty one: a row each, a column for each broker."""
    numbers = np.arange(1, 2**brokers)
    return (numbers[:, None] >> np.arange(brokers)[None, :]) & 1 > 0


@dataclass(frozen=True, eq=False)
class IlpAnswer:
    """The best wiring found, and on a tree that tree.

    `broker` is None if there is no wiring: `proven` then, unless the search was
    stopped before it found one. No wiring costs less than `bound`, in thousandths;
    `proven` if this is what `broker` costs.
    """

    broker: Int32s | None
    bound: int
    proven: bool
    tree: Int32s | None = None


def solve_ilp(
    demand: Demand, *, tree: bool, stop: Stop, begin: Int32s | None = None
) -> IlpAnswer:
    """The cheapest wiring, or on a tree the cheapest wiring and tree.

    Runs until it is proven, or until it is stopped. `begin` is a wiring to start from.
    Takes seconds to a minute for about 20 users and 4 brokers, and grows fast.
    """
    most = MOST_BROKERS_ON_A_TREE if tree else MOST_BROKERS
    if demand.brokers > most:
        raise InputError(
            f"algorithm ilp: found {demand.brokers:,} brokers, expected at most "
            f"{most}{' on a tree' if tree else ''}",
            hint="It is for small networks of about 20 users and 4 brokers; "
            "use algorithm local.",
        )
    if demand.users == 0:
        links = spanning_tree(demand.core) if tree else None
        return IlpAnswer(np.zeros(0, np.int32), 0, True, links)
    if _without_broker(demand):
        return IlpAnswer(None, 0, True)
    return _on_trees(demand, stop, begin) if tree else _by_sets(demand, stop, begin)


def _without_broker(demand: Demand) -> bool:
    """Whether some user is too heavy for every broker that it knows."""
    fits = demand.load[:, None] <= demand.capacity[None, :]
    return not ((demand.access >= 0) & fits).any(axis=1).all()


def _by_sets(demand: Demand, stop: Stop, begin: Int32s | None) -> IlpAnswer:
    program = Program(demand)
    charge_sets(program, demand)
    found = program.solve(stop, begin=begin)
    known = max(found.bound, _least_access(demand))
    if found.broker is None:
        return IlpAnswer(None, known, found.ended)
    cost = Evaluation.of(demand, found.broker).total(demand).total
    bound = cost if _proves(found, cost) else min(known, cost)
    return IlpAnswer(found.broker, bound, bound == cost)


def _proves(found: Solution, cost: int, limit: int | None = None) -> bool:
    """Whether HiGHS ended, and meant the cost that it is in whole numbers.

    What is not below the limit it need not have added up to the end.
    """
    agrees = abs(found.cost - cost) <= _ROUNDING * max(cost, 1)
    return found.ended and (agrees or (limit is not None and cost >= limit))


def _on_trees(demand: Demand, stop: Stop, begin: Int32s | None) -> IlpAnswer:
    """One program for each tree, shortest first: brokers^(brokers - 2), by Cayley."""
    best, links = begin, spanning_tree(demand.core)
    cost = None if begin is None else _tree_cost(demand, begin, links)
    proven = True
    for tree in spanning_trees(demand.core):
        program = Program(demand)
        charge_links(program, demand, tree)
        found = program.solve(stop, limit=cost, begin=best)
        if found.broker is None and best is None:
            return IlpAnswer(None, _least_access(demand), found.ended)
        proven &= found.ended
        if found.broker is not None:
            here = _tree_cost(demand, found.broker, tree)
            proven &= _proves(found, here, cost)
            if cost is None or here < cost:
                best, links, cost = found.broker, tree, here
        if not found.ended:
            break
    # A tree that is not done may have any cost down to that of access links alone.
    bound = cost if proven and cost is not None else _least_access(demand)
    return IlpAnswer(best, bound, bound == cost, links)


def _tree_cost(demand: Demand, broker: Int32s, tree: Int32s) -> int:
    return TreeEvaluation.of(demand, broker, tree).total(demand).total


def _least_access(demand: Demand) -> int:
    known = np.where(demand.access >= 0, demand.access, demand.access.max())
    return int(demand.load @ known.min(axis=1))


def spanning_trees(core: Int64s) -> list[Int32s]:
    """Every spanning tree, sorted by its cost."""
    brokers = len(core)
    if brokers < 3:
        return [spanning_tree(core)]
    codes = product(range(brokers), repeat=brokers - 2)
    trees = [sorted_links(_decoded(code), core) for code in codes]
    return sorted(trees, key=lambda tree: int(core[tree[:, 0], tree[:, 1]].sum()))


def _decoded(code: tuple[int, ...]) -> Int32s:
    """The tree of a Pruefer code: in turn the first broker that has no more links to
    come is joined to the next of the code."""
    brokers = len(code) + 2
    left = np.bincount(code, minlength=brokers)
    links = []
    for end in code:
        leaf = int(np.argmax(left == 0))
        links.append((leaf, end))
        left[leaf] = -1
        left[end] -= 1
    low, high = np.flatnonzero(left == 0)
    return np.array([*links, (low, high)], np.int32)
