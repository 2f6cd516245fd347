"""What is wanted of each topic, and drafts."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planners.fill.cases import ANY_TOPICS, demand_of, demand_of_counts
from tests.planners.fill.oracle import Topic, worth

from brokerwise.model.errors import InputError
from brokerwise.model.workload import PLAIN, Weights, Workload
from brokerwise.planners.fill.problem import Demand, Draft, served_value, taken_by_class


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


def draft_of(*rows: tuple[int, int, int]) -> Draft:
    """From (topic, broker, pairs)."""
    topic, broker, pairs = np.array(rows, np.int64).reshape(-1, 3).T
    return Draft(topic.astype(np.int32), broker.astype(np.int32), pairs)


@given(topics=ANY_TOPICS, data=st.data())
def test_the_best_pairs_are_served_first(
    topics: list[Topic], data: st.DataObject
) -> None:
    demand = demand_of(topics)
    served = [data.draw(st.integers(0, len(weights))) for _, weights in topics]
    expected = [worth(topic, n) for topic, n in zip(topics, served, strict=True)]
    assert served_value(demand, np.array(served)) == sum(expected)
    taken = taken_by_class(demand, np.array(served))
    assert np.bincount(demand.topic, taken, demand.topics).tolist() == served


def test_figure_1_of_the_paper() -> None:
    """Broker 1 carries p1 once and p2 twice; broker 2 p1 and p4, broker 3 p4 and p5,
    each once. Nobody gets p3 or p6."""
    rates = np.array([1, 20, 300, 4000, 50_000, 600_000])
    r1, r2, _, r4, r5, _ = rates.tolist()
    demand = demand_of_counts(rates, np.array([2, 2, 1, 2, 1, 1]))
    draft = draft_of((0, 0, 1), (1, 0, 2), (0, 1, 1), (3, 1, 1), (3, 2, 1), (4, 2, 1))
    assert draft.loads(demand, 3).tolist() == [
        (r1 + r2) + (r1 + 2 * r2),
        (r1 + r4) + (r1 + r4),
        (r4 + r5) + (r4 + r5),
    ]
    assert draft.served(demand).tolist() == [2, 2, 0, 2, 1, 0]
    assert draft.value(demand) == 2 * r1 + 2 * r2 + 2 * r4 + r5


def test_a_draft_of_nothing_is_worth_nothing() -> None:
    demand = demand_of_counts(np.array([3]), np.array([4]))
    assert draft_of().value(demand) == 0
    assert draft_of().loads(demand, 2).tolist() == [0, 0]
