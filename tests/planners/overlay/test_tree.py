"""One spanning tree of all brokers: costs, moves of users, swaps of links."""

from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.stopping import After
from tests.planners.overlay import literal_cost
from tests.planners.overlay.networks import network_of, networks
from tests.planners.overlay.test_brute_force import crowd
from tests.tiers import examples

from brokerwise.kernels.overlay_forwarding import FAR
from brokerwise.kernels.overlay_packing import one_of
from brokerwise.kernels.overlay_tree import tree_move_costs, tree_move_user
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.network import Network
from brokerwise.planners.control import never
from brokerwise.planners.overlay import tree as search
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.tree import (
    TreeEvaluation,
    links_of,
    settled,
    spanning_tree,
    tree_local,
)

Case = tuple[Network, Int32s, Int32s]


@st.composite
def cases(draw: st.DrawFn, max_brokers: int = 5) -> Case:
    """A network, a wiring that is within capacity, and a tree."""
    network = draw(networks(max_users=5, max_brokers=max_brokers))
    wirings = list(literal_cost.wirings(network))
    if not wirings:
        ample = np.full(network.brokers, sum(literal_cost.loads(network)))
        network = _with_capacity(network, ample)
        wirings = list(literal_cost.wirings(network))
    at = draw(st.integers(0, len(wirings) - 1))
    trees = list(literal_cost.spanning_trees(network.brokers))
    links = draw(st.sampled_from(trees))
    return network, np.array(wirings[at], np.int32), rows(links)


def _with_capacity(network: Network, capacity: Int64s) -> Network:
    return replace(network, capacity=capacity)


def rows(links: literal_cost.Links) -> Int32s:
    return np.array(links, np.int32).reshape(-1, 2)


def literally(network: Network, broker: Int32s, tree: Int32s) -> int:
    return sum(literal_cost.costs(network, broker.tolist(), tree.tolist()))


def assert_as_fresh(demand: Demand, found: TreeEvaluation) -> None:
    tree = links_of(found.tree, demand.core)
    fresh = TreeEvaluation.of(demand, found.wiring.broker, tree)
    for field in ("load", "followers", "sources"):
        kept, new = getattr(found.wiring, field), getattr(fresh.wiring, field)
        np.testing.assert_array_equal(kept, new, err_msg=field)
    for field in ("fans", "sent", "traffic"):
        kept, new = getattr(found.carried, field), getattr(fresh.carried, field)
        np.testing.assert_array_equal(kept, new, err_msg=field)


def changes_of(demand: Demand, found: TreeEvaluation, user: int) -> Int64s:
    changes = np.empty(demand.brokers, np.int64)
    home, room = found.wiring.broker[user], demand.capacity - found.wiring.load
    own = one_of(demand.everyone, user)
    tree_move_costs(own, home, room, found.tree, found.carried, changes)
    return changes


def move(demand: Demand, found: TreeEvaluation, user: int, target: int) -> None:
    own, home = one_of(demand.everyone, user), found.wiring.broker[user]
    tree_move_user(own, home, target, found.wiring, found.tree, found.carried)
    found.wiring.broker[user] = target


@given(network=networks(max_brokers=6))
def test_the_spanning_tree_is_that_of_kruskal(network: Network) -> None:
    links: list[tuple[int, int]] = []
    joined = [{broker} for broker in range(network.brokers)]
    for _, a, b in sorted(
        (network.core[a, b], a, b) for a, b in combinations(range(network.brokers), 2)
    ):
        if joined[a] is not joined[b]:
            joined[a] |= joined[b]
            for broker in joined[b]:
                joined[broker] = joined[a]
            links.append((a, b))
    np.testing.assert_array_equal(spanning_tree(network.core), rows(links))


def test_of_equal_links_the_spanning_tree_has_those_of_lower_brokers() -> None:
    core = np.full((4, 4), 7) - 7 * np.eye(4, dtype=np.int64)
    assert spanning_tree(core).tolist() == [[0, 1], [0, 2], [0, 3]]


