"""MKPBS, against its pseudocode and the published figures."""

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

from brokerwise.kernels import fill_classes, fill_knapsack, fill_mkp, fill_order
from brokerwise.kernels.fill_knapsack import MOST_BITS, MOST_CELLS, Items

ITEM = st.tuples(st.integers(1, 40), st.integers(1, 4), st.integers(1, 9))
LIKE = st.tuples(st.integers(1, 40), st.just(3), st.integers(1, 9))
ITEMS = st.lists(ITEM, max_size=7) | st.lists(LIKE, max_size=7)


@given(TOPICS, CAPACITIES)
def test_it_is_the_pseudocode(topics: list[Topic], capacities: list[int]) -> None:
    found = answer(fill_mkp.fill_mkp, topics, capacities)
    check_possible(topics, capacities, found)
    assert found == fill_literal.mkp(topics, capacities)


@given(TOPICS, CAPACITIES)
def test_it_is_the_same_in_plain_python(
    topics: list[Topic], capacities: list[int]
) -> None:
    rooms = np.array(capacities, np.int64)
    found = fill_mkp.fill_mkp(*arrays(topics), rooms)
    with interpreted(fill_mkp, fill_classes, fill_knapsack, fill_order):
        plain = fill_mkp.fill_mkp(*arrays(topics), rooms)
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
    assert answer(fill_mkp.fill_mkp, topics, [70]) == {(0, 0): 6}


def test_rates_near_the_largest_number_do_no_harm() -> None:
    huge, most = 2**62 - 1, 2**63 - 1
    assert answer(fill_mkp.fill_mkp, [(huge, [1])], [most, most]) == {(0, 0): 1}
    assert answer(fill_mkp.fill_mkp, [(huge + 1, [1])], [most]) == {}


@pytest.mark.parametrize("most_pairs", [8, 2000])
@pytest.mark.parametrize("capacity", [10**6, 10**9 + 7, 2**50])
def test_large_capacities_are_filled_too(capacity: int, most_pairs: int) -> None:
    """With up to 2,000 pairs a topic, none fits whole on a broker."""
    random = np.random.default_rng(5)
    rates = random.integers(capacity // 900, capacity // 300, 200)
    pairs = random.integers(most_pairs // 2, most_pairs, 200)
    rooms = np.full(2, capacity)
    topic, broker, served = fill_mkp.fill_mkp(
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
    found = mean_percent(fill_mkp.fill_mkp, topics, brokers, instances=20)
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
