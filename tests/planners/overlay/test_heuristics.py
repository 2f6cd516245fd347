"""The heuristics of the paper as planners: what they guarantee of any wiring."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.overlay import literal
from tests.planners.overlay.networks import demand_of, networks
from tests.tiers import examples

from brokerwise.model.arrays import Int32s
from brokerwise.model.names import Names
from brokerwise.model.network import Network
from brokerwise.planners.overlay.heuristics import BY_NAME, HEURISTICS
from brokerwise.planners.overlay.placing import Unplaced, refusal, settled
from brokerwise.planners.overlay.problem import Demand

Heuristic = Callable[[Demand, int], Int32s | Unplaced]
SEEDS = st.integers(0, 2**32)


def wired(answer: Int32s | Unplaced) -> Int32s:
    assert not isinstance(answer, Unplaced)
    return answer


@pytest.mark.parametrize("name", BY_NAME)
@settings(max_examples=examples(60))
@given(network=networks(), seed=SEEDS)
def test_everybody_is_on_a_broker_in_reach_with_room_or_there_is_no_packing(
    name: str, network: Network, seed: int
) -> None:
    demand = Demand.of(network)
    answer = BY_NAME[name](demand, seed)
    if isinstance(answer, Unplaced):
        assert answer.proven and not literal.packings(demand)
    else:
        assert literal.is_wiring(demand, answer)


@pytest.mark.parametrize("name", BY_NAME)
@given(network=networks(), seed=SEEDS)
def test_the_same_seed_gives_the_same_wiring(
    name: str, network: Network, seed: int
) -> None:
    one, other = (BY_NAME[name](Demand.of(network), seed) for _ in range(2))
    assert (one == other) if isinstance(one, Unplaced) else (one == other).all()


def planted(
    seed: int, users: int = 40, brokers: int = 4, known: int | None = None
) -> tuple[Demand, Int32s]:
    """A network of which one packing fills every broker to the last, and that one.

    With `known`, users know that many other brokers than their own.
    """
    random = np.random.default_rng(seed)
    home = random.integers(0, brokers, users).astype(np.int32)
    access = random.integers(1, 1000, (users, brokers))
    for user in range(users if known is not None else 0):
        others = np.delete(np.arange(brokers), home[user])
        strange = random.permutation(others)[known:]
        access[user, strange] = -1
    # Each publishes for one user who only reads.
    rates = [{u: int(random.integers(1, 60))} for u in range(users - 1)]
    wanted: list[set[int]] = [set() for _ in range(users - 1)]
    network = [[*rates, {}], [*wanted, set(range(users - 1))]]
    core = np.ones((brokers, brokers), np.int64) - np.eye(brokers, dtype=np.int64)
    load = demand_of(*network, access, core).load
    capacity = np.zeros(brokers, np.int64)
    np.add.at(capacity, home, load)
    return demand_of(*network, access, core, capacity), home


@pytest.mark.parametrize("name", ["random", "steiner"])
def test_other_seeds_give_other_wirings(name: str) -> None:
    random = np.random.default_rng(3)
    some = [random.permutation(9)[:4].tolist() for _ in range(30)]
    access = random.integers(1, 9, (30, 4))
    core = 20 - 20 * np.eye(4)
    demand = demand_of([dict.fromkeys(one, 1) for one in some], some, access, core)
    seen = {tuple(wired(HEURISTICS[name](demand, seed))) for seed in range(20)}
    assert len(seen) > 10


@pytest.mark.parametrize("name", ["greedy", "clustering"])
def test_greedy_and_clustering_leave_nothing_to_chance(name: str) -> None:
    demand, _ = planted(1)
    assert (wired(HEURISTICS[name](demand, 1)) == HEURISTICS[name](demand, 2)).all()


@settings(max_examples=examples(200))
@given(network=networks(9, 4, 5))
def test_greedy_is_the_first_algorithm_of_the_paper(network: Network) -> None:
    agrees(network, HEURISTICS["greedy"], literal.greedy)


@settings(max_examples=examples(200))
@given(network=networks(9, 4, 5))
def test_clustering_is_the_second_algorithm_of_the_paper(network: Network) -> None:
    agrees(network, HEURISTICS["clustering"], literal.clustering)


@settings(max_examples=examples(200))
@given(network=networks(9, 4, 5), seed=SEEDS)
def test_steiner_draws_by_the_traffic_of_one_tree_for_each_subchannel(
    network: Network, seed: int
) -> None:
    def mixing(demand: Demand) -> list[int]:
        return literal.mixing(demand, literal.tree_weights(demand), seed)

    agrees(network, HEURISTICS["steiner"], mixing, seed)


@settings(max_examples=examples(100))
@given(network=networks(9, 4, 5), seed=SEEDS)
def test_the_literal_steiner_draws_by_the_traffic_of_every_publishers_trees(
    network: Network, seed: int
) -> None:
    def mixing(demand: Demand) -> list[int]:
        return literal.mixing(demand, literal.publisher_weights(demand), seed)

    agrees(network, BY_NAME["steiner_literal"], mixing, seed)


def agrees(
    network: Network,
    heuristic: Heuristic,
    plain: Callable[[Demand], list[int]],
    seed: int = 0,
) -> None:
    """The same wiring, or the same repair of what the plain one leaves open."""
    demand = Demand.of(network)
    broker = np.array(plain(demand), np.int32)
    answer, expected = heuristic(demand, seed), settled(demand, broker)
    if isinstance(expected, Unplaced) or isinstance(answer, Unplaced):
        assert answer == expected
    else:
        assert answer.tolist() == expected.tolist()


@given(network=networks(ample=True))
def test_with_plenty_of_room_greedy_pays_the_least_access(network: Network) -> None:
    demand = Demand.of(network)
    cheapest = np.where(demand.access < 0, 2**40, demand.access).min(axis=1)
    broker = wired(HEURISTICS["greedy"](demand, 0))
    assert (demand.access[np.arange(demand.users), broker] == cheapest).all()


def test_random_uses_every_broker_in_reach_about_equally() -> None:
    users, brokers = 3000, 3
    access = [[1, 2, 3] if u % 2 else [1, -1, 3] for u in range(users)]
    nobody: list[dict[int, int]] = [{}] * users
    demand = demand_of(nobody, nobody, access, np.zeros((brokers, brokers)))
    broker = wired(HEURISTICS["random"](demand, 5))
    odd, even = np.bincount(broker[1::2]), np.bincount(broker[::2], minlength=3)
    assert even[1] == 0
    assert abs(odd - 500).max() < 100 and abs(even[[0, 2]] - 750).max() < 100


@pytest.mark.parametrize("known", [None, 1])
def test_full_brokers_are_packed_nearly_always(known: int | None) -> None:
    tried = found = 0
    for seed in range(10):
        demand, home = planted(seed, known=known)
        assert literal.is_wiring(demand, home)  # so there is a packing
        for heuristic in HEURISTICS.values():
            answer = heuristic(demand, seed)
            tried += 1
            if not isinstance(answer, Unplaced):
                assert literal.is_wiring(demand, answer)
                found += 1
    assert found >= 0.9 * tried


def test_no_packing_is_said_with_numbers() -> None:
    # The reader needs 12, the others 4 each, of whom only one fits in 7.
    demand = demand_of(
        [{0: 4}, {1: 4}, {2: 4}, {}],
        [set(), set(), set(), {0, 1, 2}],
        np.zeros((4, 3)),
        np.zeros((3, 3)),
        [12, 7, 7],
    )
    assert refusal(demand) is None  # it takes a search to tell
    answer = HEURISTICS["greedy"](demand, 0)
    assert isinstance(answer, Unplaced)
    assert answer == Unplaced(1, 4, 4, 3, proven=True)
    assert answer.reason == (
        "there is no packing: at best 1 user is left without a broker, who needs 4; "
        "the most room on one broker is 3"
    )
    several = Unplaced(1200, 34567, 99, 3)
    assert several.reason == (
        "no packing was found: at best 1,200 users are left without a broker, who "
        "need 34,567, 99 the largest; the most room on one broker is 3"
    )


@settings(max_examples=examples(200))
@given(network=networks(5, 4, 3))
def test_what_is_refused_has_no_packing(network: Network) -> None:
    demand = Demand.of(network)
    if refusal(demand) is not None:
        assert not literal.packings(demand)


def talkers(capacity: list[int], known: list[list[int]]) -> Demand:
    """Three users who send 500 each to a fourth, of load 1,500."""
    rates = [{0: 500}, {0: 500}, {0: 500}, {}]
    wanted: list[set[int]] = [set(), set(), set(), {0}]
    count = len(capacity)
    return demand_of(rates, wanted, known, np.zeros((count, count)), capacity)


ANY = [[1, 1, 1]] * 4


def test_capacity_short_by_one_is_refused_with_numbers() -> None:
    assert refusal(talkers([1500, 1500, 0], ANY)) is None
    assert refusal(talkers([1500, 1499, 0], ANY)) == (
        "capacity of all brokers is 2,999, users need 3,000"
    )


def test_a_user_too_large_for_every_broker_in_its_reach_is_named() -> None:
    small = talkers([1499, 1499, 1499], ANY)
    assert refusal(small) == (
        "user 3 needs 1,500, the largest broker in its reach has 1,499"
    )
    names = Names.of(["ann", "bob", "eve", "zoe"])
    assert "user 'zoe' needs" in str(refusal(small, names))
    both = talkers([9000, 1499, 499], [[-1, -1, 1], *ANY[:2], [-1, 1, 1]])
    assert refusal(both) == (
        "user 0 needs 500, the largest broker in its reach has 499 "
        "(1 more fits nowhere)"
    )


def test_users_who_know_too_few_brokers_are_refused_with_numbers() -> None:
    known = [[-1, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, 1, 1]]
    assert refusal(talkers([1500, 999, 501], known)) is None
    assert refusal(talkers([1501, 999, 500], known)) == (
        "3 users who know only 2 of the 3 brokers need 1,500, those have 1,499"
    )
    elsewhere = [[-1, 1, 1]] * 4
    assert refusal(talkers([1, 1500, 1499], elsewhere)) == (
        "4 users who know only 2 of the 3 brokers need 3,000, those have 2,999"
    )


def test_nobody_is_wired_to_nothing() -> None:
    nobody = demand_of([], [], np.zeros((0, 2)), np.zeros((2, 2)))
    assert refusal(nobody) is None
    for heuristic in BY_NAME.values():
        assert len(wired(heuristic(nobody, 0))) == 0
