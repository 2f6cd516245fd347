"""The experiment's capacity is the one at which the naive plan needs 100 VMs."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.api import uniform
from brokerwise.experiments.provision_capacity import MOST_TRIES, find_capacity, search
from brokerwise.experiments.provision_published import VM_TYPES
from brokerwise.model.workload import Workload
from brokerwise.planners.provision.portfolio import Options
from brokerwise.planners.provision.solve import Problem, solve


@given(
    load=st.integers(50_000, 10**12),
    guess=st.integers(1, 10**12),
    target=st.integers(1, 100),
)
def test_a_load_that_can_be_cut_anywhere_meets_the_target(
    load: int, guess: int, target: int
) -> None:
    found = search(lambda c: -(-load // c), guess, 1, target)
    assert found.vms == -(-load // found.capacity)
    assert abs(found.vms - target) <= 1
    assert len(found.tried) <= MOST_TRIES


def test_the_least_capacity_is_the_answer_where_it_takes_fewer() -> None:
    found = search(lambda c: -(-1_000 // c), 10, 50, 100)
    assert (found.capacity, found.vms, found.least) == (50, 20, 50)


def test_a_target_that_is_jumped_over_is_met_as_near_as_can_be() -> None:
    found = search(lambda c: 90 if c >= 1_234 else 103, 1_000, 1, 100)
    assert (found.capacity < 1_234, found.vms) == (True, 103)


def test_the_naive_plan_needs_a_hundred_vms() -> None:
    workload = uniform(topics=200, subscribers=2_000, each=9, rates="8-40", seed=1)
    found = find_capacity(workload, 3, 1_000)
    options = Options("random", "first-fit", seed=3)
    plan = solve(Problem(workload, VM_TYPES[0].fleet(found.capacity), 100), options)
    assert found.vms == len(plan.brokers) == 100


def test_no_capacity_is_too_small_for_what_is_needed() -> None:
    lone = Workload.from_pairs(
        topics=["big", "a", "b"],
        subscribers=["x", "y", "y"],
        rates={"big": 70, "a": 2, "b": 1},
    )
    found = find_capacity(lone, 0, 1_000)
    assert (found.least, found.capacity) == (140, 140)
    assert solve(Problem(lone, VM_TYPES[0].fleet(140), 1_000)).objective is not None
    assert solve(Problem(lone, VM_TYPES[0].fleet(139), 1_000)).objective is None
