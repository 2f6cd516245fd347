"""Lists in Arrow arrays, blocks and parts."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.interests import BLOCK
from brokerwise.storage.subscribers import blocks_per_part
from brokerwise.storage.tables import list_array, lists_of

lists = st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=8)


@given(lists, st.integers(0, 8), st.integers(0, 8))
def test_lists_come_from_any_chunks_and_slices(
    values: list[list[int]], cut: int, skipped: int
) -> None:
    array = pa.array(values, pa.list_(pa.int32()))
    column = pa.chunked_array([array[:cut], array[cut:]])[skipped:]
    offsets, flat = lists_of(column)
    expected = values[skipped:]
    assert offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert flat.tolist() == [v for some in expected for v in some]
    assert (offsets.dtype.name, flat.dtype.name) == ("int64", "int32")
    assert list_array(offsets, flat).to_pylist() == expected


def test_more_pairs_than_a_block_can_hold_are_refused() -> None:
    with pytest.raises(pa.ArrowInvalid, match="2147483648"):
        list_array(np.array([0, 2**31]), np.zeros(0, np.int32))


@pytest.mark.parametrize(
    ("subscribers", "pairs", "blocks"),
    [
        (0, 0, 1),
        (1, 0, 2_000_000),
        (1, 10_000_000, 1),
        (BLOCK, 2_000_000, 1),
        (BLOCK + 1, 2_000_000, 2),
        (10 * BLOCK, 4_000_000, 5),
        (10 * BLOCK, 100_000_000, 1),
    ],
)
def test_blocks_share_a_file_of_about_two_million_pairs(
    subscribers: int, pairs: int, blocks: int
) -> None:
    assert blocks_per_part(subscribers, pairs) == blocks
