"""When a process that has ended is started again."""

from brokerwise.runtime.fleet.restarts import Restarts
from brokerwise.runtime.process.launch import EXIT_RESTART


def test_pauses_double_from_half_a_second_up_to_ten() -> None:
    restarts = Restarts()
    pauses = [restarts.pause(-9, 1.0) for _ in range(8)]
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10, 10]


def test_one_that_lived_long_enough_is_a_first_failure_again() -> None:
    restarts = Restarts()
    for _ in range(5):
        restarts.pause(1, 0.1)
    assert restarts.pause(1, 10.0) == 0.5


def test_one_that_ended_well_stays_out_but_not_a_coordinator() -> None:
    assert Restarts().pause(0, 1.0) is None
    assert Restarts(always=True).pause(0, 1.0) == 0.5


def test_one_that_asks_for_it_is_started_at_once() -> None:
    restarts = Restarts()
    assert [restarts.pause(EXIT_RESTART, 1.0) for _ in range(3)] == [0, 0, 0]
    assert restarts.pause(None, 1.0) == 0.5


def test_failures_without_end_stay_at_the_longest_pause() -> None:
    restarts = Restarts(failures=10_000)
    assert restarts.pause(1, 0.0) == 10
