"""A fleet over time: loads as an independent count has them, moves as promised."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.balancing.fleets import FAILURE_CASES
from tests.runtime.simulation.worlds import still_world
from tests.tiers import examples

from brokerwise.model.errors import InputError
from brokerwise.planners.balance.problem import Options
from brokerwise.runtime.balancing.balancer import BalancerSettings
from brokerwise.runtime.simulation import simulator
from brokerwise.runtime.simulation.paper import Paper, paper_world
from brokerwise.runtime.simulation.result import (
    SimulatedMove,
    SimulationResult,
    figures,
    over_time,
)
from brokerwise.runtime.simulation.simulator import SimulationOptions, simulate
from brokerwise.runtime.simulation.world import SteppedRates, Timeline, World

SMALL = Paper(4, 300, 60, 1_200)


def with_policy(policy: str, **more: float) -> BalancerSettings:
    return BalancerSettings(Options(policy, alpha=0.1), **more)  # type: ignore[arg-type]


def recounted(world: World, run: SimulationResult) -> list[list[int]]:
    """The loads of a run in which nobody logs out, from its moves, user by user."""
    wanted = list(zip(*(getattr(world.subscriptions, f) for f in _FIELDS), strict=True))
    place = _first_places(world, run)
    found = []
    for time in run.times:
        for move in run.moves:
            if move.at < time and place[move.user] == move.source:
                place[move.user] = move.target
        rates = world.rates(time).tolist()
        pairs: dict[tuple[int, int], int] = {}
        for user, topic, begin, end in wanted:
            if begin <= time < end:
                key = place[user], topic
                pairs[key] = pairs.get(key, 0) + 1
        loads = [0] * world.brokers
        for (broker, topic), count in pairs.items():
            loads[broker] += rates[topic] * (1 + count)
        found.append(loads)
    return found


_FIELDS = ("user", "topic", "begin", "end")


def _first_places(world: World, run: SimulationResult) -> list[int]:
    if run.placement == "round-robin":
        return [user % world.brokers for user in range(world.users)]
    away = world.user_points[:, None, :] - world.broker_points[None, :, :]
    return (away**2).sum(axis=2).argmin(axis=1).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("placement", ["nearest", "round-robin"])
@pytest.mark.parametrize("policy", ["none", "ldm"])
def test_loads_are_those_of_an_independent_count(policy: str, placement: str) -> None:
    world = paper_world(Paper(3, 60, 20, 600), 4)
    asked = SimulationOptions(placement, with_policy(policy, window_seconds=1_000))
    run = simulate(world, asked)
    assert bool(run.moves) == (policy == "ldm")
    assert run.loads.tolist() == recounted(world, run)
    assert run.times.tolist() == [10.0 * step for step in range(61)]


def test_the_same_seed_gives_the_same_run_and_another_another() -> None:
    def run(seed: int) -> SimulationResult:
        asked = SimulationOptions(
            "random", with_policy("ldm"), report_seconds=30, noise=0.2, seed=seed
        )
        return simulate(paper_world(SMALL, 1), asked)

    one, same, other = run(1), run(1), run(2)
    assert one.moves == same.moves
    assert (one.loads == same.loads).all()
    assert (one.sessions[0] != other.sessions[0]).any()


def test_balancing_makes_the_skewed_run_even() -> None:
    world = paper_world(SMALL, 2)
    alone, ldm, planned = (
        simulate(world, SimulationOptions(balancing=with_policy(policy)))
        for policy in ("none", "ldm", "planned")
    )
    assert alone.cov[-1] > 0.3
    assert not alone.moves
    for run in (ldm, planned):
        assert run.cov[-1] < 0.15
        assert run.max_load[-1] < alone.max_load[-1]
        assert run.bound <= run.max_load[-1]
    assert planned.cov.mean() < ldm.cov.mean()


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("case", FAILURE_CASES)
def test_cases_that_keep_others_busy_settle_and_stay(case: str, delay: int) -> None:
    asked = SimulationOptions(
        balancing=with_policy("planned", window_seconds=30), delay=delay
    )
    run = simulate(still_world(FAILURE_CASES[case]), asked)
    assert 0 < run.moves_at[: 3 + delay].sum() == len(run.moves)
    assert run.cov[-1] <= 0.1
    assert (run.loads[4 + delay :] == run.loads[-1]).all()


@pytest.mark.parametrize("policy", ["planned", "ldm", "sdm+gsh"])
def test_late_and_noisy_reports_move_nobody_twice_within_the_window(
    policy: str,
) -> None:
    options = Options(policy, alpha=0.02, gamma=0.3)
    asked = SimulationOptions(
        balancing=BalancerSettings(options, window_seconds=200, confirm=1),
        delay=3,
        noise=0.2,
    )
    run = simulate(paper_world(Paper(4, 120, 60, 1_800), 3), asked)
    between = run.least_seconds_between_moves()
    assert len(run.moves) > 20
    assert between is None or between >= 200


def test_somebody_does_move_twice_when_nothing_holds_it_back() -> None:
    """Else the test above would show nothing."""
    options = Options("ldm", alpha=0.02)
    asked = SimulationOptions(
        balancing=BalancerSettings(options, window_seconds=0, confirm=1), noise=0.2
    )
    run = simulate(paper_world(Paper(4, 120, 60, 1_800), 3), asked)
    between = run.least_seconds_between_moves()
    assert between is not None
    assert between < 200


def leaving_world() -> World:
    """Three on one broker, whose neighbour is empty; the heaviest goes for a while."""
    told = Timeline()
    for user in "abc":
        told.login(0, user, (0.0, 0.0))
        told.subscribe(0, user, f"of {user}")
    told.logout(20.5, "a")
    told.login(50, "a", (1.0, 1.0))
    rates = SteppedRates(np.zeros(1), np.array([[5, 4, 4]]))
    return told.world("leaving", 100, [(0, 0), (1, 1)], rates)


def test_who_logs_out_does_not_move_and_comes_back_to_where_it_was() -> None:
    """The first move is ordered at 10 s, the second report."""
    stays = simulate(leaving_world(), SimulationOptions(balancing=with_policy("none")))
    assert stays.sessions[:, 0].tolist() == [3] * 3 + [2] * 2 + [3] * 6
    assert stays.loads[[0, 3, -1], 0].tolist() == [26, 16, 26]
    gone = simulate(
        leaving_world(),
        SimulationOptions(balancing=with_policy("ldm", confirm=3), move_seconds=5.0),
    )
    assert 0 not in [move.user for move in gone.moves if move.at < 50]


def test_a_move_that_takes_longer_than_a_report_is_waited_for() -> None:
    asked = SimulationOptions(balancing=with_policy("ldm", confirm=1), move_seconds=25)
    run = simulate(still_world([[1] * 8, []], seconds=100), asked)
    assert run.moves_at.tolist() == [4] + [0] * 10
    assert run.loads[:5].tolist() == [[16, 0]] * 3 + [[8, 8]] * 2
    assert "waiting for 4 moves under way" in [d.reason for d in run.decisions]


def test_figures_are_means_over_time_in_bytes_a_second() -> None:
    world = replace(still_world([[60], [120]], seconds=20), period_seconds=60)
    run = simulate(world, SimulationOptions(balancing=with_policy("none")))
    found = figures(run)
    assert found["max_load"] == found["max_load_end"] == 4.0
    assert (found["mean_load"], found["load"], found["bound"]) == (3.0, 6.0, 4.0)
    assert found["cov"] == found["cov_end"] == pytest.approx(1 / 3)
    assert (found["gap"], found["moves"], found["spread"]) == (0.0, 0, 1.0)
    assert over_time(run)["loads"] == [[2.0] * 3, [4.0] * 3]


def test_an_empty_world_has_no_load() -> None:
    told = Timeline()
    world = told.world("empty", 30, [(0, 0)], lambda _: np.zeros(0, np.int64))
    run = simulate(world, SimulationOptions())
    assert run.loads.tolist() == [[0]] * 4
    found = figures(run)
    assert (found["cov"], found["gap"], found["bound"]) == (0, 0, 0)
    assert run.least_seconds_between_moves() is None


def test_loads_are_the_same_without_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    world = paper_world(Paper(3, 60, 20, 300), 4)
    asked = SimulationOptions(balancing=with_policy("none"))
    dense = simulate(world, asked)
    monkeypatch.setattr(simulator, "_DENSE_CELLS", 0)
    assert (simulate(world, asked).loads == dense.loads).all()


def test_the_least_time_between_moves_is_that_of_one_user() -> None:
    run = simulate(
        still_world([[1], []]), SimulationOptions(balancing=with_policy("none"))
    )
    moves = [
        SimulatedMove(at, user, 0, 1) for at, user in ((0, 0), (5, 1), (30, 0), (50, 1))
    ]
    assert replace(run, moves=tuple(moves)).least_seconds_between_moves() == 30


@given(st.integers(0, 10**6), st.sampled_from(["planned", "ldm", "sdm", "gsh"]))
@settings(max_examples=examples(15))
def test_moves_start_where_users_are(seed: int, policy: str) -> None:
    """Whatever is late or wrong, nobody is told to leave a broker it is not on."""
    asked = SimulationOptions(
        balancing=with_policy(policy, window_seconds=50, confirm=1),
        report_seconds=20,
        delay=seed % 4,
        noise=0.3,
        seed=seed,
    )
    world = paper_world(Paper(3, 30, 20, 600), seed)
    run = simulate(world, asked)
    place = _first_places(world, run)
    for move in run.moves:
        assert place[move.user] == move.source != move.target
        place[move.user] = move.target
    ends = np.bincount(place, minlength=3).tolist()
    assert run.sessions[-1].tolist() == ends


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"placement": "somewhere"}, "placement: found 'somewhere'"),
        ({"report_seconds": 0.0}, "report_seconds: found 0.0"),
        ({"noise": -0.1}, "noise: found -0.1"),
        ({"delay": -1}, "delay: found -1"),
    ],
)
def test_malformed_settings_are_refused(wrong: dict[str, float], text: str) -> None:
    with pytest.raises(InputError, match=text):
        SimulationOptions(**wrong)  # type: ignore[arg-type]
