"""What a topic's latency depends on."""

from dataclasses import replace

import numpy as np
import pytest

from brokerwise.latency.queueing import NONE, Run
from brokerwise.latency.sensitivity import (
    against_background,
    against_rate,
    against_subscribers,
    drawn_background,
    threshold_rate,
)
from brokerwise.model.errors import InputError

PAPER = Run(1.0, 60, cores=4, overhead=replace(NONE, factor=1.27, subscriber_ms=0.05))


def test_subscribers_cost_a_little_each() -> None:
    found = against_subscribers(PAPER, (10.0, 40.0), (1, 120, 240), repeats=2)
    assert found.shape == (2, 3)
    assert (np.diff(found, axis=1) > 4).all() and (np.diff(found, axis=0) > 30).all()
    assert found.max() < 100


def test_topics_beside_it_slow_a_topic_down_once_cores_are_shared() -> None:
    """Seven topics of 10 messages of 63.5 ms a second are more than four cores do."""
    found = against_background(PAPER, (0, 3, 7), repeats=2)
    assert found[0] < 1.2 * found[1] and found[2] > 1.5 * found[0]
    assert found[2] < 1000


def test_a_background_lowers_the_rate_at_which_latencies_soar() -> None:
    rates = tuple(range(5, 41, 5))
    beside = [
        drawn_background(
            count, 1.1, processing=(10, 20, 30, 40), rate_each=1, cores=4, seed=1
        )
        for count in (7, 11)
    ]
    assert [len(one) for one in beside] == [7, 11]
    assert beside[0].load(1) == pytest.approx(4.4, abs=0.2)
    found = [
        threshold_rate(
            rates,
            against_rate(PAPER, (20.0,), rates, background=one, repeats=1)[0],
            1000,
        )
        for one in (None, *beside)
    ]
    assert found[0] is not None and found[1] is not None and found[2] is not None
    assert found[0] > found[1] > found[2]


def test_a_threshold_is_the_last_rate_before_the_first_miss() -> None:
    p90s = np.array([10.0, 300.0, 20.0])
    assert threshold_rate([1, 2, 3], p90s, 250) == 1
    assert threshold_rate([1, 2, 3], p90s, 300) == 3
    assert threshold_rate([1, 2, 3], p90s, 5) is None
    with pytest.raises(InputError, match="expected as many, ascending"):
        threshold_rate([1, 1, 3], p90s, 5)
