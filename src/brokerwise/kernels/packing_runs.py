"""Orders that topics are packed in, and the runs that a packing comes to."""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Int32s, Int64s

_DIGIT = 2048


@kernel
def largest_first(values: Int64s) -> Int32s:
    """Places by descending value, the first of equals first.

    By digits of 11 bits: O(n) for each that the largest value has. Values are at
    least 0.
    """
    most = 0
    for value in values:
        most = max(most, value)
    order = np.arange(len(values)).astype(np.int32)
    behind = np.empty_like(order)
    starts = np.empty(_DIGIT + 1, np.int64)
    shift = 0
    while most >> shift:
        starts[:] = 0
        for value in values:
            starts[_DIGIT - ((value >> shift) & (_DIGIT - 1))] += 1
        for d in range(1, _DIGIT + 1):
            starts[d] += starts[d - 1]
        for place in order:
            digit = _DIGIT - 1 - ((values[place] >> shift) & (_DIGIT - 1))
            behind[starts[digit]] = place
            starts[digit] += 1
        order, behind = behind, order
        shift += 11
        if shift > 55:
            break
    return order


@kernel
def least_receptions(rates: Int64s, counts: Int64s, capacity: int) -> int:
    """What must be received if no broker is larger than `capacity`.

    A topic with more pairs than one broker can serve is received several times.
    """
    total = 0
    for t in range(len(rates)):
        if counts[t] > 0:
            each = capacity // rates[t] - 1
            total += rates[t] * ((counts[t] + each - 1) // each)
    return total


@kernel
def runs_of(
    home: Int32s, counts: Int64s, cuts: Int64s
) -> tuple[Int32s, Int32s, Int64s]:
    """Runs (topic, broker, pairs) by topic, of homes and of cuts by topic."""
    number = len(cuts)
    for broker in home:
        if broker >= 0:
            number += 1
    topic = np.empty(number, np.int32)
    brokers = np.empty(number, np.int32)
    pairs = np.empty(number, np.int64)
    at, cut = 0, 0
    for t in range(len(home)):
        if home[t] >= 0:
            topic[at], brokers[at], pairs[at] = t, home[t], counts[t]
            at += 1
        while cut < len(cuts) and cuts[cut, 0] == t:
            topic[at], brokers[at], pairs[at] = t, cuts[cut, 1], cuts[cut, 2]
            at, cut = at + 1, cut + 1
    return topic, brokers, pairs
