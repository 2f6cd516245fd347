"""Trees that put users on brokers, and draws by their traffic, against plain Python."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from tests.kernels.interpreted import interpreted
from tests.planners.overlay import literal
from tests.planners.overlay.networks import demand_of, networks
from tests.tiers import examples

from brokerwise.kernels import overlay_steiner
from brokerwise.kernels.overlay_steiner import nearest_first, pack_weighted
from brokerwise.model.arrays import Int64s, read_only
from brokerwise.model.network import Network
from brokerwise.planners.overlay.demand import Demand


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
    return overlay_steiner.link_weights(*arrays)


def publisher_weights_of(demand: Demand) -> Int64s:
    return overlay_steiner.publisher_weights(*by_subchannel(demand))


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
    with interpreted(overlay_steiner):
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
