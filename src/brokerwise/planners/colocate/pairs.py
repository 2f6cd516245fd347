"""Pairs of replicas: which may share a broker, and the most that can be formed."""

import numpy as np

from brokerwise.kernels.colocate_matching import NONE, maximum_matching
from brokerwise.model.arrays import Bools, Int32s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.first_fit import Packing

_PAIRS_AT_ONCE = 1_000_000


def compatible(oracle: Oracle, replicas: Int32s) -> Bools:
    """Which two of these may share a broker, as a symmetric matrix without a diagonal.

    O(n^2) memory; asks for each pair of kinds once.
    """
    demand = oracle.demand
    kinds, of = np.unique(demand.kind[replicas], return_inverse=True)
    may = of_kinds(oracle, kinds)[np.ix_(of, of)]
    if demand.split:
        topic = demand.topic[replicas]
        may &= topic[:, None] != topic
    np.fill_diagonal(may, False)
    return may


def of_kinds(oracle: Oracle, kinds: Int32s) -> Bools:
    """Which two kinds may share a broker; a kind with itself, too."""
    count = len(kinds)
    may = np.zeros((count, count), np.bool_)
    each = max(1, _PAIRS_AT_ONCE // max(1, count))
    for first in range(0, count, each):
        rows, columns = np.triu_indices(min(each, count - first), 0, count - first)
        rows, columns = rows + first, columns + first
        pairs = np.column_stack((kinds[rows], kinds[columns]))
        may[rows, columns] = may[columns, rows] = oracle.of_kinds(pairs)
    return may


def matched(may: Bools) -> list[list[int]]:
    """A maximum matching: pairs, then those that are left alone, in order."""
    offsets = np.zeros(len(may) + 1, np.int64)
    np.cumsum(may.sum(axis=1), out=offsets[1:])
    match = maximum_matching(offsets, np.nonzero(may)[1].astype(np.int32))
    pairs = [[v, int(m)] for v, m in enumerate(match) if v < m]
    return pairs + [[v] for v, m in enumerate(match) if m == NONE]


def paired(oracle: Oracle, replicas: Int32s) -> Packing:
    """The fewest brokers for these replicas with at most two on each: optimal."""
    if oracle.k < 2:
        return [[int(replica)] for replica in replicas]
    groups = matched(compatible(oracle, replicas))
    return [[int(replicas[v]) for v in group] for group in groups]
