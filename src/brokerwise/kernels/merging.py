"""All brokers as one: a knapsack that every plan fits in."""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Int64s


@kernel
def most_in_one(
    rates: Int64s, starts: Int64s, value: Int64s, pairs: Int64s, size: int, largest: int
) -> int:
    """The most value that fits in one broker of a size, though it pays a set-up for
    every `largest` that a topic takes.

    A topic with n pairs, of which a broker of size `largest` can hold m at most, loads
    any brokers with n + ceil(n / m) times its rate or more. O(pairs * size).
    """
    best = np.zeros(size + 1, np.int64)
    before = np.empty_like(best)
    for topic in range(len(rates)):
        rate = rates[topic]
        held = largest // rate - 1
        if held < 1:
            continue
        before[:] = best
        count, worth = 0, 0
        for number in range(starts[topic], starts[topic + 1]):
            for _ in range(pairs[number]):
                count += 1
                worth += value[number]
                load = rate * (count + (count + held - 1) // held)
                for c in range(size + 1 - load):
                    best[c + load] = max(best[c + load], before[c] + worth)
    return int(best[size])
