"""Which route a publisher uses."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.client.routes import UNKNOWN_GENERATION, Routes
from brokerwise.runtime.protocol.control import Address, Route

BROKERS = ("b0", "b1", "b2", "b3")
names = st.frozensets(st.sampled_from(BROKERS))


def route(generation: int, brokers: frozenset[str] | tuple[str, ...]) -> Route:
    return Route("news", generation, tuple(Address(b, b) for b in sorted(brokers)))


def passed_on(
    history: dict[int, frozenset[str]], got: set[str], generation: int
) -> set[str]:
    """Who has a message in the end, by the promise of brokers: one that is reached by
    an old route sends the message to those that its publisher did not know of."""
    newest = max(history)
    if generation >= newest or not got:
        return got
    return got | (history[newest] - history.get(generation, frozenset()))


@given(st.data())
def test_a_message_reaches_all_of_the_newest_route_that_can_be_reached(
    data: st.DataObject,
) -> None:
    """Whatever routes come and whoever goes: if anyone gets it, all do that could be
    sent to; those that cannot be reached get it from the others."""
    routes = Routes()
    history: dict[int, frozenset[str]] = {}
    for generation in range(1, data.draw(st.integers(1, 5)) + 1):
        history[generation] = data.draw(names)
        routes.learn(route(generation, history[generation]))
        reachable = data.draw(names)
        choice = routes.choose("news", reachable.__contains__)
        assert set(choice.urls) <= reachable
        got = passed_on(history, set(choice.urls), choice.generation)
        if choice.urls:
            assert got >= history[generation]
        else:
            assert not history[generation] & reachable
            assert choice.is_routed == bool(history[generation])


def test_the_old_route_goes_on_until_the_new_one_is_complete() -> None:
    routes = Routes()
    routes.learn(route(1, ("b0",)))
    assert routes.choose("news", {"b0"}.__contains__).generation == 1
    routes.learn(route(2, ("b1", "b2")))
    choice = routes.choose("news", {"b0", "b1"}.__contains__)
    assert (choice.urls, choice.generation) == (("b0",), 1)
    choice = routes.choose("news", {"b0", "b1", "b2"}.__contains__)
    assert (choice.urls, choice.generation) == (("b1", "b2"), 2)
    choice = routes.choose("news", {"b0", "b1"}.__contains__)
    assert (choice.urls, choice.generation) == (("b1",), UNKNOWN_GENERATION)


def test_an_older_route_is_not_taken() -> None:
    routes = Routes()
    assert routes.learn(route(5, ("b0",)))
    assert not routes.learn(route(5, ("b1",)))
    assert not routes.learn(route(4, ("b1",)))
    assert routes.needed({"b0"}.__contains__) == {"b0"}


def test_brokers_that_cannot_be_reached_are_known_with_their_topics() -> None:
    routes = Routes()
    routes.learn(route(1, ("b0", "b1")))
    routes.learn(Route("sports", 1, (Address("b0", "b0"),)))
    assert list(routes.lacking({"b0"}.__contains__)) == ["b1"]
    assert routes.topics_at(["b1"]) == ["news"]
    assert routes.topics_at(["b0"]) == ["news", "sports"]
    assert len(routes) == 2 and routes.knows("news") and not routes.knows("arts")


def test_a_route_in_use_is_needed_until_the_next_one_is_complete() -> None:
    routes = Routes()
    routes.learn(route(1, ("b0",)))
    routes.choose("news", {"b0"}.__contains__)
    routes.learn(route(2, ("b1",)))
    assert routes.needed({"b0"}.__contains__) == {"b0", "b1"}
    assert routes.needed({"b0", "b1"}.__contains__) == {"b1"}
