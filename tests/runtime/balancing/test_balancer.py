"""When the balancer orders moves, when it does not, and what it says about it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.balancing.fleets import FAILURE_CASES, fleet_of
from tests.tiers import examples

from brokerwise.model.arrays import Int32s
from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Rebalancing, Snapshot
from brokerwise.planners.balance.problem import Options, Problem
from brokerwise.runtime.balancing.balancer import Balancer, BalancerSettings
from brokerwise.runtime.balancing.events import (
    Command,
    LoadReported,
    MoveEnded,
    MoveOrdered,
    Paused,
    Resumed,
)

SKEWED = fleet_of([[3, 3, 3, 3], []])
EVEN = fleet_of([[3, 3], [3, 3]])


def first_free_to_the_emptiest(problem: Problem, options: Options) -> Rebalancing:
    """A planner of a few lines: one session, from the fullest to the emptiest."""
    snapshot, loads = problem.snapshot, problem.snapshot.loads()
    source, target = int(loads.argmax()), int(loads.argmin())
    free = np.flatnonzero((snapshot.places == source) & ~problem.held)
    sessions = free[:1] if loads[source] - loads[target] > 6 else free[:0]
    places = snapshot.places.copy()
    places[sessions] = target
    reason = f"broker {source} is full" if len(sessions) else f"balanced at {source}"
    return Rebalancing(
        options.policy,
        sessions.astype(np.int32),
        np.full(len(sessions), target, np.int32),
        loads,
        snapshot.loads(places),
        0,
        reason,
    )


def balancer(**settings: float) -> Balancer:
    made = BalancerSettings(Options(), **{"confirm": 1, **settings})  # type: ignore[arg-type]
    return Balancer(made, first_free_to_the_emptiest)


def moves_of(commands: list[Command]) -> list[tuple[object, object, object]]:
    return [move for command in commands for move in command.verdict.moves]


def moved(snapshot: Snapshot, session: int, broker: int) -> Snapshot:
    places: Int32s = snapshot.places.copy()
    places[session] = broker
    return replace(snapshot, places=places)


def test_a_decision_names_sessions_and_brokers_and_says_why() -> None:
    core = balancer()
    report = replace(LoadReported.at(5, SKEWED, "abcd"), brokers=("left", "right"))
    [command] = core.handle(report)
    decision = command.verdict
    assert decision.moves == (("a", "left", "right"),)
    assert (decision.number, decision.at, decision.policy) == (1, 5, "planned")
    assert decision.reason == "broker 0 is full" == core.status
    assert decision.rebalancing is not None
    assert decision.rebalancing.before.tolist() == [24, 0]
    assert core.verdicts == (decision,)
    assert command.problem.snapshot.places.tolist() == [0, 0, 0, 0]


def test_nothing_is_decided_while_moves_are_under_way() -> None:
    core = balancer()
    assert core.handle(LoadReported.at(0, SKEWED))
    assert core.under_way == 1
    assert core.handle(LoadReported.at(10, SKEWED)) == []
    assert core.status == "waiting for 1 move under way"
    core.handle(MoveEnded(12, 0, 1))
    assert core.status == "1 move done: waiting for reports"
    assert moves_of(core.handle(LoadReported.at(20, moved(SKEWED, 0, 1)))) == [
        (1, 0, 1)
    ]


def test_moves_of_others_are_waited_for_too() -> None:
    core = balancer()
    core.handle(MoveOrdered(0, 2))
    assert core.handle(LoadReported.at(1, SKEWED)) == []
    assert core.dry_run(LoadReported.at(1, SKEWED), Options()).moves == ((0, 0, 1),)
    held = core.problem(LoadReported.at(1, SKEWED)).held
    assert held.tolist() == [False, False, True, False]
    core.handle(MoveEnded(2, 2, None))
    assert core.status == "0 of 1 moves done: waiting for reports"
    assert core.handle(LoadReported.at(3, SKEWED))


def test_an_hour_has_so_many_moves_and_no_more() -> None:
    core = balancer(hourly_moves=2, window_seconds=0)
    for at in (0, 10):
        assert len(moves_of(core.handle(LoadReported.at(at, SKEWED)))) == 1
        core.handle(MoveEnded(at, 0, None))
    assert core.handle(LoadReported.at(3_599, SKEWED)) == []
    assert core.status == "the budget of 2 moves an hour is used up"
    assert len(moves_of(core.handle(LoadReported.at(3_600, SKEWED)))) == 1


def test_moves_that_are_told_after_a_restart_count_for_the_hour() -> None:
    core = balancer(hourly_moves=2, window_seconds=0)
    core.handle(MoveEnded(0, "b", 1))
    core.handle(MoveEnded(5, "c", None))  # it did not move
    assert core.handle(LoadReported.at(10, SKEWED))
    core.handle(MoveEnded(11, 0, None))
    assert core.handle(LoadReported.at(20, SKEWED)) == []


def test_the_planner_is_asked_for_what_is_left_of_the_hour() -> None:
    asked: list[int | None] = []

    def solve(problem: Problem, options: Options) -> Rebalancing:
        asked.append(options.max_moves)
        return first_free_to_the_emptiest(problem, options)

    for most, hourly in ((None, None), (5, None), (None, 3), (2, 3), (5, 3)):
        made = BalancerSettings(Options(max_moves=most), confirm=1, hourly_moves=hourly)
        Balancer(made, solve).handle(LoadReported.at(0, SKEWED))
    assert asked == [None, 5, 3, 2, 3]
    with pytest.raises(InputError, match="hourly_moves: found -1"):
        BalancerSettings(hourly_moves=-1)


def test_a_session_that_moved_rests_until_the_window_is_over() -> None:
    core = balancer(window_seconds=100)
    core.handle(MoveEnded(10, 0, 0))
    core.handle(MoveEnded(50, 1, 0))
    assert moves_of([*core.handle(LoadReported.at(60, SKEWED))]) == [(2, 0, 1)]
    core.handle(MoveEnded(60, 2, None))
    assert core.verdicts[0].reason == (
        "broker 0 is full; 2 sessions stay, moved less than 100 s ago"
    )
    assert moves_of(core.handle(LoadReported.at(109, SKEWED))) == [(2, 0, 1)]
    core.handle(MoveEnded(109, 2, None))
    assert moves_of(core.handle(LoadReported.at(110, SKEWED))) == [(0, 0, 1)]


def test_a_report_older_than_a_move_is_corrected_by_it() -> None:
    core = balancer(window_seconds=0)
    for session in (0, 1):
        core.handle(MoveEnded(30, session, 1))
    late = replace(LoadReported.at(30, SKEWED), heard=60)
    assert core.problem(late).snapshot.places.tolist() == [1, 1, 0, 0]
    assert core.handle(late) == []
    assert core.status == "balanced at 0"
    newer = replace(LoadReported.at(31, SKEWED), heard=61)
    assert core.problem(newer).snapshot.places.tolist() == [0, 0, 0, 0]


def test_a_move_to_a_broker_that_is_gone_corrects_nothing() -> None:
    core = balancer()
    core.handle(MoveEnded(5, 0, "gone"))
    assert core.problem(LoadReported.at(5, SKEWED)).snapshot.places.tolist() == [0] * 4


def test_a_report_older_than_the_last_is_ignored() -> None:
    core = balancer()
    core.handle(LoadReported.at(10, EVEN))
    before = core.verdicts
    assert core.handle(replace(LoadReported.at(9, SKEWED), heard=11)) == []
    assert core.verdicts == before


def test_reports_in_a_row_have_to_call_for_moves() -> None:
    core = balancer(confirm=3)
    reports = [SKEWED, SKEWED, EVEN, SKEWED, SKEWED, SKEWED]
    found = [
        len(core.handle(LoadReported.at(time, report)))
        for time, report in enumerate(reports)
    ]
    assert found == [0, 0, 0, 0, 0, 1]
    said = [decision.reason for decision in core.verdicts]
    assert said == [
        "unbalanced in 1 of 3 reports needed to act: cov 1.00",
        "balanced at 0",
        "unbalanced in 1 of 3 reports needed to act: cov 1.00",
        "broker 0 is full",
    ]
    assert [decision.number for decision in core.verdicts] == [1, 2, 3, 4]


def test_what_was_seen_before_waiting_does_not_count() -> None:
    core = balancer(confirm=2)
    core.handle(LoadReported.at(0, SKEWED))
    core.handle(MoveOrdered(1, 3))
    core.handle(LoadReported.at(2, SKEWED))
    core.handle(MoveEnded(3, 3, None))
    assert core.handle(LoadReported.at(4, SKEWED)) == []
    assert core.handle(LoadReported.at(5, SKEWED))


def test_paused_it_decides_nothing_and_resumed_it_does() -> None:
    core = balancer(confirm=2)
    core.handle(LoadReported.at(0, SKEWED))
    core.handle(Paused(1))
    assert core.handle(LoadReported.at(2, SKEWED)) == []
    assert core.status == "paused: sessions stay where they are"
    core.handle(Resumed(3))
    core.handle(Resumed(3))
    assert core.status == "resumed: waiting for reports"
    assert core.handle(LoadReported.at(4, SKEWED)) == []
    assert core.handle(LoadReported.at(5, SKEWED))


def test_a_dry_run_changes_nothing() -> None:
    core = balancer(confirm=2)
    asked = core.dry_run(LoadReported.at(0, SKEWED), Options("ldm"))
    assert (asked.number, asked.policy, asked.moves) == (0, "ldm", ((0, 0, 1),))
    assert core.verdicts == ()
    assert core.status == "no report yet"
    assert core.handle(LoadReported.at(1, SKEWED)) == []


def test_it_does_not_repeat_itself_and_forgets_the_oldest() -> None:
    core = balancer(remembered=3)
    for time in range(5):
        core.handle(LoadReported.at(time, EVEN))
    assert len(core.verdicts) == 1
    core.handle(LoadReported.at(5, fleet_of([[3], [4]])))
    assert len(core.verdicts) == 1
    assert core.status == "balanced at 1"
    for time in range(5, 10):
        core.handle(Paused(time))
        core.handle(Resumed(time))
    assert [decision.number for decision in core.verdicts] == [9, 10, 11]


def test_other_settings_keep_what_is_known_of_moves() -> None:
    core = balancer(window_seconds=10)
    core.handle(MoveEnded(0, 0, 0))
    core.change(replace(core.settings, window_seconds=100, options=Options("ldm")))
    [command] = core.handle(LoadReported.at(50, SKEWED))
    assert command.verdict.moves == ((1, 0, 1),)
    assert command.verdict.policy == "ldm"


def test_sessions_held_by_others_stay() -> None:
    held = np.array([True, True, False, False])
    report = replace(LoadReported.at(0, SKEWED), held=held)
    assert moves_of(balancer().handle(report)) == [(2, 0, 1)]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"keys": "abc"}, "keys: found 3 entries, expected 4"),
        ({"brokers": "a"}, "brokers: found 1 entries, expected 2"),
        ({"heard": -1.0}, "measured: found 0"),
    ],
)
def test_a_malformed_report_is_refused(changed: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        replace(LoadReported.at(0, SKEWED), **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"confirm": 0}, {"window_seconds": -1}, {"remembered": 0}]
)
def test_malformed_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        balancer(**wrong)


@pytest.mark.parametrize("policy", ["ldm", "sdm", "planned"])
@pytest.mark.parametrize("case", FAILURE_CASES)
def test_cases_that_keep_others_busy_are_settled_and_stay_so(
    case: str, policy: str
) -> None:
    """With the real planner, and no rest for sessions: it ends all the same."""
    snapshot = fleet_of(FAILURE_CASES[case])
    core = Balancer(
        BalancerSettings(Options(policy, alpha=0.1), window_seconds=0, confirm=1)
    )
    decided = []
    for time in range(10):
        commands = core.handle(LoadReported.at(time, snapshot))
        decided.append(len(commands))
        for session, _, target in moves_of(commands):
            assert isinstance(session, int)
            assert isinstance(target, int)
            snapshot = moved(snapshot, session, target)
            core.handle(MoveEnded(time, session, target))
    assert decided == [1] + [0] * 9
    loads = snapshot.loads()
    assert loads.max() <= 1.3 * loads.mean()


@given(st.data())
@settings(max_examples=examples(40))
def test_the_same_events_give_the_same_commands_and_no_early_second_move(
    data: st.DataObject,
) -> None:
    """Reports come late and out of order, moves end or fail at any time."""
    cores = [balancer(window_seconds=40, confirm=2) for _ in range(2)]
    places = [0, 0, 0, 0, 1]
    ordered: list[tuple[object, object]] = []
    last: dict[object, int] = {}
    for time in range(0, data.draw(st.integers(10, 60)) * 5, 5):
        late = data.draw(st.integers(0, min(time, 20)))
        rates = data.draw(st.lists(st.integers(0, 9), min_size=5, max_size=5))
        even = fleet_of([rates[:4], rates[4:], []])
        snapshot = replace(even, places=np.array(places, np.int32))
        report = replace(LoadReported.at(time - late, snapshot), heard=time)
        first, second = (core.handle(report) for core in cores)
        assert moves_of(first) == moves_of(second)
        for key, _, target in moves_of(first):
            assert time - last.get(key, -40) >= 40
            ordered.append((key, target))
        if data.draw(st.booleans()) and ordered:
            key, target = ordered.pop()
            done = data.draw(st.booleans())
            for core in cores:
                core.handle(MoveEnded(time, key, target if done else None))
            if done:
                last[key] = time
                assert isinstance(key, int)
                assert isinstance(target, int)
                places[key] = target
    assert cores[0].status == cores[1].status
