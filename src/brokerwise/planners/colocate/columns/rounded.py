"""A bound from topics rounded down to a few sizes, for models that are monotone."""

from dataclasses import replace

import numpy as np

from brokerwise.model.names import Names
from brokerwise.model.topic_table import TopicTable
from brokerwise.planners.colocate.columns.classes import Classes
from brokerwise.planners.colocate.columns.grouping import Groups, groups_of
from brokerwise.planners.colocate.columns.relaxation import Relaxation
from brokerwise.planners.colocate.demand import Demand
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.problem import Problem
from brokerwise.planners.control import Stop

_GROUPS = (8, 16, 24, 32, 48, 64, 96, 128)


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
