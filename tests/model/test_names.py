"""Many names in two arrays."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.names import Names

texts = st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=10)


@given(texts)
def test_names_come_back_as_they_were(names: list[str]) -> None:
    held = Names.of(names)
    assert list(held) == names
    assert len(held) == len(names)
    assert [held[i] for i in range(-len(names), 0)] == names
    assert held.to_arrow().to_pylist() == names


@given(names=texts, cut=st.integers(0, 10), large=st.booleans())
def test_names_come_from_any_slice_of_an_arrow_array(
    names: list[str], cut: int, large: bool
) -> None:
    array = pa.array(names, pa.large_string() if large else pa.string())
    assert list(Names.from_arrow(array[cut:])) == names[cut:]
    parts = pa.chunked_array([array[:cut], array[cut:]])
    assert list(Names.from_arrow(parts)) == names


def test_names_come_from_numbers_dictionaries_and_nothing_at_all() -> None:
    assert list(Names.from_arrow(pa.array([10, 9]))) == ["10", "9"]
    coded = pa.array(["b", "a", "b"]).dictionary_encode()
    assert list(Names.from_arrow(coded)) == ["b", "a", "b"]
    assert list(Names.from_arrow(pa.chunked_array([], pa.string()))) == []
    assert list(Names.from_arrow(pa.array([""]))) == [""]


def test_a_null_is_not_a_name() -> None:
    with pytest.raises(InputError, match="names: found 1 nulls, expected none"):
        Names.from_arrow(pa.array(["a", None]))


@given(names=texts, start=st.integers(0, 10))
def test_compact_keeps_the_names_and_drops_the_rest(
    names: list[str], start: int
) -> None:
    whole = Names.of(names)
    start = min(start, len(names))
    part = Names(whole.data, whole.offsets[start:]).compact()
    assert list(part) == names[start:]
    assert part.offsets[0] == 0
    assert len(part.data) == len("".join(names[start:]).encode())


def test_text_past_two_gigabytes_is_a_large_arrow_array() -> None:
    far = np.zeros(2**31 + 4, np.uint8)  # not touched, so it takes no memory
    far[-4:] = np.frombuffer(b"name", np.uint8)
    names = Names(far, np.array([2**31, 2**31 + 4]))
    array = names.to_arrow()
    assert array.type == pa.large_string()
    assert array.to_pylist() == ["name"]
    assert names.compact().to_arrow().type == pa.string()


@given(st.integers(0, 120))
def test_numbered_names_are_numbers_in_byte_order(count: int) -> None:
    names = list(Names.numbered(count))
    assert [int(name) for name in names] == list(range(count))
    assert names == sorted(names)


def test_find_gives_the_position_or_none() -> None:
    names = Names.of(["b", "é", "a"])
    assert names.find("é") == 1
    assert names.find("e") is None


@pytest.mark.parametrize("index", [2, -3])
def test_an_index_out_of_range_is_an_error(index: int) -> None:
    with pytest.raises(IndexError):
        Names.of(["a", "b"])[index]


@pytest.mark.parametrize("offsets", [[], [0, 4], [-1, 2], [0, 2, 1, 3]])
def test_offsets_that_do_not_rise_within_the_text_are_refused(
    offsets: list[int],
) -> None:
    data = np.frombuffer(b"abc", np.uint8)
    with pytest.raises(InputError, match="offsets must rise within the 3 bytes"):
        Names(data, np.array(offsets, np.int64))


def test_half_a_surrogate_is_not_a_name() -> None:
    with pytest.raises(InputError, match=r"name 'b\\ud800': not valid Unicode"):
        Names.of(["a", "b\ud800"])


def test_names_cannot_be_changed() -> None:
    names = Names.of(["a", "b"])
    with pytest.raises(ValueError, match="read-only"):
        names.offsets[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        names.data[0] = 0


def test_repr_shows_the_first_names() -> None:
    assert repr(Names.of(["a", "b"])) == "Names(2: 'a', 'b')"
    assert repr(Names.numbered(1500)) == "Names(1,500: '0000', '0001', '0002', ...)"
    assert repr(Names.of([])) == "Names(0: )"
