"""How routes change."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.coordinator.routes import (
    StoredRoute,
    add_broker,
    hand_to_heir,
    remove_broker,
    remove_unless_last,
)

EMPTY = StoredRoute("news")
names = st.sampled_from("abcd")
changes = st.sampled_from(
    [
        add_broker,
        remove_unless_last,
        remove_broker,
        lambda route, broker: hand_to_heir(route, broker, "a" if broker > "a" else ""),
    ]
)


@given(st.lists(st.tuples(changes, names)))
def test_a_change_is_one_generation_up_and_no_broker_is_listed_twice(
    steps: list[tuple[object, str]],
) -> None:
    route = EMPTY
    for change, name in steps:
        after = change(route, name)  # type: ignore[operator]
        changed = set(after.brokers) != set(route.brokers)
        assert after.generation == route.generation + changed
        assert len(set(after.brokers)) == len(after.brokers)
        route = after


def test_who_joins_is_in_and_who_leaves_is_not_unless_alone() -> None:
    one = add_broker(EMPTY, "a")
    two = add_broker(one, "b")
    assert (one.brokers, two.brokers) == (("a",), ("a", "b"))
    assert remove_unless_last(two, "b") == StoredRoute("news", 3, ("a",), "a")
    assert remove_unless_last(one, "a") is one
    assert remove_broker(one, "a") == StoredRoute("news", 2, ())


@given(st.lists(st.tuples(changes, names)))
def test_the_feeder_carries_the_topic_and_stays_while_it_does(
    steps: list[tuple[object, str]],
) -> None:
    route = EMPTY
    for change, name in steps:
        after = change(route, name)  # type: ignore[operator]
        assert (after.feeder in after.brokers) == bool(after.brokers)
        if route.feeder in after.brokers:
            assert after.feeder == route.feeder
        route = after


def test_only_what_a_broker_carried_alone_is_handed_over() -> None:
    one, two = add_broker(EMPTY, "a"), add_broker(add_broker(EMPTY, "a"), "b")
    assert hand_to_heir(one, "a", "c").brokers == ("c",)
    assert hand_to_heir(two, "a", "c").brokers == ("b",)
    assert hand_to_heir(one, "a", "").brokers == ()
    assert hand_to_heir(one, "b", "c") is one
