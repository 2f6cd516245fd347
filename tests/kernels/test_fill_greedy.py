"""GS, against its pseudocode and the published figures."""

import numpy as np
import pytest
from hypothesis import given
from tests.kernels import fill_literal
from tests.kernels.fill_cases import (
    CAPACITIES,
    TOPICS,
    answer,
    arrays,
    check_possible,
    mean_percent,
)
from tests.kernels.fill_literal import Topic
from tests.kernels.interpreted import interpreted

from brokerwise.kernels import fill_classes, fill_greedy, fill_order


@given(TOPICS, CAPACITIES)
def test_it_is_the_pseudocode(topics: list[Topic], capacities: list[int]) -> None:
    found = answer(fill_greedy.fill_greedy, topics, capacities)
    check_possible(topics, capacities, found)
    assert found == fill_literal.greedy(topics, capacities)


@given(TOPICS, CAPACITIES)
def test_it_is_the_same_in_plain_python(
    topics: list[Topic], capacities: list[int]
) -> None:
    rooms = np.array(capacities, np.int64)
    found = fill_greedy.fill_greedy(*arrays(topics), rooms)
    with interpreted(fill_greedy, fill_classes, fill_order):
        plain = fill_greedy.fill_greedy(*arrays(topics), rooms)
    assert [a.tolist() for a in found] == [a.tolist() for a in plain]
    assert rooms.tolist() == capacities


def test_a_topic_that_fits_nowhere_does_not_hold_up_the_others() -> None:
    found = answer(fill_greedy.fill_greedy, [(60, [1] * 9), (10, [1, 1])], [100, 40])
    assert found == {(1, 0): 2}


def test_the_topic_that_weighs_most_comes_first() -> None:
    topics: list[Topic] = [(10, [1] * 6), (10, [4, 4]), (10, [5, 1, 1])]
    found = answer(fill_greedy.fill_greedy, topics, [30])
    assert found == {(1, 0): 2}


def test_rates_near_the_largest_number_do_no_harm() -> None:
    huge = 2**62 - 1
    assert answer(fill_greedy.fill_greedy, [(huge, [1])], [2**63 - 1]) == {(0, 0): 1}
    assert answer(fill_greedy.fill_greedy, [(huge + 1, [1])], [2**63 - 1]) == {}


@pytest.mark.parametrize(
    ("topics", "brokers", "published"),
    [
        (100, 5, 42.99),
        (100, 10, 83.69),
        (100, 15, 100.0),
        (1000, 5, 33.29),
        (1000, 10, 59.07),
        (1000, 15, 83.49),
        (1000, 20, 100.0),
    ],
)
def test_it_delivers_at_least_what_is_published(
    topics: int, brokers: int, published: float
) -> None:
    found = mean_percent(fill_greedy.fill_greedy, topics, brokers, instances=20)
    assert published - 0.2 <= found < published + 1.7
