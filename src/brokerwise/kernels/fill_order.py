"""What comes first: the largest key, and of equal ones the lowest number."""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Int32s, Int64s

# Digits by which many and few keys are sorted: counting costs their number of values.
_MANY, _BITS_OF_MANY, _BITS_OF_FEW = 4096, 11, 8


@kernel
def descending(keys: Int64s) -> Int32s:
    """Numbers in order, by digits; no key is below zero.

    O(keys + values of a digit) for each digit of the largest.
    """
    most = 0
    for key in keys:
        most = max(most, key)
    bits = _BITS_OF_MANY if len(keys) >= _MANY else _BITS_OF_FEW
    order = np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        order[i] = i
    behind = np.empty_like(order)
    starts = np.empty(1 << bits, np.int64)
    for shift in range(0, 63, bits):
        if most >> shift == 0:
            break
        sort_by_digit(keys, order, behind, starts, shift)
        order, behind = behind, order
    return order


@leaf
def sort_by_digit(
    keys: Int64s, order: Int32s, behind: Int32s, starts: Int64s, shift: int
) -> None:
    """Write to `behind` what `order` holds, by descending digit, else as it was."""
    mask = len(starts) - 1
    starts[:] = 0
    for key in keys:
        starts[mask - ((key >> shift) & mask)] += 1
    before = 0
    for digit in range(len(starts)):
        before, starts[digit] = before + starts[digit], before
    for number in order:
        digit = mask - ((keys[number] >> shift) & mask)
        behind[starts[digit]] = number
        starts[digit] += 1


class Heap(NamedTuple):
    """What comes first is at 0; what is at i comes before those at 2i + 1, 2i + 2.

    Its size is kept by whoever uses it.
    """

    keys: Int64s
    numbers: Int32s


@kernel
def heap_of(keys: Int64s) -> Heap:
    """With all numbers."""
    order = descending(keys)
    return Heap(keys[order], order)


@leaf
def sink(heap: Heap, size: int, key: int, number: int) -> None:
    """Put this in place of the first, of which there is one."""
    at, below = 0, 1
    while below < size:
        if below + 1 < size and is_before(
            heap.keys[below + 1], heap.numbers[below + 1], heap, below
        ):
            below += 1
        if is_before(key, number, heap, below):
            break
        heap.keys[at], heap.numbers[at] = heap.keys[below], heap.numbers[below]
        at, below = below, 2 * below + 1
    heap.keys[at], heap.numbers[at] = key, number


@leaf
def rise(heap: Heap, size: int, key: int, number: int) -> None:
    """Add this to a heap of `size` before."""
    at = size
    while at > 0 and is_before(key, number, heap, (at - 1) >> 1):
        above = (at - 1) >> 1
        heap.keys[at], heap.numbers[at] = heap.keys[above], heap.numbers[above]
        at = above
    heap.keys[at], heap.numbers[at] = key, number


@leaf
def is_before(key: int, number: int, heap: Heap, at: int) -> bool:
    """Whether this comes before what is at `at`."""
    other = heap.keys[at]
    return bool(key > other or (key == other and number < heap.numbers[at]))
