"""Problems as column generation has them, and what their patterns must satisfy."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from hypothesis import strategies as st
from tests.planners.fill.cases import Case as Instance
from tests.planners.fill.cases import demand_of
from tests.planners.fill.oracle import Topic, most_by_highs, worth

from brokerwise.planners.control import Stop, never
from brokerwise.planners.fill.columns.master import Limits
from brokerwise.planners.fill.columns.relaxation import Case
from brokerwise.planners.fill.columns.supply import Effort, Pattern, Supply

ENOUGH = 1 << 40

HARD: Instance = (
    [
        (rate, (1,) * pairs)
        for rate, pairs in zip(
            (19, 17, 17, 16, 14, 13, 13, 11, 9, 8),
            (5, 3, 4, 2, 5, 3, 3, 4, 2, 5),
            strict=True,
        )
    ],
    [96, 96, 96],
)
"""Here relaxations alone do not prove which plan is best."""


@cache
def best_of_hard() -> int:
    return most_by_highs(*HARD)


def supply_of(capacities: Sequence[int]) -> Supply:
    sizes, counts = np.unique(-np.array(capacities), return_counts=True)
    return Supply(-sizes, counts)


def case_of(instance: Instance, *, work: int = ENOUGH, stop: Stop = never) -> Case:
    topics, capacities = instance
    return Case(demand_of(topics), supply_of(capacities), Effort(work, stop))


def check_patterns(
    patterns: Sequence[Pattern], topics: Sequence[Topic], supply: Supply
) -> int:
    """What they deliver; fails if brokers or pairs do not suffice for them."""
    served = [0] * len(topics)
    used = [0] * len(supply.sizes)
    load = 0
    for pattern in patterns:
        of_pattern = 0
        for topic, pairs in pattern.entries():
            assert pairs > 0
            served[topic] += pairs
            of_pattern += topics[topic][0] * (pairs + 1)
        assert len(set(pattern.topic.tolist())) == len(pattern.topic)
        assert of_pattern <= supply.sizes[pattern.size]
        used[pattern.size] += 1
        load += of_pattern
    if supply.bandwidth is None:
        assert all(a <= b for a, b in zip(used, supply.counts, strict=True))
    else:
        assert load <= supply.bandwidth
    assert all(n <= len(w) for n, (_, w) in zip(served, topics, strict=True))
    return sum(worth(topic, n) for topic, n in zip(topics, served, strict=True))


def limits_for(topics: int, brokers: int) -> st.SearchStrategy[Limits]:
    """Of some steps of one topic or of two, between no broker and all of them."""
    number = st.integers(0, topics - 1)
    of = st.sets(number, min_size=1, max_size=2).map(sorted).map(tuple)
    step = st.tuples(of, st.integers(1, 3))
    limit = st.tuples(st.integers(0, brokers), st.integers(-1, brokers)).filter(
        lambda found: found[1] < 0 or found[0] <= found[1]
    )
    return st.dictionaries(step, limit, max_size=3)
