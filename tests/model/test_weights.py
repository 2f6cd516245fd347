"""How much pairs count."""

from typing import Any

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.model.weights import MOST, PLAIN, Weights
from brokerwise.model.workload import Workload


@pytest.fixture
def two_by_three() -> Workload:
    """Two topics, three subscribers."""
    return Workload.from_pairs(
        topics=["a", "a", "b"], subscribers=["u", "v", "w"], rates={"a": 5, "b": 2}
    )


def test_without_weights_every_pair_counts_its_rate() -> None:
    assert PLAIN.plain
    assert Weights().plain
    assert not Weights(np.ones(2, np.int64)).plain
    assert not Weights(subscribers=np.ones(3, np.int64)).plain


def test_weights_may_be_lists_and_cannot_be_changed() -> None:
    topics: Any = [0, MOST]
    weights = Weights(topics)
    assert weights.topics is not None
    assert weights.topics.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        weights.topics[0] = 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, -1], "found -1, expected whole numbers from 0 to 1,000,000"),
        ([1, MOST + 1], "found 1,000,001, expected whole numbers from 0 to 1,000,000"),
        ([0.5, 1.0], "found float64 of shape"),
        ([[1, 2]], "found int64 of shape"),
        ([True], "found bool of shape"),
        (["1"], "found <U1 of shape"),
    ],
)
def test_what_is_no_weight_is_refused_by_name(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^topic_weights: {message}"):
        Weights(values)
    with pytest.raises(InputError, match=f"^subscriber_weights: {message}"):
        Weights(subscribers=values)


def test_there_is_one_for_each_topic_and_subscriber(two_by_three: Workload) -> None:
    two, three = np.ones(2, np.int64), np.ones(3, np.int64)
    PLAIN.check(two_by_three)
    Weights(two, three).check(two_by_three)
    with pytest.raises(
        InputError,
        match=r"^topic_weights: found 3, expected 2, one for each topic of the work",
    ):
        Weights(three, three).check(two_by_three)
    with pytest.raises(
        InputError, match=r"^subscriber_weights: found 2, expected 3, one for each sub"
    ):
        Weights(two, two).check(two_by_three)
