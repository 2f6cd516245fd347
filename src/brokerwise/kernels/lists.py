"""Lists of topics per subscriber, made from pairs in any order."""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Int32s, Int64s

_SMALL = 24


@kernel
def counting_order(buckets: Int32s, count: int) -> tuple[Int64s, Int64s]:
    """Places in order of their bucket, stable, and where each bucket starts."""
    starts = np.zeros(count + 1, np.int64)
    for bucket in buckets:
        starts[bucket + 1] += 1
    for b in range(count):
        starts[b + 1] += starts[b]
    order = np.empty(len(buckets), np.int64)
    at = starts[:-1].copy()
    for i in range(len(buckets)):
        order[at[buckets[i]]] = i
        at[buckets[i]] += 1
    return order, starts


@kernel
def gather_slices(values: Int32s, starts: Int64s, lengths: Int64s) -> Int32s:
    """The slices of `values` one after the other."""
    total = 0
    for length in lengths:
        total += length
    found = np.empty(total, np.int32)
    at = 0
    for i in range(len(starts)):
        for k in range(starts[i], starts[i] + lengths[i]):
            found[at] = values[k]
            at += 1
    return found


@kernel
def sort_lists(offsets: Int64s, values: Int32s) -> tuple[Int64s, Int32s]:
    """Each list ascending and without repeats; the values are sorted in place."""
    kept = np.zeros(len(offsets), np.int64)
    write = 0
    for i in range(len(offsets) - 1):
        start, end = offsets[i], offsets[i + 1]
        if end - start > _SMALL:
            values[start:end] = np.sort(values[start:end])
        else:
            for j in range(start + 1, end):
                moving = values[j]
                k = j
                while k > start and values[k - 1] > moving:
                    values[k] = values[k - 1]
                    k -= 1
                values[k] = moving
        for j in range(start, end):
            if j == start or values[j] != values[j - 1]:
                # Written at or before the place just read, so never over it.
                values[write] = values[j]
                write += 1
        kept[i + 1] = write
    return kept, values[:write].copy()
