"""Runs, and the broker that each pair gets from them."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement

lists = st.lists(st.sets(st.integers(0, 4)).map(sorted), max_size=12)


def placement(runs: list[tuple[int, int, int]]) -> Placement:
    topic, broker, pairs = zip(*runs, strict=True) if runs else ((), (), ())
    return Placement(
        np.array(topic, np.int32), np.array(broker, np.int32), np.array(pairs, np.int64)
    )


def selection(lists: list[list[int]]) -> Interests:
    topics = [t for topics in lists for t in topics]
    return Interests(np.cumsum([0, *map(len, lists)]), np.array(topics, np.int32))


@st.composite
def placed(draw: st.DrawFn) -> tuple[list[list[int]], list[tuple[int, int, int]]]:
    """A selection, and runs that cut the pairs of each topic at random."""
    wanted = draw(lists)
    runs = []
    for topic in range(5):
        left = sum(topic in topics for topics in wanted)
        for broker in draw(st.permutations(range(4))):
            if left:
                pairs = left if broker == 0 else draw(st.integers(0, left))
                runs += [(topic, broker, pairs)] if pairs else []
                left -= pairs
                if broker == 0:
                    break
    return wanted, runs


@given(placed())
def test_pairs_fill_the_runs_of_their_topic_in_order_of_subscribers(
    case: tuple[list[list[int]], list[tuple[int, int, int]]],
) -> None:
    wanted, runs = case
    queue: dict[int, list[int]] = defaultdict(list)
    for topic, broker, pairs in runs:
        queue[topic] += [broker] * pairs
    expected = [queue[topic].pop(0) for topics in wanted for topic in topics]
    found = placement(runs).brokers_of(selection(wanted))
    assert found.tolist() == expected
    assert found.dtype == np.int32


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([(0, 0, 1)], "topic 0 has 2 selected pairs but runs for 1"),
        ([(0, 0, 2), (0, 1, 1)], "topic 0 has 2 selected pairs but runs for 3"),
        ([(0, 0, 2), (3, 0, 1)], "topic 3 has 0 selected pairs but runs for 1"),
        ([], "topic 0 has 2 selected pairs but runs for 0"),
    ],
)
def test_runs_must_serve_exactly_the_selected_pairs(
    runs: list[tuple[int, int, int]], text: str
) -> None:
    with pytest.raises(InputError, match=f"placement: {text}"):
        placement(runs).brokers_of(selection([[0], [0]]))


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([(-1, 0, 1)], "topic of placement: found -1, expected 0 or more"),
        ([(0, -2, 1)], "broker of placement: found -2, expected 0 or more"),
        ([(0, 0, 0)], "pairs of placement: found 0, expected 1 or more"),
        ([(1, 0, 1), (0, 0, 1)], "placement: runs go by topic"),
        ([(0, 1, 1), (0, 0, 1), (0, 1, 2)], "placement: a topic has two runs on one"),
    ],
)
def test_runs_that_cannot_be_are_refused(
    runs: list[tuple[int, int, int]], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        placement(runs)


def test_columns_of_different_length_are_refused() -> None:
    two: Any = [0, 1]
    with pytest.raises(InputError, match="1 topics, 2 brokers and 2 counts of pairs"):
        Placement(np.zeros(1, np.int32), two, two)


def test_runs_keep_their_order_within_a_topic() -> None:
    held = placement([(0, 3, 1), (0, 1, 1)])
    assert held.brokers_of(selection([[0], [0]])).tolist() == [3, 1]


def test_repr_gives_the_counts() -> None:
    held = placement([(0, 0, 1000), (2, 0, 500)])
    assert held.runs == 2
    assert repr(held) == "Placement(2 runs, 1,500 pairs)"


def test_pairs_may_lie_between_those_of_another_broker() -> None:
    runs, chosen = placement([(0, 0, 2), (0, 1, 1)]), selection([[0], [0], [0]])
    assert runs.brokers_of(chosen).tolist() == [0, 0, 1]
    between = replace(runs, pair_broker=np.array([0, 1, 0], np.int32))
    assert between.brokers_of(chosen).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("brokers", "problem"),
    [
        ([0, 1, 1], "the brokers of its pairs differ from its runs"),
        ([0, 0, 2], "the brokers of its pairs differ from its runs"),
        ([0, 1], "found brokers of 2 pairs, expected of 3"),
    ],
)
def test_brokers_of_pairs_must_be_those_of_the_runs(
    brokers: list[int], problem: str
) -> None:
    runs = placement([(0, 0, 2), (0, 1, 1)])
    wrong = replace(runs, pair_broker=np.array(brokers, np.int32))
    with pytest.raises(InputError, match=problem):
        wrong.brokers_of(selection([[0], [0], [0]]))
