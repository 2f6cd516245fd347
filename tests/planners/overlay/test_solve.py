"""From a network to a plan: every algorithm, the bound, the local search."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.planners.overlay.literal import is_wiring
from tests.planners.overlay.literal_cost import least_cost
from tests.planners.overlay.networks import networks
from tests.tiers import examples

from brokerwise.auditing.overlay import overlay_violations
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.plan import Status
from brokerwise.pipeline.networks.generate import NetworkSettings, generate
from brokerwise.planners.control import never
from brokerwise.planners.overlay import placing
from brokerwise.planners.overlay.bound import find_prices, lower_bound, priced
from brokerwise.planners.overlay.heuristics import HEURISTICS
from brokerwise.planners.overlay.local import converged, gathered
from brokerwise.planners.overlay.problem import ALGORITHMS, Demand, Options
from brokerwise.planners.overlay.solve import Answer, search, solve
from brokerwise.planners.overlay.wiring import costs_of

REGIMES = {
    "plane": NetworkSettings(users=300, brokers=12, subchannels=20),
    "independent": NetworkSettings(
        users=300, brokers=12, subchannels=20, costs="independent"
    ),
    "core": NetworkSettings(
        users=300, brokers=12, subchannels=20, width=0.1, ratio=0.01
    ),
    "known": NetworkSettings(users=200, brokers=12, subchannels=20, known=5),
}


def check(plan: OverlayPlan, network: Network, best: int | None) -> None:
    assert (plan.status is Status.INFEASIBLE) == (plan.objective is None)
    if plan.objective is None or plan.bound is None:
        assert plan.reason
        return
    assert overlay_violations(plan, network) == []
    assert best is not None
    assert plan.bound <= best <= plan.objective


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=examples(25))
@given(network=networks(max_users=5))
def test_a_plan_passes_the_audit_and_the_optimum_lies_between_bound_and_cost(
    algorithm: str, tree: bool, network: Network
) -> None:
    plan = solve(network, Options(algorithm, tree))
    best = least_cost(network, tree=tree)
    check(plan, network, best)
    if algorithm == "ilp":
        assert plan.objective == best


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=examples(10))
@given(network=networks(max_users=5))
def test_users_without_traffic_are_on_their_cheapest_link(
    algorithm: str, tree: bool, network: Network
) -> None:
    """They load no broker, so that one has room for them; of equal links that to the
    lower broker."""
    plan = solve(network, Options(algorithm, tree))
    if plan.objective is None:
        return
    for user in np.flatnonzero(Demand.of(network).load == 0):
        links = {b: c for b, c in enumerate(network.access[user].tolist()) if c >= 0}
        assert plan.broker[user] == min(links, key=lambda b: (links[b], b))


@pytest.mark.parametrize("tree", [False, True])
@settings(max_examples=examples(50))
@given(network=networks(max_users=8))
def test_local_is_at_least_as_good_as_every_other(tree: bool, network: Network) -> None:
    plan = solve(network, Options("local", tree))
    for name in HEURISTICS:
        other = solve(network, Options(name, tree))
        if other.objective is not None:
            assert plan.objective is not None
            assert plan.objective <= other.objective


@pytest.mark.parametrize("regime", REGIMES)
def test_local_is_at_least_as_good_on_larger_networks_too(regime: str) -> None:
    network = generate(REGIMES[regime], seed=3)
    plan = solve(network, Options())
    assert plan.objective is not None
    for name in HEURISTICS:
        assert plan.objective <= plan.figures[name]
    assert plan.figures["crr"] == plan.figures["random"] / plan.objective
    assert overlay_violations(plan, network) == []


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("regime", REGIMES)
def test_the_same_seed_gives_the_same_plan(regime: str, tree: bool) -> None:
    network = generate(REGIMES[regime], seed=1)
    first, second = (solve(network, Options(tree=tree, seed=5)) for _ in range(2))
    assert np.array_equal(first.broker, second.broker)
    assert (first.objective, first.bound) == (second.objective, second.bound)
    assert first.figures == second.figures


def test_where_access_counts_most_the_certified_gap_is_small() -> None:
    network = generate(NetworkSettings(users=1000, brokers=10), seed=2)
    gap = solve(network, Options()).gap
    assert gap is not None
    assert gap < 0.002


def test_where_the_core_counts_local_is_far_better_than_the_paper() -> None:
    plan = solve(generate(REGIMES["core"], seed=2), Options())
    assert plan.objective is not None
    paper = min(plan.figures[name] for name in HEURISTICS)
    assert plan.objective < 0.8 * paper


@settings(max_examples=examples(200))
@given(network=networks(max_users=6))
def test_no_wiring_costs_less_than_the_bound_at_any_prices(network: Network) -> None:
    best = least_cost(network)
    if best is None:
        return
    demand = Demand.of(network)
    for rounds in (1, 3, 40):
        prices = find_prices(demand, best, rounds)
        bound = lower_bound(demand, prices)
        assert 0 <= prices.bound <= best
        assert prices.bound <= bound.total <= best


def test_charges_prove_nearly_all_of_the_core_where_followers_are_everywhere() -> None:
    network = generate(NetworkSettings(users=1000, brokers=10), seed=4)
    demand = Demand.of(network)
    answer = search(demand, Options())
    assert isinstance(answer, Answer)
    assert answer.bound.core > 0.9 * answer.found.costs.core


@given(network=networks(max_users=8))
def test_priced_and_gathered_wirings_respect_capacity_and_reach(
    network: Network,
) -> None:
    demand = Demand.of(network)
    for found in (HEURISTICS["random"](demand, 0), priced(demand, demand.capacity * 0)):
        if not isinstance(found, np.ndarray):
            continue
        assert is_wiring(demand, found)
        assert is_wiring(demand, gathered(demand, found, demand.heaviest_first))


def test_gathering_brings_those_who_want_the_same_together() -> None:
    network = generate(REGIMES["core"], seed=1)
    demand = Demand.of(network)
    before = HEURISTICS["greedy"](demand, 0)
    assert isinstance(before, np.ndarray)
    after = gathered(demand, before, demand.heaviest_first)
    assert costs_of(demand, after).core < 0.8 * costs_of(demand, before).core


def test_a_search_that_is_stopped_says_so_and_keeps_the_best() -> None:
    network = generate(REGIMES["core"], seed=2)
    plan = solve(network, Options(stop=lambda: True))
    assert plan.options["stopped"] == "time"
    assert plan.objective is not None
    assert plan.objective <= min(plan.figures[name] for name in HEURISTICS)
    assert overlay_violations(plan, network) == []


def test_converging_twice_changes_nothing() -> None:
    demand = Demand.of(generate(REGIMES["independent"], seed=2))
    start = HEURISTICS["clustering"](demand, 0)
    assert isinstance(start, np.ndarray)
    first, costs, moves = converged(demand, start, never)
    again, same, more = converged(demand, first, never)
    assert moves > 0
    assert (more, same) == (0, costs)
    assert np.array_equal(first, again)


def test_infeasible_says_how_much_is_missing() -> None:
    network = generate(REGIMES["plane"], seed=2)
    need = int(Demand.of(network).load.sum())
    capacity = np.full(12, need // 12)
    capacity[0] += need - capacity.sum() - 1
    plan = solve(replace(network, capacity=capacity), Options())
    assert plan.status is Status.INFEASIBLE
    reason = f"capacity of all brokers is {need - 1:,}, users need {need:,}"
    assert plan.reason == reason


def test_a_search_that_was_not_completed_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody is missing a byte in all, but only exact fits would do."""
    network = generate(REGIMES["plane"], seed=2)
    need = int(Demand.of(network).load.sum())
    capacity = np.full(12, need // 12)
    capacity[0] += need - capacity.sum()
    monkeypatch.setattr(placing, "PLACEMENTS", 10)
    plan = solve(replace(network, capacity=capacity), Options())
    assert plan.status is Status.UNKNOWN
    assert plan.reason.startswith("no packing was found: at best ")
    assert (plan.objective, plan.bound, plan.gap) == (None, None, None)
    assert overlay_violations(plan, network) == []
