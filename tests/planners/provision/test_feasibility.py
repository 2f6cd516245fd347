"""What is said where there is no plan: infeasible only if that is proven."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.provision.oracle import can_be_served
from tests.tiers import examples

from brokerwise.auditing.memory import violations
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.plan import Status
from brokerwise.model.workload import Workload
from brokerwise.pipeline.plans import savable
from brokerwise.planners.provision.packing.pack import PACKINGS
from brokerwise.planners.provision.portfolio import SELECTIONS, Options
from brokerwise.planners.provision.solve import Answer, Problem, affordable, solve


def workload_of(rates: list[int], wanted: list[list[int]]) -> Workload:
    """`wanted` has the topics of each subscriber."""
    pairs = [(t, v) for v, topics in enumerate(wanted) for t in topics]
    return Workload.from_pairs(
        topics=[f"t{t}" for t, _ in pairs],
        subscribers=[f"v{v}" for _, v in pairs],
        rates={f"t{t}": rate for t, rate in enumerate(rates)},
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Few topics that are large for the brokers, most of which are limited."""
    topics = draw(st.integers(1, 4))
    rates = draw(st.lists(st.integers(1, 12), min_size=topics, max_size=topics))
    some = st.sets(st.integers(0, topics - 1), min_size=1, max_size=topics)
    wanted = draw(st.lists(some, min_size=1, max_size=4))
    kinds = draw(
        st.lists(
            st.tuples(
                st.integers(4, 40),
                st.sampled_from([1, 1, 2, 3, None]),
                st.sampled_from([0.0, 0.1, 0.2, 0.5]),
            ),
            min_size=1,
            max_size=3,
        )
    )
    fleet = Fleet.types(
        *(BrokerType(f"k{i}", *kind) for i, kind in enumerate(kinds)),
        gigabyte_usd=0.1,
    )
    workload = workload_of(rates, [sorted(topics) for topics in wanted])
    return Problem(workload, fleet, draw(st.integers(0, 25)))


@settings(max_examples=examples(60))
@given(problem=problems(), selection=st.sampled_from(SELECTIONS))
def test_what_is_infeasible_has_no_plan_by_brute_force(
    problem: Problem, selection: str
) -> None:
    plan = solve(problem, Options(selection, rounds=2))
    possible = can_be_served(problem.workload, problem.fleet, problem.threshold)
    assert violations(plan, problem.workload) == []
    if plan.status is Status.INFEASIBLE:
        assert not possible, plan.reason
    elif plan.status is not Status.UNKNOWN:
        assert possible


def test_a_type_without_a_limit_is_no_type_without_brokers() -> None:
    """Both brokers of 17 are for those who want nothing but the large topic; the
    third subscriber has to do with the small ones."""
    workload = workload_of([8, 3, 3], [[0, 1, 2], [0], [0]])
    few, many = BrokerType("few", 17, 2, 0.0), BrokerType("many", 14, None, 0.1)
    plan = solve(Problem(workload, Fleet.types(few, many), 6))
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE), plan.reason
    assert violations(plan, workload) == []
    assert len(plan.brokers) == 3


def test_a_limited_fleet_is_filled_by_another_selection_if_need_be() -> None:
    """All can share a topic of which a broker of 120 serves one pair; of their own
    topics, which are smaller, it serves two."""
    workload = workload_of([41, *[30] * 60], [[0, v + 1] for v in range(60)])
    fleet = Fleet.of(30, 120)
    plan = solve(Problem(workload, fleet, 30), Options("shared"))
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE), plan.reason
    assert (plan.algorithm, len(plan.brokers)) == ("exact+tight", 30)
    assert plan.options["asked"] == "shared+cheapest"
    assert violations(plan, workload) == []
    way = Options(plan.options["selection"], plan.options["packing"])
    again = solve(Problem(workload, fleet, 30), way)
    assert (again.objective, again.load) == (plan.objective, plan.load)


def three_apart() -> Workload:
    """Three topics of which no two fit on a broker of 15, though 30 is their load."""
    return workload_of([5, 5, 5], [[0], [1], [2]])


def test_what_was_not_found_is_unknown_with_what_was_tried() -> None:
    workload, fleet = three_apart(), Fleet.of(2, 15)
    plan = solve(Problem(workload, fleet, 5))
    assert plan.status is Status.UNKNOWN
    assert (plan.objective, plan.bound, plan.gap) == (None, None, None)
    assert len(plan.brokers) == plan.load == plan.selected.pairs == 0
    assert plan.tried[0] == "shared+tight"
    assert sorted(plan.tried) == sorted(  # `tight` tries `custom` itself
        f"{s}+{p}" for s in SELECTIONS for p in PACKINGS if p != "custom"
    )
    assert plan.figures == {"load_bound": 30, "brokers_bound": 2, "brokers_found": 3}
    assert plan.reason.splitlines() == [
        "no plan was found, which does not prove that there is none: the load is at "
        "least 30, all brokers together have 30; at least 2 brokers are needed, the "
        "fewest found to do are 3",
        "Tried: selection shared, exact, greedy and random; packing tight, "
        "most-free, grouped-largest, grouped and first-fit (20 ways in all).",
        "It works with 3 broker-15.",
    ]
    assert violations(plan, workload) == []
    assert affordable(plan, 1.0) is Answer.UNKNOWN
    with pytest.raises(InputError, match="there is no plan to save: no plan was found"):
        savable(plan, workload, None).save("nowhere")
    assert repr(plan).startswith("Plan(provision by shared+tight: unknown, 0 brokers")
    assert len(solve(Problem(workload, Fleet.of(3, 15), 5)).brokers) == 3


def test_time_that_is_over_is_said_where_nothing_was_found() -> None:
    plan = solve(Problem(three_apart(), Fleet.of(2, 15), 5), Options(stop=lambda: True))
    assert plan.status is Status.UNKNOWN
    assert plan.tried == ("shared+tight",)
    assert plan.reason.endswith(
        "Tried: selection shared; packing tight (1 way in all). The time of --seconds "
        "was over before all had been tried."
    )
    assert plan.options["stopped"] == "time"


def test_too_little_capacity_is_infeasible_in_all_and_for_large_topics() -> None:
    workload = workload_of([8, 1], [[0], [0], [1]])
    small = Problem(workload, Fleet.of(1, 25), 100)
    plan = solve(small)
    assert plan.status is Status.INFEASIBLE
    assert plan.reason == "the load is at least 26, all brokers together have 25"
    assert plan.tried == ()
    few, many = BrokerType("few", 17, 1, 0.0), BrokerType("many", 15, None, 0.1)
    plan = solve(replace(small, fleet=Fleet.types(few, many)))
    assert plan.status is Status.INFEASIBLE
    assert plan.reason == (
        "topics that brokers of 15 cannot carry have a load of at least 32, all larger "
        "brokers together have 17"
    )
