"""Plans that never were on disk: what planners and the Python API call."""

from dataclasses import replace

import numpy as np
import pytest
from tests.auditing.naive import filled, provisioned

from brokerwise.auditing.findings import Violation
from brokerwise.auditing.memory import violations
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.workload import NO_THRESHOLD, Workload


@pytest.fixture
def plan(newsroom: Workload) -> Plan:
    return provisioned(newsroom, threshold=12, capacity=45)


def said(plan: Plan, workload: Workload) -> list[tuple[str, str]]:
    return [(v.check, v.message) for v in violations(plan, workload)]


def with_loads(plan: Plan, loads: list[int]) -> Plan:
    brokers = plan.brokers
    return replace(
        plan, brokers=Brokers(brokers.type, brokers.capacity, np.array(loads))
    )


def test_a_plan_that_is_right_has_no_violation(plan: Plan, newsroom: Workload) -> None:
    assert violations(plan, newsroom) == []
    assert violations(filled(newsroom, brokers=2, capacity=45), newsroom) == []


def test_a_wrong_load_is_named(plan: Plan, newsroom: Workload) -> None:
    wrong = with_loads(plan, [40, 45, 40, 8])
    assert violations(wrong, newsroom) == [
        Violation("load", "broker 3: load stated 8, found 9", 1)
    ]


def test_an_overloaded_broker_is_named_whatever_the_plan_says(
    plan: Plan, newsroom: Workload
) -> None:
    small = replace(plan, fleet=Fleet((BrokerType("plain", 44),)))
    assert ("capacity", "broker 1 carries 45, its capacity is 44") in said(
        small, newsroom
    )


def test_a_fleet_that_is_too_small_is_named(plan: Plan, newsroom: Workload) -> None:
    kind = replace(plan.fleet.broker_types[0], count=3)
    few = replace(plan, fleet=Fleet((kind,)))
    assert said(few, newsroom) == [
        ("fleet", '4 brokers of type "plain", the fleet has 3')
    ]


def test_runs_for_too_few_pairs_leave_pairs_nowhere(
    plan: Plan, newsroom: Workload
) -> None:
    runs = plan.placement
    fewer = runs.pairs.copy()
    fewer[0] = 2  # one of the three that have world on broker 0 goes to broker 1
    found = said(
        replace(plan, placement=Placement(runs.topic, runs.broker, fewer)), newsroom
    )
    assert (
        "broker",
        'topic "world" has 1 pair on broker -1, which does not exist',
    ) in (found)


def test_runs_for_too_many_pairs_are_named(plan: Plan, newsroom: Workload) -> None:
    runs = plan.placement
    more = runs.pairs.copy()
    more[-1] = 3
    found = said(
        replace(plan, placement=Placement(runs.topic, runs.broker, more)), newsroom
    )
    assert found == [
        ("assignment", 'topic "chess" on broker 3: 3 pairs stated, 2 found')
    ]


def test_a_selection_of_what_nobody_wants_is_named(newsroom: Workload) -> None:
    wish = Workload.from_pairs(
        topics=["world"], subscribers=["u3"], rates={"world": 10}
    )
    plan = provisioned(wish, threshold=1, capacity=45)
    offsets = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    plan = replace(
        plan, threshold=0, selection=Interests(offsets, np.array([0], np.int32))
    )
    assert said(plan, newsroom) == [
        (
            "unwanted",
            'subscriber "u3" is served topic "world", which it does not want',
        )
    ]


def test_a_selection_for_other_subscribers_is_named(
    plan: Plan, newsroom: Workload
) -> None:
    other = provisioned(
        Workload.from_pairs(topics=["a"], subscribers=["x"], rates={"a": 1}),
        threshold=0,
        capacity=45,
    )
    found = violations(other, newsroom)
    assert found[0].message == 'subscriber "u1" has no row in the placement'
    assert {v.check: v.total for v in found} == {"subscribers": 7}


def test_own_thresholds_count_before_the_common_one(newsroom: Workload) -> None:
    own = np.full(newsroom.subscribers, NO_THRESHOLD, np.int64)
    own[3], own[7] = 0, 18
    workload = replace(newsroom, thresholds=own)
    lazy = provisioned(newsroom, threshold=10, capacity=45)
    assert said(lazy, workload) == [
        ("threshold", 'subscriber "u7" receives 10, its threshold is 18')
    ]
    assert violations(provisioned(workload, threshold=10, capacity=45), workload) == []


def test_a_threshold_is_never_more_than_all_that_is_wanted(
    newsroom: Workload,
) -> None:
    everything = provisioned(newsroom, threshold=10**6, capacity=45)
    assert violations(everything, newsroom) == []
    assert violations(replace(everything, threshold=2**62), newsroom) == []


def test_an_infeasible_plan_promises_no_threshold(
    plan: Plan, newsroom: Workload
) -> None:
    nothing = replace(
        provisioned(newsroom, threshold=0, capacity=45),
        status=Status.INFEASIBLE,
        objective=None,
        bound=None,
        threshold=12,
    )
    assert violations(nothing, newsroom) == []
    claimed = replace(nothing, status=Status.FEASIBLE, objective=0.0, bound=0.0)
    assert {v.check for v in violations(claimed, newsroom)} == {"threshold"}


@pytest.mark.parametrize(
    ("kind", "objective", "bound", "message"),
    [
        ("provision", 4.0, 4.5, "the objective 4 is below its bound 4.5"),
        ("fill", 98.0, 97.0, "the objective 98 is above its bound 97"),
        ("provision", 4.0, 4.0 + 1e-12, None),
        ("fill", 98.0, 98.0, None),
        ("provision", 0.0, 0.0, None),
        ("fill", 98.0, 106.0, None),
        ("fill", 98.0, 107.0, "the bound is 107, all that is wanted is worth 106"),
    ],
)
def test_an_objective_does_not_beat_its_bound(
    kind: str,
    objective: float,
    bound: float,
    message: str | None,
    plan: Plan,
    newsroom: Workload,
) -> None:
    stated = replace(plan, kind=kind, objective=objective, bound=bound, figures={})
    expected = [("bound", message)] if message else []
    assert said(stated, newsroom) == expected


def test_figures_are_compared_with_the_pairs(plan: Plan, newsroom: Workload) -> None:
    wrong = replace(plan, figures={"incoming": 35, "outgoing": 98, "cost": 1.25})
    assert said(wrong, newsroom) == [
        ("totals", "incoming: stated 35, found 36"),
        ("cost", "cost: stated $1.25, found $4"),
    ]


def test_a_plan_with_a_gap_is_not_optimal(plan: Plan, newsroom: Workload) -> None:
    proud = replace(plan, status=Status.OPTIMAL, objective=4.0, bound=1.0)
    said = [v.message for v in violations(proud, newsroom)]
    assert said == ["the plan is said to be optimal with a gap of 0.75"]
    modest = replace(proud, status=Status.FEASIBLE)
    assert violations(modest, newsroom) == []
