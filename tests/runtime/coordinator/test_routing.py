"""How routes change."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.coordinator.routing import (
    Carried,
    batches,
    handed_over,
    highest,
    joined,
    left,
    without,
)
from brokerwise.runtime.protocol.control import Address, Route

EMPTY = Carried("news")
names = st.sampled_from("abcd")
changes = st.sampled_from(
    [
        joined,
        left,
        without,
        lambda route, broker: handed_over(route, broker, "a" if broker > "a" else ""),
    ]
)


@given(st.lists(st.tuples(changes, names)))
def test_a_change_is_one_generation_up_and_no_broker_is_listed_twice(
    steps: list[tuple[object, str]],
) -> None:
    route = EMPTY
    for change, broker in steps:
        after = change(route, broker)  # type: ignore[operator]
        changed = set(after.brokers) != set(route.brokers)
        assert after.generation == route.generation + changed
        assert len(set(after.brokers)) == len(after.brokers)
        route = after


def test_who_joins_is_in_and_who_leaves_is_not_unless_alone() -> None:
    one = joined(EMPTY, "a")
    two = joined(one, "b")
    assert (one.brokers, two.brokers) == (("a",), ("a", "b"))
    assert left(two, "b") == Carried("news", 3, ("a",), "a")
    assert left(one, "a") is one
    assert without(one, "a") == Carried("news", 2, ())


@given(st.lists(st.tuples(changes, names)))
def test_the_feeder_carries_the_topic_and_stays_while_it_does(
    steps: list[tuple[object, str]],
) -> None:
    route = EMPTY
    for change, broker in steps:
        after = change(route, broker)  # type: ignore[operator]
        assert (after.feeder in after.brokers) == bool(after.brokers)
        if route.feeder in after.brokers:
            assert after.feeder == route.feeder
        route = after


def test_only_what_a_broker_carried_alone_is_handed_over() -> None:
    one, two = joined(EMPTY, "a"), joined(joined(EMPTY, "a"), "b")
    assert handed_over(one, "a", "c").brokers == ("c",)
    assert handed_over(two, "a", "c").brokers == ("b",)
    assert handed_over(one, "a", "").brokers == ()
    assert handed_over(one, "b", "c") is one


rows = st.tuples(names, names, st.integers(0, 3), st.integers(0, 3))


@given(st.lists(rows))
def test_the_highest_position_of_a_topic_and_source_counts(
    cursors: list[tuple[str, str, int, int]],
) -> None:
    expected = {
        (topic, source): max(row[2:] for row in cursors if row[:2] == (topic, source))
        for topic, source, *_ in cursors
    }
    found = highest(cursors)
    assert {row[:2]: row[2:] for row in found} == expected
    assert len(found) == len(expected)


def test_routes_are_told_in_batches_that_are_not_too_long() -> None:
    long = Route("y" * 300, 1, (Address("b", "ws://b:1"),))
    routes = [Route(f"t{i}", 1, (Address("b", "ws://b:1"),)) for i in range(20)]
    found = list(batches([*routes, long, *routes], 200))
    assert [route for batch in found for route in batch] == [*routes, long, *routes]
    assert (long,) in found
    assert max(len(batch) for batch in found) > 1
    assert all(len(msgspec.json.encode(b)) <= 201 for b in found if b != (long,))
    assert list(batches([], 200)) == []
