"""The evaluator, and moves one by one, against the definitions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.overlay import literal_cost
from tests.planners.overlay.networks import network_of, networks
from tests.tiers import examples

from brokerwise.kernels.overlay_forwarding import FAR
from brokerwise.kernels.overlay_local import move_costs, move_user
from brokerwise.kernels.overlay_packing import one_of
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.network import Network, distances, shortest_paths
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.wiring import Evaluation


@st.composite
def wired(draw: st.DrawFn, *, ample: bool = False) -> tuple[Network, Int32s]:
    """A network with some broker in reach for each user."""
    network = draw(networks(max_brokers=5, ample=ample))
    known = [np.flatnonzero(row >= 0).tolist() for row in network.access]
    broker = [draw(st.sampled_from(brokers)) for brokers in known]
    return network, np.array(broker, np.int32)


def with_tables(found: Evaluation, kept: bool) -> Evaluation:
    """As it is for small networks, or as it is for those that are too large for
    tables."""
    if kept:
        return found
    without = found.forwarded._replace(tables=np.zeros((0, 0, 0), np.int64))
    return replace(found, forwarded=without)


def changes_of(demand: Demand, found: Evaluation, user: int) -> Int64s:
    """What moving one user would change, by the kernel."""
    changes = np.empty(demand.brokers, np.int64)
    room = demand.capacity - found.wiring.load
    move_costs(user, demand.everyone, room, found.wiring, found.forwarded, changes)
    return changes


def move(demand: Demand, found: Evaluation, user: int, target: int) -> None:
    """Move one user, by the kernel."""
    move_user(user, target, demand.everyone, found.wiring, found.forwarded)


def assert_as_fresh(demand: Demand, found: Evaluation) -> None:
    fresh = Evaluation.of(demand, found.wiring.broker)
    for field in ("load", "followers", "sources"):
        kept, new = getattr(found.wiring, field), getattr(fresh.wiring, field)
        np.testing.assert_array_equal(kept, new, err_msg=field)
    np.testing.assert_array_equal(found.forwarded.weights, fresh.forwarded.weights)
    np.testing.assert_array_equal(found.forwarded.costs, fresh.forwarded.costs)


def assert_changes(network: Network, broker: Int32s, user: int, by: Int64s) -> None:
    """What the kernel says is the literal difference; it is silent only where the
    user may not go or would not lower the cost."""
    now = sum(literal_cost.costs(network, broker.tolist()))
    load = literal_cost.loads(network)
    for target in range(network.brokers):
        if target == broker[user]:
            assert by[target] == FAR
            continue
        there = [load[i] for i in range(network.users) if broker[i] == target]
        fits = sum(there) + load[user] <= network.capacity[target]
        if not fits or network.access[user, target] < 0:
            assert by[target] == FAR
            continue
        moved = broker.copy()
        moved[user] = target
        difference = sum(literal_cost.costs(network, moved.tolist())) - now
        assert by[target] == (difference if by[target] != FAR else FAR)
        assert by[target] != FAR or difference >= 0


@given(network=networks())
def test_loads_are_what_users_send_and_receive(network: Network) -> None:
    demand = Demand.of(network)
    assert demand.load.tolist() == literal_cost.loads(network)


@given(network=networks(max_users=8))
def test_only_what_another_user_wants_is_sent(network: Network) -> None:
    demand = Demand.of(network)
    rates, interests = literal_cost.published(network), literal_cost.wanted(network)
    total = [0] * demand.subchannels
    for user in range(demand.users):
        others = interests[:user] + interests[user + 1 :]
        sent = {c: r for c, r in rates[user].items() if any(c in o for o in others)}
        own = one_of(demand.everyone, user)
        rows, found = own.rate_subchannels, own.rates
        assert dict(zip(rows.tolist(), found.tolist(), strict=True)) == sent
        assert own.wanted.tolist() == sorted(interests[user])
        for c, rate in sent.items():
            total[c] += rate
    assert demand.total.tolist() == total


@settings(max_examples=examples(200))
@given(case=wired())
def test_a_wiring_costs_what_the_definition_says(case: tuple[Network, Int32s]) -> None:
    network, broker = case
    demand = Demand.of(network)
    found = Evaluation.of(demand, broker).total(demand)
    assert (found.access, found.core) == literal_cost.costs(network, broker.tolist())


@settings(max_examples=examples(200))
@given(case=wired(), tables=st.booleans(), data=st.data())
def test_each_move_changes_the_cost_by_what_was_said(
    case: tuple[Network, Int32s], tables: bool, data: st.DataObject
) -> None:
    network, broker = case
    demand = Demand.of(network)
    found = with_tables(Evaluation.of(demand, broker), tables)
    for _ in range(data.draw(st.integers(0, 3))):
        user = data.draw(st.integers(0, demand.users - 1))
        known = np.flatnonzero(demand.access[user] >= 0).tolist()
        target = data.draw(st.sampled_from(known))
        if target != found.wiring.broker[user]:
            changes_of(demand, found, user)  # fills tables that the move must keep
            move(demand, found, user, target)
    assert_as_fresh(demand, found)
    for user in range(demand.users):
        changes = changes_of(demand, found, user)
        assert_changes(network, found.wiring.broker, user, changes)


def crowd(users: int, brokers: int, subchannels: int, seed: int) -> Network:
    """Users at random places, with narrow interests and dear links in the core."""
    rng = np.random.default_rng(seed)
    hubs = rng.random((brokers, 2))
    core = shortest_paths(distances(hubs, hubs))
    return network_of(
        [
            {int(c): int(rng.integers(1, 50)) for c in rng.permutation(subchannels)[:4]}
            for _ in range(users)
        ],
        [set(rng.permutation(subchannels)[:3].tolist()) for _ in range(users)],
        distances(rng.random((users, 2)), hubs) // 5,
        core,
        subchannels=subchannels,
    )


@pytest.mark.parametrize("tables", [True, False])
def test_after_thousands_of_moves_all_is_as_if_counted_anew(tables: bool) -> None:
    network = crowd(60, 9, 15, seed=3)
    demand = Demand.of(network)
    rng = np.random.default_rng(4)
    start = rng.integers(0, demand.brokers, demand.users).astype(np.int32)
    found = with_tables(Evaluation.of(demand, start), tables)
    lowered = 0
    for number in range(5000):
        user = int(rng.integers(demand.users))
        home, target = found.wiring.broker[user], int(rng.integers(demand.brokers))
        if target == home:
            continue
        before = found.total(demand).total
        said = changes_of(demand, found, user)[target]
        move(demand, found, user, target)
        change = found.total(demand).total - before
        assert said == change or (said == FAR and change >= 0)
        lowered += change < 0
        if number % 100 == 0:
            assert_as_fresh(demand, found)
    assert_as_fresh(demand, found)
    assert lowered > 500
    total = found.total(demand)
    expected = literal_cost.costs(network, found.wiring.broker.tolist())
    assert (total.access, total.core) == expected


@settings(max_examples=examples(50))
@given(case=wired(ample=True), tables=st.booleans())
def test_descending_saves_what_it_says_and_ends_where_no_move_helps(
    case: tuple[Network, Int32s], tables: bool
) -> None:
    network, broker = case
    demand = Demand.of(network)
    found = with_tables(Evaluation.of(demand, broker), tables)
    before = found.total(demand).total
    moves, saved = 1, 0
    while moves:
        moves, less = found.descend(demand, demand.heaviest_first)
        saved += less
    assert_as_fresh(demand, found)
    assert before - saved == found.total(demand).total
    now = found.wiring.broker.tolist()
    least = sum(literal_cost.costs(network, now))
    for user, known in enumerate(network.access >= 0):
        for target in np.flatnonzero(known):
            moved = [*now[:user], int(target), *now[user + 1 :]]
            assert sum(literal_cost.costs(network, moved)) >= least
