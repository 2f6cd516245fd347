"""The whole search, with parts of it forced or left out."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, Case
from tests.planners.fill.columns.parts import (
    HARD,
    best_of_hard,
    case_of,
    check_patterns,
)
from tests.planners.fill.oracle import most_by_brute_force
from tests.planners.fill.stopping import After
from tests.tiers import examples

from brokerwise.planners.fill.columns import diving, search
from brokerwise.planners.fill.columns.branching import Branching
from brokerwise.planners.fill.columns.diving import dive, search_nearby


@settings(max_examples=examples(60))
@given(case=CASES, questions=st.integers(0, 200), seed=st.integers(0, 3))
def test_it_may_end_anywhere(case: Case, questions: int, seed: int) -> None:
    topics, capacities = case
    best = most_by_brute_force(topics, capacities)
    assert best is not None
    found = case_of(case, stop=After(questions))
    search.search(found, [], seed)
    assert found.best.value <= best <= found.bound
    assert check_patterns(found.best.patterns, topics, found.supply) == max(
        0, found.best.value
    )


@pytest.mark.parametrize("left_out", ["dive", "combine", None])
@settings(max_examples=examples(40))
@given(case=CASES)
def test_it_finds_the_best_from_nothing(left_out: str | None, case: Case) -> None:
    best = most_by_brute_force(*case)
    found = case_of(case)
    if left_out is None:
        search.search(found, [], 0)
    else:
        with patch.object(search, left_out, lambda *_, **__: []):
            search.search(found, [], 0)
    assert best is not None
    assert found.best.value == best <= found.bound


@pytest.mark.parametrize("seed", range(3))
def test_patterns_may_be_combined_at_any_time(seed: int) -> None:
    topics, _ = HARD
    found = case_of(HARD, work=100_000_000)
    with patch.object(search, "_PATTERNS", 0), patch.object(search, "_PATIENCE", 1):
        search.search(found, [], seed)
    assert found.best.value <= best_of_hard() <= found.bound
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


def test_where_nothing_is_left_to_split_it_goes_on_nearby() -> None:
    topics, _ = HARD
    found = case_of(HARD)
    with (
        patch.object(Branching, "advance", lambda _: False),
        patch.object(search, "_PATIENCE", 2),
    ):
        search.search(found, [], 0)
    assert found.best.value <= best_of_hard() <= found.bound
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


@pytest.mark.parametrize("split", [True, False])
@settings(max_examples=examples(60))
@given(case=CASES, seed=st.none() | st.integers(0, 5), kept=st.sampled_from([1, 300]))
def test_a_dive_ends_with_a_plan(
    split: bool, case: Case, seed: int | None, kept: int
) -> None:
    topics, capacities = case
    best = most_by_brute_force(topics, capacities)
    found = case_of(case)
    random = None if seed is None else np.random.default_rng(seed)
    with patch.object(diving, "_KEPT", kept):
        dive(found, [], [], split=split, random=random)
    assert best is not None
    assert 0 < found.best.value <= best
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


@settings(max_examples=examples(60))
@given(case=CASES, brokers=st.integers(1, 4), split=st.booleans())
def test_a_search_nearby_never_makes_it_worse(
    case: Case, brokers: int, split: bool
) -> None:
    topics, _ = case
    found = case_of(case)
    found.relax([], {})
    before = found.best.value
    better = search_nearby(found, brokers, np.random.default_rng(1), split=split)
    assert better == (found.best.value > before)
    assert found.best.value >= before
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value