@settings(max_examples=examples(100))
@given(case=cases())
def test_a_wiring_on_a_tree_costs_what_the_definition_says(case: Case) -> None:
    network, broker, tree = case
    demand = Demand.of(network)
    found = TreeEvaluation.of(demand, broker, tree)
    access, core = literal_cost.costs(network, broker.tolist(), tree.tolist())
    assert (found.total(demand).access, found.total(demand).core) == (access, core)


@settings(max_examples=examples(100))
@given(case=cases())
def test_each_move_on_a_tree_changes_the_cost_by_what_was_said(case: Case) -> None:
    network, broker, tree = case
    demand = Demand.of(network)
    found = TreeEvaluation.of(demand, broker, tree)
    now = literally(network, broker, tree)
    wirings = set(literal_cost.wirings(network))
    for user in range(demand.users):
        changes = changes_of(demand, found, user)
        for target in range(demand.brokers):
            moved = broker.copy()
            moved[user] = target
            if tuple(moved.tolist()) in wirings:
                assert changes[target] == literally(network, moved, tree) - now
            else:
                assert changes[target] == FAR


def test_after_thousands_of_moves_on_a_tree_all_is_as_if_counted_anew() -> None:
    network = crowd(60, 9, 15, seed=8)
    demand = Demand.of(network)
    rng = np.random.default_rng(9)
    start = rng.integers(0, demand.brokers, demand.users).astype(np.int32)
    found = TreeEvaluation.of(demand, start, spanning_tree(demand.core))
    for number in range(5000):
        user, target = int(rng.integers(demand.users)), int(rng.integers(9))
        before = found.total(demand).total
        said = changes_of(demand, found, user)[target]
        move(demand, found, user, target)
        assert found.total(demand).total == before + said
        if number % 100 == 0:
            assert_as_fresh(demand, found)
    assert_as_fresh(demand, found)


def neighbours(tree: Int32s, brokers: int) -> list[Int32s]:
    """Every tree that has all links of this one but one."""
    old = {tuple(sorted(link)) for link in tree.tolist()}
    return [
        rows(links)
        for links in literal_cost.spanning_trees(brokers)
        if len(old - set(links)) == 1
    ]


@settings(max_examples=examples(60))
@given(case=cases())
def test_a_link_is_replaced_by_the_best_other(case: Case) -> None:
    network, broker, tree = case
    demand = Demand.of(network)
    found = TreeEvaluation.of(demand, broker, tree)
    now = literally(network, broker, tree)
    for cut in range(1, demand.brokers):
        gone = tuple(sorted((cut, int(found.tree.parent[cut]))))
        others = [
            literally(network, broker, other)
            for other in neighbours(tree, demand.brokers)
            if gone not in {tuple(link) for link in other.tolist()}
        ]
        better = found.swapped(demand, cut)
        if better is None:
            assert min(others, default=now) >= now
        else:
            assert better.total(demand).total == min(others) < now
            assert_as_fresh(demand, better)


@settings(max_examples=examples(60))
@given(case=cases())
def test_an_improved_tree_has_no_better_neighbour(case: Case) -> None:
    network, broker, tree = case
    demand = Demand.of(network)
    better = settled(demand, TreeEvaluation.of(demand, broker, tree), never)
    found = links_of(better.tree, demand.core)
    cost = literally(network, broker, found)
    assert cost <= literally(network, broker, tree)
    for other in neighbours(found, demand.brokers):
        assert literally(network, broker, other) >= cost


