from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.reference.provision_optimum import cheapest_by_highs
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.provision.oracle import (
    cheapest_by_brute_force,
    random_workload,
)
from tests.tiers import examples

from brokerwise.auditing.memory import violations
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.plan import Plan, Status
from brokerwise.model.workload import Workload
from brokerwise.planners.provision.packing.pack import PACKINGS
from brokerwise.planners.provision.portfolio import SELECTIONS, Options
from brokerwise.planners.provision.solve import Answer, Problem, affordable, solve

COMBINATIONS = [(s, p) for s in SELECTIONS for p in PACKINGS]

# Dollars that make brokers and bandwidth weigh about as much on tiny problems.
HOUR_USD = 0.01
GIGABYTE_USD = 1e5


@st.composite
def workloads(
    draw: Any, topics: int = 3, subscribers: int = 3, pairs: int = 5, rate: int = 6
) -> Workload:
    every = [(t, v) for t in range(topics) for v in range(subscribers)]
    wanted = draw(st.lists(st.sampled_from(every), max_size=pairs, unique=True))
    rates = draw(st.lists(st.integers(0, rate), min_size=topics, max_size=topics))
    workload = Workload.from_pairs(
        topics=[f"t{t}" for t, _ in wanted],
        subscribers=[f"v{v}" for _, v in wanted],
        rates={f"t{t}": r for t, r in enumerate(rates)},
    )
    if draw(st.booleans()):
        own = st.integers(-1, 8)
        size = workload.subscribers
        thresholds = draw(st.lists(own, min_size=size, max_size=size))
        workload = replace(workload, thresholds=np.array(thresholds, np.int64))
    return workload


def fleets() -> st.SearchStrategy[Fleet]:
    return st.builds(
        lambda capacity, hour, gigabyte: Fleet.types(
            BrokerType("b", capacity, hour_usd=hour), gigabyte_usd=gigabyte
        ),
        st.integers(4, 24),
        st.sampled_from([0.0, 0.001, 0.01]),
        st.sampled_from([0.0, 1e4, 1e5]),
    )


@pytest.mark.parametrize(("selection", "packing"), COMBINATIONS)
@settings(max_examples=examples(15))
@given(workload=workloads(), fleet=fleets(), threshold=st.integers(0, 9))
def test_plans_are_sound_and_the_bound_is_below_the_best(
    selection: str, packing: str, workload: Workload, fleet: Fleet, threshold: int
) -> None:
    options = Options(selection=selection, packing=packing)
    plan = solve(Problem(workload, fleet, threshold), options)
    assert violations(plan, workload) == []
    best = cheapest_by_brute_force(workload, fleet, threshold, brokers=3)
    if plan.objective is None or plan.bound is None:
        assert best is None
        return
    assert plan.figures["bound_paper"] <= plan.objective
    if best is not None:
        assert plan.bound <= best * (1 + 1e-9)
        if len(plan.brokers) <= 3:
            assert best <= plan.objective * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_the_certified_bound_never_exceeds_the_optimum_of_an_independent_solver(
    seed: int,
) -> None:
    workload = random_workload(seed, topics=5, subscribers=6, most=20)
    biggest = int(workload.rates.max(initial=1))
    fleet = Fleet.types(
        BrokerType("b", 2 * biggest + 12, hour_usd=HOUR_USD), gigabyte_usd=GIGABYTE_USD
    )
    plan = solve(Problem(workload, fleet, 15), Options(rounds=8))
    assert violations(plan, workload) == []
    assert plan.objective is not None and plan.bound is not None
    best = cheapest_by_highs(workload, fleet, 15, brokers=len(plan.brokers))
    assert best is not None
    assert plan.bound <= best * (1 + 1e-6)
    assert best <= plan.objective * (1 + 1e-6)


@pytest.mark.parametrize("selection", SELECTIONS)
@settings(max_examples=examples(30))
@given(
    workload=workloads(topics=6, subscribers=8, pairs=30, rate=30),
    capacity=st.integers(60, 200),
    threshold=st.integers(0, 60),
)
def test_tight_is_never_dearer_than_custom(
    selection: str, workload: Workload, capacity: int, threshold: int
) -> None:
    fleet = Fleet.types(
        BrokerType("b", capacity, hour_usd=HOUR_USD), gigabyte_usd=GIGABYTE_USD
    )
    problem = Problem(workload, fleet, threshold)
    tight, custom = (
        solve(problem, Options(selection=selection, packing=packing)).objective
        for packing in ("tight", "custom")
    )
    assert tight is not None and custom is not None
    assert tight <= custom


