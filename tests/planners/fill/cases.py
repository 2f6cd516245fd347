"""Small problems of filling, as topics with weights of pairs and as demand."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from tests.planners.fill.oracle import Topic, worth

from brokerwise.model.arrays import Int64s
from brokerwise.planners.fill.problem import Demand, Draft

Case = tuple[list[Topic], list[int]]
"""Topics, and the capacities of brokers."""


def demand_of(topics: Sequence[Topic]) -> Demand:
    """Pairs in classes of equal value."""
    classes = [
        (t, rate * weight, pairs)
        for t, (rate, weights) in enumerate(topics)
        for weight, pairs in sorted(Counter(weights).items(), reverse=True)
    ]
    columns = np.array(classes, np.int64).reshape(-1, 3).T.copy()
    rates = np.array([rate for rate, _ in topics], np.int64)
    return Demand.of_classes(rates, *columns)


def demand_of_counts(rates: Int64s, followers: Int64s) -> Demand:
    """Topics with so many pairs, each worth its rate."""
    return Demand.of_classes(rates, np.arange(len(rates)), rates, followers)


def carried(case: Case) -> Case:
    """Without topics that fit on no broker."""
    topics, capacities = case
    return [t for t in topics if 2 * t[0] <= max(capacities)], capacities


def plain_topics(rate: int, pairs: int, most: int) -> st.SearchStrategy[list[Topic]]:
    """Of such rates, each with such a number of pairs, at most so many."""
    each = st.integers(1, pairs).map(lambda n: (1,) * n)
    return st.lists(st.tuples(st.integers(1, rate), each), min_size=1, max_size=most)


def weighted_topics(rate: int, pairs: int, most: int) -> st.SearchStrategy[list[Topic]]:
    weights = st.lists(st.sampled_from([1, 2, 3, 7]), min_size=1, max_size=pairs)
    topic = st.tuples(st.integers(1, rate), weights.map(tuple))
    return st.lists(topic, min_size=1, max_size=most)


def scaled(topics: list[Topic], by: int) -> list[Topic]:
    return [(rate * by, weights) for rate, weights in topics]


ANY_TOPICS = (
    plain_topics(6, 4, 4)
    | weighted_topics(6, 4, 4)
    | plain_topics(3, 9, 2)
    # Rates with a divisor, and topics that are all alike.
    | st.builds(scaled, weighted_topics(3, 4, 3), st.sampled_from([2, 3]))
    | st.builds(
        lambda t, n: [t] * n,
        st.tuples(st.integers(1, 5), st.just((1, 1, 1))),
        st.integers(1, 4),
    )
)
ANY_CAPACITIES = st.lists(st.integers(1, 30), min_size=1, max_size=3) | st.builds(
    lambda size, count: [size] * count, st.integers(2, 24), st.integers(1, 3)
)
FEW_TOPICS = plain_topics(5, 4, 3) | weighted_topics(5, 3, 3)
CASES = (
    st.tuples(ANY_TOPICS, ANY_CAPACITIES)
    .map(carried)
    .filter(lambda case: bool(case[0]))  # some topic fits somewhere
)


def check(draft: Draft, topics: Sequence[Topic], capacities: Sequence[int]) -> int:
    """What a draft delivers; fails if it is not possible, or has an entry twice."""
    rows = list(
        zip(
            draft.topic.tolist(),
            draft.broker.tolist(),
            draft.pairs.tolist(),
            strict=True,
        )
    )
    assert len({(t, b) for t, b, _ in rows}) == len(rows)
    load, served = [0] * len(capacities), [0] * len(topics)
    for t, b, pairs in rows:
        assert pairs > 0
        load[b] += topics[t][0] * (pairs + 1)
        served[t] += pairs
    assert all(a <= b for a, b in zip(load, capacities, strict=True))
    assert all(n <= len(w) for n, (_, w) in zip(served, topics, strict=True))
    return sum(worth(topic, n) for topic, n in zip(topics, served, strict=True))
