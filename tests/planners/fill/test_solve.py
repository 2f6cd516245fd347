"""From a workload to a plan that an audit accepts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.oracle import (
    Topic,
    most_by_brute_force,
    most_by_splitting,
)
from tests.planners.fill.stopping import After
from tests.tiers import examples

from brokerwise.auditing.memory import violations
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth, BrokerType, Fleet
from brokerwise.model.plan import Plan, Status
from brokerwise.model.workload import PLAIN, Weights, Workload
from brokerwise.pipeline.trace import RateRange, Uniform, draw_rates, pair_blocks
from brokerwise.planners.fill.problem import ALGORITHMS, BOUNDS, Options
from brokerwise.planners.fill.solve import Problem, solve

TOPICS = 4


@st.composite
def workloads(draw: Any, pairs: int = 12, rate: int = 7) -> Workload:
    every = [(t, s) for t in range(TOPICS) for s in range(4)]
    wanted = draw(st.lists(st.sampled_from(every), max_size=pairs, unique=True))
    rates = draw(st.lists(st.integers(0, rate), min_size=TOPICS, max_size=TOPICS))
    return Workload.from_pairs(
        topics=[t for t, _ in wanted], subscribers=[s for _, s in wanted], rates=rates
    )


@st.composite
def weights_for(draw: Any, workload: Workload) -> Weights:
    def some(count: int) -> Any:
        found = st.lists(st.integers(0, 4), min_size=count, max_size=count)
        return draw(st.none() | found.map(lambda w: np.array(w, np.int64)))

    return Weights(some(workload.topics), some(workload.subscribers))


@st.composite
def fleets(draw: Any) -> Fleet:
    sizes = draw(st.lists(st.integers(1, 26), min_size=1, max_size=2, unique=True))
    kinds = [BrokerType(f"b{s}", s, draw(st.integers(1, 2))) for s in sizes]
    return Fleet(tuple(kinds))


@st.composite
def problems(draw: Any) -> Problem:
    workload = draw(workloads())
    return Problem(workload, draw(fleets()), draw(weights_for(workload)))


def topics_of(problem: Problem) -> list[Topic]:
    """Those that send something, with the weight of every pair."""
    workload, weights = problem.workload, problem.weights
    found: list[Topic] = []
    for topic in np.flatnonzero(workload.rates):
        of_topic = 1 if weights.topics is None else int(weights.topics[topic])
        pairs = [
            of_topic
            * (1 if weights.subscribers is None else int(weights.subscribers[s]))
            for s in range(workload.subscribers)
            if topic in workload.interests.of(s)
        ]
        found.append((int(workload.rates[topic]), pairs))
    return found


def capacities_of(fleet: Fleet) -> list[int]:
    return [kind.capacity for kind in fleet for _ in range(kind.count or 0)]


def checked(plan: Plan, problem: Problem) -> Plan:
    assert violations(plan, problem.workload) == []
    assert (plan.status is Status.OPTIMAL) == (plan.objective == plan.bound)
    assert plan.kind == "fill"
    served = np.bincount(plan.selected.topics, minlength=problem.workload.topics)
    wanted = problem.workload.followers()
    silent = problem.workload.rates == 0
    assert served[silent].tolist() == wanted[silent].tolist()
    return plan


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=examples(60))
@given(problem=problems())
def test_plans_are_sound_and_bounds_hold(algorithm: str, problem: Problem) -> None:
    plan = checked(solve(problem, Options(algorithm)), problem)
    assert isinstance(problem.fleet, Fleet)
    best = most_by_brute_force(topics_of(problem), capacities_of(problem.fleet))
    assert plan.objective is not None and plan.bound is not None and best is not None
    assert plan.objective <= best <= plan.bound <= plan.figures["bound_paper"]
    if algorithm in ("columns", "ilp"):
        assert plan.objective == best
        assert plan.status is Status.OPTIMAL


@settings(max_examples=examples(60))
@given(problem=problems())
def test_figures_are_those_of_the_plan(problem: Problem) -> None:
    plan = solve(problem, Options())
    workload, figures = problem.workload, plan.figures
    rates = workload.rates
    chosen = int(rates[plan.selected.topics].sum())
    wanted = int(rates[workload.interests.topics].sum())
    assert figures["delivered"] == figures["outgoing"] == chosen
    assert figures["wanted"] == wanted
    percent = 100 * chosen / wanted if wanted else 100
    assert figures["delivered_percent"] == pytest.approx(percent)
    assert figures["pairs"] == len(plan.selected.topics)
    assert plan.load == figures["incoming"] + figures["outgoing"]
    largest = max(kind.capacity for kind in problem.fleet)  # type: ignore[union-attr]
    fit_nowhere = [
        t for t, n in enumerate(workload.followers()) if n and 2 * rates[t] > largest
    ]
    assert figures["left_out"] == len(fit_nowhere)
    if problem.weights.plain:
        assert plan.objective == chosen
        assert "weighted_wanted" not in figures
    else:
        everything = sum(rate * sum(pairs) for rate, pairs in topics_of(problem))
        assert figures["weighted_wanted"] == everything
    assert plan.options == {"algorithm": "columns", "bound": "certified"}


@st.composite
def splits(draw: Any) -> Problem:
    workload = draw(workloads(pairs=9))
    bandwidth = Bandwidth(draw(st.integers(1, 24)), draw(st.integers(1, 24)))
    return Problem(workload, bandwidth, draw(weights_for(workload)))


@pytest.mark.parametrize("algorithm", ["greedy", "mkp", "columns"])
@settings(max_examples=examples(50))
@given(problem=splits())
def test_splits_are_sound(algorithm: str, problem: Problem) -> None:
    plan = checked(solve(problem, Options(algorithm)), problem)
    bandwidth = problem.fleet
    assert isinstance(bandwidth, Bandwidth)
    sizes = capacities_of(plan.fleet)
    assert sum(sizes) <= bandwidth.total
    assert max(sizes) <= bandwidth.max_broker
    assert all(kind.name == f"broker-{kind.capacity}" for kind in plan.fleet)
    assert plan.options["total_bandwidth"] == bandwidth.total
    assert plan.options["max_broker"] == bandwidth.max_broker
    best = most_by_splitting(topics_of(problem), bandwidth.total, bandwidth.max_broker)
    assert plan.objective is not None and plan.bound is not None
    assert plan.objective <= best <= plan.bound
    assert algorithm != "columns" or plan.objective == best


@settings(max_examples=examples(40))
@given(problem=problems(), questions=st.integers(0, 20), bound=st.sampled_from(BOUNDS))
def test_a_plan_that_was_stopped_says_so_and_is_sound(
    problem: Problem, questions: int, bound: str
) -> None:
    options = Options(bound=bound, stop=After(questions))
    plan = checked(solve(problem, options), problem)
    assert plan.options.get("stopped") in (None, "time")


def test_what_was_stopped_is_marked() -> None:
    rng = np.random.default_rng(1)
    workload = Workload.from_pairs(
        topics=rng.integers(0, 40, 300).tolist(),
        subscribers=rng.integers(0, 60, 300).tolist(),
        rates=rng.integers(8, 20, 40).tolist(),
    )
    problem = Problem(workload, Fleet.of(4, 200))
    plan = checked(solve(problem, Options(stop=lambda: True)), problem)
    assert plan.options["stopped"] == "time"
    assert plan.status is Status.FEASIBLE


def uniform(seed: int) -> Workload:
    trace = Uniform(topics=60, subscribers=60, each=5, rates=RateRange(8, 19))
    ((topics, subscribers),) = pair_blocks(trace, seed)
    return Workload.from_pairs(
        topics=topics.tolist(),
        subscribers=subscribers.tolist(),
        rates=draw_rates(trace, seed),
    )


@pytest.mark.parametrize("algorithm", ["greedy", "mkp", "columns"])
def test_the_same_seed_gives_the_same_plan(algorithm: str) -> None:
    problem = Problem(uniform(1), Fleet.of(8, 500))
    one, other = (solve(problem, Options(algorithm, seed=3)) for _ in range(2))
    assert (one.objective, one.bound) == (other.objective, other.bound)
    for field in ("topic", "broker", "pairs"):
        same = getattr(one.placement, field), getattr(other.placement, field)
        assert same[0].tolist() == same[1].tolist()
    assert one.selected.topics.tolist() == other.selected.topics.tolist()
    checked(one, problem)


def test_an_empty_workload_is_optimal_without_brokers() -> None:
    workload = Workload.from_pairs(topics=[], subscribers=[], rates={})
    for fleet in (Fleet.of(3, 10), Bandwidth(30, 10)):
        for algorithm in ("greedy", "mkp", "columns"):
            problem = Problem(workload, fleet)
            plan = checked(solve(problem, Options(algorithm)), problem)
            assert (plan.status, plan.objective) == (Status.OPTIMAL, 0)
            assert len(plan.brokers) == 0
            assert plan.figures["delivered_percent"] == 100


def test_topics_that_send_nothing_are_served_even_where_nothing_else_fits() -> None:
    workload = Workload.from_pairs(
        topics=["quiet", "loud"], subscribers=["a", "a"], rates={"quiet": 0, "loud": 9}
    )
    for fleet in (Fleet.of(1, 10), Bandwidth(10, 10)):
        problem = Problem(workload, fleet)
        plan = checked(solve(problem, Options()), problem)
        assert plan.selected.topics.tolist() == [1]
        assert (plan.objective, plan.load, plan.figures["left_out"]) == (0, 0, 1)


def test_a_topic_that_fits_nowhere_does_not_hold_up_the_others() -> None:
    workload = Workload.from_pairs(
        topics=["firehose", "news", "news"],
        subscribers=["a", "a", "b"],
        rates={"firehose": 60, "news": 9, "unwanted": 80},
    )
    problem = Problem(workload, Fleet.of(2, 100))
    plan = checked(solve(problem, Options()), problem)
    assert plan.status is Status.OPTIMAL
    assert (plan.objective, plan.figures["left_out"]) == (18, 1)


def test_the_heaviest_subscribers_are_served() -> None:
    workload = Workload.from_pairs(
        topics=["news"] * 4, subscribers=["a", "b", "c", "d"], rates={"news": 5}
    )
    weights = Weights(subscribers=np.array([1, 3, 2, 3]))
    problem = Problem(workload, Fleet.of(1, 20), weights)
    plan = checked(solve(problem, Options()), problem)
    assert [v for v in range(4) if len(plan.selected.of(v))] == [1, 2, 3]
    assert (plan.objective, plan.figures["delivered"]) == (40, 15)


def test_more_bandwidth_than_fits_in_64_bits_is_not_too_much() -> None:
    problem = Problem(uniform(2), Fleet.of(3, 2**62))
    plan = checked(solve(problem, Options()), problem)
    assert plan.figures["delivered_percent"] == 100


def test_weights_of_the_wrong_length_are_refused() -> None:
    workload = uniform(1)
    with pytest.raises(InputError, match="topic_weights: found 3, expected 60"):
        Problem(workload, Fleet.of(1, 10), Weights(np.ones(3, np.int64)))
    with pytest.raises(InputError, match="subscriber_weights: found 3, expected 60"):
        Problem(workload, Fleet.of(1, 10), Weights(None, np.ones(3, np.int64)))


def test_a_fleet_without_end_is_refused() -> None:
    fleet = Fleet((BrokerType("b", 10, 2), BrokerType("endless", 10)))
    with pytest.raises(InputError, match="count of broker type 'endless': found none"):
        Problem(uniform(1), fleet, PLAIN)


@pytest.mark.parametrize(
    ("field", "value"), [("algorithm", "best"), ("bound", "loose"), ("seed", -1)]
)
def test_an_unknown_option_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{field}: found"):
        Options(**{field: value})