@settings(max_examples=examples(100))
@given(case=cases(max_brokers=4), chunk=st.integers(1, 5))
def test_local_search_on_a_tree_ends_where_nothing_helps(
    case: Case, chunk: int
) -> None:
    network, broker, tree = case
    demand = Demand.of(network)
    with patch.object(search, "_CHUNK", chunk):
        found, links, moves = tree_local(demand, broker, tree, stop=never)
    wirings = set(literal_cost.wirings(network))
    assert tuple(found.tolist()) in wirings
    cost = literally(network, found, links)
    assert cost <= literally(network, broker, tree)
    assert moves >= np.count_nonzero(found != broker)
    for other in neighbours(links, demand.brokers):
        assert literally(network, found, other) >= cost
    for user in range(demand.users):
        for target in range(demand.brokers):
            moved = found.copy()
            moved[user] = target
            if tuple(moved.tolist()) in wirings:
                assert literally(network, moved, links) >= cost


@pytest.mark.parametrize("seed", range(20, 40))
def test_local_search_on_a_tree_has_nothing_left_to_do(seed: int) -> None:
    """After number 34 swaps a link, users who were tried before must be tried again."""
    network = crowd(40, 8, 30, seed)
    network = replace(network, access=network.access // 10)
    capacity = np.full(8, sum(literal_cost.loads(network)) // 4)
    demand = Demand.of(_with_capacity(network, capacity))
    start = (np.argsort(demand.heaviest_first) % 8).astype(np.int32)
    with patch.object(search, "_CHUNK", 7):
        done = tree_local(demand, start, spanning_tree(demand.core), stop=never)
    broker, links, moves = done
    assert moves > 0
    again, same, more = tree_local(demand, broker, links, stop=never)
    np.testing.assert_array_equal(again, broker)
    np.testing.assert_array_equal(same, links)
    assert more == 0


@given(case=cases(), questions=st.integers(0, 8))
def test_stopped_local_search_has_a_wiring_that_costs_no_more(
    case: Case, questions: int
) -> None:
    network, broker, tree = case
    before = broker.copy()
    demand = Demand.of(network)
    found, links, _ = tree_local(demand, broker, tree, stop=After(questions))
    assert tuple(found.tolist()) in set(literal_cost.wirings(network))
    assert literally(network, found, links) <= literally(network, broker, tree)
    np.testing.assert_array_equal(broker, before)


def test_stopped_at_once_it_changes_nothing() -> None:
    demand = Demand.of(crowd(30, 6, 8, seed=1))
    broker, tree = np.zeros(30, np.int32), spanning_tree(demand.core)
    found, links, moves = tree_local(demand, broker, tree, stop=lambda: True)
    np.testing.assert_array_equal(found, broker)
    np.testing.assert_array_equal(links, tree)
    assert moves == 0


def test_a_busy_pair_of_brokers_gets_a_link_of_its_own() -> None:
    """On the minimum spanning tree, messages between the last two go by the hub."""
    core = [[0, 10, 10], [10, 0, 11], [10, 11, 0]]
    network = network_of(
        [{0: 5}, {}, {1: 1}, {}],
        [set(), {0}, set(), {1}],
        [[-1, 0, -1], [-1, -1, 0], [0, -1, -1], [-1, 0, -1]],
        core,
    )
    demand = Demand.of(network)
    broker = np.array([1, 2, 0, 1], np.int32)
    tree = spanning_tree(demand.core)
    assert tree.tolist() == [[0, 1], [0, 2]]
    found, links, moves = tree_local(demand, broker, tree, stop=never)
    assert links.tolist() == [[0, 1], [1, 2]]
    assert moves == 0
    assert literally(network, found, links) == 5 * 11 + 10


@pytest.mark.parametrize("brokers", [1, 2])
def test_few_brokers_have_one_tree(brokers: int) -> None:
    core = np.array([[0, 3], [3, 0]])[:brokers, :brokers]
    network = network_of([{0: 2}, {}], [set(), {0}], [[1] * brokers] * 2, core)
    demand = Demand.of(network)
    tree = spanning_tree(demand.core)
    assert tree.shape == (brokers - 1, 2)
    start = np.array([0, brokers - 1], np.int32)
    found, links, _ = tree_local(demand, start, tree, stop=never)
    np.testing.assert_array_equal(links, tree)
    assert literally(network, found, links) == 4
