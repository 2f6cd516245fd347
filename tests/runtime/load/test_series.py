"""Which configurations are measured, and what is said of the time that is left."""

from dataclasses import replace

import numpy as np
import pytest

from brokerwise.latency.design import Design
from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.load.measure import Cores, Countdown
from brokerwise.runtime.load.series import DrawnSeries, PlannedTopic, publishing
from brokerwise.runtime.load.trials import Load

DESIGN = Design((1, 2, 4), 10, (2.5, 10.0), seed=3)
CORES = Cores((0,), (1,))
SERIES = DrawnSeries(DESIGN, Load(), CORES)


def test_numbers_say_which_configuration_it_is() -> None:
    alone, sharing = SERIES.alone(), SERIES.sharing(SERIES.most(None))
    assert [trial.number for trial in alone] == list(range(10))
    assert sorted(trial.number for trial in sharing) == list(range(10, 30))
    assert {len(t.topics) for t in alone} == {1}
    assert {t.number // 10: len(t.topics) for t in sharing} == {1: 2, 2: 4}
    again = DrawnSeries(DESIGN, Load(), CORES).sharing(SERIES.most(None))
    assert again == sharing


def test_every_k_has_its_turn() -> None:
    sharing = SERIES.sharing(SERIES.most(None))
    assert [len(trial.topics) for trial in sharing] == 10 * [2, 4]


def test_topics_that_share_have_no_more_publishers_than_meet_the_target_alone() -> None:
    publishers = np.arange(10, 101, 10)
    ones = np.ones(10)
    rows = LatencyRows(
        configuration=np.arange(10),
        processing_ms=2.5 * ones,
        rate_per_second=(4.0 * publishers).astype(np.float64),
        messages=np.full(10, 64),
        mean_ms=ones,
        p90_ms=np.where(publishers <= 70, 20.0, 900.0),
        cpu_share=ones,
    )
    only = DrawnSeries(replace(DESIGN, processing=(2.5,)), Load(), CORES)
    assert only.most(rows) == only.meeting(rows) == {2.5: 70}
    assert SERIES.most(rows) == {2.5: 70, 10.0: 25}  # of which nothing is known
    assert only.most(None) == {2.5: 100}  # what one core has time for
    # Every other one is drawn so; those between go by their load.
    drawn = [t for t in only.sharing({2.5: 7}) if t.number % 2 == 0]
    assert max(topic.publishers for t in drawn for topic in t.topics) == 7


def test_without_topics_alone_there_are_none() -> None:
    series = DrawnSeries(replace(DESIGN, topics=(3,)), Load(), CORES)
    assert series.alone() == []
    assert [t.number for t in series.sharing({2.5: 9, 10.0: 9})] == list(range(10))


def test_the_time_left_is_corrected_by_what_it_took_so_far() -> None:
    first, *rest = SERIES.alone()
    countdown = Countdown(1)
    before = countdown.left(rest)
    assert before == sum(trial.expected_seconds(1) for trial in rest)
    countdown.note(first, 2 * first.expected_seconds(1))
    assert countdown.left(rest) == 2 * before


USUAL = Load(messages=80, rate_each=4.0, longest=60.0)


def topic(rate_per_second: float) -> PlannedTopic:
    return PlannedTopic("gps", 0, 0, 0, 5.0, rate_per_second, 250.0, 20.0)


@pytest.mark.parametrize("rate", [0.7, 4.0, 5.9, 6.1, 33.0, 417.3])
def test_publishers_come_to_the_rate_and_send_for_as_long_as_usual(
    rate: float,
) -> None:
    found = publishing(topic(rate), USUAL)
    assert found.rate_per_second == pytest.approx(rate)
    assert abs(found.publishers - rate / 4) <= 0.5 or found.publishers == 1
    assert found.messages / found.rate_each == pytest.approx(20, rel=0.05)


def test_a_slow_topic_sends_as_many_messages_as_there_is_time_for() -> None:
    found = publishing(topic(0.3), USUAL)
    assert (found.publishers, found.messages) == (1, 10)  # a few more than usual
    assert publishing(topic(0.1), USUAL).messages == 4  # in 40 of 60 seconds
    assert publishing(topic(0.001), USUAL).messages == 1
