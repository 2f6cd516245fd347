"""Clusters of users who talk to each other, and trees that put users on brokers,
against plain Python.
"""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from tests.kernels.interpreted import interpreted
from tests.planners.overlay import literal
from tests.planners.overlay.networks import demand_of, networks
from tests.tiers import examples

from brokerwise.kernels import overlay_heuristics
from brokerwise.kernels.overlay_heuristics import nearest_first, pack_weighted, per_cost
from brokerwise.model.arrays import Int32s, Int64s, read_only
from brokerwise.model.network import Network
from brokerwise.planners.overlay.heuristics import HEURISTICS
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.wiring import wiring_of


def seeds(demand: Demand) -> Int32s:
    """The broker of those who are of the pair of a broker."""
    outgoing, incoming = limits(demand)
    room, broker = demand.capacity.copy(), np.full(demand.users, -1, np.int32)
    hopes = overlay_heuristics.Hopes(outgoing, incoming, outgoing + incoming)
    overlay_heuristics.seed_clusters(demand.everyone, hopes, room, broker)
    return broker


def limits(demand: Demand) -> tuple[Int64s, Int64s]:
    """What each user sends and receives in all: loose, but true."""
    sent = [sum(literal.rates_of(demand, u).values()) for u in range(demand.users)]
    outgoing = np.array(sent, np.int64)
    return outgoing, demand.load - outgoing


def pairs(demand: Demand) -> list[int]:
    """The same by trying all pairs."""
    filling = literal.Filling(demand)
    for b in range(demand.brokers):
        free = [u for u in range(demand.users) if filling.home[u] < 0]
        for user in literal.best_pair(demand, b, free, filling.room[b]) or ():
            filling.put(user, b)
    return filling.home


@settings(max_examples=examples(300))
@given(network=networks(10, 4, 5))
def test_each_broker_gets_the_best_pair_of_all(network: Network) -> None:
    demand = Demand.of(network)
    assert seeds(demand).tolist() == pairs(demand)


@settings(max_examples=examples(60))
@given(network=networks(8, 3, 4))
def test_exact_limits_change_nothing_and_no_index_is_out_of_range(
    network: Network,
) -> None:
    demand = Demand.of(network)
    with interpreted(overlay_heuristics), patch.object(overlay_heuristics, "MANY", 0):
        assert seeds(demand).tolist() == pairs(demand)


@pytest.mark.parametrize("cost", [0, 1000])
def test_of_many_users_with_equal_links_the_loudest_pairs_come_first(cost: int) -> None:
    users, brokers, channels = 300, 5, 12
    random = np.random.default_rng(8)
    rates = random.integers(1, 50, (users, channels))
    wants = random.random((users, channels)) < 0.3
    demand = demand_of(
        [dict(enumerate(row.tolist())) for row in rates],
        [set(np.flatnonzero(row).tolist()) for row in wants],
        np.full((users, brokers), cost),
        np.zeros((brokers, brokers)),
    )
    found = seeds(demand)
    both = rates @ wants.T + (rates @ wants.T).T
    np.fill_diagonal(both, -1)
    for b in range(brokers):
        i, j = np.unravel_index(np.argmax(both), both.shape)
        assert np.flatnonzero(found == b).tolist() == sorted((int(i), int(j)))
        both[[i, j]] = both[:, [i, j]] = -1


def test_free_links_are_worth_more_than_any_and_no_traffic_nothing() -> None:
    assert per_cost(7, 2) == 3.5
    assert per_cost(1, 0) == float("inf")
    assert per_cost(0, 0) == per_cost(0, 5) == 0


def test_a_pair_must_fit_on_its_broker() -> None:
    # Users 0 and 1 exchange most, 20 in all: too much for broker 0, not for broker 1.
    rates = [{0: 10}, {1: 10}, {2: 1}, {}]
    wanted = [{1}, {0}, set(), {2}]
    access, core = np.ones((4, 2)), np.zeros((2, 2))
    assert seeds(demand_of(rates, wanted, access, core, [39, 40])).tolist() == [
        1, 1, 0, 0
    ]  # fmt: skip
    assert seeds(demand_of(rates, wanted, access, core, [40, 40])).tolist() == [
        0, 0, 1, 1
    ]  # fmt: skip


@settings(max_examples=examples(50))
@given(network=networks(8, 3, 4))
def test_joining_keeps_what_clusters_say_true(network: Network) -> None:
    demand = Demand.of(network)
    shape = demand.subchannels, demand.brokers
    followers, sources = np.zeros(shape, np.int32), np.zeros(shape, np.int64)
    room, broker = demand.capacity.copy(), np.full(demand.users, -1, np.int32)
    with interpreted(overlay_heuristics):
        overlay_heuristics.join_clusters(
            demand.heaviest_first, demand.everyone, followers, sources, room, broker
        )
    if (broker < 0).any():
        return
    wiring = wiring_of(demand, broker)
    assert (wiring.followers == followers).all()
    assert (wiring.sources == sources).all()
    assert (demand.capacity - wiring.load == room).all()


