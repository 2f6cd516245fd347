"""How many brokers any plan has at least, by the word of the model.

What is feasible stays so when replicas leave. All bounds rest on that, and on nothing
else, but for `rounded_bound`, which needs a model that is monotone: the topics of a
group are taken for as light as its lightest member in each respect (least processing
time, least rate, most generous limit). What was feasible stays so: rounded topics need
no more brokers than the real ones.
"""

from dataclasses import dataclass, replace

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.colocation import TopicTable
from brokerwise.model.names import Names
from brokerwise.planners.colocate.columns import Relaxation
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.heuristics import compatible, matched
from brokerwise.planners.colocate.problem import Demand, Problem
from brokerwise.planners.colocate.sets import Classes
from brokerwise.planners.control import Stop

_TRIED = (0.25, 0.5, 0.75)  # of the places where a group can be cut


_GROUPS = (8, 16, 24, 32, 48, 64, 96, 128)

_MOST_PAIRS = 60_000  # of kinds, that the model is asked about
_MORE_PAIRS = 400  # for each replica, if there is no bound by groups
_MOST_VERTICES = 3_000
_MOST_MATCHED = 1_000
_STARTS = 8  # of the search for a clique


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each replica, and how light its members are taken for."""

    of: Int64s
    processing_ms: Float64s
    rate_per_second: Float64s
    limit_ms: Float64s

    @property
    def number(self) -> Int64s:
        """How many replicas each group has."""
        return np.bincount(self.of, minlength=len(self.limit_ms))


def groups_of(demand: Demand, most: int) -> Groups:
    """At most `most` groups: the one that loses most load by rounding is cut in two
    until there are enough. O(most * replicas)."""
    sizes = np.column_stack(
        (demand.processing_ms, demand.rate_per_second, -demand.limit_ms)
    )
    parts = [np.arange(len(demand))]
    losses = [_loss(sizes)]
    while len(parts) < most:
        worst = int(np.argmax(losses))
        if losses[worst] <= 0:
            break
        cut = _cut(parts[worst], sizes)
        parts[worst : worst + 1] = cut
        losses[worst : worst + 1] = [_loss(sizes[part]) for part in cut]
    of = np.empty(len(demand), np.int64)
    for number, part in enumerate(parts):
        of[part] = number
    least = np.array([sizes[part].min(axis=0) for part in parts])
    return Groups(of, least[:, 0], least[:, 1], -least[:, 2])


def _loss(sizes: Float64s) -> float:
    """What rounding takes off a group: load, and room below limits, as shares."""
    least = sizes.min(axis=0)
    load = (sizes[:, 0] * sizes[:, 1] - least[0] * least[1]).sum() / 1000
    limits = (1 - sizes[:, 2] / least[2]).sum()
    return float(load + limits)


def _cut(part: Int64s, sizes: Float64s) -> list[Int64s]:
    """The two parts that lose least, cut along one of the sizes."""
    best: tuple[float, list[Int64s]] | None = None
    for column in range(sizes.shape[1]):
        order = part[np.argsort(sizes[part, column], kind="stable")]
        values = sizes[order, column]
        places = np.flatnonzero(values[1:] > values[:-1]) + 1
        if not len(places):
            continue
        for at in np.unique(np.quantile(places, _TRIED, method="nearest")):
            cut = [order[:at], order[at:]]
            loss = sum(_loss(sizes[half]) for half in cut)
            if best is None or loss < best[0]:
                best = loss, cut
    assert best is not None  # a group without loss is not cut
    return best[1]


def rounded_bound(
    problem: Problem, demand: Demand, enough: int, most_rows: int, stop: Stop
) -> int:
    """The best bound by ever more groups, until it is enough or the model has been
    asked for so many rows. What was observed is left aside: only the model is asked.
    """
    best = rows = 0
    for most in _GROUPS:
        groups = groups_of(demand, most)
        oracle = _oracle(problem, groups)
        relaxation = _relaxation(oracle, groups)
        relaxation.improve(enough, most_rows - rows, stop)
        rows += oracle.rows
        best = max(best, relaxation.bound)
        exact = len(groups.limit_ms) < most
        if best >= enough or exact or stop() or 2 * rows > most_rows:
            break
    return best


def _oracle(problem: Problem, groups: Groups) -> Oracle:
    table = TopicTable(
        Names.numbered(len(groups.limit_ms)),
        groups.processing_ms,
        groups.rate_per_second,
        groups.limit_ms,
    )
    light = replace(problem, topics=table, margin=0.0, missed=(), met=())
    return Oracle(light, Demand.of(light))


def _relaxation(oracle: Oracle, groups: Groups) -> Relaxation:
    count = len(groups.limit_ms)
    every = np.arange(count)
    classes = Classes(
        every,
        every.astype(np.int32),
        groups.number,
        np.minimum(groups.number, oracle.k),
    )
    alone = np.full((count, oracle.k), count, np.int32)
    alone[:, 0] = every
    return Relaxation.of(oracle, classes, alone)


def counted(oracle: Oracle) -> dict[str, int]:
    """At most k replicas share a broker, and no two of one topic."""
    found = {"count": -(-len(oracle.demand) // oracle.k)}
    if oracle.demand.split:
        found["replicas"] = int(np.bincount(oracle.demand.topic).max())
    return found


def pairwise(oracle: Oracle) -> dict[str, int]:
    """Bounds from pairs alone, of the heaviest replicas if there are too many pairs:
    those need no more brokers than all."""
    if oracle.k == 1 or not len(oracle.demand):
        return {}
    some = _heaviest(oracle)
    may = compatible(oracle, some)
    found = {"clique": _clique(may)}
    if len(some) <= _MOST_MATCHED:
        found["matching"] = _unmatched(may, oracle.k)
    return found


def _heaviest(oracle: Oracle) -> Int32s:
    demand = oracle.demand
    order = np.argsort(-demand.load, kind="stable")[:_MOST_VERTICES]
    _, first = np.unique(demand.kind[order], return_index=True)
    kinds_before = np.cumsum(np.isin(np.arange(len(order)), first))
    pairs = kinds_before * (kinds_before + 1) // 2
    most = _MOST_PAIRS + (0 if oracle.plain else _MORE_PAIRS * len(demand))
    return np.sort(order[pairs <= most]).astype(np.int32)


def _clique(may: Bools) -> int:
    """Of replicas no two of which may share a broker each needs its own: as many as
    a few greedy searches find."""
    apart = ~may
    np.fill_diagonal(apart, False)
    degree = apart.sum(axis=1)
    most = 0
    for first in np.argsort(-degree, kind="stable")[:_STARTS].tolist():
        free, size = apart[first].copy(), 1
        while free.any():
            chosen = int(np.argmax(np.where(free, degree, -1)))
            free &= apart[chosen]
            size += 1
        most = max(most, size)
    return most


def _unmatched(may: Bools, k: int) -> int:
    """By the largest number M of pairs that can be formed at once.

    A broker with m replicas has floor(m / 2) disjoint pairs that may share a broker,
    and M is at least what all brokers have together. With k = 2, m <= 1 + floor(m/2),
    so the n replicas are at most brokers + M. With k > 2, m <= 1 + 2 floor(m / 2), so
    they are at most brokers + 2 M.
    """
    groups = matched(may)
    pairs = len(may) - len(groups)
    return len(may) - (pairs if k == 2 else 2 * pairs)
