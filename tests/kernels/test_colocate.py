"""Maximum matching against integer programs and all ways to match."""

from functools import cache

import numpy as np
import pytest
from benchmarks.reference.colocate_literal import matching
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.kernels.colocate import NONE, maximum_matching
from brokerwise.model.arrays import Int32s

Edges = set[tuple[int, int]]


def matched(count: int, edges: Edges) -> Int32s:
    """The partners, after a look at whether they are partners."""
    both = sorted(edges | {(b, a) for a, b in edges})
    offsets = np.searchsorted([a for a, _ in both], np.arange(count + 1))
    ends = np.array([b for _, b in both], np.int32)
    found = maximum_matching(offsets.astype(np.int64), ends)
    for v, partner in enumerate(found.tolist()):
        if partner != NONE:
            assert found[partner] == v and (v, partner) in both
    return found


def pairs(found: Int32s) -> int:
    return int(np.count_nonzero(found != NONE)) // 2


def most_pairs(count: int, edges: Edges) -> int:
    @cache
    def most(left: tuple[int, ...]) -> int:
        if not left:
            return 0
        first, *others = left
        found = most(tuple(others))
        for other in others:
            if (first, other) in edges:
                rest = tuple(o for o in others if o != other)
                found = max(found, 1 + most(rest))
        return found

    return most(tuple(range(count)))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    count = draw(st.integers(0, 9))
    every = [(a, b) for a in range(count) for b in range(a + 1, count)]
    some = st.sets(st.sampled_from(every)) if every else st.just(Edges())
    return count, draw(some)


@settings(max_examples=examples(300))
@given(graph=graphs())
def test_no_other_matching_has_more_pairs(graph: tuple[int, Edges]) -> None:
    count, edges = graph
    assert pairs(matched(count, edges)) == most_pairs(count, edges)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_as_large_as_an_integer_program_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 40
    edges = {
        (a, b)
        for a in range(count)
        for b in range(a + 1, count)
        if rng.random() < [0.02, 0.04, 0.06, 0.1, 0.3][seed]
    }
    expected = matching(range(count), lambda pair: tuple(pair) in edges)
    assert pairs(matched(count, edges)) == count - len(expected)


def test_odd_circles_that_share_vertices_are_shrunk() -> None:
    # Two triangles on a path: the greedy beginning must be undone twice.
    edges = {(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6), (1, 7)}
    assert pairs(matched(8, edges)) == 4
