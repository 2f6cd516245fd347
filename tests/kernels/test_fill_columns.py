"""Best patterns of a broker, and of all brokers as one, against every pattern."""

from itertools import pairwise, product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.fill_cases import WEIGHTED, arrays
from tests.kernels.fill_literal import Topic
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import fill_columns
from brokerwise.kernels.fill_columns import Gains, Table
from brokerwise.model.arrays import Int64s

MERGED_TOPICS = st.lists(
    st.tuples(WEIGHTED.map(lambda topic: topic[0]), st.lists(st.integers(1, 5))).map(
        lambda topic: (topic[0], topic[1][:4] or [1])
    ),
    max_size=3,
)


def by_hand(topics: list[Topic], size: int, largest: int) -> int:
    best = 0
    for served in product(*(range(len(weights) + 1) for _, weights in topics)):
        value = load = 0
        for (rate, weights), n in zip(topics, served, strict=True):
            held = largest // rate - 1
            if n and held < 1:
                load = size + 1
            elif n:
                load += rate * (n - (-n // held))
                value += rate * sum(sorted(weights)[::-1][:n])
        if load <= size:
            best = max(best, value)
    return best


@settings(max_examples=examples(100))
@given(topics=MERGED_TOPICS, size=st.integers(0, 60), largest=st.integers(2, 40))
def test_every_set_up_that_is_needed_is_paid(
    topics: list[Topic], size: int, largest: int
) -> None:
    found = fill_columns.most_in_one(*arrays(topics), size, largest)
    assert found == by_hand(topics, size, largest)
    with interpreted(fill_columns):
        assert fill_columns.most_in_one(*arrays(topics), size, largest) == found


PricedTopic = tuple[int, list[int]]
"""Its rate, and what one, two, ... pairs of it gain."""

GAINS = st.lists(st.integers(-5, 30), min_size=1, max_size=4)
PRICED_TOPICS = st.lists(st.tuples(st.integers(1, 6), GAINS), min_size=1, max_size=4)
SIZES = st.lists(st.integers(1, 26), min_size=1, max_size=4).map(
    lambda found: sorted(found, reverse=True)
)
MANY = 1 << 40


def priced_arrays(topics: list[PricedTopic], size: int) -> tuple[Gains, Int64s, Table]:
    """Gains, most pairs, and a table for brokers of a size."""
    counts = [len(gains) for _, gains in topics]
    gains = Gains(
        np.array([rate for rate, _ in topics]),
        np.cumsum([0, *counts])[:-1],
        np.array([gain for _, gains in topics for gain in gains]),
    )
    choices = np.full((len(topics), size + 1), 99, np.uint16)
    return gains, np.array(counts), Table(np.full(size + 1, -9), choices)


def gain(topics: list[PricedTopic], pairs: tuple[int, ...]) -> int:
    return sum(g[n - 1] for (_, g), n in zip(topics, pairs, strict=True) if n)


def load(topics: list[PricedTopic], pairs: tuple[int, ...]) -> int:
    return sum(r * (n + 1) for (r, _), n in zip(topics, pairs, strict=True) if n)


def most(topics: list[PricedTopic], left: list[int], size: int) -> int:
    """The most that any pattern of what is left gains."""
    every = product(*(range(n + 1) for n in left))
    return max(gain(topics, p) for p in every if load(topics, p) <= size)


def read(found: tuple[Any, ...], topics: list[PricedTopic]) -> list[tuple[int, ...]]:
    """Patterns as pairs of each topic; fails if one is not as it should be."""
    starts, of, pairs, _ = found
    patterns = []
    for first, last in pairwise(starts):
        assert (np.diff(of[first:last]) < 0).all()
        pattern = [0] * len(topics)
        for topic, n in zip(of[first:last], pairs[first:last], strict=True):
            assert n > 0
            pattern[topic] = int(n)
        patterns.append(tuple(pattern))
    return patterns


@settings(max_examples=examples(150))
@given(topics=PRICED_TOPICS, size=st.integers(1, 30))
def test_every_size_gets_its_best_pattern(topics: list[PricedTopic], size: int) -> None:
    offer, left, table = priced_arrays(topics, size)
    steps = fill_columns.price(offer, left, table)
    best, choices = table
    for c in range(size + 1):
        assert best[c] == most(topics, left.tolist(), c)
        pattern, room = [0] * len(topics), c
        for topic in reversed(range(len(topics))):
            pattern[topic] = int(choices[topic, room])
            room -= offer.rates[topic] * (pattern[topic] + 1) if pattern[topic] else 0
        assert load(topics, tuple(pattern)) <= c
        assert gain(topics, tuple(pattern)) == best[c]
    assert 0 <= steps <= len(offer.gains) * (size + 1)


@settings(max_examples=examples(150))
@given(
    topics=PRICED_TOPICS,
    sizes=SIZES,
    allowed=st.lists(st.integers(1, 4), min_size=4, max_size=4),
    steps=st.sampled_from([0, 60, MANY]),
)
def test_brokers_in_turn_get_the_best_of_what_is_left(
    topics: list[PricedTopic], sizes: list[int], allowed: list[int], steps: int
) -> None:
    offer, left, table = priced_arrays(topics, sizes[0])
    best = table.best
    may = np.array(allowed[: len(topics)])
    alone = most(topics, left.tolist(), sizes[0])
    each = [len(g) for _, g in topics]
    found = fill_columns.fill_in_turn(offer, left, may, np.array(sizes), steps, table)
    patterns = read(found, topics)
    smaller = sorted(set(sizes), reverse=True)[1:]
    for size, pattern in zip(smaller, patterns, strict=False):
        assert load(topics, pattern) <= size
        assert gain(topics, pattern) == most(topics, each, size)
    in_turn = patterns[len(smaller) :]
    assert 1 <= len(in_turn) <= len(sizes)
    assert steps < MANY or len(in_turn) == len(sizes)
    rest, brokers = list(each), list(allowed)
    for size, pattern in zip(sizes, in_turn, strict=False):
        assert load(topics, pattern) <= size
        assert gain(topics, pattern) == most(topics, rest, size)
        for topic, n in enumerate(pattern):
            brokers[topic] -= n > 0
            rest[topic] = rest[topic] - n if brokers[topic] > 0 else 0
    assert left.tolist() == rest
    assert best[sizes[0]] == alone
    assert best.tolist() == [most(topics, each, c) for c in range(sizes[0] + 1)]


@settings(max_examples=examples(150))
@given(
    topics=PRICED_TOPICS,
    largest=st.integers(1, 20),
    bandwidth=st.integers(0, 50),
    toll=st.integers(0, 6),
    steps=st.sampled_from([0, MANY]),
)
def test_bandwidth_is_split_among_the_patterns_that_gain_most(
    topics: list[PricedTopic], largest: int, bandwidth: int, toll: int, steps: int
) -> None:
    offer, left, table = priced_arrays(topics, largest)
    best = table.best
    best[:] = 0
    may = np.full(len(topics), 9)
    each = [len(g) for _, g in topics]
    found = fill_columns.split_in_turn(offer, left, may, bandwidth, toll, steps, table)
    patterns = read(found, topics)
    assert sum(load(topics, p) for p in patterns) <= bandwidth
    assert all(0 < load(topics, p) <= largest for p in patterns)
    rest = [n - sum(of) for n, *of in zip(each, *patterns, strict=True)]
    assert left.tolist() == rest
    if bandwidth > 1:
        assert best.tolist() == [most(topics, each, c) for c in range(largest + 1)]
    if patterns:
        first, size = patterns[0], min(largest, bandwidth)
        excess = max(most(topics, each, c) - toll * c for c in range(size + 1))
        reached = gain(topics, first) - toll * load(topics, first)
        assert reached == excess or (excess <= 0 and gain(topics, first) > 0)


@settings(max_examples=examples(40))
@given(
    topics=PRICED_TOPICS,
    sizes=SIZES,
    bandwidth=st.integers(0, 40),
    toll=st.integers(0, 3),
)
def test_it_is_the_same_in_plain_python(
    topics: list[PricedTopic], sizes: list[int], bandwidth: int, toll: int
) -> None:
    """Where an index out of range would raise."""

    kernels: list[tuple[str, tuple[Any, ...]]] = [
        ("fill_in_turn", (np.array(sizes),)),
        ("split_in_turn", (bandwidth, toll)),
    ]

    def run() -> list[Any]:
        answers: list[Any] = []
        for name, supply in kernels:
            offer, left, table = priced_arrays(topics, sizes[0])
            may = np.full(len(topics), 2)
            found = getattr(fill_columns, name)(offer, left, may, *supply, MANY, table)
            answers += [*(a.tolist() for a in found[:3]), found[3], left.tolist()]
        return answers

    compiled = run()
    with interpreted(fill_columns):
        assert run() == compiled
