"""Plans: sound, as good as can be on small problems, never worse than the paper's."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.planners.colocate.cases import Literal, drawn, problems, table_of
from tests.planners.colocate.predictors import Counting, Queueing, Random
from tests.tiers import examples

from brokerwise.model.colocation import ColocationPlan
from brokerwise.model.plan import Status
from brokerwise.planners.colocate.problem import ALGORITHMS, Demand, Options, Problem
from brokerwise.planners.colocate.solve import solve


def brokers_of(plan: ColocationPlan) -> list[list[int]]:
    rows = plan.replicas
    return [np.flatnonzero(rows.broker == b).tolist() for b in range(rows.brokers)]


@settings(max_examples=examples(40))
@given(problem=problems(most=8))
def test_search_finds_and_proves_the_fewest_brokers(problem: Problem) -> None:
    literal = Literal(problem)
    optimum = literal.fewest()
    plan = solve(problem, Options())
    literal.check(brokers_of(plan))
    assert (plan.objective, plan.bound, plan.status) == (optimum, optimum, "optimal")


@settings(max_examples=examples(30))
@given(problem=problems(most=7))
def test_every_algorithm_is_sound_and_its_bound_holds(problem: Problem) -> None:
    literal = Literal(problem)
    optimum = literal.fewest()
    for algorithm in ALGORITHMS:
        plan = solve(problem, Options(algorithm))
        literal.check(brokers_of(plan))
        assert plan.bound is not None and plan.objective is not None
        assert plan.bound <= optimum <= plan.objective == plan.replicas.brokers
        if problem.k <= 2 and algorithm != "ffd":
            assert algorithm == "hybrid" or plan.objective == optimum


@pytest.mark.parametrize(
    ("cores", "whole"), [(1.0, False), (1.5, True), (2.0, False), (3.0, True)]
)
def test_search_never_uses_more_than_the_others(cores: float, whole: bool) -> None:
    problem = Problem(drawn(28, 7, whole=whole), Queueing(cores=cores), 6)
    others = {
        name: solve(problem, Options(name)).objective or 0
        for name in ("ffd", "hybrid", "lfs")
    }
    plan = solve(problem, Options())
    Literal(problem).check(brokers_of(plan))
    assert plan.objective is not None and plan.bound is not None
    assert plan.bound <= plan.objective <= min(others.values())
    assert plan.figures["ffd"] == others["ffd"]
    assert plan.figures["hybrid"] == others["hybrid"]
    assert plan.objective - plan.bound <= 1


def test_seventy_topics_of_six_take_a_bounded_number_of_predictions() -> None:
    for cores in (1.0, 2.0):
        counting = Counting(Queueing(cores=cores))
        problem = Problem(drawn(70, 1, whole=False), counting, 6)
        plan = solve(problem, Options())
        asked = sum(rows * size for rows, size in counting.shapes)
        assert asked < 2_500_000  # at 1 to 2 microseconds each
        assert len(counting.shapes) * 4 < sum(rows for rows, _ in counting.shapes)
        assert plan.objective is not None and plan.bound is not None
        assert plan.objective - plan.bound <= 1


@pytest.mark.parametrize("monotone", [True, False])
def test_the_same_seed_gives_the_same_plan(monotone: bool) -> None:
    problem = Problem(
        drawn(40, 2, whole=False), Queueing(cores=1.5, monotone=monotone), 5
    )
    first, again = solve(problem, Options(seed=3)), solve(problem, Options(seed=3))
    assert first.replicas.broker.tolist() == again.replicas.broker.tolist()
    assert dict(first.figures) == dict(again.figures)


def test_no_topics_need_no_brokers_and_one_topic_one() -> None:
    for rows, brokers in ((), 0), (((5, 10),), 1):
        plan = solve(Problem(table_of(*rows), Queueing(), 3), Options())
        assert (plan.objective, plan.bound, plan.status) == (
            brokers,
            brokers,
            "optimal",
        )


def test_predictions_of_a_plan_are_those_of_its_brokers() -> None:
    problem = Problem(drawn(20, 2), Queueing(cores=2.0), 4)
    plan = solve(problem, Options())
    demand = Demand.of(problem)
    for members in brokers_of(plan):
        p90 = problem.predictor.p90_ms(
            demand.processing_ms[members][None], demand.rate_per_second[members][None]
        )
        stated = plan.replicas.predicted_p90_ms[members]
        np.testing.assert_allclose(stated, p90[0], rtol=1e-12)
        assert (stated <= demand.limit_ms[members]).all()


def test_with_as_many_brokers_search_leaves_more_room_than_first_fit() -> None:
    topics = table_of(*((5.0, rate) for rate in (48, 46, 44, 30, 20, 10, 6, 4)))
    problem = Problem(topics, Queueing(cores=2.0), 4)
    limit = Demand.of(problem).limit_ms
    first, best = solve(problem, Options("ffd")), solve(problem, Options())
    assert first.objective == best.objective == 2
    used = [float((p.replicas.predicted_p90_ms / limit).mean()) for p in (first, best)]
    assert used[1] < used[0]


def test_each_topic_has_its_own_target_and_a_margin_below_it() -> None:
    topics = table_of((10, 30, 100.0), (10, 30, 60.0), (10, 30, 100.0))
    apart = solve(Problem(topics, Queueing(), 2, 0.0), Options())
    assert apart.objective == 2
    for target, margin, brokers in ((60.0, 0.0, 2), (60.0, 0.5, 2), (60.0, 0.6, 3)):
        table = replace(topics, target_ms=np.full(3, target))
        plan = solve(Problem(table, Queueing(), 2, margin), Options())
        assert plan.objective == brokers, (target, margin)


def test_stop_ends_the_search_with_what_it_has() -> None:
    problem = Problem(drawn(50, 1, whole=False), Queueing(cores=2.0), 6)
    plan = solve(problem, Options(stop=lambda: True))
    Literal(problem).check(brokers_of(plan))
    assert plan.options["stopped"] == "time"
    assert plan.objective == solve(problem, Options("ffd")).objective


def test_a_model_that_contradicts_itself_is_counted_and_not_followed() -> None:
    problem = Problem(table_of(*((float(p), 1.0) for p in range(1, 9))), Random(0.6), 4)
    plan = solve(problem, Options())
    Literal(problem).check(brokers_of(plan))
    assert 0 < plan.figures["contradicted"] < plan.figures["agreed"]
    assert not plan.figures["monotone"]


def test_a_plan_without_a_way_out_is_infeasible() -> None:
    plan = solve(Problem(table_of((10, 101)), Queueing(), 2), Options())
    assert plan.status is Status.INFEASIBLE
    assert (plan.objective, plan.bound, plan.gap, len(plan.replicas)) == (
        *(None, None, None),
        0,
    )
