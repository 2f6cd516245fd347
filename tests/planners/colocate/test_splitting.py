"""Topics that miss alone: cut into the fewest replicas, or refused in words."""

from dataclasses import replace

import numpy as np
import pytest
from tests.planners.colocate.cases import Literal, drawn, table_of
from tests.planners.colocate.predictors import Function, Queueing

from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.plan import Status
from brokerwise.planners.colocate.alone import (
    alone,
    largest_rate,
    misses,
    replicas_needed,
)
from brokerwise.planners.colocate.problem import Demand, Observation, Options, Problem
from brokerwise.planners.colocate.solve import solve

BUSY = table_of((10, 350), (10, 20), (5, 40), target=100.0)
"""The first needs three and a half cores."""


def test_it_is_cut_into_the_fewest_equal_replicas_each_on_another_broker() -> None:
    problem = Problem(BUSY, Queueing(), 3)
    plan = solve(problem, Options(split=True))
    demand = Demand.of(problem, np.bincount(plan.replicas.topic))
    rows = plan.replicas
    Literal(problem, demand).check(
        [np.flatnonzero(rows.broker == b).tolist() for b in range(rows.brokers)]
    )
    rates = plan.replicas.rate_per_second[plan.replicas.topic == 0]
    assert len(set(rates.tolist())) == 1 and rates.sum() == pytest.approx(350)
    one = np.array([0])
    assert alone(problem, one, rates[:1]).all()
    assert not alone(problem, one, np.array([350 / (len(rates) - 1)])).any()
    homes = plan.replicas.broker[plan.replicas.topic == 0].tolist()
    assert len(set(homes)) == len(homes) == plan.replicas.number.max() + 1
    assert plan.figures["split"] == 1 and plan.figures["replicas"] == len(rates) + 2
    assert len(rates) == 5 and plan.objective == plan.bound


def test_without_split_the_reason_has_the_largest_rate_that_works() -> None:
    problem = Problem(BUSY, Queueing(), 3)
    plan = solve(problem, Options())
    assert plan.status is Status.INFEASIBLE
    most = largest_rate(problem, 0)
    one = np.array([0])
    assert alone(problem, one, np.array([most])).all()
    assert not alone(problem, one, np.array([most * (1 + 1e-6)])).any()
    assert 'topic "a" misses its target on a broker of its own' in plan.reason
    assert "at 350 messages a second" in plan.reason
    assert "at most" not in plan.reason.split(";")[0]
    assert "the most that is allowed is 90 ms (its target of 100 ms less 10 %)" in (
        plan.reason
    )
    assert f"the largest rate that works is {most:,.4g} a second" in plan.reason
    assert "so 5 replicas would be enough" in plan.reason


@pytest.mark.parametrize("rate", [1e5, 1e12, 1e300])
def test_a_rate_beyond_all_measure_still_has_a_largest_one_that_works(
    rate: float,
) -> None:
    modest = largest_rate(Problem(BUSY, Queueing(), 3), 0)
    problem = Problem(table_of((10, rate), (5, 40)), Queueing(), 3)
    assert largest_rate(problem, 0) == pytest.approx(modest, rel=1e-8)
    for split in (False, True):
        plan = solve(problem, Options(split=split))
        assert plan.status is Status.INFEASIBLE
        assert plan.reason.endswith(
            f"the largest rate that works is {modest:,.4g} a second, so more than "
            "1,000 replicas would be needed, and a topic is cut into no more"
        )


def test_a_thousand_replicas_are_the_most() -> None:
    most = largest_rate(Problem(BUSY, Queueing(), 3), 0)
    table = table_of((10, 999.9 * most), (10, 1000.1 * most))
    needed = replicas_needed(Problem(table, Queueing(), 3), np.array([0, 1]))
    assert needed.tolist() == [1000, 0]


def test_the_largest_rate_is_found_where_a_model_frowns_on_the_least_ones() -> None:
    def p90(_: Float64s, rates: Float64s) -> Float64s:
        return np.where((rates > 20) & (rates < 40), 50.0, 150.0)

    problem = Problem(table_of((10, 100)), Function(p90), 2)
    assert largest_rate(problem, 0) == pytest.approx(40, rel=1e-8)
    assert "the largest rate that works is 40 a second, so 3 replicas" in (
        solve(problem, Options()).reason
    )


