"""Which pairs are served, against a sort of every topic's subscribers."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted

from brokerwise.kernels import fill_select
from brokerwise.model.arrays import read_only

TOPICS = 4


@st.composite
def wants(draw: Any) -> tuple[list[list[int]], list[int], list[int]]:
    """Topics of each subscriber, their weights, and how many pairs are served."""
    topics = st.sets(st.integers(0, TOPICS - 1)).map(sorted)
    interests = draw(st.lists(topics, max_size=8))
    weights = [draw(st.integers(0, 3)) for _ in interests]
    followers = [sum(t in found for found in interests) for t in range(TOPICS)]
    return interests, weights, [draw(st.integers(0, n)) for n in followers]


def select(case: tuple[list[list[int]], list[int], list[int]]) -> list[list[int]]:
    interests, weights, served = case
    offsets = np.cumsum([0, *map(len, interests)], dtype=np.int64)
    topics = np.array([t for found in interests for t in found], np.int32)
    kept, chosen = fill_select.select_best(
        read_only(offsets),
        read_only(topics),
        read_only(np.array(weights, np.int64)),
        np.array(served, np.int64),
    )
    assert [a.dtype for a in (kept, chosen)] == [np.int64, np.int32]
    return [chosen[first:last].tolist() for first, last in pairwise(kept)]


@given(case=wants())
def test_the_heaviest_are_served_and_of_equals_the_first(
    case: tuple[list[list[int]], list[int], list[int]],
) -> None:
    interests, weights, served = case
    best = {}
    for topic, count in enumerate(served):
        who = [s for s, found in enumerate(interests) if topic in found]
        best[topic] = sorted(who, key=lambda s: (-weights[s], s))[:count]
    expected = [
        [topic for topic in found if s in best[topic]]
        for s, found in enumerate(interests)
    ]
    assert select(case) == expected
    with interpreted(fill_select):
        assert select(case) == expected
