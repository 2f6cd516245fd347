"""What topics bring, also while they move."""

import math

import pytest

from brokerwise.runtime.coordinator.balance.loads import Rates
from brokerwise.runtime.protocol.fleet import BalancePage

Row = tuple[str, float, float]


def page(broker: str, *rows: Row, left: tuple[Row, ...] = ()) -> BalancePage:
    return BalancePage(broker, 1, rows, (), left)


def test_a_topic_brings_the_mean_of_what_brokers_measured_by_their_weights() -> None:
    pages = [page("b0", ("news", 10.0, 0.75)), page("b1", ("news", 30.0, 0.25))]
    assert Rates().learn(pages, 0)["news"] == 0.75 * 10 + 0.25 * 30


def test_what_was_known_counts_until_the_new_broker_knows_better() -> None:
    rates = Rates()
    rates.learn([page("b0", ("news", 100.0, 0.9))], 0)
    moved = [page("b1", ("news", 0.0, 0.0))]
    assert rates.learn(moved, 0) == {"news": 100.0}
    old = 0.9 * math.exp(-10 / 60)
    later = rates.learn([page("b1", ("news", 40.0, 0.15))], 10)["news"]
    assert later == pytest.approx((40 * 0.15 + 100 * old) / (0.15 + old))
    assert rates.learn([page("b1", ("news", 40.0, 0.8))], 60) == {"news": 40.0}


def test_asking_often_changes_nothing() -> None:
    often, once = Rates(), Rates()
    for rates in (often, once):
        rates.learn([page("b0", ("news", 100.0, 0.9))], 0)
    for second in range(1, 10):
        often.learn([page("b1", ("news", 0.0, 0.01 * second))], second)
    pages = [page("b1", ("news", 0.0, 0.1))]
    assert often.learn(pages, 10) == once.learn(pages, 10)


def test_a_topic_that_nobody_has_had_for_long_is_new_again() -> None:
    rates = Rates()
    rates.learn([page("b0", ("news", 100.0, 0.9))], 0)
    assert rates.learn([], 1000) == {}
    found = rates.learn([page("b1", ("news", 7.0, 0.01))], 1001)
    assert found == {"news": pytest.approx(7.0)}


def test_what_the_broker_before_still_knows_counts_also_after_a_restart() -> None:
    """Of a topic that has just moved nobody else knows anything."""
    pages = [
        page("b0", left=(("news", 2300.0, 0.1),)),
        page("b1", ("news", 0.0, 0.0)),
    ]
    assert Rates().learn(pages, 0) == {"news": 2300.0}
    begun = [pages[0], page("b1", ("news", 1000.0, 0.1))]
    assert Rates().learn(begun, 0) == {"news": 1000.0}


def test_a_topic_that_was_left_by_all_is_not_one_of_the_fleet() -> None:
    assert Rates().learn([page("b0", left=(("news", 1.0, 0.5),))], 0) == {}


def test_a_topic_of_which_nothing_is_known_brings_nothing_yet() -> None:
    assert Rates().learn([page("b0", ("news", 0.0, 0.0))], 0) == {"news": 0.0}
