"""The loops of packings, against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import packing_steps, packing_tight
from brokerwise.model.arrays import Int32s, Int64s, read_only

ROOMS = st.lists(st.integers(0, 9), min_size=1, max_size=9)
RULES = (packing_tight.ROOMIEST, packing_tight.FIRST, packing_tight.SNUGGEST)


@given(ROOMS, st.lists(st.tuples(st.integers(0, 8), st.integers(0, 9))), st.data())
def test_rooms_are_found_as_by_looking_at_all(
    rooms: list[int], changes: list[tuple[int, int]], data: st.DataObject
) -> None:
    tree = packing_steps.tree_of(np.array(rooms))
    for broker, room in changes:
        rooms[broker % len(rooms)] = room
        packing_steps.set_room(tree, broker % len(rooms), room)
    assert [packing_steps.room_of(tree, b) for b in range(len(rooms))] == rooms
    assert packing_steps.roomiest(tree) == rooms.index(max(rooms))
    need = data.draw(st.integers(0, 10))
    first = next((b for b, room in enumerate(rooms) if room >= need), -1)
    assert packing_steps.first_with_room(tree, need) == first


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_brokers_are_opened_one_after_the_other(rooms: list[int]) -> None:
    tree = packing_steps.tree_of(np.empty(0, np.int64))
    types = np.empty(1, np.int32)
    for number, room in enumerate(rooms):
        assert packing_steps.first_with_room(tree, 10) == -1
        tree, types = packing_steps.opened(tree, types, number, room % 3, room)
        assert tree[1] == max(rooms[: number + 1])
    assert types[: len(rooms)].tolist() == [room % 3 for room in rooms]
    assert tree[len(tree) // 2 :][: len(rooms)].tolist() == rooms


@given(st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 5000)))
def test_the_largest_come_first_and_equals_keep_their_order(values: list[int]) -> None:
    found = packing_steps.largest_first(np.array(values, np.int64))
    assert found.tolist() == sorted(range(len(values)), key=lambda i: -values[i])


@given(
    st.lists(st.tuples(st.integers(1, 10), st.integers(0, 9)), min_size=1),
    st.integers(20, 40),
)
def test_receptions_are_as_few_as_brokers_of_that_size_allow(
    topics: list[tuple[int, int]], capacity: int
) -> None:
    rates, counts = np.array(topics, np.int64).T.copy()
    expected = 0
    for rate, pairs in topics:
        while pairs > 0:
            expected += rate
            pairs -= capacity // rate - 1
    assert (
        packing_steps.least_receptions(read_only(rates), counts, capacity) == expected
    )


Topics = list[tuple[int, int]]
TOPICS = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 8)), min_size=1, max_size=8
)
CAPACITIES = st.lists(st.integers(1, 40), min_size=1, max_size=6)


@pytest.mark.parametrize("rule", RULES)
@given(topics=TOPICS, capacities=CAPACITIES)
def test_brokers_are_filled_as_the_rule_says(
    rule: int, topics: Topics, capacities: list[int]
) -> None:
    order, rates, counts = arrays(topics)
    unplaced, lost, extra, home, cuts = packing_tight.filled(
        order, rates, counts, np.array(capacities), rule
    )
    found = [tuple(row) for row in cuts.tolist()]
    found += [(t, int(b), topics[t][1]) for t, b in enumerate(home) if b >= 0]
    rows, missing, first = literal_fill(topics, list(capacities), rule)
    assert sorted(found) == sorted(rows)
    assert (unplaced, lost) == (missing, first)
    if not unplaced:
        received = sum(topics[t][0] for t, _, _ in rows)
        assert extra == received - sum(rate for rate, _ in topics)


@pytest.mark.parametrize("rule", RULES)
@given(topics=TOPICS, capacities=CAPACITIES, seed=st.integers(0, 99))
def test_climbing_is_never_for_the_worse_and_ends_with_an_order(
    rule: int, topics: Topics, capacities: list[int], seed: int
) -> None:
    order, rates, counts = arrays(topics)
    rooms = np.array(capacities)
    before = packing_tight.filled(order, rates, counts, rooms, rule)
    unplaced, extra, tries = packing_tight.climb(
        order, rates, counts, rooms, rule, 30, 0, seed
    )
    after = packing_tight.filled(order, rates, counts, rooms, rule)
    assert sorted(order.tolist()) == list(range(len(topics)))
    assert (unplaced, extra) == (after[0], after[2])
    assert (unplaced, extra) <= (before[0], before[2])
    assert tries == 30 or (unplaced, extra) == (0, 0)


@pytest.mark.parametrize("rule", RULES)
@given(topics=TOPICS, capacities=CAPACITIES)
def test_climbing_is_the_same_in_plain_python(
    rule: int, topics: Topics, capacities: list[int]
) -> None:
    order, rates, counts = arrays(topics)
    again = order.copy()
    rooms = np.array(capacities)
    found = packing_tight.climb(order, rates, counts, rooms, rule, 12, 0, 7)
    with interpreted(packing_tight, packing_steps):
        plain = packing_tight.climb(again, rates, counts, rooms, rule, 12, 0, 7)
    assert (found, order.tolist()) == (plain, again.tolist())


def test_more_pieces_than_expected_are_all_kept() -> None:
    """Each broker of 63 takes 2 pairs of rate 16, then of rate 4, then of rate 1."""
    brokers = 80
    order, rates, counts = arrays([(16, 160), (4, 160), (1, 160)])
    rooms = np.full(brokers, 63)
    unplaced, _, extra, home, cuts = packing_tight.filled(
        order, rates, counts, rooms, packing_tight.ROOMIEST
    )
    assert unplaced == 0 and extra == 79 * (16 + 4 + 1)
    assert (home == -1).all()
    assert cuts.tolist() == [[t, b, 2] for t in range(3) for b in range(brokers)]


def arrays(topics: Topics) -> tuple[Int32s, Int64s, Int64s]:
    rates, counts = np.array(topics, np.int64).T.copy()
    return np.arange(len(topics), dtype=np.int32), read_only(rates), counts


def literal_fill(
    topics: Topics, rooms: list[int], rule: int
) -> tuple[list[tuple[int, int, int]], int, int]:
    """Pieces, the load without a place, and the first topic of that."""
    pieces, missing, first = [], 0, -1
    for t, (rate, pairs) in enumerate(topics):
        while pairs:
            whole = rate * (pairs + 1)
            takers = [b for b, room in enumerate(rooms) if room >= whole]
            b = rooms.index(max(rooms))
            if rooms[b] < 2 * rate:
                missing += whole
                first = t if first < 0 else first
                break
            if takers and rule == packing_tight.FIRST:
                b = takers[0]
            if takers and rule == packing_tight.SNUGGEST:
                b = min(takers, key=lambda b: rooms[b])
            put = min(pairs, rooms[b] // rate - 1)
            rooms[b] -= rate * (put + 1)
            pairs -= put
            pieces.append((t, b, put))
    return pieces, missing, first


@settings(max_examples=examples(50))
@given(
    loads=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    first=st.integers(1, 90),
    second=st.integers(1, 90),
)
def test_two_brokers_are_filled_exactly_wherever_they_can_be(
    loads: list[int], first: int, second: int
) -> None:
    ordered = np.array(sorted(loads, reverse=True), np.int64)
    capacities = np.array([first, second], np.int64)
    sums = {0}
    for load in loads:
        sums |= {total + load for total in sums}
    can = any(total <= first and sum(loads) - total <= second for total in sums)
    ways = [False] if first != second else [False, True]
    for largest_first in ways:
        given_ = (ordered, capacities, largest_first, 10**6)
        done, home, made = packing_tight.fill_exactly(*given_)
        assert done == can
        with interpreted(packing_tight):
            plain = packing_tight.fill_exactly(*given_)
        assert (plain[0], plain[1].tolist(), plain[2]) == (done, home.tolist(), made)
        if done:
            filled = np.bincount(home, ordered, 2)
            assert (filled <= capacities).all()


def test_brokers_are_not_filled_exactly_beyond_a_limit_of_work() -> None:
    loads = np.array([2**k for k in range(20, 0, -1)], np.int64)
    capacities = np.full(2, loads.sum() // 2 + 2)
    done, _, made = packing_tight.fill_exactly(loads, capacities, False, 1000)
    assert not done and 1000 < made < 3000
