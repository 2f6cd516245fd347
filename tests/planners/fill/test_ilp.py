"""The integer program, solved by HiGHS."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, Case, check, demand_of
from tests.planners.fill.oracle import Topic, most_by_brute_force
from tests.planners.fill.stopping import After
from tests.tiers import examples

from brokerwise.model.errors import InputError
from brokerwise.planners.control import Stop, never
from brokerwise.planners.fill import ilp
from brokerwise.planners.fill.filling import greedy
from brokerwise.planners.fill.ilp import fill_by_ilp
from brokerwise.planners.fill.problem import Draft, SearchResult


def found_by_ilp(case: Case, stop: Stop = never) -> tuple[int, SearchResult]:
    topics, capacities = case
    demand = demand_of(topics)
    begin = greedy(demand, np.array(capacities))
    found = fill_by_ilp(demand, np.array(capacities), begin, demand.total, stop)
    value = check(found.draft, topics, capacities)
    assert begin.value(demand) <= value <= found.bound
    return value, found


@settings(max_examples=examples(80))
@given(case=CASES)
def test_it_finds_the_best_there_is_and_proves_it(case: Case) -> None:
    value, found = found_by_ilp(case)
    assert value == found.bound == most_by_brute_force(*case)
    assert not found.stopped


@settings(max_examples=examples(40))
@given(case=CASES, questions=st.integers(0, 5))
def test_stopped_it_has_a_plan_and_a_bound(case: Case, questions: int) -> None:
    value, found = found_by_ilp(case, After(questions))
    best = most_by_brute_force(*case)
    assert best is not None
    assert value <= best <= found.bound


def test_it_tells_that_it_was_stopped() -> None:
    topics: list[Topic] = [(rate, (1,) * 5) for rate in range(8, 28)]
    value, found = found_by_ilp((topics, [200, 200, 200]), After(0))
    assert found.stopped
    assert 0 < value < found.bound


def test_a_bound_that_is_known_is_kept() -> None:
    demand = demand_of([(7, (1, 1)), (5, (1, 1))])
    begin = greedy(demand, np.array([16]))
    found = fill_by_ilp(demand, np.array([16]), begin, 10, lambda: True)
    assert found.bound == 10


def test_rates_of_a_billion_are_planned_within_capacities() -> None:
    topics = [(10**9 + 7, (1,) * 3), (10**9 - 3, (1,) * 4), (123_456_789, (1,) * 5)]
    case: Case = (list(topics), [3 * 10**9 + 1, 4 * 10**9 + 3])
    value, found = found_by_ilp(case)
    best = most_by_brute_force(*case)
    assert best is not None
    assert value <= best <= found.bound


def test_an_answer_that_is_possible_only_almost_is_not_taken() -> None:
    demand = demand_of([(7, (1, 1)), (5, (1, 1))])
    nothing = np.zeros(0, np.int64)
    begin = Draft(nothing.astype(np.int32), nothing.astype(np.int32), nothing)
    with patch.object(ilp, "_possible", lambda *_: False):
        found = fill_by_ilp(demand, np.array([16]), begin, 24, never)
    assert len(found.draft.topic) == 0
    assert found.bound == 10


def test_too_many_variables_are_refused() -> None:
    demand = demand_of([(1, (1,)), (2, (1,))])
    begin = greedy(demand, np.array([9, 9]))
    with (
        patch.object(ilp, "_MOST_VARIABLES", 3),
        pytest.raises(InputError, match="2 topics on 2 brokers are too many"),
    ):
        fill_by_ilp(demand, np.array([9, 9]), begin, 3, never)