def test_processing_that_takes_too_long_cannot_be_split() -> None:
    problem = Problem(table_of((95, 1), (200, 1), (5, 1)), Queueing(), 3)
    assert misses(problem).tolist() == [0, 1]
    assert replicas_needed(problem, misses(problem)).tolist() == [0, 0]
    for split in (False, True):
        plan = solve(problem, Options(split=split))
        assert plan.status is Status.INFEASIBLE
        assert "no rate is low enough: its processing alone takes too long" in (
            plan.reason
        )
        assert plan.reason.endswith("1 more topic misses alone")


def test_the_topic_that_no_cut_helps_is_the_one_that_is_spoken_of() -> None:
    slow, busy, absurd = (95, 1), (10, 350), (10, 1e12)
    cases = {
        (busy, (5, 40)): ("a", "split"),
        (busy, slow): ("b", "target"),
        (busy, absurd): ("b", "rate"),
        (absurd, slow): ("a", "rate"),
    }
    for rows, (name, remedy) in cases.items():
        plan = solve(Problem(table_of(*rows), Queueing(), 3), Options())
        assert plan.reason.startswith(f'topic "{name}" misses'), rows
        assert plan.remedy == remedy, rows
        with_split = solve(Problem(table_of(*rows), Queueing(), 3), Options(split=True))
        assert (with_split.status is not Status.INFEASIBLE) == (remedy == "split")
        assert with_split.remedy == ("" if remedy == "split" else remedy)


def test_what_a_slow_topic_has_at_best_is_said() -> None:
    plan = solve(Problem(table_of((95, 1)), Queueing(), 3), Options())
    assert plan.reason.endswith("its processing alone takes too long, 95 ms at best")


def test_a_topic_seen_to_miss_alone_is_cut_or_refused() -> None:
    topics = table_of((10, 30), (10, 20))
    missed = (Observation((0,), (20.0,)),)
    problem = Problem(topics, Queueing(), 2, missed=missed)
    assert solve(problem, Options()).reason.endswith(
        "it was seen to; only rates below 20 a second were not seen to, so 2 replicas "
        "would be enough"
    )
    plan = solve(problem, Options(split=True))
    assert plan.replicas.rate_per_second.tolist() == [15.0, 15.0, 20.0]


def test_a_topic_seen_to_meet_its_target_is_not_cut() -> None:
    problem = Problem(BUSY, Queueing(), 3, met=(Observation((0, 1), (350.0, 20.0)),))
    plan = solve(problem, Options())
    assert plan.replicas.number.tolist() == [0] * len(BUSY)
    assert plan.objective == 2


def test_replicas_are_not_called_like_other_topics() -> None:
    def named(*names: str) -> Problem:
        return Problem(replace(BUSY, names=Names.of(names)), Queueing(), 3)

    taken = named("a", "b", "a~5")
    with pytest.raises(InputError, match="topic: found 'a~5' beside 'a'"):
        solve(taken, Options(split=True))
    assert solve(taken, Options()).remedy == "split"
    for other in ("a~0", "a~6", "a~", "b~1", "a~05"):
        plan = solve(named("a", "b", other), Options(split=True))
        assert plan.status is Status.OPTIMAL, other


def test_many_topics_that_miss_are_cut_and_packed() -> None:
    topics = drawn(40, 3)
    fast = topics.rate_per_second.copy()
    fast[::5] *= 3
    table = type(topics)(topics.names, topics.processing_ms, fast, topics.target_ms)
    problem = Problem(table, Queueing(), 4)
    plans = {name: solve(problem, Options(name, split=True)) for name in ("ffd", "lfs")}
    plans["search"] = solve(problem, Options(split=True))
    for plan in plans.values():
        demand = Demand.of(problem, np.bincount(plan.replicas.topic))
        rows = plan.replicas
        Literal(problem, demand).check(
            [np.flatnonzero(rows.broker == b).tolist() for b in range(rows.brokers)]
        )
    assert plans["search"].figures["split"] > 2
    least = min(plan.objective or 0 for plan in plans.values())
    assert plans["search"].objective == least >= (plans["search"].bound or 0)
