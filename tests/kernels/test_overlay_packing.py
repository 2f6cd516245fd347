"""Users on brokers within capacity and reach, against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.planners.overlay import literal
from tests.planners.overlay.networks import networks
from tests.tiers import examples

from brokerwise.kernels import overlay_packing
from brokerwise.kernels.overlay_packing import (
    NOWHERE,
    pack_drawn,
    pack_tight,
    search_packing,
    squeeze_in,
)
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.network import Network
from brokerwise.planners.overlay.problem import Demand


def nobody(demand: Demand) -> tuple[Int64s, Int32s]:
    return demand.capacity.copy(), np.full(demand.users, NOWHERE, np.int32)


def placed_well(demand: Demand, room: Int64s, broker: Int32s) -> bool:
    """Within reach, and `room` is what is left."""
    left = demand.capacity.copy()
    for user, b in enumerate(broker.tolist()):
        if b != NOWHERE:
            assert demand.access[user, b] >= 0
            left[b] -= demand.load[user]
    return bool((left == room).all() and (left >= 0).all())


@settings(max_examples=examples(150))
@given(network=networks(8, 4, 4), data=st.data())
def test_a_draw_picks_among_brokers_in_reach_with_room(
    network: Network, data: st.DataObject
) -> None:
    demand = Demand.of(network)
    order = data.draw(st.permutations(range(demand.users)))
    draw = st.floats(0, 1, exclude_max=True)
    draws = [data.draw(draw) for _ in range(demand.users)]
    room, broker = nobody(demand)
    pack_drawn(
        np.array(order), np.array(draws), demand.load, demand.access, room, broker
    )
    filling = literal.Filling(demand)
    for user in order:
        if fitting := filling.fitting(user):
            filling.put(user, fitting[int(draws[user] * len(fitting))])
    assert broker.tolist() == filling.home
    assert placed_well(demand, room, broker)


@pytest.mark.parametrize("roomiest", [False, True])
@settings(max_examples=examples(150))
@given(network=networks(8, 4, 4), data=st.data())
def test_tight_packing_takes_the_fullest_or_the_roomiest_broker(
    roomiest: bool, network: Network, data: st.DataObject
) -> None:
    demand = Demand.of(network)
    order = data.draw(st.permutations(range(demand.users)))
    room, broker = nobody(demand)
    pack_tight(np.array(order), demand.load, demand.access, room, broker, roomiest)
    filling = literal.Filling(demand)
    sign = -1 if roomiest else 1
    for user in order:
        ranked = [
            (sign * filling.room[b], literal.cost(demand, user, b), b)
            for b in filling.fitting(user)
        ]
        if ranked:
            filling.put(user, min(ranked)[2])
    assert broker.tolist() == filling.home
    assert placed_well(demand, room, broker)


def squeezed(demand: Demand, broker: Int32s, budget: int) -> tuple[Int64s, Int32s]:
    room = demand.capacity.copy()
    broker = broker.copy()
    for user, b in enumerate(broker.tolist()):
        if b != NOWHERE:
            room[b] -= demand.load[user]
    left = np.flatnonzero(broker == NOWHERE)
    by_load = np.argsort(demand.load, kind="stable")
    squeeze_in(left, by_load, demand.load, demand.access, room, broker, budget)
    return room, broker


def one_more_fits(demand: Demand, broker: Int32s, user: int) -> bool:
    """After nothing, one move, or, if it knows one broker only, one exchange of others,
    by trying all."""
    placed = [u for u in range(demand.users) if broker[u] != NOWHERE]
    ways: list[dict[int, int]] = [{}]
    ways += [{u: b} for u in placed for b in range(demand.brokers)]
    if len(literal.known_to(demand, user)) == 1:
        ways += [{u: broker[v], v: broker[u]} for u in placed for v in placed]
    for way in ways:
        for b in range(demand.brokers):
            homes = {u: broker[u] for u in placed} | way | {user: b}
            load = np.zeros(demand.brokers, np.int64)
            for u, home in homes.items():
                load[home] += demand.load[u]
            known = all(demand.access[u, home] >= 0 for u, home in homes.items())
            if known and (load <= demand.capacity).all():
                return True
    return False


@settings(max_examples=examples(200))
@given(network=networks(8, 3, 4, min_users=3), data=st.data())
def test_the_last_user_squeezes_in_where_one_move_or_exchange_makes_room(
    network: Network, data: st.DataObject
) -> None:
    demand = Demand.of(network)
    _, broker = nobody(demand)
    room = demand.capacity.copy()
    last = data.draw(st.integers(0, demand.users - 1))
    order = [u for u in range(demand.users) if u != last]
    draws = np.array([data.draw(st.floats(0, 0.99)) for _ in range(demand.users)])
    pack_drawn(np.array(order), draws, demand.load, demand.access, room, broker)
    if (np.delete(broker, last) == NOWHERE).any():
        return
    room, after = squeezed(demand, broker, 10**6)
    assert placed_well(demand, room, after)
    assert after[last] != NOWHERE or not one_more_fits(demand, broker, last)
    assert (np.delete(after, last) != NOWHERE).all()


def loads(load: list[int], access: list[list[int]], capacity: list[int]) -> Demand:
    """Only what packing looks at."""
    none = np.zeros(0, np.int64)
    empty = np.zeros(0, np.int32)
    costs = np.array(access, np.int64)
    at = np.zeros(len(load) + 1, np.int64)
    room = np.array(capacity, np.int64)
    core = np.zeros((len(room), len(room)), np.int64)
    return Demand(
        costs, core, room, at, empty, none, at, empty, none, np.array(load, np.int64)
    )


def test_the_cheapest_of_several_moves_makes_room() -> None:
    # User 2 needs 6 on broker 0, where only 2 is free: user 0 or 1 must leave it.
    known = [[1, 5], [1, 4], [1, -1]]
    demand = loads([4, 4, 6], known, [10, 9])
    _, after = squeezed(demand, np.array([0, 0, NOWHERE], np.int32), 0)
    assert after.tolist() == [0, 1, 0]


def test_exchanges_gather_room_until_the_budget_is_spent() -> None:
    # The user of load 3 needs all the room there is: 1 on each of three brokers.
    demand = loads([5, 5, 4, 4, 3], [[1, 1, 1]] * 4 + [[1, -1, -1]], [11, 5, 5])
    before = np.array([0, 0, 1, 2, NOWHERE], np.int32)
    assert squeezed(demand, before, 0)[1].tolist() == before.tolist()
    room, after = squeezed(demand, before, 100)
    assert after.tolist() == [1, 2, 0, 0, 0]
    assert room.tolist() == [0, 0, 0]


@settings(max_examples=examples(300))
@given(network=networks(6, 3, 4))
def test_the_search_finds_a_packing_exactly_if_there_is_one(network: Network) -> None:
    demand = Demand.of(network)
    users = demand.heaviest_first
    room, broker = nobody(demand)
    with interpreted(overlay_packing):
        answer = overlay_packing.search_packing(
            users, demand.load, demand.access, room, broker, 10**6
        )
    assert answer == (literal.packings(demand), True)
    assert not answer[0] or literal.is_wiring(demand, broker)


def test_the_search_gives_up_when_its_budget_is_spent() -> None:
    demand = loads([5, 5, 3, 3, 3], [[0, 0]] * 5, [10, 9])
    users = demand.heaviest_first
    room, broker = nobody(demand)
    few = search_packing(users, demand.load, demand.access, room, broker, 4)
    assert few == (False, False)
    room, broker = nobody(demand)
    enough = search_packing(users, demand.load, demand.access, room, broker, 100)
    assert enough == (True, True)
    assert broker.tolist() == [0, 0, 1, 1, 1]
