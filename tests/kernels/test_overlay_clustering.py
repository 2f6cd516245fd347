"""Pairs and clusters of users who talk to each other, against plain Python."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from tests.kernels.interpreted import interpreted
from tests.planners.overlay import literal
from tests.planners.overlay.networks import demand_of, networks
from tests.tiers import examples

from brokerwise.kernels import overlay_clustering
from brokerwise.kernels.overlay_clustering import per_cost
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.network import Network
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.heuristics import HEURISTICS
from brokerwise.planners.overlay.wiring import Wiring


def seeds(demand: Demand) -> Int32s:
    """The broker of those who are of the pair of a broker."""
    outgoing, incoming = limits(demand)
    room, broker = demand.capacity.copy(), np.full(demand.users, -1, np.int32)
    overlay_clustering.seed_clusters(
        demand.load,
        demand.access,
        outgoing,
        incoming,
        outgoing + incoming,
        room,
        broker,
        demand.rate_offsets,
        demand.rate_subchannels,
        demand.rates,
        demand.wanted_offsets,
        demand.wanted,
    )
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
    with interpreted(overlay_clustering), patch.object(overlay_clustering, "MANY", 0):
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
    with interpreted(overlay_clustering):
        overlay_clustering.join_clusters(
            demand.heaviest_first,
            demand.load,
            demand.access,
            followers,
            sources,
            room,
            broker,
            demand.rate_offsets,
            demand.rate_subchannels,
            demand.rates,
            demand.wanted_offsets,
            demand.wanted,
        )
    if (broker < 0).any():
        return
    wiring = Wiring.of(demand, broker)
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
