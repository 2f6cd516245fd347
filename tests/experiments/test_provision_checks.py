"""The checks find what is wrong with a plan, and nothing where all is right."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.experiments.provision_checks import (
    Served,
    count_served,
    order_problems,
    placement_problems,
)
from brokerwise.model.placement import Placement
from brokerwise.model.workload import Workload

# Rates 5, 3, 1 of topics 0, 1, 2; the third subscriber is not asked for more than 1.
SMALL = Workload.from_pairs(
    topics=[0, 1, 2, 0, 1, 2],
    subscribers=["a", "a", "a", "b", "b", "c"],
    rates=[5, 3, 1],
)


def served(*lists: list[int], threshold: int = 6, blocks: int = 1) -> Served:
    """What is found of one list for each subscriber, cut into blocks."""

    def arrays(part: tuple[list[int], ...]) -> tuple[Any, Any]:
        sizes = np.cumsum([0, *map(len, part)])
        return sizes.astype(np.int64), np.array([t for x in part for t in x], np.int32)

    step = -(-len(lists) // blocks) or 1
    parts = [lists[i : i + step] for i in range(0, len(lists), step)]
    return count_served(SMALL, threshold, map(arrays, parts))


def test_a_right_selection_has_no_problems_however_it_is_cut() -> None:
    for blocks in (1, 2, 3):
        found = served([0, 2], [0, 1], [2], blocks=blocks)
        assert list(found.problems(3)) == []
        assert found.counts.tolist() == [2, 1, 2]


def test_each_mistake_is_named() -> None:
    assert list(served([0], [0, 1], [2]).problems(3)) == [
        "1 subscribers get less than they need"
    ]
    assert list(served([0, 2], [0, 1, 2], [2]).problems(3)) == [
        "1 pairs are selected that nobody wants"
    ]
    assert list(served([0, 0], [0, 1], [2]).problems(3)) == [
        "1 pairs are selected twice"
    ]
    assert list(served([0, 2], [0, 1]).problems(3)) == [
        "2 of 3 subscribers have a list"
    ]


def test_thresholds_of_their_own_count() -> None:
    own = Workload(
        SMALL.rates,
        SMALL.interests,
        SMALL.topic_names,
        SMALL.subscriber_names,
        thresholds=np.array([9, -1, 0]),
    )
    lists = np.array([0, 1, 2, 2], np.int64), np.array([0, 1], np.int32)
    assert count_served(own, 3, [lists]).short == 1  # a: 5 of 9


@given(
    chosen=st.lists(st.sets(st.integers(0, 2)), min_size=3, max_size=3),
    threshold=st.integers(0, 12),
)
def test_counts_are_those_of_plain_python(
    chosen: list[set[int]], threshold: int
) -> None:
    rates, wants = (5, 3, 1), ({0, 1, 2}, {0, 1}, {2})
    found = served(*map(sorted, chosen), threshold=threshold)
    short = sum(
        sum(rates[t] for t in got) < min(threshold, sum(rates[t] for t in want))
        for got, want in zip(chosen, wants, strict=True)
    )
    unwanted = sum(len(g - w) for g, w in zip(chosen, wants, strict=True))
    assert (found.short, found.unwanted, found.repeated) == (short, unwanted, 0)
    assert found.counts.tolist() == [sum(t in g for g in chosen) for t in range(3)]


def problems(topic: list[int], broker: list[int], pairs: list[int]) -> list[str]:
    placement = Placement(np.array(topic), np.array(broker), np.array(pairs))
    return list(
        placement_problems(
            SMALL.rates, np.array([2, 1, 2]), np.array([15, 9]), placement
        )
    )


def test_a_broker_may_be_full_but_not_over_its_capacity() -> None:
    # 5 * 3 = 15 on the first; 3 * 2 + 1 * 3 = 9 on the second.
    assert problems([0, 1, 2], [0, 1, 1], [2, 1, 2]) == []
    assert problems([0, 1, 2], [0, 0, 1], [2, 1, 2]) == [
        "1 brokers are over their capacity, broker 0 with 21 of 15"
    ]
    # The stream that comes in counts on every broker of a topic.
    assert problems([0, 0, 1, 2], [0, 1, 0, 1], [1, 1, 1, 2]) == [
        "2 brokers are over their capacity, broker 1 with 13 of 9"
    ]


def test_pairs_that_were_lost_are_named() -> None:
    assert problems([0, 1], [0, 1], [2, 1]) == [
        "1 topics have more or fewer pairs placed than selected"
    ]


def test_a_cost_that_should_not_be_above_another_is_named() -> None:
    assert list(order_problems([("a", 1.0, "b", 1.0), ("c", 1.0, "d", 2.0)])) == []
    assert list(order_problems([("bound", 1.5, "plan", 1.25)])) == [
        "bound costs 1.500000, more than plan (1.250000)"
    ]
