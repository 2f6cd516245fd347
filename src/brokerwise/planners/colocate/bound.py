"""How many brokers any plan has at least, by the word of the model.

What is feasible stays so when replicas leave. All bounds rest on that, and on nothing
else, but for `groups`, which needs a model that is monotone.
"""

import numpy as np

from brokerwise.model.arrays import Bools, Int32s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.pairs import compatible, matched

_MOST_PAIRS = 60_000  # of kinds, that the model is asked about
_MORE_PAIRS = 400  # for each replica, if there is no bound by groups
_MOST_VERTICES = 3_000
_MOST_MATCHED = 1_000
_STARTS = 8  # of the search for a clique


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
