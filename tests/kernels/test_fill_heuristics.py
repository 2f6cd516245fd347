"""Heuristics that fill brokers, and which pairs are served, against plain Python."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import fill_literal
from tests.kernels.fill_cases import (
    CAPACITIES,
    TOPICS,
    answer,
    arrays,
    check_possible,
    mean_percent,
)
from tests.kernels.fill_literal import Item, Topic, best_choice
from tests.kernels.interpreted import interpreted

from brokerwise.kernels import fill_heuristics, fill_knapsack
from brokerwise.kernels.fill_heuristics import descending, heap_of, rise, sink
from brokerwise.kernels.fill_knapsack import MOST_BITS, MOST_CELLS, Items
from brokerwise.model.arrays import read_only

KEYS = st.lists(st.integers(0, 9) | st.integers(0, 2**63 - 1))


def in_order(keys: list[int]) -> list[int]:
    return sorted(range(len(keys)), key=lambda i: (-keys[i], i))


@given(KEYS)
def test_the_largest_come_first_and_equals_by_number(keys: list[int]) -> None:
    assert descending(np.array(keys, np.int64)).tolist() == in_order(keys)


@pytest.mark.parametrize("most", [1, 5000, 2**62])
def test_many_are_sorted_as_few_are(most: int) -> None:
    keys = np.random.default_rng(1).integers(0, most, 5000)
    assert descending(keys).tolist() == in_order(keys.tolist())


@given(KEYS)
def test_the_first_is_on_top_of_a_heap_until_it_is_empty(keys: list[int]) -> None:
    heap, found = heap_of(np.array(keys, np.int64)), []
    for left in range(len(keys) - 1, -1, -1):
        found.append(int(heap.numbers[0]))
        sink(heap, left, heap.keys[left], heap.numbers[left])
    assert found == in_order(keys)


@given(KEYS)
def test_what_is_added_to_a_heap_finds_its_place(keys: list[int]) -> None:
    heap, found = heap_of(np.zeros(len(keys), np.int64)), []
    for number, key in enumerate(keys):
        rise(heap, number, key, number)
    for left in range(len(keys) - 1, -1, -1):
        found.append(int(heap.numbers[0]))
        sink(heap, left, heap.keys[left], heap.numbers[left])
    assert found == in_order(keys)


@given(TOPICS, CAPACITIES)
def test_greedy_is_the_pseudocode(topics: list[Topic], capacities: list[int]) -> None:
    found = answer(fill_heuristics.fill_greedy, topics, capacities)
    check_possible(topics, capacities, found)
    assert found == fill_literal.greedy(topics, capacities)


@given(TOPICS, CAPACITIES)
def test_greedy_is_the_same_in_plain_python(
    topics: list[Topic], capacities: list[int]
) -> None:
    rooms = np.array(capacities, np.int64)
    found = fill_heuristics.fill_greedy(*arrays(topics), rooms)
    with interpreted(fill_heuristics):
        plain = fill_heuristics.fill_greedy(*arrays(topics), rooms)
    assert [a.tolist() for a in found] == [a.tolist() for a in plain]
    assert rooms.tolist() == capacities


def test_a_topic_that_fits_nowhere_does_not_hold_up_the_others() -> None:
    found = answer(
        fill_heuristics.fill_greedy, [(60, [1] * 9), (10, [1, 1])], [100, 40]
    )
    assert found == {(1, 0): 2}


def test_the_topic_that_weighs_most_comes_first() -> None:
    topics: list[Topic] = [(10, [1] * 6), (10, [4, 4]), (10, [5, 1, 1])]
    found = answer(fill_heuristics.fill_greedy, topics, [30])
    assert found == {(1, 0): 2}


def test_rates_near_the_largest_number_do_greedy_no_harm() -> None:
    huge = 2**62 - 1
    assert answer(fill_heuristics.fill_greedy, [(huge, [1])], [2**63 - 1]) == {
        (0, 0): 1
    }
    assert answer(fill_heuristics.fill_greedy, [(huge + 1, [1])], [2**63 - 1]) == {}


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
    found = mean_percent(fill_heuristics.fill_greedy, topics, brokers, instances=20)
    assert published - 0.2 <= found < published + 1.7


ITEM = st.tuples(st.integers(1, 40), st.integers(1, 4), st.integers(1, 9))
LIKE = st.tuples(st.integers(1, 40), st.just(3), st.integers(1, 9))
ITEMS = st.lists(ITEM, max_size=7) | st.lists(LIKE, max_size=7)


@given(TOPICS, CAPACITIES)
def test_mkp_is_the_pseudocode(topics: list[Topic], capacities: list[int]) -> None:
    found = answer(fill_heuristics.fill_mkp, topics, capacities)
    check_possible(topics, capacities, found)
    assert found == fill_literal.mkp(topics, capacities)


@given(TOPICS, CAPACITIES)
def test_mkp_is_the_same_in_plain_python(
    topics: list[Topic], capacities: list[int]
) -> None:
    rooms = np.array(capacities, np.int64)
    found = fill_heuristics.fill_mkp(*arrays(topics), rooms)
    with interpreted(fill_heuristics, fill_knapsack):
        plain = fill_heuristics.fill_mkp(*arrays(topics), rooms)
    assert [a.tolist() for a in found] == [a.tolist() for a in plain]
    assert rooms.tolist() == capacities


@given(ITEMS, st.integers(0, 300), st.integers(1, 6))
def test_a_knapsack_is_the_best_of_all_choices(
    items: list[Item], room: int, unit: int
) -> None:
    items = sorted(((r * unit, w, n) for r, w, n in items), key=lambda item: -item[1])
    assert knapsack(items, room) == best_choice(items, room)


@given(ITEMS, st.integers(0, 300), st.integers(0, 600))
def test_a_knapsack_beyond_the_limit_is_as_good_as_taking_what_fits(
    items: list[Item], room: int, limit: int
) -> None:
    items.sort(key=lambda item: -item[1])
    found = knapsack(items, room, limit)
    assert sum(n * rate for n, (rate, _, _) in zip(found, items, strict=True)) <= room
    assert all(0 <= n <= count for n, (_, _, count) in zip(found, items, strict=True))
    assert worth(items, found) >= worth(items, as_it_fits(items, room))
    assert worth(items, found) <= worth(items, best_choice(items, room))


def test_the_end_of_a_large_knapsack_is_exact() -> None:
    """As it fits, pairs of 1,000 leave a room of 200; one fewer, and all is full."""
    items = [(1000, 1, 10**6), (601, 1, 1), (599, 1, 1)]
    room = 10**8 + 200
    assert room > MOST_BITS
    assert as_it_fits(items, room) == (10**5, 0, 0)
    assert knapsack(items, room) == (10**5 - 1, 1, 1)


def test_topics_without_a_pair_leave_their_room_to_others() -> None:
    """Allotted: both topics, at 20 each. Five pairs fit beside both set-ups, all of
    the first topic; without the second's set-up, a sixth does."""
    topics: list[Topic] = [(10, [1] * 20), (10, [1] * 19)]
    assert answer(fill_heuristics.fill_mkp, topics, [70]) == {(0, 0): 6}


