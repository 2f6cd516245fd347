"""Replicas in lines from light to heavy, for a model that is monotone: what cannot join
a set is followed on its line by nothing that can."""

from collections.abc import Callable

import numpy as np

from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.planners.colocate.demand import Demand


def chains_of(demand: Demand, replicas: Int32s) -> tuple[Int64s, Int64s]:
    """The line of each of these replicas, and its place there.

    Each is no lighter in any respect than those before it on its line. Greedy: a
    replica joins the line whose end has the highest rate that is not above its own.
    """
    keys = (demand.rate_per_second, -demand.limit_ms, demand.processing_ms)
    order = np.lexsort([key[replicas] for key in keys])
    chain, place = np.empty((2, len(replicas)), np.int64)
    ends: list[tuple[float, float, int]] = []  # rate, limit and length of each line
    for at in order.tolist():
        rate = float(demand.rate_per_second[replicas[at]])
        limit = float(demand.limit_ms[replicas[at]])
        fits = [i for i, end in enumerate(ends) if end[0] <= rate and end[1] >= limit]
        best = max(fits, key=lambda i: ends[i][0], default=len(ends))
        length = ends[best][2] if fits else 0
        ends[best : best + 1] = [(rate, limit, length + 1)]
        chain[at], place[at] = best, length
    return chain, place


def along(line: Int64s, place: Int64s, asked: Callable[[Int64s], Bools]) -> Bools:
    """The answer to each of many questions, of which only some are asked.

    Questions of one line, in order of their places, are answered yes up to some place
    and no from there on: halving what is open finds where. `asked` gives the answers
    to the questions of these numbers.
    """
    order = np.lexsort((place, line))
    sorted_line = line[order]
    starts = np.flatnonzero(np.diff(sorted_line, prepend=-1))
    low, high = starts.copy(), np.append(starts[1:], len(line))
    # Answers before low are yes, those from high on are no.
    while len(open_ := np.flatnonzero(low < high)):
        middle = (low[open_] + high[open_]) // 2
        yes = asked(order[middle])
        low[open_] = np.where(yes, middle + 1, low[open_])
        high[open_] = np.where(yes, high[open_], middle)
    ends = np.repeat(low, np.diff(np.append(starts, len(line))))
    found = np.empty(len(line), np.bool_)
    found[order] = np.arange(len(line)) < ends
    return found
