"""Orders and heaps of filling, against sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.kernels.fill_order import descending, heap_of, rise, sink

KEYS = st.lists(st.integers(0, 9) | st.integers(0, 2**63 - 1))


def in_order(keys: list[int]) -> list[int]:
    return sorted(range(len(keys)), key=lambda i: (-keys[i], i))


@given(KEYS)
def test_the_largest_come_first_and_equals_by_number(keys: list[int]) -> None:
    assert descending(np.array(keys, np.int64)).tolist() == in_order(keys)


@pytest.mark.parametrize("most", [1, 5000, 2**62])
def test_many_are_sorted_as_few_are(most: int) -> None:
    keys = np.random.default_rng(1).integers(0, most, 5000)
    assert descending(keys).tolist() == in_order(keys.tolist())


@given(KEYS)
def test_the_first_is_on_top_of_a_heap_until_it_is_empty(keys: list[int]) -> None:
    heap, found = heap_of(np.array(keys, np.int64)), []
    for left in range(len(keys) - 1, -1, -1):
        found.append(int(heap.numbers[0]))
        sink(heap, left, heap.keys[left], heap.numbers[left])
    assert found == in_order(keys)


@given(KEYS)
def test_what_is_added_to_a_heap_finds_its_place(keys: list[int]) -> None:
    heap, found = heap_of(np.zeros(len(keys), np.int64)), []
    for number, key in enumerate(keys):
        rise(heap, number, key, number)
    for left in range(len(keys) - 1, -1, -1):
        found.append(int(heap.numbers[0]))
        sink(heap, left, heap.keys[left], heap.numbers[left])
    assert found == in_order(keys)