def test_friends_who_talk_to_nobody_else_end_up_together() -> None:
    """Users 2k and 2k + 1 talk to each other only; there is room for all anywhere."""
    friends = 200
    rates = [{u: 5} for u in range(2 * friends)]
    wanted = [{u ^ 1} for u in range(2 * friends)]
    access = np.random.default_rng(2).integers(1, 1000, (2 * friends, 7))
    demand = demand_of(rates, wanted, access, np.zeros((7, 7)))
    broker = HEURISTICS["clustering"](demand, 0)
    assert isinstance(broker, np.ndarray)
    seeded = np.flatnonzero(seeds(demand) >= 0)
    assert len(seeded) == 14
    assert (broker[seeded[::2]] == broker[seeded[1::2]]).all()
    rest = np.setdiff1d(np.arange(2 * friends), seeded)
    apart = (broker[rest[::2]] != broker[rest[1::2]]).sum()
    assert apart == 0


def by_subchannel(demand: Demand) -> list[Any]:
    publishers = [
        (c, u, rate)
        for u in range(demand.users)
        for c, rate in literal.rates_of(demand, u).items()
    ]
    table = np.array(sorted(publishers), np.int64).reshape(-1, 3)
    return [
        demand.access,
        demand.core,
        *demand.followers,
        np.searchsorted(table[:, 0], np.arange(demand.subchannels + 1)),
        table[:, 1].astype(np.int32),
        table[:, 2].copy(),
    ]


def weights_of(demand: Demand) -> Int64s:
    arrays = [*by_subchannel(demand), demand.total]
    return overlay_heuristics.link_weights(*arrays)


def publisher_weights_of(demand: Demand) -> Int64s:
    return overlay_heuristics.publisher_weights(*by_subchannel(demand))


def links_of(weights: Int64s) -> literal.Weights:
    links = zip(*np.nonzero(weights), strict=True)
    return {(int(u), int(b)): int(weights[u, b]) for u, b in links}


@settings(max_examples=examples(200))
@given(network=networks(10, 4, 5))
def test_links_carry_the_traffic_of_one_tree_for_each_subchannel(
    network: Network,
) -> None:
    demand = Demand.of(network)
    assert links_of(weights_of(demand)) == literal.tree_weights(demand)


@settings(max_examples=examples(25))
@given(network=networks(10, 4, 5))
def test_links_carry_the_traffic_of_every_publishers_trees(network: Network) -> None:
    demand = Demand.of(network)
    assert links_of(publisher_weights_of(demand)) == literal.publisher_weights(demand)


@settings(max_examples=examples(50))
@given(network=networks(8, 4, 4))
def test_a_users_links_carry_its_load_and_no_index_is_out_of_range(
    network: Network,
) -> None:
    demand = Demand.of(network)
    with interpreted(overlay_heuristics):
        found = weights_of(demand), publisher_weights_of(demand)
    for weights in found:
        assert (weights.sum(axis=1) == demand.load).all()
        assert not weights[demand.access < 0].any()


def test_in_a_metric_a_tree_puts_everybody_on_one_broker() -> None:
    """No way by another broker is shorter than the link to one of the tree."""
    random = np.random.default_rng(4)
    users, brokers = random.random((40, 2)), random.random((5, 2))
    access = np.linalg.norm(users[:, None] - brokers, axis=2) * 10**6
    core = np.ceil(np.linalg.norm(brokers[:, None] - brokers, axis=2) * 10**6) + 2
    np.fill_diagonal(core, 0)
    demand = demand_of([{0: 3}] * 40, [{0}] * 40, access, core)
    weights = weights_of(demand)
    nearest = int(np.argmin(demand.access.min(axis=0)))
    assert np.flatnonzero(weights.any(axis=0)).tolist() == [nearest]


def test_cheap_core_links_let_users_keep_their_own_broker() -> None:
    access = [[1, 9], [9, 1], [2, 9], [9, 2]]
    demand = demand_of([{0: 1}] * 4, [{0}] * 4, access, [[0, 3], [3, 0]])
    assert weights_of(demand).tolist() == [[4, 0], [0, 4], [4, 0], [0, 4]]
    dear = demand_of([{0: 1}] * 4, [{0}] * 4, access, [[0, 9], [9, 0]])
    assert weights_of(dear).tolist() == [[4, 0]] * 4


def test_each_broker_lists_users_by_cost_then_number() -> None:
    access = read_only(np.array([[5, 1], [3, -1], [5, 0]]))
    assert nearest_first(access).tolist() == [[1, 0, 2], [1, 2, 0]]


def test_draws_follow_the_weights_of_links_with_room() -> None:
    users = 4000
    weights = np.tile(np.array([1, 0, 3, 6]), (users, 1))
    draws = np.random.default_rng(9).random(users)
    access = read_only(np.ones((users, 4), np.int64))
    load = np.ones(users, np.int64)
    room = np.array([9000, 9000, 9000, 0])
    broker = np.empty(users, np.int32)
    pack_weighted(np.arange(users), draws, weights, load, access, room, broker)
    counts = np.bincount(broker, minlength=4)
    assert counts[1] == counts[3] == 0
    assert abs(counts[0] - 1000) < 120
    assert room.tolist() == (np.array([9000, 9000, 9000, 0]) - counts).tolist()


def test_without_room_on_weighted_links_the_cheapest_link_is_taken() -> None:
    weights = np.array([[0, 5, 0]])
    access = read_only(np.array([[7, 1, 3]]))
    load = np.array([5])
    for room, expected in (([9, 4, 9], 2), ([9, 4, 4], 0), ([4, 4, 4], -1)):
        broker = np.empty(1, np.int32)
        pack_weighted(
            np.array([0]),
            np.array([0.5]),
            weights,
            load,
            access,
            np.array(room),
            broker,
        )
        assert broker.tolist() == [expected]
