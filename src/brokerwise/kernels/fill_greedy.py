"""Filling brokers greedily: GS of Lambert and Sakellariou (2018), Algorithm 1.

As printed, it never ends when the broker with most room cannot take the topic; but
then no broker can, so the topic is dropped and the broker kept.
"""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.kernels.fill_classes import (
    Rows,
    all_unserved,
    doubled,
    new_rows,
    serve,
)
from brokerwise.kernels.fill_order import (
    Heap,
    descending,
    heap_of,
    is_before,
    rise,
    sink,
)
from brokerwise.model.arrays import Int64s


@kernel
def fill_greedy(
    rates: Int64s, starts: Int64s, value: Int64s, pairs: Int64s, capacities: Int64s
) -> Rows:
    """The topic with the most unserved weight (without weights: pairs) goes to the
    broker with most room, as many of its pairs as fit; and so on.

    Returns topic, broker and pairs, one entry for a topic and broker, in the order in
    which they were placed. Of equals, the lower number comes first. A broker that has
    filled up with a topic has less than its rate left, so that it does not meet it
    again. O(entries * (log topics + log brokers)), after O(classes) once.
    """
    unserved = all_unserved(rates, starts, value, pairs)
    brokers = heap_of(capacities)
    # Few topics come back, so these have a heap and the others are sorted.
    order = descending(unserved.weight)
    back = Heap(np.empty(len(rates), np.int64), np.empty(len(rates), np.int32))
    fresh, waiting = len(order) if len(capacities) else 0, 0
    rows, at = new_rows(len(rates)), 0
    while fresh or waiting:
        t = order[-fresh]
        if waiting and (fresh == 0 or not is_before(unserved.weight[t], t, back, 0)):
            t = back.numbers[0]
            waiting -= 1
            sink(back, waiting, back.keys[waiting], back.numbers[waiting])
        else:
            fresh -= 1
        rate, room, k = rates[t], brokers.keys[0], brokers.numbers[0]
        if room // rate < 2:
            continue
        put = min(unserved.pairs[t], room // rate - 1)
        sink(brokers, len(capacities), room - rate * (put + 1), k)
        serve(unserved, t, put)
        if at == len(rows[0]):
            rows = doubled(rows)
        rows[0][at], rows[1][at], rows[2][at] = t, k, put
        at += 1
        if unserved.pairs[t] > 0:
            rise(back, waiting, unserved.weight[t], t)
            waiting += 1
    return rows[0][:at], rows[1][:at], rows[2][:at]
