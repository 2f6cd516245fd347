"""Loops over one block of subscribers, compiled: is every pair as it should be?

The audit's own code: it shares no kernel with the planners it judges. Each loop ends
at the first pair that is not right, and says no more than that.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from brokerwise.model.arrays import Int32s, Int64s

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    return cast(F, numba.njit(cache=True, nogil=True)(function))


@_compiled
def lists_ascend(offsets: Int64s, topics: Int32s, limit: int) -> bool:
    """Whether every list ascends without repeats, from 0 or more to below `limit`."""
    for row in range(len(offsets) - 1):
        last = -1
        for place in range(offsets[row], offsets[row + 1]):
            if topics[place] <= last:
                return False
            last = topics[place]
        if last >= limit:
            return False
    return True


@_compiled
def lists_within(ends: Int64s, topics: Int32s, offsets: Int64s, wanted: Int32s) -> bool:
    """Whether each list of topics is part of the list of those wanted beside it.

    The lists wanted ascend without repeats; so do those that are found within.
    """
    for row in range(len(ends) - 1):
        at, stop = offsets[row], offsets[row + 1]
        for place in range(ends[row], ends[row + 1]):
            topic = topics[place]
            while at < stop and wanted[at] < topic:
                at += 1
            if at == stop or wanted[at] != topic:
                return False
            at += 1
    return True


@_compiled
def thresholds_met(
    ends: Int64s,
    topics: Int32s,
    offsets: Int64s,
    wanted: Int32s,
    needs: Int64s,
    rates: Int64s,
) -> bool:
    """Whether each row's topics come to its need, or to all that is wanted.

    The rates of all topics together must fit in 63 bits.
    """
    for row in range(len(ends) - 1):
        need = needs[row]
        for place in range(ends[row], ends[row + 1]):
            need -= rates[topics[place]]
        if need > 0:
            # min(need, wanted) - received, which may be much less than the need.
            lacking = 0
            for place in range(offsets[row], offsets[row + 1]):
                lacking += rates[wanted[place]]
            for place in range(ends[row], ends[row + 1]):
                lacking -= rates[topics[place]]
            if lacking > 0:
                return False
    return True


@_compiled
def runs_counted(
    topics: Int32s,
    brokers: Int32s,
    first_run: Int32s,
    run_broker: Int32s,
    current: Int32s,
    counts: Int64s,
) -> bool:
    """Count pairs by the run they belong to; False if one belongs to none.

    The runs of topic t are those from first_run[t] to before first_run[t + 1], by
    broker; `current` is where its last pair was, -1 if it has no run. A topic's
    pairs fill one run after the other, so nearly all are where the last one was.
    """
    for place in range(len(topics)):
        topic, broker = topics[place], brokers[place]
        run = current[topic]
        if run < 0:
            return False
        if run_broker[run] != broker:
            run = _run_on(broker, run_broker, first_run[topic], first_run[topic + 1])
            if run < 0:
                return False
            current[topic] = run
        counts[run] += 1
    return True


@_compiled
def weights_added(
    offsets: Int64s, topics: Int32s, weights: Int64s, sums: Int64s
) -> None:
    """Add the weight of each row to the sums of the topics in its list."""
    for row in range(len(offsets) - 1):
        for place in range(offsets[row], offsets[row + 1]):
            sums[topics[place]] += weights[row]


@_compiled
def _run_on(broker: int, run_broker: Int32s, low: int, high: int) -> int:
    """The run on a broker, by bisection from `low` to before `high`; -1 if none."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if run_broker[middle] < broker:
            low = middle + 1
        else:
            high = middle
    if low < end and run_broker[low] == broker:
        return low
    return -1
