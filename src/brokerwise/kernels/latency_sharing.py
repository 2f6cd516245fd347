"""What a topic's latency follows from, when topics share the cores of a broker.

Every number here rises, or stays, when a topic is added or when any topic takes more
processing or more messages: exactly, with rounding, because sums run over values in
descending order and every step of the arithmetic is one that rounding keeps in order.
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Float64s, Int64s

FEATURES = (
    "own processing",
    "own rate",
    "own load",
    "processing of others",
    "rate of others",
    "load of others",
    "longest processing of others",
    "number of others",
    "load of all",
    "own load over own share",
    "own processing over own share",
    "others that are busy",
    "processing while others are busy",
    "processing and waiting over own share",
)
OVER, STRETCHED = 9, 10
_NEARLY_FULL = 0.98
_WAITING = 1.15  # half of log(10): the 90th percentile of a wait that is exponential


@kernel
def sharing_features(
    processing: Float64s, rates: Float64s, cores: float
) -> Float64s:  # shape (sets * topics, features)
    """FEATURES of each topic of each set. `processing` (ms) and `rates` (per second)
    have shape (sets, topics); what a message costs beside its processing is in it.

    A topic's share is what it could use of a core if it always had work and every
    other topic took as much as it needs, up to an equal part. O(sets * topics^2).
    """
    sets, topics = processing.shape
    found = np.empty((sets * topics, len(FEATURES)))
    loads, over = np.empty(topics), np.empty(topics)
    shares, busy = np.empty(topics), np.empty(topics)
    by_time, by_rate = np.empty(topics, np.int64), np.empty(topics, np.int64)
    by_load, by_busy = np.empty(topics, np.int64), np.empty(topics, np.int64)
    for i in range(sets):
        times, messages = processing[i], rates[i]
        for j in range(topics):
            loads[j] = times[j] * messages[j] / 1000
        _descend(times, by_time)
        _descend(messages, by_rate)
        _descend(loads, by_load)
        for j in range(topics):
            shares[j] = _share(loads, by_load, j, cores)
            over[j] = loads[j] / shares[j]
            busy[j] = min(1.0, over[j])
        _descend(busy, by_busy)
        everything = _sum_without(loads, by_load, -1)
        for j in range(topics):
            row = found[i * topics + j]
            row[0], row[1], row[2] = times[j], messages[j], loads[j]
            row[3] = _sum_without(times, by_time, j)
            row[4] = _sum_without(messages, by_rate, j)
            row[5] = _sum_without(loads, by_load, j)
            row[6] = 0.0
            for other in range(topics):
                if other != j:
                    row[6] = max(row[6], times[other])
            row[7], row[8] = topics - 1, everything
            row[9] = over[j]
            row[10] = times[j] / shares[j]
            row[11] = _sum_without(busy, by_busy, j)
            row[12] = times[j] * (1.0 + row[11] / cores)
            use = min(over[j], _NEARLY_FULL)
            row[13] = row[10] * (1.0 + _WAITING * (use / (1.0 - use)))
    return found


@kernel
def queueing_estimate(features: Float64s, horizon: float) -> Float64s:
    """The logarithm of about the 90th percentile (ms) that rows of
    `sharing_features` have, if traffic lasts `horizon` ms.

    The wait w of a topic with service time s and utilisation u solves
    w^2 / horizon + w (1 - u) / (1.15 u) = s: far below saturation this is that of a
    queue with constant service, at saturation it grows with the root of the time,
    and above it in proportion to the time and to what is too much.
    """
    found = np.empty(len(features))
    for i in range(len(features)):
        over, service = features[i, OVER], features[i, STRETCHED]
        room = (1.0 - over) / (_WAITING * over)
        root = np.sqrt(room * room + 4.0 * service / horizon)
        if room > 0:  # the other form would lose digits
            waiting = 2.0 * service / (room + root)
        else:
            waiting = horizon / 2.0 * (root - room)
        found[i] = np.log(service + waiting)
    return found


@leaf
def _descend(values: Float64s, order: Int64s) -> None:
    """Put the places of a few values in order, the largest first."""
    for place in range(len(values)):
        at = place
        while at > 0 and values[order[at - 1]] < values[place]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place


@leaf
def _share(loads: Float64s, descending: Int64s, topic: int, cores: float) -> float:
    """The level up to which cores are filled when one topic takes all it can get.

    It is the largest of what is left for each of the others if only the smallest j
    are served in full, for any j.
    """
    left = len(loads)
    level, served = cores / left, 0.0
    for at in range(len(loads) - 1, -1, -1):
        other = descending[at]
        if other != topic:
            left -= 1
            served += loads[other]
            level = max(level, (cores - served) / left)
    return min(1.0, level)


@leaf
def _sum_without(values: Float64s, descending: Int64s, topic: int) -> float:
    total = 0.0
    for at in range(len(values)):
        if descending[at] != topic:
            total += values[descending[at]]
    return total
