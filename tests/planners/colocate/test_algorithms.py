"""The paper's algorithms against themselves, line by line."""

import numpy as np
import pytest
from benchmarks.reference import colocate_literal as literal_algorithms
from hypothesis import given
from hypothesis import strategies as st
from tests.planners.colocate.cases import (
    Literal,
    drawn,
    oracle_of,
    problems,
    table_of,
)
from tests.planners.colocate.predictors import Counting, Queueing

from brokerwise.planners.colocate.heuristics import Effort, descending, ffd, hybrid, lfs
from brokerwise.planners.colocate.problem import Problem


def sets_of(brokers: list[list[int]]) -> list[list[int]]:
    return sorted(sorted(members) for members in brokers)


@given(problem=problems())
def test_first_fit_is_algorithm_1(problem: Problem) -> None:
    oracle, literal = oracle_of(problem), Literal(problem)
    model = literal_algorithms.Model(problem.topics, problem.predictor, 0.1, True)
    order = descending(oracle, list(problem.topics.names))
    assert order.tolist() == model.in_order()
    expected = literal_algorithms.ffd(model.in_order(), problem.k, literal.feasible)
    assert ffd(oracle, order) == expected


@given(problem=problems(), opening=st.integers(1, 4))
def test_largest_sets_and_the_hybrid_are_algorithms_2_and_3(
    problem: Problem, opening: int
) -> None:
    """But for which maximum matching of what is left is found."""
    opening = min(opening, problem.k)
    oracle, literal = oracle_of(problem), Literal(problem)
    order = descending(oracle, list(problem.topics.names))
    pairs = [
        (
            lfs(oracle, order, Effort()),
            literal_algorithms.lfs(order.tolist(), problem.k, literal.feasible),
        ),
        (
            hybrid(oracle, order, opening, Effort()),
            literal_algorithms.hybrid(
                order.tolist(), problem.k, opening, literal.feasible
            ),
        ),
    ]
    for found, expected in pairs:
        literal.check(found)
        assert len(found) == len(expected)
        larger = [[m for m in b if len(m) > 2] for b in (found, expected)]
        assert sets_of(larger[0]) == sets_of(larger[1])


@pytest.mark.parametrize("cores", [1.0, 2.0])
def test_the_hybrid_goes_from_first_fit_to_largest_sets(cores: float) -> None:
    problem = Problem(drawn(24, 3), Queueing(cores=cores), 4)
    oracle = oracle_of(problem)
    order = descending(oracle, list(problem.topics.names))
    assert hybrid(oracle, order, 1, Effort()) == ffd(oracle, order)
    assert hybrid(oracle, order, 4, Effort()) == lfs(oracle, order, Effort())
    assert hybrid(oracle, order, 9, Effort()) == lfs(oracle, order, Effort())
    between = hybrid(oracle, order, 3, Effort()) not in (
        ffd(oracle, order),
        lfs(oracle, order, Effort()),
    )
    assert between == (cores == 1.0)


@pytest.mark.parametrize("cores", [1.0, 2.0])
def test_what_is_left_out_by_dominance_makes_no_difference(cores: float) -> None:
    topics = drawn(500, 5, whole=False)
    plans = []
    for monotone in (True, False):
        counting = Counting(Queueing(cores=cores, monotone=monotone))
        oracle = oracle_of(Problem(topics, counting, 6))
        order = descending(oracle, list(topics.names))
        plans.append(ffd(oracle, order))
        assert len(counting.shapes) < oracle.predicted / 20  # asked in batches
        plans.append([[oracle.predicted]])
    assert plans[0] == plans[2] and plans[1] < plans[3]


def test_two_topics_on_a_broker_are_matched_even_if_two_is_where_it_begins() -> None:
    # a fits with b and c, b only with a: the first pair found, a and c, would leave
    # b and d alone.
    problem = Problem(
        table_of((10, 40), (10, 30), (10, 5), (10, 55)), Queueing(), 2, 0.3
    )
    oracle, literal = oracle_of(problem), Literal(problem)
    found = lfs(oracle, np.arange(4, dtype=np.int32), Effort())
    literal.check(found)
    assert len(found) == literal.fewest()


def test_work_is_limited_and_the_rest_is_done_by_first_fit() -> None:
    problem = Problem(drawn(60, 2, whole=False), Queueing(), 6)
    oracle = oracle_of(problem)
    order = descending(oracle, list(problem.topics.names))
    effort = Effort(most_rows=200)
    found = lfs(oracle, order, effort)
    Literal(problem).check(found)
    assert effort.stopped == "work"
    tired = Effort(stop=lambda: True)
    assert lfs(oracle, order, tired) == ffd(oracle, order)
    assert tired.stopped == "time"


def test_topics_go_by_latency_then_by_the_bytes_of_their_names() -> None:
    topics = table_of((5, 10), (10, 10), (5, 10), (5, 10))
    oracle = oracle_of(Problem(topics, Queueing(), 2))
    order = descending(oracle, ["b", "z", "é", "a"])
    assert order.tolist() == [1, 3, 0, 2]
