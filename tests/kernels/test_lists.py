"""Lists of topics per subscriber, against plain Python."""

from itertools import accumulate, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted

from brokerwise.kernels import lists as kernels

# Some lists are longer than those that are sorted by insertion.
LISTS = st.lists(
    st.lists(st.integers(0, 9), max_size=8)
    | st.lists(st.integers(0, 2**31 - 1), min_size=20, max_size=40),
    max_size=8,
)


@given(st.lists(st.integers(0, 5)), st.integers(6, 9))
def test_places_are_ordered_by_bucket_and_keep_their_order_within(
    buckets: list[int], count: int
) -> None:
    order, starts = kernels.counting_order(np.array(buckets, np.int32), count)
    assert order.tolist() == sorted(range(len(buckets)), key=lambda i: buckets[i])
    sizes = [buckets.count(bucket) for bucket in range(count)]
    assert starts.tolist() == [0, *accumulate(sizes)]


@given(st.lists(st.integers(-9, 9), min_size=1), st.data())
def test_slices_are_gathered_one_after_the_other(
    values: list[int], data: st.DataObject
) -> None:
    bound = st.integers(0, len(values))
    ranges = data.draw(st.lists(st.tuples(bound, bound).map(sorted)))
    found = kernels.gather_slices(
        np.array(values, np.int32),
        np.array([a for a, _ in ranges], np.int64),
        np.array([b - a for a, b in ranges], np.int64),
    )
    assert found.tolist() == [value for a, b in ranges for value in values[a:b]]


@given(LISTS)
def test_each_list_is_sorted_and_loses_its_repeats(lists: list[list[int]]) -> None:
    assert sorted_lists(lists) == [sorted(set(each)) for each in lists]


@given(LISTS.map(lambda lists: lists[:3]))
def test_lists_are_sorted_alike_in_plain_python(lists: list[list[int]]) -> None:
    with interpreted(kernels):
        assert sorted_lists(lists) == [sorted(set(each)) for each in lists]


def sorted_lists(lists: list[list[int]]) -> list[list[int]]:
    offsets = np.array([0, *accumulate(map(len, lists))], np.int64)
    flat = np.array([value for each in lists for value in each], np.int32)
    kept, values = kernels.sort_lists(offsets, flat)
    assert len(values) == kept[-1]
    return [values[start:end].tolist() for start, end in pairwise(kept)]
