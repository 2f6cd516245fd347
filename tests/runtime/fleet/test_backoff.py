"""When a process that has ended is started again."""

from brokerwise.runtime.fleet.backoff import Backoff
from brokerwise.runtime.launch import EXIT_RESTART


def test_pauses_double_from_half_a_second_up_to_ten() -> None:
    backoff = Backoff()
    pauses = [backoff.pause(-9, 1.0) for _ in range(8)]
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10, 10]


def test_one_that_lived_long_enough_is_a_first_failure_again() -> None:
    backoff = Backoff()
    for _ in range(5):
        backoff.pause(1, 0.1)
    assert backoff.pause(1, 10.0) == 0.5


def test_one_that_ended_well_stays_out_but_not_a_coordinator() -> None:
    assert Backoff().pause(0, 1.0) is None
    assert Backoff(always=True).pause(0, 1.0) == 0.5


def test_one_that_asks_for_it_is_started_at_once() -> None:
    backoff = Backoff()
    assert [backoff.pause(EXIT_RESTART, 1.0) for _ in range(3)] == [0, 0, 0]
    assert backoff.pause(None, 1.0) == 0.5


def test_failures_without_end_stay_at_the_longest_pause() -> None:
    backoff = Backoff(failures=10_000)
    assert backoff.pause(1, 0.0) == 10
