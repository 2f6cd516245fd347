"""Pairs in classes of equal value."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.weights import PLAIN, Weights
from brokerwise.model.workload import Workload
from brokerwise.planners.fill.demand import Demand


@st.composite
def weighted_workloads(draw: Any) -> tuple[Workload, Weights]:
    pairs = draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=15))
    workload = Workload.from_pairs(
        topics=[t for t, _ in pairs],
        subscribers=[s for _, s in pairs],
        rates=draw(st.lists(st.integers(0, 9), min_size=4, max_size=4)),
    )

    def weights(count: int) -> Any:
        weight = st.lists(st.integers(0, 3), min_size=count, max_size=count)
        return draw(st.none() | weight.map(lambda found: np.array(found, np.int64)))

    return workload, Weights(weights(4), weights(workload.subscribers))


def values(workload: Workload, weights: Weights) -> list[list[int]]:
    """What every pair of each topic is worth, the most first."""
    found: list[list[int]] = [[] for _ in range(workload.topics)]
    for subscriber in range(workload.subscribers):
        for topic in workload.interests.of(subscriber).tolist():
            value = int(workload.rates[topic])
            if weights.topics is not None:
                value *= int(weights.topics[topic])
            if weights.subscribers is not None:
                value *= int(weights.subscribers[subscriber])
            found[topic].append(value)
    return [sorted(of_topic, reverse=True) for of_topic in found]


def as_values(demand: Demand) -> list[list[int]]:
    return [
        [
            int(demand.value[c])
            for c in range(demand.starts[t], demand.starts[t + 1])
            for _ in range(demand.pairs[c])
        ]
        for t in range(demand.topics)
    ]


@given(case=weighted_workloads())
def test_classes_have_every_pair_at_what_it_is_worth_best_first(
    case: tuple[Workload, Weights],
) -> None:
    demand, expected = Demand.of(*case), values(*case)
    assert as_values(demand) == expected
    assert demand.followers.tolist() == [len(found) for found in expected]
    assert demand.total == sum(map(sum, expected))
    for c, topic in enumerate(demand.topic):
        more = [v for v in expected[topic] if v > demand.value[c]]
        # A topic that is worth nothing may still have several classes.
        assert demand.better[c] == len(more) or not any(expected[topic])


@given(case=weighted_workloads(), capacity=st.integers(1, 25))
def test_what_is_carried_is_worth_something_and_fits(
    case: tuple[Workload, Weights], capacity: int
) -> None:
    workload, weights = case
    carried, ids = Demand.of(workload, weights).carried(capacity)
    expected = {
        topic: [value for value in found if value]
        for topic, found in enumerate(values(workload, weights))
        if any(found) and 2 * workload.rates[topic] <= capacity
    }
    assert ids.tolist() == sorted(expected)
    assert as_values(carried) == [expected[topic] for topic in sorted(expected)]
    assert carried.rates.tolist() == workload.rates[ids].tolist()


def test_classes_of_one_topic_differ_in_value() -> None:
    workload = Workload.from_pairs(
        topics=[0, 0, 0, 0], subscribers=[0, 1, 2, 3], rates=[5]
    )
    weights = Weights(None, np.array([2, 7, 2, 2]))
    demand = Demand.of(workload, weights)
    assert (demand.value.tolist(), demand.pairs.tolist()) == ([35, 10], [1, 3])
    assert Counter(demand.better.tolist()) == {0: 1, 1: 1}


@pytest.mark.parametrize("field", ["topics", "subscribers"])
def test_weights_of_the_wrong_length_are_refused(field: str) -> None:
    workload = Workload.from_pairs(topics=[0, 0], subscribers=[0, 1], rates=[5])
    weights = Weights(**{field: np.ones(3, np.int64)})
    expected = f"{field[:-1]}_weights: found 3, expected"
    with pytest.raises(InputError, match=expected):
        Demand.of(workload, weights)


def test_values_that_do_not_fit_in_64_bits_are_refused() -> None:
    workload = Workload.from_pairs(topics=[0], subscribers=[0], rates=[2**60])
    assert Demand.of(workload, PLAIN).total == 2**60
    with pytest.raises(InputError, match="total value of all pairs"):
        Demand.of(workload, Weights(np.array([10])))
