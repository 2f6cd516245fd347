"""The cheapest wiring of a small network, proven by HiGHS.

It follows the formulation by sub-channels of Zhao and Wu (2011), with the cost of
`evaluate`. HiGHS calculates in double precision, and is asked for errors below 10^-9:
what it proves is as exact as that.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.planners.control import Stop
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.evaluate import Evaluation
from brokerwise.planners.overlay.forwarding import charge_links, charge_sets
from brokerwise.planners.overlay.program import Program, Solution
from brokerwise.planners.overlay.tree import sorted_links, spanning_tree
from brokerwise.planners.overlay.tree_local import TreeEvaluation

MOST_BROKERS = 8
MOST_BROKERS_ON_A_TREE = 5
_ROUNDING = 1e-6  # between what HiGHS adds up and what it is


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
