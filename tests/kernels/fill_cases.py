"""Small problems of filling, and answers of kernels as the literal ones are."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.kernels.fill_literal import Answer, Topic

from brokerwise.model.arrays import Int64s
from brokerwise.pipeline.trace import RateRange, Uniform, pair_blocks

Arrays = tuple[Int64s, Int64s, Int64s, Int64s]

UNWEIGHTED = st.tuples(
    st.integers(1, 12), st.integers(1, 20).map(lambda pairs: [1] * pairs)
)
WEIGHTED = st.tuples(
    st.integers(1, 12), st.lists(st.integers(1, 5), min_size=1, max_size=12)
)
TOPICS = st.lists(UNWEIGHTED, max_size=12) | st.lists(WEIGHTED, max_size=10)
CAPACITIES = st.lists(st.integers(1, 90), max_size=7) | st.lists(
    st.sampled_from([20, 40, 100]), max_size=7
)


def arrays(topics: Sequence[Topic]) -> Arrays:
    """Rates, and classes of equal value by topic, the most valuable first."""
    classes = [sorted(Counter(weights).items())[::-1] for _, weights in topics]
    value = [
        rate * weight
        for (rate, _), found in zip(topics, classes, strict=True)
        for weight, _ in found
    ]
    return (
        np.array([rate for rate, _ in topics], np.int64),
        np.cumsum([0, *map(len, classes)], dtype=np.int64),
        np.array(value, np.int64),
        np.array([n for _, n in chain(*classes)], np.int64),
    )


def answer(
    kernel: Callable[..., Any], topics: Sequence[Topic], capacities: Any
) -> Answer:
    """Fails if the kernel has two entries for a topic and broker, or an empty one."""
    found = kernel(*arrays(topics), np.array(capacities, np.int64))
    assert [a.dtype for a in found] == [np.int32, np.int32, np.int64]
    topic, broker, pairs = (a.tolist() for a in found)
    rows = dict(zip(zip(topic, broker, strict=True), pairs, strict=True))
    assert len(rows) == len(topic)
    assert all(n > 0 for n in pairs)
    return Counter(rows)


def check_possible(
    topics: Sequence[Topic], capacities: Sequence[int], found: Answer
) -> None:
    """Fail if a broker has too much load or a topic more pairs than are wanted."""
    load, served = [0] * len(capacities), [0] * len(topics)
    for (t, b), pairs in found.items():
        load[b] += topics[t][0] * (pairs + 1)
        served[t] += pairs
    assert all(a <= b for a, b in zip(load, capacities, strict=True))
    assert all(a <= len(w) for a, (_, w) in zip(served, topics, strict=True))


def mean_percent(
    kernel: Callable[..., Any], topics: int, brokers: int, instances: int
) -> float:
    """Of the data wanted in the paper's homogeneous instances, with brokers of 500."""
    trace = Uniform(topics, subscribers=100, each=5, rates=RateRange(10, 10))
    shares = []
    for seed in range(instances):
        followers = np.zeros(topics, np.int64)
        for topic, _ in pair_blocks(trace, seed):
            followers += np.bincount(topic, minlength=topics)
        count = followers[followers > 0]
        rates = np.full(len(count), 10)
        starts = np.arange(len(count) + 1)
        found = kernel(rates, starts, rates, count, np.full(brokers, 500))
        shares.append(100 * found[2].sum() / count.sum())
    return float(np.mean(shares))
