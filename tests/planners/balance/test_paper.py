"""The paper's policies: by hand, and move for move as plain Python does it."""

import numpy as np
import pytest
from benchmarks.reference import balance_literal
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.balance.fleets import after, problems, snapshot_of
from tests.tiers import examples

from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Snapshot
from brokerwise.planners.balance import workspace
from brokerwise.planners.balance.problem import Options, Problem
from brokerwise.planners.balance.solve import solve

PAPER = ("none", "ldm", "sdm", "gsh", "ldm+gsh", "sdm+gsh")


@pytest.fixture
def three_brokers_one_hot() -> Snapshot:
    """Topics 0 to 3 of rates 10, 6, 4 and 3.

    Broker 0 has sessions 0 {0, 1}, 1 {0, 2}, 2 {1}, 3 {3}; 1 has 4 {0}; 2 has 5 {2}.
    Own loads: 16, 14, 6, 3, 10, 4. Broker 0 carries 10 * 3 + 6 * 3 + 4 * 2 + 3 * 2 =
    62, broker 1 carries 20, broker 2 carries 8: mean 30, cov sqrt(32^2 + 10^2 + 22^2)
    / sqrt(3) / 30 = 0.77.
    """
    return snapshot_of(
        3,
        [10, 6, 4, 3],
        [[0, 1], [0, 2], [1], [3], [0], [2]],
        [0, 0, 0, 0, 1, 2],
    )


def test_by_load_the_heaviest_goes_to_the_least_loaded_broker(
    three_brokers_one_hot: Snapshot,
) -> None:
    # Session 0 to broker 2: it has neither topic, so 8 + 2 * 16 = 40 < 62. Broker 0
    # is left with 1 {0, 2}, 2 {1}, 3 {3}: 20 + 8 + 12 + 6 = 46. Then 46, 20, 40.
    problem = Problem.of(three_brokers_one_hot)
    found = solve(problem, Options("ldm", alpha=0.35))
    assert (found.sessions.tolist(), found.targets.tolist()) == ([0], [2])
    assert found.before.tolist() == [62, 20, 8]
    assert found.after.tolist() == [46, 20, 40]
    assert found.reason == "cov 0.77 is above 0.35; moves until it is not"


def test_by_load_steps_follow_until_the_threshold(
    three_brokers_one_hot: Snapshot,
) -> None:
    # 46, 20, 40 has cov 0.31. Session 1 {0, 2} to broker 1, which has topic 0: 20 + 10
    # + 8 = 38 < 46. Broker 0 keeps 2 {1} and 3 {3}: 12 + 6 = 18. Then 18, 38, 40 has
    # cov 0.31 again. The fullest is broker 2 with 0 {0, 1} and 5 {2}: session 0 to
    # broker 0, which has topic 1: 18 + 6 + 20 = 44 is not below 40; session 5 to it:
    # 18 + 8 = 26 is. Then 26, 38, 32: cov 0.15.
    problem = Problem.of(three_brokers_one_hot)
    found = solve(problem, Options("ldm", alpha=0.2))
    assert dict(zip(found.sessions.tolist(), found.targets.tolist(), strict=True)) == {
        0: 2,
        1: 1,
        5: 0,
    }
    assert found.after.tolist() == [26, 38, 32]


def test_by_similarity_it_goes_where_most_is_shared(
    three_brokers_one_hot: Snapshot,
) -> None:
    # Under the mean of 30 are brokers 1, with 10 of session 0's 16, and 2 with nothing:
    # to broker 1, 20 + 10 + 12 = 42 < 62. Then 46, 42, 8 has a mean of 32 and cov 0.53.
    # Session 1 {0, 2} shares 4 with broker 2, the only one under the mean: 8 + 4 + 20
    # = 32 < 46. Broker 0 keeps 18; 18, 42, 32 has cov 0.32. Under 30.67 is broker 0
    # alone: of broker 1, session 0 shares 6 with it: 18 + 6 + 20 = 44 is not below 42,
    # but session 4 {0} brings 20: 38 is. Broker 1 keeps 32: 38, 32, 32 has cov 0.08.
    problem = Problem.of(three_brokers_one_hot)
    found = solve(problem, Options("sdm", alpha=0.2))
    assert dict(zip(found.sessions.tolist(), found.targets.tolist(), strict=True)) == {
        0: 1,
        1: 2,
        4: 0,
    }
    assert found.after.tolist() == [38, 32, 32]


def test_the_shuffle_places_the_heaviest_first(three_brokers_one_hot: Snapshot) -> None:
    # 0 (16) to broker 0: 32. 1 (14) to broker 1: 28. 4 (10) to broker 2: 20. 2 (6) to
    # broker 2: 32. 5 (4) to broker 1, which has topic 2: 32. 3 (3) to broker 0: 38.
    problem = Problem.of(three_brokers_one_hot)
    found = solve(problem, Options("gsh", gamma=0.7))
    assert after(problem, found) == [0, 1, 2, 0, 2, 1]
    assert found.sessions.tolist() == [1, 2, 4, 5]
    assert found.after.tolist() == [38, 32, 32]
    assert found.reason == "shuffled: cov 0.77 is above 0.70"
    assert not solve(problem, Options("gsh", gamma=0.8)).moves


