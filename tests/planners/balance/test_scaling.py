"""Whether a fleet is too small or too large."""

import numpy as np
import pytest
from tests.planners.balance.fleets import after, plain, snapshot_of

from brokerwise.model.errors import InputError
from brokerwise.planners.balance.problem import Options, Problem
from brokerwise.planners.balance.scaling import Resizing, Sizing, propose_size


def proposed(problem: Problem, capacity: int) -> Resizing | None:
    return propose_size(problem, Sizing(capacity), Options("ldm", max_moves=1))


def test_a_fleet_of_the_right_size_is_left_as_it_is() -> None:
    problem = Problem.of(plain(2, [[2] * 50, [2] * 10]))
    assert proposed(problem, 100) is None  # 60 each, when balanced
    assert proposed(Problem.of(plain(2, [[], []])), 100) is None


def test_too_small_it_gets_the_fewest_brokers_that_are_enough() -> None:
    # 300 on 2 brokers is 150 each; at most 65 each takes 5.
    problem = Problem.of(plain(2, [[2] * 75, [2] * 75]))
    found = proposed(problem, 100)
    assert found is not None and found.added == 3
    assert not found.closing.any() and len(found.closing) == 5
    assert found.rebalancing.after.max() <= 65
    assert found.rebalancing.before.tolist() == [150, 150, 0, 0, 0]
    assert found.reason == (
        "even well balanced, a broker carries 150 % of its capacity, more than 80 %; "
        "with 3 more at most 60 %"
    )


def test_a_session_that_is_too_heavy_is_no_reason_to_grow() -> None:
    assert proposed(Problem.of(plain(2, [[90], [2]])), 100) is None


def test_too_large_it_gives_up_the_emptiest_brokers() -> None:
    # 120 on 5 brokers is 24 each; 2 are enough for at most 65 each.
    problem = Problem.of(plain(5, [[2] * 20, [2] * 5, [2] * 25, [2] * 4, [2] * 6]))
    found = proposed(problem, 100)
    assert found is not None and found.added == 0
    assert found.closing.tolist() == [False, True, False, True, True]
    assert set(after(problem, found.rebalancing)) == {0, 2}
    assert found.rebalancing.after.tolist() == [60, 0, 60, 0, 0]
    assert found.reason == (
        "brokers carry 24 % of their capacity on average, less than 40 %; without 3 of "
        "them at most 60 %"
    )


def test_brokers_with_held_sessions_do_not_close() -> None:
    snapshot = plain(3, [[2] * 2, [2] * 3, [2] * 4])
    held = np.zeros(9, np.bool_)
    held[0] = True
    every = np.ones(3, np.bool_)
    found = proposed(Problem(snapshot, held, every, ~every), 100)
    assert found is not None
    assert found.closing.tolist() == [False, True, True]


def test_shares_that_do_not_rise_are_refused() -> None:
    with pytest.raises(InputError, match=r"found 0\.7, 0\.65, 0\.8"):
        Sizing(100, low=0.7)
    with pytest.raises(InputError, match="capacity"):
        Sizing(0)


def test_the_fewest_brokers_are_found_among_many() -> None:
    # 600 on 2 brokers; at most 65 each takes 10.
    problem = Problem.of(plain(2, [[2] * 300, []]))
    found = proposed(problem, 100)
    assert found is not None and found.added == 8


@pytest.mark.parametrize("brokers", range(3, 17))
def test_every_size_up_to_eight_times_as_many_is_found(brokers: int) -> None:
    problem = Problem.of(plain(2, [[2] * 32 * brokers, []]))
    found = proposed(problem, 100)  # 64 each
    assert found is not None and found.added == brokers - 2


def test_more_than_eight_times_as_many_are_not_proposed() -> None:
    assert proposed(Problem.of(plain(2, [[2] * 32 * 17, []])), 100) is None


def test_a_fleet_that_nothing_smaller_can_carry_keeps_its_size() -> None:
    # 39 each is little, but twice 39 is more than 65.
    assert proposed(Problem.of(plain(2, [[2] * 19, [2] * 19])), 100) is None


def test_who_has_a_session_everywhere_keeps_all_brokers() -> None:
    snapshot = snapshot_of(2, [1], [[0], [0]], [0, 1], users=[7, 7])
    assert proposed(Problem.of(snapshot), 100) is None
