"""Lists of topics, one per subscriber."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests

lists = st.lists(st.sets(st.integers(0, 9)).map(sorted), max_size=8)


def interests(lists: list[list[int]]) -> Interests:
    offsets = np.cumsum([0, *map(len, lists)])
    return Interests(
        offsets, np.array([t for topics in lists for t in topics], np.int32)
    )


@given(lists)
def test_every_subscriber_has_its_list_and_every_pair_its_owner(
    lists: list[list[int]],
) -> None:
    held = interests(lists)
    assert held.subscribers == len(lists)
    assert held.pairs == sum(map(len, lists))
    assert [held.of(v).tolist() for v in range(len(lists))] == lists
    owners = [v for v, topics in enumerate(lists) for _ in topics]
    assert held.owners().tolist() == owners


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=4))
def test_exactly_the_lists_that_ascend_are_accepted(lists: list[list[int]]) -> None:
    bad = [v for v, topics in enumerate(lists) if topics != sorted(set(topics))]
    if bad:
        with pytest.raises(InputError, match=f"^interests of subscriber {bad[0]}: "):
            interests(lists)
    else:
        interests(lists)


def test_a_list_that_does_not_ascend_is_shown() -> None:
    with pytest.raises(InputError, match="without repeats, found 2 after 5"):
        interests([[0, 1], [], [3, 5, 2]])


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 1], [0, 3]])
def test_offsets_must_cover_all_pairs(offsets: list[int]) -> None:
    with pytest.raises(InputError, match="interests: offsets must run from 0 to 2"):
        Interests(np.array(offsets, np.int64), np.array([0, 1], np.int32))


def test_offsets_must_not_decrease() -> None:
    with pytest.raises(InputError, match="interests: offsets must not decrease"):
        Interests(np.array([0, 2, 1, 2]), np.array([0, 1], np.int32))


def test_a_negative_topic_is_refused() -> None:
    with pytest.raises(InputError, match="interests: found topic -1, expected >= 0"):
        interests([[-1, 0]])


@pytest.mark.parametrize(
    ("offsets", "topics"),
    [
        ([0, 2], [3, 4]),
        (pa.array([0, 2]), pa.array([3, 4])),
        (np.array([0, 2], np.uint8), np.array([3, 4], np.uint64)),
    ],
)
def test_lists_arrow_and_any_width_of_integer_will_do(
    offsets: Any, topics: Any
) -> None:
    held = Interests(offsets, topics)
    assert (held.offsets.dtype.name, held.topics.dtype.name) == ("int64", "int32")
    assert held.of(0).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        (np.array([0.0]), "topics of interests: found float64 of shape"),
        (np.array([True]), "topics of interests: found bool of shape"),
        (np.array([[0]]), "topics of interests: found int64 of shape"),
        (np.array([2**31]), "topics of interests: found 2,147,483,648, which does not"),
        (np.array([-(2**40)]), "topics of interests: found -1,099,511,627,776, which"),
    ],
)
def test_what_is_not_a_topic_number_is_refused(topics: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Interests(np.array([0, 1]), topics)


def test_arrays_that_fit_are_shared_and_cannot_be_changed() -> None:
    offsets, topics = np.array([0, 2]), np.array([3, 4], np.int32)
    held = Interests(offsets, topics)
    assert np.shares_memory(held.offsets, offsets)
    assert np.shares_memory(held.topics, topics)
    with pytest.raises(ValueError, match="read-only"):
        held.topics[0] = 0
    topics[0] = 0  # the caller's own array is not locked


@pytest.mark.parametrize("subscriber", [-1, 2])
def test_a_subscriber_out_of_range_is_an_error(subscriber: int) -> None:
    with pytest.raises(IndexError):
        interests([[0], [1]]).of(subscriber)


def test_repr_gives_the_counts() -> None:
    many = Interests(np.array([0, 1200]), np.arange(1200, dtype=np.int32))
    assert repr(many) == "Interests(1 subscribers, 1,200 pairs)"
