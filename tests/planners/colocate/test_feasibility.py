"""What was said of sets is kept, and asked for once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planners.colocate.cases import Literal, oracle_of, problems, table_of
from tests.planners.colocate.predictors import Counting, Function, Queueing, Random

from brokerwise.kernels.colocate import heavier
from brokerwise.model.arrays import Bools, Int32s
from brokerwise.model.errors import InputError
from brokerwise.planners.colocate.feasibility import Oracle, VerdictTable
from brokerwise.planners.colocate.problem import Demand, Observation, Problem


def rule(rows: Int32s) -> Bools:
    return np.asarray(rows.sum(axis=1) % 3 != 0, np.bool_)


@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30),
        max_size=6,
    )
)
def test_each_set_is_judged_once(batches: list[list[tuple[int, int]]]) -> None:
    kept, asked = VerdictTable(2), list[tuple[int, ...]]()

    def judge(rows: Int32s) -> Bools:
        asked.extend(map(tuple, rows.tolist()))
        return rule(rows)

    for batch in batches:
        rows = np.array(batch, np.int32).reshape(-1, 2)
        assert kept.look_up(rows, judge).tolist() == rule(rows).tolist()
    assert len(asked) == len(set(asked)) == len(kept)
    longer = np.array([(a, b, 3) for a in range(6) for b in range(6)], np.int32)
    known = {row for row in asked if not rule(np.array([row], np.int32))[0]}
    for row, refuted in zip(longer.tolist(), kept.refuted(longer), strict=True):
        parts = {(row[0], row[1]), (row[0], row[2]), (row[1], row[2])}
        assert refuted == bool(parts & known)


def test_a_hundred_thousand_sets_find_room() -> None:
    rng = np.random.default_rng(1)
    kept = VerdictTable(6)
    rows = rng.integers(0, 5000, (100_000, 6)).astype(np.int32)
    for part in np.array_split(rows, 7):
        assert (kept.look_up(part, rule) == rule(part)).all()

    def never_asked(rows: Int32s) -> Bools:
        raise AssertionError("asked again")

    assert (kept.look_up(rows, never_asked) == rule(rows)).all()


@given(
    sizes=st.lists(st.tuples(*3 * [st.integers(0, 3)]), min_size=1, max_size=8),
    count=st.integers(0, 4),
)
def test_heavier_is_no_lighter_in_any_respect(
    sizes: list[tuple[int, int, int]], count: int
) -> None:
    columns = np.array(sizes, float).T.copy()
    every = np.arange(len(sizes), dtype=np.int32)
    some = every[:count]
    expected = [
        any(all(a >= b for a, b in zip(one, sizes[o], strict=True)) for o in some)
        for one in sizes
    ]
    assert heavier(columns, every, some).tolist() == expected


@st.composite
def observed(draw: st.DrawFn) -> tuple[Problem, Demand]:
    """A problem with sets that were seen, and topics that are split."""
    problem = draw(problems(most=6))
    count = len(problem.topics)
    replicas = draw(st.lists(st.integers(1, 2), min_size=count, max_size=count))
    demand = Demand.of(problem, np.array(replicas, np.int64))
    seen = []
    for _ in range(draw(st.integers(0, 2)) if count else 0):
        topics = draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3))
        shares = [draw(st.sampled_from([0.5, 1.0])) for _ in topics]
        rates = problem.topics.rate_per_second[sorted(topics)] * shares
        seen.append(Observation(tuple(sorted(topics)), tuple(rates.tolist())))
    cut = draw(st.integers(0, len(seen)))
    return (
        Problem(
            problem.topics,
            problem.predictor,
            problem.k,
            problem.margin,
            tuple(seen[:cut]),
            tuple(seen[cut:]),
        ),
        demand,
    )


@given(case=observed(), data=st.data())
def test_a_set_is_feasible_if_it_and_all_its_parts_are_and_none_was_seen_to_miss(
    case: tuple[Problem, Demand], data: st.DataObject
) -> None:
    problem, demand = case
    # Kinds must know what was observed: the demand is made again with it.
    demand = Demand.of(
        problem, np.bincount(demand.topic, minlength=len(problem.topics))
    )
    oracle, literal = Oracle(problem, demand), Literal(problem, demand)
    for _ in range(3):
        size = data.draw(st.integers(1, max(1, min(5, len(demand)))))
        if size > len(demand):
            return
        members = st.lists(
            st.integers(0, len(demand) - 1), min_size=size, max_size=size, unique=True
        )
        sets = np.array(data.draw(st.lists(members, min_size=1, max_size=6)), np.int32)
        expected = [literal.feasible(row) for row in sets.tolist()]
        assert oracle.feasible(sets).tolist() == expected


def test_a_set_is_asked_about_once_whatever_the_order_and_whoever_looks_alike() -> None:
    alike = table_of((5, 20), (5, 20), (10, 20))
    counting = Counting(Queueing())
    oracle = oracle_of(Problem(alike, counting, 3))
    sets = np.array([[0, 2], [2, 1], [1, 0], [0, 1]], np.int32)
    first = oracle.feasible(sets)
    assert counting.shapes == [(2, 2)]
    assert oracle.feasible(sets[::-1]).tolist() == first[::-1].tolist()
    assert counting.shapes == [(2, 2)] and (oracle.predicted, oracle.rows) == (2, 4)


def test_contradictions_of_a_model_are_counted() -> None:
    # It calls three topics fine, and two of them not.
    odd = Function(lambda p, r: np.full(p.shape, 150.0 if p.shape[1] == 2 else 50.0))
    oracle = oracle_of(Problem(table_of((1, 1), (2, 1), (3, 1)), odd, 3))
    assert not oracle.feasible(np.array([[0, 1, 2]], np.int32)).any()
    assert (oracle.agreed, oracle.contradicted) == (1, 1)
    trusting = oracle_of(
        Problem(
            table_of((1, 1), (2, 1), (3, 1)), Function(odd.function, monotone=True), 3
        )
    )
    assert trusting.feasible(np.array([[0, 1, 2]], np.int32)).all()
    assert trusting.contradicted == 0


def test_what_has_an_infeasible_part_is_not_asked_about() -> None:
    counting = Counting(Random(share=0.0))
    oracle = oracle_of(Problem(table_of((1, 1), (2, 1), (3, 1)), counting, 3))
    assert not oracle.feasible(np.array([[0, 1]], np.int32)).any()
    assert not oracle.feasible(np.array([[0, 1, 2]], np.int32)).any()
    assert counting.shapes == [(1, 2)]


def test_a_prediction_that_is_no_number_is_infeasible() -> None:
    broken = Function(lambda p, r: np.full(p.shape, np.nan))
    oracle = oracle_of(Problem(table_of((1, 1), (2, 1)), broken, 2))
    assert not oracle.feasible(np.array([[0, 1], [1, 0]], np.int32)).any()


def test_a_model_for_fewer_topics_and_wrong_figures_are_refused() -> None:
    topics = table_of((1, 1))
    with pytest.raises(InputError, match="knows at most 6 topics on a broker") as found:
        Problem(topics, Queueing(), 7)
    assert "k of at most 6" in found.value.hint
    with pytest.raises(InputError, match="margin: found 1, expected"):
        Problem(topics, Queueing(), 2, 1.0)
    with pytest.raises(InputError, match="k: found 0"):
        Problem(topics, Queueing(), 0)
    with pytest.raises(InputError, match="from 0 to 0"):
        Problem(topics, Queueing(), 2, missed=(Observation((1,), (1.0,)),))
    with pytest.raises(InputError, match="each topic once"):
        Observation((1, 1), (1.0, 1.0))