def test_the_whole_algorithm_shuffles_and_then_looks_again(
    three_brokers_one_hot: Snapshot,
) -> None:
    # 38, 32, 32 after the shuffle: cov 0.083 is above 0.05. Session 0 {0, 1} of broker
    # 0 to broker 1, {0, 2, 2}: 32 + 10 + 12 is too much; session 3 {3}: 38 is not below
    # 38. No valid move.
    problem = Problem.of(three_brokers_one_hot)
    found = solve(problem, Options("ldm+gsh", alpha=0.05, gamma=0.7))
    assert found.after.tolist() == [38, 32, 32]
    assert found.reason == (
        "shuffled: cov 0.77 is above 0.70; cov 0.08 is above 0.05, "
        "but no move improves it"
    )


@settings(max_examples=examples(150))
@given(
    problem=problems(),
    policy=st.sampled_from(PAPER),
    alpha=st.sampled_from([0.0, 0.1, 0.5]),
    beta=st.sampled_from([0.0, 0.0, 40.0]),
    max_moves=st.sampled_from([None, None, 0, 1, 3]),
    max_bytes=st.sampled_from([None, None, 5]),
)
def test_plain_python_moves_the_same(
    problem: Problem,
    policy: str,
    alpha: float,
    beta: float,
    max_moves: int | None,
    max_bytes: int | None,
) -> None:
    options = Options(
        policy, alpha, beta, gamma=0.2, max_moves=max_moves, max_bytes=max_bytes
    )
    found = solve(problem, options)
    places = balance_literal.solved(problem, options)
    assert after(problem, found) == places
    assert found.after.tolist() == balance_literal.loads_of(problem, places)
    assert found.before.tolist() == problem.snapshot.loads().tolist()


def test_one_session_is_not_passed_to_and_fro() -> None:
    problem = Problem.of(snapshot_of(2, [5], [[0]], [0]))
    for policy in ("ldm", "sdm"):
        found = solve(problem, Options(policy))
        assert not found.moves
        assert found.reason == "cov 1.00 is above 0.10, but no move improves it"


def test_what_is_balanced_or_idle_is_left_alone() -> None:
    problem = Problem.of(snapshot_of(2, [5], [[0], [0], [0]], [0, 0, 1]))
    balanced = solve(problem, Options("ldm", alpha=0.2))
    assert balanced.reason == "balanced: cov 0.20 is not above 0.20"
    close = solve(problem, Options("ldm", alpha=0.2004))
    assert close.reason == "balanced: cov 0.2000 is not above 0.2004"
    idle = solve(problem, Options("sdm", beta=20))
    assert idle.reason == "mean load 12 is not above beta 20"
    assert not balanced.moves + close.moves + idle.moves


def test_hot_brokers_are_relieved_until_they_are_not() -> None:
    problem = Problem.of(snapshot_of(2, [1], [[0]] * 20, [0] * 16 + [1] * 4))
    found = solve(problem, Options("ldm", alpha=0.0, hot=0.2))
    assert found.after.tolist() == [13, 9]  # 13 is not above 1.2 * 11
    assert found.reason == (
        "a broker is more than 20 % above the mean load; moves until none is"
    )
    with pytest.raises(InputError, match="shuffles all brokers"):
        solve(problem, Options("ldm+gsh", hot=0.2))


def test_sessions_leave_closing_brokers_whatever_the_budget_is() -> None:
    snapshot = snapshot_of(3, [5, 7], [[0, 1], [1], [0]], [0, 1, 0], users=[4, 4, 9])
    closing = np.array([True, False, False])
    problem = Problem(snapshot, np.zeros(3, np.bool_), ~closing, closing)
    found = solve(problem, Options("none", max_moves=0))
    # Session 0 may not go to broker 1, where its user has another one.
    assert after(problem, found) == [2, 1, 1]
    assert found.reason.startswith("2 sessions leave closing brokers; ")
    nowhere = Problem(snapshot, problem.held, np.zeros(3, np.bool_), closing)
    assert "2 cannot leave" in solve(nowhere, Options("none")).reason
    held = Problem(snapshot, np.array([False, False, True]), ~closing, closing)
    found = solve(held, Options("none"))
    assert found.sessions.tolist() == [0]
    assert "1 that are held stay on closing brokers" in found.reason
    # 5 * 3 + 7 * 3 on all three brokers is 12, but session 0 alone makes 24.
    assert found.bound == 24


def test_a_stop_ends_a_migration() -> None:
    problem = Problem.of(snapshot_of(2, [1], [[0]] * 20, [0] * 20))
    found = solve(problem, Options("ldm", alpha=0.0, stop=lambda: True))
    assert not found.moves


def test_fleets_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.of(snapshot_of(4, [5, 7], [[0]], [0]))
    monkeypatch.setattr(workspace, "MOST_CELLS", 7)
    with pytest.raises(InputError, match="found 2 on 4 brokers, expected at most 1"):
        solve(problem, Options("ldm"))


def test_an_empty_fleet_is_balanced() -> None:
    for policy in PAPER:
        assert not solve(Problem.of(snapshot_of(3, [], [], [])), Options(policy)).moves