@settings(max_examples=examples(30))
@given(
    workload=workloads(topics=6, subscribers=8, pairs=30, rate=30),
    rounds=st.integers(0, 8),
)
def test_more_rounds_never_lower_the_bound(workload: Workload, rounds: int) -> None:
    problem = Problem(workload, Fleet.of(10, 100), 20)
    fewer = solve(problem, Options(rounds=rounds)).figures["load_bound"]
    more = solve(problem, Options(rounds=rounds + 1)).figures["load_bound"]
    assert fewer <= more


def same(one: Plan, other: Plan) -> bool:
    return (
        one.objective == other.objective
        and one.bound == other.bound
        and np.array_equal(one.selected.topics, other.selected.topics)
        and np.array_equal(one.placement.broker, other.placement.broker)
        and np.array_equal(one.placement.pairs, other.placement.pairs)
    )


@pytest.mark.parametrize(("selection", "packing"), COMBINATIONS)
def test_the_same_seed_gives_the_same_plan(selection: str, packing: str) -> None:
    workload = random_workload(3, topics=30, subscribers=40, most=50)
    fleet = Fleet.types(
        BrokerType("b", 400, hour_usd=HOUR_USD), gigabyte_usd=GIGABYTE_USD
    )
    options = Options(selection=selection, packing=packing, seed=5)
    problem = Problem(workload, fleet, 60)
    assert same(solve(problem, options), solve(problem, options))


def test_another_seed_gives_another_random_plan() -> None:
    workload = random_workload(3, topics=30, subscribers=40, most=50)
    problem = Problem(workload, Fleet.of(99, 400), 60)
    one, other = (
        solve(problem, Options(selection="random", seed=seed)) for seed in (1, 2)
    )
    assert not np.array_equal(one.selected.topics, other.selected.topics)


def test_a_partition_instance_needs_two_full_brokers() -> None:
    """The paper's proof of hardness: one subscriber to a topic, two brokers to fill."""
    rates = {f"t{x}": x for x in (3, 5, 7, 9, 11, 13)}
    workload = Workload.from_pairs(
        topics=list(rates), subscribers=[f"v{x}" for x in rates], rates=rates
    )
    fleet = Fleet.types(BrokerType("b", sum(rates.values()), hour_usd=1))
    plan = solve(Problem(workload, fleet, 13))
    assert plan.status is Status.OPTIMAL
    assert plan.brokers.load.tolist() == [48, 48]


def firehose() -> Workload:
    return Workload.from_pairs(
        topics=["firehose", "news", "firehose", "news"],
        subscribers=["u7", "u7", "u8", "u9"],
        rates={"firehose": 812, "news": 90},
    )


def test_a_topic_too_large_for_every_broker_is_left_out_where_it_can_be() -> None:
    workload = Workload.from_pairs(
        topics=["firehose", "news"],
        subscribers=["u7", "u7"],
        rates={"firehose": 812, "news": 90},
    )
    plan = solve(Problem(workload, Fleet.of(3, 1000), 80))
    assert violations(plan, workload) == []
    assert plan.figures["left_out"] == 1
    assert plan.selected.topics.tolist() == [1]


def test_a_topic_that_is_needed_and_too_large_makes_it_infeasible_with_numbers() -> (
    None
):
    plan = solve(Problem(firehose(), Fleet.of(3, 1000), 100))
    assert plan.status is Status.INFEASIBLE
    assert plan.objective is None and plan.gap is None
    assert plan.reason == (
        'subscriber "u7" needs topic "firehose" (rate 812), which no broker can '
        "carry: it needs 1,624, the largest broker has 1,000, and so it is for 1 "
        "more\nThe smallest capacity that works is 1,624."
    )
    enough = solve(Problem(firehose(), Fleet.of(9, 1624), 100))
    assert enough.status is not Status.INFEASIBLE


def test_a_fleet_too_small_is_infeasible_with_numbers() -> None:
    plan = solve(Problem(firehose(), Fleet.of(1, 1700), 1000))
    assert plan.status is Status.INFEASIBLE
    assert plan.reason == (
        "the load is at least 3,518, all brokers together have 1,700"
    )


def test_an_empty_workload_is_optimal_without_brokers() -> None:
    workload = Workload.from_pairs(topics=[], subscribers=[], rates={})
    plan = solve(Problem(workload, Fleet.of(1, 10), 100))
    assert (plan.status, plan.objective, plan.bound) == (Status.OPTIMAL, 0, 0)
    assert len(plan.brokers) == 0


def test_a_threshold_above_every_total_serves_everything() -> None:
    plan = solve(Problem(firehose(), Fleet.of(9, 2000), 10**9))
    assert plan.selected.pairs == 4
    assert plan.figures["modest"] == 3


