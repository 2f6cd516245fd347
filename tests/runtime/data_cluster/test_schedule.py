"""When channels run."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.data_cluster.channels import ChannelKey
from brokerwise.runtime.data_cluster.schedule import Schedule

A = ChannelKey("a", 100.0)
B = ChannelKey("b", 100.0)
C = ChannelKey("c", 100.0)


def started(schedule: Schedule, now: float) -> list[ChannelKey]:
    found = []
    while (key := schedule.start(now)) is not None:
        found.append(key)
    return found


def test_a_channel_runs_each_period_counted_from_its_creation() -> None:
    schedule = Schedule()
    schedule.add(A, 10, 100)
    times = []
    for now in range(100, 141):
        assert schedule.tick(now) == {}
        for key in started(schedule, now):
            times.append(now)
            schedule.finish(key)
    assert times == [110, 120, 130, 140]


def test_a_run_that_takes_too_long_skips_due_times_and_the_channel_goes_on() -> None:
    schedule = Schedule()
    schedule.add(A, 10, 100)
    schedule.tick(110)
    assert started(schedule, 110) == [A]
    assert schedule.tick(119) == {}
    assert schedule.tick(120) == {A: 1}
    assert schedule.tick(135) == {A: 1}
    assert started(schedule, 135) == []
    schedule.finish(A)
    assert started(schedule, 136) == []
    assert schedule.tick(140) == {}
    assert started(schedule, 140) == [A]


def test_a_due_time_that_was_slept_through_is_skipped_too() -> None:
    schedule = Schedule()
    schedule.add(A, 10, 100)
    assert schedule.tick(145) == {A: 3}
    assert started(schedule, 145) == [A]


def test_at_most_two_run_at_once_in_the_order_of_their_due_times() -> None:
    schedule = Schedule()
    for key, period in ((A, 12), (B, 11), (C, 10)):
        schedule.add(key, period, 100)
    assert schedule.tick(112) == {}
    assert started(schedule, 112) == [C, B]
    schedule.finish(B)
    assert started(schedule, 113) == [A]


def test_one_that_waits_for_its_turn_skips_its_next_due_time() -> None:
    schedule = Schedule(at_once=1)
    schedule.add(A, 10, 100)
    schedule.add(B, 10, 100)
    schedule.tick(110)
    assert started(schedule, 110) == [A]
    assert schedule.tick(120) == {A: 1, B: 1}
    schedule.finish(A)
    assert started(schedule, 121) == [B]


def test_one_that_is_not_done_goes_on_behind_those_who_wait() -> None:
    schedule = Schedule(at_once=1)
    schedule.add(A, 10, 100)
    schedule.add(B, 10, 100)
    schedule.tick(110)
    assert started(schedule, 110) == [A]
    schedule.finish(A, again=111)
    assert started(schedule, 111) == [B]
    schedule.finish(B)
    assert started(schedule, 111) == [A]


def test_one_that_pauses_has_its_turn_when_the_pause_is_over() -> None:
    schedule = Schedule()
    schedule.add(A, 10, 100)
    schedule.tick(110)
    schedule.finish(schedule.start(110) or B, again=125)
    assert schedule.next_time() == 120
    assert schedule.tick(120) == {A: 1}
    assert schedule.next_time() == 125
    assert started(schedule, 124) == []
    assert started(schedule, 125) == [A]


def test_after_a_restart_a_channel_is_due_at_once_and_nothing_counts_as_skipped() -> (
    None
):
    schedule = Schedule()
    schedule.add(A, 10, 1_234)
    assert schedule.tick(1_234) == {}
    assert started(schedule, 1_234) == [A]
    schedule.finish(A)
    assert schedule.next_time() == 1_240


def test_one_that_is_made_again_under_its_name_waits_for_nobody() -> None:
    schedule = Schedule()
    schedule.add(A, 10, 100)
    schedule.tick(110)
    assert started(schedule, 110) == [A]
    schedule.remove(A)
    again = ChannelKey("a", 112.0)
    schedule.add(again, 1, 112)
    schedule.tick(113)
    assert started(schedule, 113) == [again]
    schedule.finish(A)
    schedule.finish(again)
    assert schedule.next_time() == 114


def test_without_channels_nothing_is_to_be_done() -> None:
    assert Schedule().next_time() is None


@given(
    periods=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    durations=st.lists(st.integers(0, 12), min_size=1, max_size=40),
)
def test_every_due_time_is_either_run_or_skipped(
    periods: list[int], durations: list[int]
) -> None:
    schedule, end = Schedule(), 60
    keys = [ChannelKey(str(n), 0.0) for n in range(len(periods))]
    for key, period in zip(keys, periods, strict=True):
        schedule.add(key, period, 0)
    skipped, runs = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    ends: dict[ChannelKey, int] = {}
    for now in range(end + 1):
        for key in [key for key, at in ends.items() if at <= now]:
            del ends[key]
            schedule.finish(key)
        for key, count in schedule.tick(now).items():
            skipped[key] += count
        for key in started(schedule, now):
            ends[key] = now + durations[sum(runs.values()) % len(durations)]
            runs[key] += 1
            assert len(ends) <= 2
    for key, period in zip(keys, periods, strict=True):
        waits = end // period - runs[key] - skipped[key]
        assert waits in (0, 1)
