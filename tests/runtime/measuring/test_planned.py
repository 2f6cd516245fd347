"""The brokers of a plan as configurations."""

import pytest

from brokerwise.runtime.measuring.planned import PlannedTopic, publishing
from brokerwise.runtime.measuring.settings import Load

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