def test_a_threshold_of_zero_serves_nobody() -> None:
    plan = solve(Problem(firehose(), Fleet.of(9, 2000), 0))
    assert (plan.selected.pairs, len(plan.brokers)) == (0, 0)


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(InputError, match="threshold: found -1, expected"):
        Problem(firehose(), Fleet.of(1, 10), -1)


@pytest.mark.parametrize(
    ("field", "value"),
    [("selection", "best"), ("packing", "loose"), ("rounds", -1), ("seed", -1)],
)
def test_an_unknown_option_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{field}: found"):
        Options(**{field: value})


def test_dear_incoming_traffic_makes_topics_shared() -> None:
    """Everyone can be served by the common topic or by one of their own, a bit less."""
    people = [f"v{i}" for i in range(6)]
    workload = Workload.from_pairs(
        topics=["common"] * 6 + [f"own{i}" for i in range(6)],
        subscribers=people + people,
        rates={"common": 11} | {f"own{i}": 10 for i in range(6)},
    )
    one = BrokerType("b", 1000)
    cheap = Fleet.types(one, gigabyte_usd=1e4, gigabyte_in_usd=0.0)
    dear = Fleet.types(one, gigabyte_usd=1e4, gigabyte_in_usd=1e4)
    assert solve(Problem(workload, cheap, 10)).figures["outgoing"] == 60
    shared = solve(Problem(workload, dear, 10))
    assert (shared.figures["incoming"], shared.figures["outgoing"]) == (11, 66)


def test_a_budget_is_answered_by_cost_and_bound() -> None:
    fleet = Fleet.types(BrokerType("b", 2000, hour_usd=1))
    plan = solve(Problem(firehose(), fleet, 100))
    assert plan.objective is not None and plan.bound is not None
    assert affordable(plan, plan.objective) is Answer.YES
    assert affordable(plan, plan.bound * 0.99) is Answer.NO
    between = replace(plan, bound=plan.objective / 2)
    assert affordable(between, plan.objective * 0.75) is Answer.UNKNOWN
    with pytest.raises(InputError, match="budget: found -1"):
        affordable(plan, -1)


def test_a_topic_that_only_the_dear_type_carries_is_in_the_bound() -> None:
    small = BrokerType("small", 200, hour_usd=0.01)
    large = BrokerType("large", 2000, hour_usd=1)
    fleet = Fleet.types(small, large)
    plan = solve(Problem(firehose(), fleet, 1000))
    assert violations(plan, firehose()) == []
    assert plan.bound is not None and plan.objective is not None
    assert plan.bound >= 2 * 240  # firehose is sent twice, which fills two of them
    assert plan.objective <= plan.bound * 1.01


@settings(max_examples=examples(60))
@given(
    workload=workloads(topics=4, subscribers=4, pairs=8, rate=12),
    threshold=st.integers(0, 20),
    small=st.integers(4, 20),
    larger=st.integers(1, 30),
)
def test_mixed_fleets_are_sound_and_their_bound_is_below_every_single_type(
    workload: Workload, threshold: int, small: int, larger: int
) -> None:
    kinds = (
        BrokerType("small", small, hour_usd=0.01),
        BrokerType("large", small + larger, hour_usd=0.015),
    )
    plan = solve(Problem(workload, Fleet.types(*kinds), threshold))
    assert violations(plan, workload) == []
    for kind in kinds:
        alone = solve(Problem(workload, Fleet.types(kind), threshold))
        if alone.objective is not None:
            assert plan.bound is not None
            assert plan.bound <= alone.objective * (1 + 1e-9)


def test_a_plan_with_the_least_load_and_rent_is_optimal_though_prices_round() -> None:
    fleet = Fleet.types(BrokerType("b", 5000, hour_usd=0.15), gigabyte_usd=0.12)
    plan = solve(Problem(firehose(), fleet, 10**9))
    assert plan.load == plan.figures["load_bound"]
    assert (plan.status, plan.gap) == (Status.OPTIMAL, 0.0)


def test_rates_whose_sums_would_not_fit_are_refused() -> None:
    workload = Workload.from_pairs(
        topics=["t"], subscribers=["v"], rates={"t": 2**60 + 1}
    )
    with pytest.raises(InputError, match="rate of the largest topic: found 1,152,921"):
        solve(Problem(workload, Fleet.of(1, 2**62), 1))


def test_rounds_beyond_number_end_when_nothing_moves_any_more() -> None:
    workload = random_workload(3, topics=30, subscribers=40, most=50)
    problem = Problem(workload, Fleet.of(99, 400), 60)
    many = solve(problem, Options(rounds=10**9))
    assert many.options["rounds"] < 30
