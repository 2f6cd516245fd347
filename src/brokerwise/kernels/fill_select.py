"""Which pairs are served, once it is known how many of each topic."""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.kernels.lists import counting_order
from brokerwise.model.arrays import Int32s, Int64s


@kernel
def select_best(
    offsets: Int64s, topics: Int32s, weights: Int64s, served: Int64s
) -> tuple[Int64s, Int32s]:
    """The `served[t]` pairs of each topic t whose subscribers weigh most; of equal
    ones those of lower number. O(pairs log pairs of a topic)."""
    cut, spare = _cuts(offsets, topics, weights, served)
    kept = np.zeros(len(offsets), np.int64)
    chosen = np.empty(served.sum(), np.int32)
    count = 0
    for subscriber in range(len(offsets) - 1):
        weight = weights[subscriber]
        for pair in range(offsets[subscriber], offsets[subscriber + 1]):
            topic = topics[pair]
            take = weight > cut[topic]
            if weight == cut[topic] and spare[topic] > 0:
                spare[topic] -= 1
                take = True
            if take:
                chosen[count] = topic
                count += 1
        kept[subscriber + 1] = count
    return kept, chosen


@kernel
def _cuts(
    offsets: Int64s, topics: Int32s, weights: Int64s, served: Int64s
) -> tuple[Int64s, Int64s]:
    """For each topic the weight of its last pair that is served, and how many pairs
    of just that weight are."""
    count = len(served)
    weight = np.empty(len(topics), np.int64)
    for subscriber in range(len(offsets) - 1):
        weight[offsets[subscriber] : offsets[subscriber + 1]] = weights[subscriber]
    order, starts = counting_order(topics, count)
    found = weight[order]
    cut = np.full(count, np.iinfo(np.int64).max, np.int64)
    spare = np.zeros(count, np.int64)
    for topic in range(count):
        if served[topic] == 0:
            continue
        of_topic = np.sort(found[starts[topic] : starts[topic + 1]])
        first = len(of_topic) - served[topic]
        cut[topic] = of_topic[first]
        spare[topic] = np.searchsorted(of_topic, cut[topic], side="right") - first
    return cut, spare
