"""The cheapest wiring, by HiGHS."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.stopping import After
from tests.planners.overlay import literal_cost
from tests.planners.overlay.networks import AMPLE, network_of, networks
from tests.tiers import examples

from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.planners.control import Stop, never
from brokerwise.planners.overlay.heuristics import HEURISTICS
from brokerwise.planners.overlay.ilp import (
    IlpAnswer,
    Program,
    solve_ilp,
    spanning_trees,
)
from brokerwise.planners.overlay.placing import Unplaced
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.tree import spanning_tree


def solved(
    network: Network, tree: bool = False, stop: Stop = never
) -> tuple[int | None, IlpAnswer]:
    """What the answer costs, once its wiring was checked."""
    answer = solve_ilp(Demand.of(network), tree=tree, stop=stop)
    if answer.broker is None:
        return None, answer
    wiring = tuple(answer.broker.tolist())
    assert wiring in set(literal_cost.wirings(network))
    if tree:
        assert answer.tree is not None
        links = [tuple(link) for link in answer.tree.tolist()]
        assert tuple(sorted(links)) in set(literal_cost.spanning_trees(network.brokers))
        return sum(literal_cost.costs(network, wiring, links)), answer
    assert answer.tree is None
    return sum(literal_cost.costs(network, wiring)), answer


@settings(max_examples=examples(60))
@given(network=networks(max_users=5))
def test_it_finds_the_cheapest_wiring_and_proves_it(network: Network) -> None:
    cost, answer = solved(network)
    assert cost == literal_cost.least_cost(network)
    assert answer.proven
    if cost is not None:
        assert answer.bound == cost


def test_a_network_that_presolve_calls_infeasible_is_wired() -> None:
    links = ((0, -1, 0), (0, 0, 0), (0, -1, -1), (0, -1, -1))
    network = network_of(
        capacity=(4, 0, 4),
        access=links,
        core=((0,) * 3,) * 3,
        published=({0: 1}, {0: 1}, {}, {0: 1}),
        wanted=((), (0,), (), (0,)),
    )
    cost, answer = solved(network)
    assert (cost, answer.proven) == (0, True)


@settings(max_examples=examples(30))
@given(network=networks(max_users=4, max_brokers=4))
def test_on_a_tree_it_finds_the_cheapest_wiring_and_tree(network: Network) -> None:
    cost, answer = solved(network, tree=True)
    assert cost == literal_cost.least_cost(network, tree=True)
    assert answer.proven
    if cost is not None:
        assert answer.bound == cost


@pytest.mark.parametrize("tree", [False, True])
@settings(max_examples=examples(20))
@given(network=networks(max_users=7, max_brokers=4))
def test_no_heuristic_is_cheaper(tree: bool, network: Network) -> None:
    demand = Demand.of(network)
    _, answer = solved(network, tree)
    links = spanning_tree(demand.core).tolist() if tree else None
    for heuristic in HEURISTICS.values():
        found = heuristic(demand, 1)
        if isinstance(found, Unplaced):
            continue
        cost = sum(literal_cost.costs(network, found.tolist(), links))
        assert answer.broker is not None
        assert cost >= answer.bound


@pytest.mark.parametrize("tree", [False, True])
@settings(max_examples=examples(20))
@given(network=networks(max_users=4), questions=st.integers(0, 3))
def test_stopped_it_has_a_bound(tree: bool, network: Network, questions: int) -> None:
    best = literal_cost.least_cost(network, tree=tree)
    cost, answer = solved(network, tree, After(questions))
    if best is None:
        assert cost is None
    elif cost is None:
        assert not answer.proven
        assert answer.bound <= best
    else:
        assert answer.bound <= best <= cost
        assert answer.proven == (answer.bound == cost)


@pytest.mark.parametrize("tree", [False, True])
def test_it_starts_from_a_wiring_and_keeps_it_if_it_is_stopped(tree: bool) -> None:
    network = two_groups()
    begin = np.arange(12, dtype=np.int32) % 3
    demand = Demand.of(network)
    answer = solve_ilp(demand, tree=tree, stop=lambda: True, begin=begin)
    assert answer.broker is not None
    assert not answer.proven
    links = None if answer.tree is None else answer.tree.tolist()
    cost = sum(literal_cost.costs(network, answer.broker.tolist(), links))
    dear = sum(literal_cost.costs(network, begin.tolist(), links))
    assert answer.bound < cost <= dear


def two_groups() -> Network:
    """Twelve users at random places, who want what six of them send."""
    rng = np.random.default_rng(5)
    return network_of(
        [{int(c): int(rng.integers(1, 9)) for c in rng.permutation(4)[:2]}] * 6
        + [{}] * 6,
        [set(rng.permutation(4)[:2].tolist()) for _ in range(12)],
        rng.integers(1000, 9000, (12, 3)),
        [[0, 7000, 9000], [7000, 0, 8000], [9000, 8000, 0]],
        [300] * 3,
    )


def test_a_broker_that_nobody_follows_does_not_relay() -> None:
    """Three brokers 2 apart, with a hub 1 from each: with it the tree would weigh 3.
    There are three followers, who might be on three brokers, but two share one."""
    core = np.full((4, 4), 2000) - 2000 * np.eye(4, dtype=np.int64)
    core[:3, 3] = core[3, :3] = 1000
    access = np.full((4, 4), -1)
    access[[0, 1, 2, 3], [0, 1, 2, 2]] = 5
    network = network_of([{0: 1}, {}, {}, {}], [set(), {0}, {0}, {0}], access, core)
    cost, answer = solved(network)
    assert answer.proven
    assert cost == 4000 + 5 * 4
    assert solved(network, tree=True)[0] == 3000 + 5 * 4


def test_capacity_that_is_short_by_one_is_infeasible() -> None:
    def network(short: int) -> Network:
        return network_of(
            [{0: 10**9 + 1}, {1: 10**9}],
            [{1}, {0}],
            [[1, 2], [1, 2]],
            [[0, 1], [1, 0]],
            [2 * 10**9 + 1 - short, 2 * 10**9 + 1],
        )

    assert solved(network(0))[0] == literal_cost.least_cost(network(0))
    cost, answer = solved(network(1))
    assert cost is None
    assert answer.proven


@settings(max_examples=examples(20))
@given(network=networks(max_users=5))
def test_brokers_that_are_too_full_are_found_in_whole_numbers(network: Network) -> None:
    with patch.object(Program, "_limit_loads", lambda _: None):
        assert solved(network)[0] == literal_cost.least_cost(network)


def test_large_rates_and_costs_are_planned() -> None:
    network = network_of(
        [{0: 10**6 + 7, 1: 999_983}, {1: 123_457}, {}, {2: 10**6 + 3}],
        [{2}, {0}, {0, 1, 2}, {1}],
        [[10**5 + k, 2 * 10**5 + 3 * k, 170_003] for k in range(4)],
        [[0, 98_765, 123_457], [98_765, 0, 77_777], [123_457, 77_777, 0]],
        [9 * 10**6] * 3,
    )
    for tree in (False, True):
        cost, answer = solved(network, tree)
        assert cost == answer.bound == literal_cost.least_cost(network, tree=tree)


@pytest.mark.parametrize(("brokers", "tree"), [(9, False), (6, True)])
def test_too_many_brokers_are_refused(brokers: int, tree: bool) -> None:
    core = np.ones((brokers, brokers), np.int64) - np.eye(brokers, dtype=np.int64)
    network = network_of([{}], [{0}], [[1] * brokers], core)
    message = f"found {brokers} brokers, expected at most {brokers - 1}"
    with pytest.raises(InputError, match=message) as refused:
        solve_ilp(Demand.of(network), tree=tree, stop=never)
    assert "about 20 users and 4 brokers" in refused.value.hint


@pytest.mark.parametrize("tree", [False, True])
def test_nobody_costs_nothing(tree: bool) -> None:
    network = network_of([], [], [], [[0, 1], [1, 0]], [AMPLE] * 2)
    cost, answer = solved(network, tree)
    assert cost == answer.bound == 0
    assert answer.proven


@pytest.mark.parametrize("brokers", [1, 2, 3, 4, 5])
def test_every_spanning_tree_is_tried_once_by_cost(brokers: int) -> None:
    rng = np.random.default_rng(brokers)
    core = np.triu(rng.integers(5, 10, (brokers, brokers)), 1)
    core += core.T
    trees = spanning_trees(core)
    found = [tuple(sorted(map(tuple, tree.tolist()))) for tree in trees]
    assert sorted(found) == sorted(literal_cost.spanning_trees(brokers))
    costs = [int(core[tree[:, 0], tree[:, 1]].sum()) for tree in trees]
    assert costs == sorted(costs)
