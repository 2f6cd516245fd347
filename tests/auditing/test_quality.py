"""The cost law, by numbers that can be checked by eye."""

from dataclasses import replace

import numpy as np
import pytest

from brokerwise.auditing.memory import violations
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.workload import Workload

# 1,000 bytes a message, so that a million messages are a gigabyte.
RATE = 10**6

RIGHT = {
    "cost": 38.5,
    "cost_brokers": 36.0,
    "cost_bandwidth": 2.5,
    "cost_month": 38.5 * 730 / 240,
    "incoming": RATE,
    "outgoing": 2 * RATE,
    "load_bound": 3 * RATE,
    "bound_paper": 30.8,
    "gap_paper": 0.2,
}


@pytest.fixture
def pair_of_listeners() -> Workload:
    """Two subscribers of one topic: 1 GB in, 2 GB out, in ten days."""
    return Workload.from_pairs(
        topics=["a", "a"],
        subscribers=["u", "v"],
        rates={"a": RATE},
        message_bytes=1000,
    )


@pytest.fixture
def plan() -> Plan:
    """One broker at 0.15 $/h, $0.5 a gigabyte in, $1 a gigabyte out."""
    large = BrokerType("large", 3 * RATE, hour_usd=0.15)
    small = BrokerType("small", RATE, hour_usd=0.01)
    return Plan(
        kind="provision",
        algorithm="by hand",
        status=Status.FEASIBLE,
        objective=38.5,
        bound=38.5,
        fleet=Fleet((small, large), gigabyte_usd=1.0, gigabyte_in_usd=0.5),
        brokers=Brokers(
            np.array([1], np.int32), np.array([3 * RATE]), np.array([3 * RATE])
        ),
        selection=Interests(np.array([0, 1, 2]), np.array([0, 0], np.int32)),
        placement=Placement(
            np.array([0], np.int32), np.array([0], np.int32), np.array([2])
        ),
        threshold=1,
        figures=RIGHT,
    )


def said(plan: Plan, workload: Workload) -> list[str]:
    return [v.message for v in violations(plan, workload)]


def test_costs_that_are_right_have_no_violation(
    plan: Plan, pair_of_listeners: Workload
) -> None:
    assert said(plan, pair_of_listeners) == []


@pytest.mark.parametrize(
    ("figure", "value", "message"),
    [
        ("cost", 38.6, "cost: stated $38.6, found $38.5"),
        ("cost_brokers", 2.4, "cost_brokers: stated $2.4, found $36"),
        ("cost_bandwidth", 3.0, "cost_bandwidth: stated $3, found $2.5"),
        ("cost_month", 117.0, "cost_month: stated $117, found $117.1041667"),
        ("incoming", 1, "incoming: stated 1, found 1,000,000"),
        (
            "load_bound",
            3 * RATE + 1,
            "the load 3,000,000 is below its load_bound 3,000,001",
        ),
        (
            "load_bound_paper",
            4 * RATE,
            "the load 3,000,000 is below its load_bound_paper 4,000,000",
        ),
        (
            "gap_paper",
            0.1,
            "gap_paper is 0.1; objective 38.5 and bound_paper 30.8 make 0.2",
        ),
        ("cost", float("nan"), "cost: stated $nan, found $38.5"),
        ("load_bound", float("nan"), "the load 3,000,000 is below its load_bound nan"),
    ],
)
def test_a_figure_that_is_wrong_is_named(
    figure: str, value: float, message: str, plan: Plan, pair_of_listeners: Workload
) -> None:
    wrong = replace(plan, figures=RIGHT | {figure: value})
    assert said(wrong, pair_of_listeners) == [message]


def test_without_a_price_of_its_own_what_comes_in_costs_what_goes_out(
    plan: Plan, pair_of_listeners: Workload
) -> None:
    same = Fleet(plan.fleet.broker_types, gigabyte_usd=1.0)
    assert said(replace(plan, fleet=same), pair_of_listeners)[:3] == [
        "cost: stated $38.5, found $39",
        "cost_bandwidth: stated $2.5, found $3",
        "cost_month: stated $117.1041667, found $118.625",
    ]


def test_costs_go_by_the_period_and_the_size_of_messages(
    plan: Plan, pair_of_listeners: Workload
) -> None:
    hour = replace(pair_of_listeners, period_seconds=3600)
    assert said(plan, hour)[:2] == [
        "cost: stated $38.5, found $2.65",
        "cost_brokers: stated $36, found $0.15",
    ]
    long = replace(pair_of_listeners, message_bytes=2000)
    assert said(plan, long)[1] == "cost_bandwidth: stated $2.5, found $5"


def test_an_objective_that_is_not_the_cost_is_named(
    plan: Plan, pair_of_listeners: Workload
) -> None:
    figures = {"cost": 38.5}
    dear = replace(plan, objective=40.0, bound=30.0, figures=figures)
    assert said(dear, pair_of_listeners) == ["the objective is $40, the cost is $38.5"]
    rounded = replace(plan, objective=38.5 * (1 + 1e-12), figures=figures)
    assert said(rounded, pair_of_listeners) == []
    assert said(replace(dear, figures={}), pair_of_listeners) == []


def test_a_plan_to_fill_has_no_cost(plan: Plan, pair_of_listeners: Workload) -> None:
    free = replace(plan, kind="fill", threshold=None, figures={"cost": 1.0})
    free = replace(free, objective=2 * RATE, bound=2 * RATE)
    assert said(free, pair_of_listeners) == []
