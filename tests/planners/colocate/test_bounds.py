"""Bounds hold: no plan has fewer brokers."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.colocate.cases import Literal, drawn, oracle_of, problems
from tests.planners.colocate.predictors import Queueing
from tests.tiers import examples

from brokerwise.model.arrays import Bools, Float64s, Int64s
from brokerwise.planners.colocate.bound import (
    counted,
    groups_of,
    pairwise,
    rounded_bound,
)
from brokerwise.planners.colocate.columns import Relaxation, fewer, packing_of, rows_of
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.problem import Demand, Problem
from brokerwise.planners.colocate.sets import Classes, Enumeration, along, chains_of
from brokerwise.planners.control import never

PLENTY = 10**9


def split(problem: Problem, data: st.DataObject) -> Demand:
    """Some topics of a problem cut in two; lower rates do no harm."""
    count = len(problem.topics)
    replicas = data.draw(st.lists(st.integers(1, 2), min_size=count, max_size=count))
    return Demand.of(problem, np.array(replicas, np.int64))


@given(problem=problems(most=6), data=st.data())
def test_bounds_from_counts_and_pairs_hold(
    problem: Problem, data: st.DataObject
) -> None:
    demand = split(problem, data)
    oracle, optimum = Oracle(problem, demand), Literal(problem, demand).fewest()
    bounds = {**counted(oracle), **pairwise(oracle)}
    assert max(bounds.values()) <= optimum
    if problem.k == 2 and len(demand):
        assert bounds["matching"] == optimum


@settings(max_examples=examples(30))
@given(problem=problems(most=6), data=st.data())
def test_the_linear_program_and_its_sets_hold(
    problem: Problem, data: st.DataObject
) -> None:
    demand = split(problem, data)
    oracle, literal = Oracle(problem, demand), Literal(problem, demand)
    if not len(demand):
        return
    classes = Classes.among(oracle)
    alone = rows_of([[r] for r in range(len(demand))], classes, problem.k)
    relaxation = Relaxation.of(oracle, classes, alone)
    relaxation.improve(len(demand) + 1, PLENTY, never)
    optimum = literal.fewest()
    assert relaxation.solved and relaxation.bound <= optimum
    found = fewer(relaxation, optimum, PLENTY, 1000, never)
    assert found.packing is not None and len(found.packing) <= optimum
    literal.check(found.packing)
    assert fewer(relaxation, optimum - 1, PLENTY, 1000, never).impossible


@given(problem=problems(most=7, monotone=True))
def test_topics_rounded_down_need_no_more_brokers(problem: Problem) -> None:
    if len(problem.topics):
        demand, most = Demand.of(problem), len(problem.topics) + 1
        bound = rounded_bound(problem, demand, most, PLENTY, never)
        assert bound <= Literal(problem).fewest()


@pytest.mark.parametrize("cores", [1.0, 2.0])
def test_few_groups_come_near_the_bound_of_all_topics(cores: float) -> None:
    problem = Problem(drawn(40, 1, whole=False), Queueing(cores=cores), 4)
    demand = Demand.of(problem)
    bounds = []
    for most in (4, 12, 40):
        groups = groups_of(demand, most)
        assert len(groups.number) == most and groups.number.sum() == 40
        for size in ("processing_ms", "rate_per_second"):
            assert (getattr(groups, size)[groups.of] <= getattr(demand, size)).all()
        assert (groups.limit_ms[groups.of] >= demand.limit_ms).all()
        load = groups.processing_ms * groups.rate_per_second * groups.number
        bounds.append(load.sum())
    assert bounds[0] < bounds[1] < bounds[2]
    assert bounds[2] == pytest.approx(1000 * demand.load.sum())


def worth_of(classes: Classes, seed: int) -> Float64s:
    return np.random.default_rng(seed).random(len(classes))


@given(problem=problems(most=7), seed=st.integers(0, 9), limit=st.floats(0.2, 2.0))
def test_all_feasible_sets_that_are_worth_more_are_found(
    problem: Problem, seed: int, limit: float
) -> None:
    oracle, literal = oracle_of(problem), Literal(problem)
    if not len(problem.topics):
        return
    classes = Classes.among(oracle)
    worth, members = worth_of(classes, seed), classes.members()
    found = Enumeration(oracle, classes, worth, limit).run(PLENTY, PLENTY)
    assert found.complete
    expected = set()
    for size in range(1, problem.k + 1):
        for row in combinations_with_replacement(range(len(classes)), size):
            if all(row.count(c) <= len(members[c]) for c in row):
                replicas = [members[c][row[:at].count(c)] for at, c in enumerate(row)]
                if sum(worth[list(row)]) > limit and literal.feasible(replicas):
                    expected.add(row)
    rows = [tuple(c for c in row if c < len(classes)) for row in found.rows.tolist()]
    assert set(rows) == expected and len(rows) == len(expected)


def test_a_search_that_is_narrow_or_out_of_work_says_so() -> None:
    oracle = oracle_of(Problem(drawn(20, 4), Queueing(cores=2.0), 4))
    classes = Classes.among(oracle)
    worth = worth_of(classes, 1)
    assert not Enumeration(oracle, classes, worth, 0.5).run(3, PLENTY).complete
    assert not Enumeration(oracle, classes, worth, 0.5).run(PLENTY, 0).complete
    every = Enumeration(oracle, classes, worth, 0.5).run(PLENTY, PLENTY)
    assert every.complete and len(every.value) > 100


@given(
    answers=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=40),
    ends=st.lists(st.integers(-1, 6), min_size=5, max_size=5),
)
def test_answers_along_a_line_are_found_by_halving(
    answers: list[tuple[int, int]], ends: list[int]
) -> None:
    every = np.array(answers, np.int64).reshape(-1, 2)
    line, place = every[:, 0], every[:, 1]
    truth = place <= np.array(ends)[line]
    asked: list[int] = []

    def ask(which: Int64s) -> Bools:
        asked.extend(which.tolist())
        return np.asarray(truth[which], np.bool_)

    assert along(line, place, ask).tolist() == truth.tolist()
    assert len(asked) <= len(answers)


def test_lines_go_from_light_to_heavy_in_every_respect() -> None:
    problem = Problem(drawn(60, 8, whole=False), Queueing(), 4)
    demand = Demand.of(problem)
    chain, place = chains_of(demand, np.arange(60, dtype=np.int32))
    assert sorted(zip(chain.tolist(), place.tolist(), strict=True)) == sorted(
        (c, p) for c in range(4) for p in range(int((chain == c).sum()))
    )
    for number in range(4):
        of = np.flatnonzero(chain == number)[np.argsort(place[chain == number])]
        assert (np.diff(demand.processing_ms[of]) >= 0).all()
        assert (np.diff(demand.rate_per_second[of]) >= 0).all()


def test_sets_of_classes_become_replicas_each_once() -> None:
    oracle = oracle_of(Problem(drawn(12, 3), Queueing(cores=2.0), 3))
    classes = Classes.among(oracle)
    brokers = [[0, 1, 2], [3, 4], [5], [6, 7, 8], [9, 10, 11]]
    rows = rows_of(brokers, classes, 3)
    packing = packing_of(np.concatenate((rows, rows[:2])), classes)
    assert sorted(r for members in packing for r in members) == list(range(12))
