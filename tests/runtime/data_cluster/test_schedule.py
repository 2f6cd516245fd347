"""When channels run."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.data_cluster.channels import Key
from brokerwise.runtime.data_cluster.schedule import Agenda

A: Key = ("a", 100.0)
B: Key = ("b", 100.0)
C: Key = ("c", 100.0)


def started(agenda: Agenda, now: float) -> list[Key]:
    found = []
    while (key := agenda.start(now)) is not None:
        found.append(key)
    return found


def test_a_channel_runs_at_each_beat_counted_from_its_creation() -> None:
    agenda = Agenda()
    agenda.add(A, 10, 100)
    times = []
    for now in range(100, 141):
        assert agenda.tick(now) == {}
        for key in started(agenda, now):
            times.append(now)
            agenda.finish(key)
    assert times == [110, 120, 130, 140]


def test_a_run_that_takes_too_long_skips_beats_and_the_channel_goes_on() -> None:
    agenda = Agenda()
    agenda.add(A, 10, 100)
    agenda.tick(110)
    assert started(agenda, 110) == [A]
    assert agenda.tick(119) == {}
    assert agenda.tick(120) == {A: 1}
    assert agenda.tick(135) == {A: 1}
    assert started(agenda, 135) == []
    agenda.finish(A)
    assert started(agenda, 136) == []
    assert agenda.tick(140) == {}
    assert started(agenda, 140) == [A]


def test_a_beat_that_was_slept_through_is_skipped_too() -> None:
    agenda = Agenda()
    agenda.add(A, 10, 100)
    assert agenda.tick(145) == {A: 3}
    assert started(agenda, 145) == [A]


def test_at_most_two_run_at_once_in_the_order_of_their_beats() -> None:
    agenda = Agenda()
    for key, period in ((A, 12), (B, 11), (C, 10)):
        agenda.add(key, period, 100)
    assert agenda.tick(112) == {}
    assert started(agenda, 112) == [C, B]
    agenda.finish(B)
    assert started(agenda, 113) == [A]


def test_one_that_waits_for_its_turn_skips_its_next_beat() -> None:
    agenda = Agenda(at_once=1)
    agenda.add(A, 10, 100)
    agenda.add(B, 10, 100)
    agenda.tick(110)
    assert started(agenda, 110) == [A]
    assert agenda.tick(120) == {A: 1, B: 1}
    agenda.finish(A)
    assert started(agenda, 121) == [B]


def test_one_that_is_not_done_goes_on_behind_those_who_wait() -> None:
    agenda = Agenda(at_once=1)
    agenda.add(A, 10, 100)
    agenda.add(B, 10, 100)
    agenda.tick(110)
    assert started(agenda, 110) == [A]
    agenda.finish(A, again=111)
    assert started(agenda, 111) == [B]
    agenda.finish(B)
    assert started(agenda, 111) == [A]


def test_one_that_pauses_has_its_turn_when_the_pause_is_over() -> None:
    agenda = Agenda()
    agenda.add(A, 10, 100)
    agenda.tick(110)
    agenda.finish(agenda.start(110) or B, again=125)
    assert agenda.next_time() == 120
    assert agenda.tick(120) == {A: 1}
    assert agenda.next_time() == 125
    assert started(agenda, 124) == []
    assert started(agenda, 125) == [A]


def test_after_a_restart_a_channel_is_due_at_once_and_no_beat_counts_as_skipped() -> (
    None
):
    agenda = Agenda()
    agenda.add(A, 10, 1_234)
    assert agenda.tick(1_234) == {}
    assert started(agenda, 1_234) == [A]
    agenda.finish(A)
    assert agenda.next_time() == 1_240


def test_one_that_is_made_again_under_its_name_waits_for_nobody() -> None:
    agenda = Agenda()
    agenda.add(A, 10, 100)
    agenda.tick(110)
    assert started(agenda, 110) == [A]
    agenda.remove(A)
    again: Key = ("a", 112.0)
    agenda.add(again, 1, 112)
    agenda.tick(113)
    assert started(agenda, 113) == [again]
    agenda.finish(A)
    agenda.finish(again)
    assert agenda.next_time() == 114


def test_without_channels_nothing_is_to_be_done() -> None:
    assert Agenda().next_time() is None


@given(
    periods=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    durations=st.lists(st.integers(0, 12), min_size=1, max_size=40),
)
def test_every_beat_is_either_run_or_skipped(
    periods: list[int], durations: list[int]
) -> None:
    agenda, end = Agenda(), 60
    keys: list[Key] = [(str(n), 0.0) for n in range(len(periods))]
    for key, period in zip(keys, periods, strict=True):
        agenda.add(key, period, 0)
    skipped, runs = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    ends: dict[Key, int] = {}
    for now in range(end + 1):
        for key in [key for key, at in ends.items() if at <= now]:
            del ends[key]
            agenda.finish(key)
        for key, beats in agenda.tick(now).items():
            skipped[key] += beats
        for key in started(agenda, now):
            ends[key] = now + durations[sum(runs.values()) % len(durations)]
            runs[key] += 1
            assert len(ends) <= 2
    for key, period in zip(keys, periods, strict=True):
        waits = end // period - runs[key] - skipped[key]
        assert waits in (0, 1)
