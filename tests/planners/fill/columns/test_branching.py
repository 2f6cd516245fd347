"""Branch and bound alone, without the searches that find plans beside it."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, Case
from tests.planners.fill.columns.parts import (
    ENOUGH,
    HARD,
    best_of_hard,
    case_of,
    check_patterns,
)
from tests.planners.fill.oracle import most_by_brute_force
from tests.planners.fill.stopping import After
from tests.tiers import examples

from brokerwise.planners.control import never
from brokerwise.planners.fill.columns import branching as module
from brokerwise.planners.fill.columns.branching import Branching


@settings(max_examples=examples(150))
@given(
    case=CASES,
    questions=st.none() | st.integers(0, 40),
    tried=st.sampled_from([1, 12]),
)
def test_the_bound_falls_and_never_below_the_best(
    case: Case, questions: int | None, tried: int
) -> None:
    topics, capacities = case
    best = most_by_brute_force(topics, capacities)
    assert best is not None
    stop = never if questions is None else After(questions)
    found = case_of(case, work=ENOUGH, stop=stop)
    root = found.relax([], {})
    found.bound = min(found.bound, root.bound)
    branching = Branching(found, root)
    with patch.object(module, "_TRIED", tried):
        for _ in range(200):
            before = found.bound
            more = branching.advance()
            assert best <= found.bound <= before
            assert found.best.value <= best
            if not more:
                break
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


@pytest.mark.parametrize("questions", [*range(0, 60, 4), 100, 200, 400, 800])
def test_wherever_it_is_stopped_the_bound_holds(questions: int) -> None:
    topics, _ = HARD
    found = case_of(HARD, stop=After(questions))
    root = found.relax([], {})
    found.bound = min(found.bound, root.bound)
    branching = Branching(found, root)
    for _ in range(40):
        if not branching.advance():
            break
    assert found.best.value <= best_of_hard() <= found.bound
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


def test_it_ends_where_bound_and_plan_meet() -> None:
    topics = [(4, (1, 1, 1))] * 5 + [(7, (1, 1)), (3, (1, 1, 1, 1))]
    capacities = [25, 25, 25]
    found = case_of((list(topics), capacities))
    root = found.relax([], {})
    branching = Branching(found, root)
    steps = 0
    while branching.advance():
        steps += 1
        assert steps < 2000
    assert not branching.advance()
    assert found.best.value <= found.bound
