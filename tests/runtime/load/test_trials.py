"""When messages are sent, and how long a configuration will take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.load.trials import Trial, send_schedule
from brokerwise.storage.latency_data import LoggedTopic


def trial(*topics: tuple[float, int, float], number: int = 3, seed: int = 7) -> Trial:
    """Of topics: processing, publishers, and the rate of each of these."""
    made = tuple(LoggedTopic(*topic, messages=20) for topic in topics)
    return Trial(number, made, 64, 60.0, seed)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(0, 5),
    st.integers(0, 2**31),
)
def test_every_message_of_every_publisher_is_due_once_and_in_order(
    publishers: list[int], number: int, seed: int
) -> None:
    asked = trial(*((5.0, n, 4.0) for n in publishers), number=number, seed=seed)
    plan = send_schedule(asked)
    assert (np.diff(plan.due) >= 0).all() and (plan.due >= 0).all()
    seen = list(zip(plan.topic, plan.publisher, plan.seq, strict=True))
    assert len(seen) == len(set(seen)) == asked.total
    for topic, count in enumerate(publishers):
        for publisher in range(count):
            own = (plan.topic == topic) & (plan.publisher == publisher)
            assert plan.seq[own].tolist() == list(range(1, 21))


def test_the_same_configuration_is_sent_at_the_same_times() -> None:
    asked = trial((5.0, 3, 4.0), (10.0, 2, 8.0))
    assert (send_schedule(asked).due == send_schedule(asked).due).all()
    other = trial((5.0, 3, 4.0), (10.0, 2, 8.0), number=4)
    assert (send_schedule(asked).due != send_schedule(other).due).any()


def test_gaps_are_exponential_with_the_rate_of_each_topic() -> None:
    plan = send_schedule(trial((5.0, 400, 4.0), (5.0, 400, 20.0)))
    for topic, rate in enumerate((4.0, 20.0)):
        own = plan.topic == topic
        order = np.lexsort((plan.seq[own], plan.publisher[own]))
        due = plan.due[own][order].reshape(400, 20)
        gaps = np.diff(due, axis=1, prepend=0).ravel() / 1e9
        # Of 8,000 the mean is within 4 standard errors, and so is their deviation.
        assert gaps.mean() == pytest.approx(1 / rate, rel=0.045)
        assert gaps.std() == pytest.approx(1 / rate, rel=0.07)


def test_an_overloaded_configuration_takes_longer_but_not_for_ever() -> None:
    light, full = trial((5.0, 10, 4.0)), trial((5.0, 100, 4.0))
    assert light.expected_seconds(1) < full.expected_seconds(1)
    assert full.expected_seconds(2) == light.expected_seconds(1)
    assert trial((5.0, 10_000, 4.0)).expected_seconds(1) < 65
