"""The integer program of Lambert and Sakellariou, solved by HiGHS.

As printed its second constraint allows one pair for each topic, and its third adds up
rates wrongly: a broker has pairs of a topic only if it carries the topic, and its load
is the rate of every topic that it carries, once and once for each pair. Pairs of one
topic are interchangeable, so they are counted: topics x brokers variables.
"""

from dataclasses import replace
from math import floor

import highspy
import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.planners.control import Stop
from brokerwise.planners.fill.problem import Demand, Draft, SearchResult
from brokerwise.planners.highs import run, silent

_MOST_VARIABLES = 2_000_000
# HiGHS proves as much, of the whole and of what is left to add.
_ROUNDING = 1e-6


def fill_by_ilp(
    demand: Demand, capacities: Int64s, begin: Draft, bound: int, stop: Stop
) -> SearchResult:
    """The best draft that HiGHS finds from `begin`; runs until it is proven, or until
    it is stopped."""
    topics, brokers = demand.topics, len(capacities)
    if topics * brokers > _MOST_VARIABLES:
        raise InputError(
            f"algorithm ilp: {topics:,} topics on {brokers:,} brokers are too many, "
            f"expected at most {_MOST_VARIABLES:,} times one on the other",
            hint="Use algorithm columns.",
        )
    unit, grain = np.gcd.reduce(demand.rates), np.gcd.reduce(demand.value)
    small = replace(demand, rates=demand.rates // unit, value=demand.value // grain)
    highs = _model(small, capacities // unit)
    classes, cells = len(demand.pairs), topics * brokers
    pairs = np.zeros((topics, brokers))
    pairs[begin.topic, begin.broker] = begin.pairs
    taken = np.concatenate([pairs.ravel(), (pairs > 0).ravel()])
    columns = np.arange(classes, classes + 2 * cells, dtype=np.int32)
    highs.setSolution(2 * cells, columns, taken.astype(np.float64))
    run(highs, stop)
    found = highs.getSolution()
    stopped = highs.getModelStatus() != highspy.HighsModelStatus.kOptimal
    best = begin
    if found.value_valid:
        values = np.array(found.col_value)[classes : classes + cells]
        whole = np.rint(values).astype(np.int64).reshape(topics, brokers)
        topic, broker = np.nonzero(whole)
        draft = Draft(
            topic.astype(np.int32), broker.astype(np.int32), whole[topic, broker]
        )
        if _possible(draft, demand, capacities):
            best = max(begin, draft, key=lambda d: d.value(demand))
    proven = highs.getInfo().mip_dual_bound
    if np.isfinite(proven):
        bound = min(bound, floor(proven * (1 + _ROUNDING) + _ROUNDING) * int(grain))
    return SearchResult(best, max(bound, best.value(demand)), stopped)


def _possible(draft: Draft, demand: Demand, capacities: Int64s) -> bool:
    """Whether it is so in whole numbers too, not only to a solver's tolerance."""
    loads = draft.loads(demand, len(capacities))
    served = draft.served(demand)
    return bool((loads <= capacities).all() and (served <= demand.followers).all())


def _model(demand: Demand, capacities: Int64s) -> highspy.Highs:
    """Served pairs of each class, pairs of each topic and broker, and whether the
    broker carries the topic; columns in this order."""
    highs = silent(mip_rel_gap=0.0, mip_abs_gap=0.5)
    topics, brokers = demand.topics, len(capacities)
    classes, cells = len(demand.pairs), topics * brokers
    most = np.minimum(
        demand.followers[:, None],
        np.maximum(capacities[None, :] // demand.rates[:, None] - 1, 0),
    ).ravel()
    cost = np.concatenate([demand.value, np.zeros(2 * cells)])
    upper = np.concatenate([demand.pairs, most, np.minimum(most, 1)])
    count = classes + 2 * cells
    empty = np.zeros(0, np.int32)
    highs.addCols(
        count,
        cost.astype(np.float64),
        np.zeros(count),
        upper.astype(np.float64),
        0,
        np.zeros(count, np.int32),
        empty,
        np.zeros(0),
    )
    highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
    whole = np.full(2 * cells, highspy.HighsVarType.kInteger)
    highs.changeColsIntegrality(
        2 * cells, np.arange(classes, count, dtype=np.int32), whole
    )
    cell = classes + np.arange(cells).reshape(topics, brokers)
    for topic in range(topics):  # what is served is on some broker
        first, last = demand.starts[topic], demand.starts[topic + 1]
        columns = np.concatenate([np.arange(first, last), cell[topic]])
        values = np.concatenate([np.ones(last - first), -np.ones(brokers)])
        _add_row(highs, 0.0, columns, values, least=0.0)
    for number, limit in enumerate(most):  # on a broker that carries the topic
        columns = classes + np.array([number, number + cells])
        _add_row(highs, 0.0, columns, np.array([1.0, -limit]))
    for broker, capacity in enumerate(capacities):  # within its capacity
        columns = np.concatenate([cell[:, broker], cell[:, broker] + cells])
        _add_row(highs, float(capacity), columns, np.tile(demand.rates, 2))
    return highs


def _add_row(
    highs: highspy.Highs,
    most: float,
    columns: Int64s,
    values: Int64s,
    least: float = -highspy.kHighsInf,
) -> None:
    highs.addRow(
        least,
        most,
        len(columns),
        columns.astype(np.int32),
        values.astype(np.float64),
    )