def test_rates_near_the_largest_number_do_mkp_no_harm() -> None:
    huge, most = 2**62 - 1, 2**63 - 1
    assert answer(fill_heuristics.fill_mkp, [(huge, [1])], [most, most]) == {(0, 0): 1}
    assert answer(fill_heuristics.fill_mkp, [(huge + 1, [1])], [most]) == {}


@pytest.mark.parametrize("most_pairs", [8, 2000])
@pytest.mark.parametrize("capacity", [10**6, 10**9 + 7, 2**50])
def test_large_capacities_are_filled_too(capacity: int, most_pairs: int) -> None:
    """With up to 2,000 pairs a topic, none fits whole on a broker."""
    random = np.random.default_rng(5)
    rates = random.integers(capacity // 900, capacity // 300, 200)
    pairs = random.integers(most_pairs // 2, most_pairs, 200)
    rooms = np.full(2, capacity)
    topic, broker, served = fill_heuristics.fill_mkp(
        rates, np.arange(201), rates, pairs, rooms
    )
    for b in range(2):
        here = broker == b
        load = sum((rates[topic[here]] * (served[here] + 1)).tolist())
        assert 0.99 * capacity < load <= capacity


@pytest.mark.parametrize(
    ("topics", "brokers", "published"),
    [
        (100, 5, 43.78),
        (100, 10, 84.95),
        (100, 15, 100.0),
        (1000, 5, 34.04),
        (1000, 10, 60.50),
        (1000, 15, 85.50),
        (1000, 20, 100.0),
    ],
)
def test_it_delivers_what_is_published(
    topics: int, brokers: int, published: float
) -> None:
    found = mean_percent(fill_heuristics.fill_mkp, topics, brokers, instances=20)
    assert found == pytest.approx(published, abs=0.3)


def knapsack(items: list[Item], room: int, limit: int | None = None) -> tuple[int, ...]:
    rate, weight, count = np.array(items, np.int64).reshape(-1, 3).T.copy()
    topic, taken, free = np.full((3, len(items)), -1)
    bits, cells = (MOST_BITS, MOST_CELLS) if limit is None else (limit, limit)
    bag = Items(topic, rate, weight, count, taken, free)
    if items:
        fill_knapsack.fill_room(bag, len(items), room, bits, cells)
    return tuple(taken.tolist())


def as_it_fits(items: list[Item], room: int) -> tuple[int, ...]:
    found = []
    for rate, _, count in items:
        found.append(min(count, room // rate))
        room -= rate * found[-1]
    return tuple(found)


def worth(items: list[Item], taken: tuple[int, ...]) -> int:
    return sum(
        n * rate * weight for n, (rate, weight, _) in zip(taken, items, strict=True)
    )


FEW_TOPICS = 4


@st.composite
def wants(draw: Any) -> tuple[list[list[int]], list[int], list[int]]:
    """Topics of each subscriber, their weights, and how many pairs are served."""
    topics = st.sets(st.integers(0, FEW_TOPICS - 1)).map(sorted)
    interests = draw(st.lists(topics, max_size=8))
    weights = [draw(st.integers(0, 3)) for _ in interests]
    followers = [sum(t in found for found in interests) for t in range(FEW_TOPICS)]
    return interests, weights, [draw(st.integers(0, n)) for n in followers]


def select(case: tuple[list[list[int]], list[int], list[int]]) -> list[list[int]]:
    interests, weights, served = case
    offsets = np.cumsum([0, *map(len, interests)], dtype=np.int64)
    topics = np.array([t for found in interests for t in found], np.int32)
    kept, chosen = fill_heuristics.select_best(
        read_only(offsets),
        read_only(topics),
        read_only(np.array(weights, np.int64)),
        np.array(served, np.int64),
    )
    assert [a.dtype for a in (kept, chosen)] == [np.int64, np.int32]
    return [chosen[first:last].tolist() for first, last in pairwise(kept)]


@given(case=wants())
def test_the_heaviest_are_served_and_of_equals_the_first(
    case: tuple[list[list[int]], list[int], list[int]],
) -> None:
    interests, weights, served = case
    best = {}
    for topic, count in enumerate(served):
        who = [s for s, found in enumerate(interests) if topic in found]
        best[topic] = sorted(who, key=lambda s: (-weights[s], s))[:count]
    expected = [
        [topic for topic in found if s in best[topic]]
        for s, found in enumerate(interests)
    ]
    assert select(case) == expected
    with interpreted(fill_heuristics):
        assert select(case) == expected
