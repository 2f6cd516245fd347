"""Digests: equal for equal data, different for anything else."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.names import Names
from brokerwise.storage.tables import block_digest, json_digest, table_digest


def test_a_block_is_hashed_as_lengths_and_little_endian_values() -> None:
    expected = hashlib.sha256()
    for count, values in ((2, b"\1\0\0\0\0\1\0\0"), (1, b"\xff" * 8)):
        expected.update(count.to_bytes(8, "little") + values)
    found = block_digest(np.array([1, 256], np.int32), np.array([-1], np.int64))
    assert found == expected.digest()


def test_the_byte_order_of_the_machine_does_not_matter() -> None:
    values = np.array([1, 2, 300], np.int64)
    assert block_digest(values.astype(">i8")) == block_digest(values)


def test_names_are_hashed_wherever_their_text_lies() -> None:
    whole = Names.of(["x", "ab", "c", "y"])
    part = Names(whole.data, whole.offsets[1:4])
    assert block_digest(part) == block_digest(Names.of(["ab", "c"]))
    assert block_digest(part) != block_digest(Names.of(["a", "bc"]))


@given(st.lists(st.lists(st.integers(0, 2), max_size=3), min_size=2, max_size=2))
def test_where_one_column_ends_and_the_next_begins_matters(
    columns: list[list[int]],
) -> None:
    one, other = (np.array(c, np.int64) for c in columns)
    joined = np.concatenate([one, other])
    assert block_digest(one, other) != block_digest(joined)
    assert (block_digest(one, other) == block_digest(other, one)) == (
        columns[0] == columns[1]
    )


def test_a_missing_column_is_not_a_column_of_zeros() -> None:
    assert block_digest(None) != block_digest(np.zeros(1, np.int64))


def test_there_is_one_zero_and_one_nan() -> None:
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    places = np.array([0.0, np.nan, np.nan])
    same = np.array([-0.0, -np.nan, other_nan[0]])
    assert places.tobytes() != same.tobytes()
    assert block_digest(places) == block_digest(same)
    assert block_digest(places) != block_digest(np.array([0.0, np.nan, 0.0]))
    assert same.tobytes() == np.array([-0.0, -np.nan, other_nan[0]]).tobytes()


def test_a_part_of_a_larger_array_is_hashed_alone() -> None:
    places = np.arange(12.0).reshape(3, 4)[:, 1:3]
    assert block_digest(places) == block_digest(places.copy())


def test_the_order_of_blocks_matters() -> None:
    blocks = [b"1" * 32, b"2" * 32]
    assert table_digest(blocks) == hashlib.sha256(b"1" * 32 + b"2" * 32).hexdigest()
    assert table_digest(blocks) != table_digest(blocks[::-1])


@pytest.mark.parametrize("other", [{"a": 1}, {"a": 1, "b": [2, 1]}, {"a": 1, "b": "1"}])
def test_a_json_value_is_hashed_whatever_the_order_of_its_keys(other: object) -> None:
    content = {"a": 1, "b": [1, 2]}
    assert json_digest(content) == json_digest({"b": [1, 2], "a": 1})
    assert json_digest(content) != json_digest(other)
