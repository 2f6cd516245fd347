"""Publishing: every broker of a route gets each message, in order, while it can."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.client.fake_fleet import (
    FakeBroker,
    FakeFleet,
    fake_fleet,
    until,
)

from brokerwise.runtime.client.errors import MessageTooLargeError, UnknownTopicError
from brokerwise.runtime.client.events import RequestRefused
from brokerwise.runtime.client.publisher import UNKNOWN_GENERATION, Routes
from brokerwise.runtime.protocol.fleet import Address, Axis, Route
from brokerwise.runtime.protocol.frames import (
    CloseCode,
    Login,
    Problem,
    Publish,
    StaleRoute,
)
from brokerwise.runtime.protocol.subchannels import WrongRangeError


def route(fleet: FakeFleet, generation: int, *brokers: int) -> Route:
    found = [fleet.brokers[number] for number in brokers]
    return Route("news", generation, tuple(Address(b.name, b.url) for b in found))


def stale(new: Route) -> StaleRoute:
    brokers = tuple((a.broker, a.url) for a in new.brokers)
    return StaleRoute(new.topic, new.generation, brokers)


def seqs(broker: FakeBroker) -> list[int]:
    return [frame.seq for frame in broker.all_heard(Publish)]


async def test_every_broker_of_the_route_gets_every_message_in_order() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.routes["news"] = route(fleet, 4, 0, 1)
        async with fleet.client(source="ann/1") as client:
            for number in range(50):
                await client.publish("news", {"n": number})
            await client.flush()
            assert [seqs(b) for b in fleet.brokers] == [list(range(1, 51))] * 2
        first = fleet.brokers[0].all_heard(Publish)[0]
        assert (first.generation, bytes(first.data)) == (4, b'{"n":0}')
        assert fleet.brokers[0].all_heard(Login)[0].source == "ann/1"
        assert set(fleet.coordinator.asked) == {"/routes"}


async def test_publishing_waits_for_room_in_the_window_of_the_slowest() -> None:
    async with fake_fleet() as fleet:
        slow = fleet.brokers[1]
        slow.confirms = False
        fleet.coordinator.routes["news"] = route(fleet, 1, 0, 1)
        async with fleet.client() as client:

            async def pour() -> None:
                for number in range(slow.window + 1):
                    await client.publish("news", number)

            pouring = asyncio.create_task(pour())
            await until(lambda: len(seqs(slow)) == slow.window)
            assert not pouring.done()
            (connection,) = slow.users
            slow.confirm(connection)
            await pouring
            await until(lambda: len(seqs(slow)) == slow.window + 1)
            flushing = asyncio.create_task(client.flush())
            await asyncio.sleep(0)
            assert not flushing.done()
            slow.confirm(connection)
            await flushing


async def test_a_new_route_is_used_once_all_its_brokers_are_there() -> None:
    async with fake_fleet(3) as fleet:
        old, late, _ = fleet.brokers
        late.refuses = CloseCode.LEAVING
        fleet.coordinator.routes["news"] = route(fleet, 1, 0)
        async with fleet.client() as client:
            await client.publish("news", 1)
            old.tell("ann", stale(route(fleet, 2, 0, 1)))
            await until(lambda: late.all_heard(Login))
            await client.publish("news", 2)
            await client.flush()
            assert [f.generation for f in old.all_heard(Publish)] == [1, 1]
            late.refuses = 0
            await until(lambda: late.users)
            await client.prepare(["news"])
            await client.publish("news", 3)
            await client.flush()
        assert [f.generation for f in old.all_heard(Publish)] == [1, 1, 2]
        assert seqs(late) == [3]


async def test_while_a_broker_of_the_route_is_gone_the_others_pass_messages_on() -> (
    None
):
    async with fake_fleet(3) as fleet:
        left, gone, new = fleet.brokers
        fleet.coordinator.routes["news"] = route(fleet, 5, 0, 1)
        async with fleet.client() as client:
            await client.publish("news", 1)
            await client.flush()
            gone.refuses = CloseCode.LEAVING
            gone.vanish()
            await until(lambda: len(gone.all_heard(Login)) > 1)
            await client.publish("news", 2)
            await client.flush()
            assert left.all_heard(Publish)[-1].generation == 0
            fleet.coordinator.routes["news"] = route(fleet, 6, 0, 2)
            await until(lambda: new.users)
            await client.prepare(["news"])
            await client.publish("news", 3)
            await client.flush()
        assert seqs(left) == [1, 2, 3] and seqs(new) == [3]
        assert new.all_heard(Publish)[0].generation == 6


async def test_while_no_broker_can_be_reached_publishing_waits() -> None:
    async with fake_fleet() as fleet:
        only = fleet.brokers[0]
        fleet.coordinator.routes["news"] = route(fleet, 1, 0)
        async with fleet.client() as client:
            await client.publish("news", 1)
            await client.flush()
            only.refuses = CloseCode.LEAVING
            fleet.coordinator.status = 503
            only.vanish()
            await until(lambda: not only.users)
            publishing = asyncio.create_task(client.publish("news", 2))
            await until(lambda: len(only.all_heard(Login)) > 2)
            assert not publishing.done()
            only.refuses = 0
            await publishing
            await client.flush()
        assert seqs(only) == [1, 2]


async def test_a_broker_that_leaves_loses_no_message_that_was_published() -> None:
    """Between its last word and the end of the connection nothing goes there."""

    async with fake_fleet() as fleet:
        leaving, new = fleet.brokers
        leaving.window = new.window = 1_000
        fleet.coordinator.routes["news"] = route(fleet, 1, 0)
        async with fleet.client() as client:
            over = asyncio.Event()

            async def pour() -> int:
                sent = 0
                while not over.is_set():
                    await client.publish("news", sent)
                    sent += 1
                    await asyncio.sleep(0)
                return sent

            pouring = asyncio.create_task(pour())
            await until(lambda: len(seqs(leaving)) > 20)
            fleet.coordinator.routes["news"] = route(fleet, 2, 1)
            leaving.refuses = CloseCode.LEAVING
            leaving.hang_up(CloseCode.LEAVING, "the broker leaves")
            await until(lambda: len(seqs(new)) > 20)
            over.set()
            sent = await pouring
            await client.flush()
        assert sorted(seqs(leaving) + seqs(new)) == list(range(1, sent + 1))


async def test_a_silent_broker_does_not_hold_the_others_up_for_long() -> None:
    async with fake_fleet() as fleet:
        good, frozen = fleet.brokers
        fleet.coordinator.routes["news"] = route(fleet, 1, 0, 1)
        async with fleet.client() as client:
            await client.publish("news", 0)
            await client.flush()
            frozen.frozen = True
            for number in range(1, 3 * frozen.window):
                await client.publish("news", number)
            fleet.coordinator.routes["news"] = route(fleet, 2, 0)
            await until(lambda: len(seqs(good)) == 3 * frozen.window)
            await client.flush()  # what the frozen one has not confirmed is given up
            assert client.unconfirmed == frozen.window


async def test_a_topic_that_there_is_none_of_cannot_be_published() -> None:
    async with fake_fleet() as fleet, fleet.client() as client:
        with pytest.raises(UnknownTopicError, match="'news'"):
            await client.publish("news", 1)


async def test_a_topic_that_nobody_carries_is_dropped_counted_and_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.routes["news"] = Route("news", 1, ())
        async with fleet.client() as client:
            await client.publish("news", 1)
            await client.publish("news", 2)
            assert client.unrouted == 2
            assert fleet.coordinator.asked == ["/routes"]
            fleet.coordinator.routes["news"] = route(fleet, 2, 0)
            monkeypatch.setattr(
                "brokerwise.runtime.client.publisher.ASK_AGAIN_SECONDS", 0.0
            )
            await client.publish("news", 3)
            await client.flush()
        assert [bytes(f.data) for f in fleet.brokers[0].all_heard(Publish)] == [b"3"]


async def test_a_message_that_is_too_large_is_refused_and_takes_no_number() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.routes["news"] = route(fleet, 1, 0)
        async with fleet.client() as client:
            with pytest.raises(MessageTooLargeError) as refused:
                await client.publish("news", "x" * (1 << 20))
            assert refused.value.size > refused.value.largest
            await client.publish("news", "x")
            await client.flush()
        assert seqs(fleet.brokers[0]) == [1]


async def test_what_a_broker_does_not_take_is_told() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.routes["news"] = route(fleet, 1, 0)
        async with fleet.client() as client:
            await client.publish("news", 1)
            fleet.brokers[0].tell("ann", Problem("unknown_topic", "not taken"))
            await until(lambda: RequestRefused("not taken") in fleet.notices)


async def test_what_was_published_before_the_end_still_goes_out() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.routes["news"] = route(fleet, 1, 0)
        fleet.brokers[0].window = 1_000
        async with fleet.client() as client:
            for number in range(500):
                await client.publish("news", number)
        assert seqs(fleet.brokers[0]) == list(range(1, 501))


async def test_routes_are_learned_while_the_coordinator_comes_and_goes() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.status = 503
        fleet.coordinator.routes["news"] = route(fleet, 1, 0)
        async with fleet.client() as client:
            publishing = asyncio.create_task(client.publish("news", 1))
            await until(lambda: len(fleet.coordinator.asked) > 1)
            fleet.coordinator.status = 0
            await publishing
            await client.flush()
            fleet.coordinator.status = 503
            await client.publish("news", 2)
            await client.flush()
        assert seqs(fleet.brokers[0]) == [1, 2]


async def test_content_goes_to_the_user_s_own_broker_in_its_sub_channel() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.axes = (
            Axis("x", (0.0, 0.5, 1.0)),
            Axis("y", (0.0, 1.0, 2.0, 3.0)),
        )
        async with fleet.client() as client:
            await client.publish_content({"x": 0.5, "y": 3.0}, "hello")
            with pytest.raises(WrongRangeError, match="'x' at 7"):
                await client.publish_content({"x": 7.0, "y": 0.0}, "hello")
            with pytest.raises(UnknownTopicError, match="subchannel/6"):
                await client.publish("subchannel/6", "hello")
            await client.flush()
            fleet.brokers[0].vanish()
            await until(lambda: not fleet.brokers[0].users)
            await client.publish_content({"x": 0.0, "y": 0.0}, "again")
            await client.flush()
        found = fleet.brokers[0].all_heard(Publish)
        assert [f.topic for f in found] == ["subchannel/5", "subchannel/0"]
        assert bytes(found[0].data) == b'{"content":{"x":0.5,"y":3.0},"data":"hello"}'
        assert not fleet.brokers[1].heard


async def test_without_an_overlay_there_is_no_content_to_publish() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.routes["subchannel/x"] = Route(
            "subchannel/x", 1, route(fleet, 1, 0).brokers
        )
        async with fleet.client() as client:
            with pytest.raises(WrongRangeError, match="no overlay"):
                await client.publish_content({"x": 1.0}, 1)
            await client.publish("subchannel/x", 1)
            await client.flush()
        assert len(fleet.brokers[0].all_heard(Publish)) == 1


async def test_a_broker_that_is_in_no_route_any_more_is_left() -> None:
    async with fake_fleet() as fleet:
        old, new = fleet.brokers
        fleet.coordinator.routes["news"] = route(fleet, 1, 0)
        async with fleet.client() as client:
            await client.publish("news", 1)
            old.tell("ann", stale(route(fleet, 2, 1)))
            await until(lambda: new.users)
            await client.prepare(["news"])
            await client.publish("news", 2)
            await until(lambda: not old.users)
            await client.flush()
            assert client.unconfirmed == 0
        assert seqs(old) == [1] and seqs(new) == [2]


BROKERS = ("b0", "b1", "b2", "b3")
names = st.frozensets(st.sampled_from(BROKERS))


def route_to(generation: int, brokers: frozenset[str] | tuple[str, ...]) -> Route:
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
        routes.learn(route_to(generation, history[generation]))
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
    routes.learn(route_to(1, ("b0",)))
    assert routes.choose("news", {"b0"}.__contains__).generation == 1
    routes.learn(route_to(2, ("b1", "b2")))
    choice = routes.choose("news", {"b0", "b1"}.__contains__)
    assert (choice.urls, choice.generation) == (("b0",), 1)
    choice = routes.choose("news", {"b0", "b1", "b2"}.__contains__)
    assert (choice.urls, choice.generation) == (("b1", "b2"), 2)
    choice = routes.choose("news", {"b0", "b1"}.__contains__)
    assert (choice.urls, choice.generation) == (("b1",), UNKNOWN_GENERATION)


def test_an_older_route_is_not_taken() -> None:
    routes = Routes()
    assert routes.learn(route_to(5, ("b0",)))
    assert not routes.learn(route_to(5, ("b1",)))
    assert not routes.learn(route_to(4, ("b1",)))
    assert routes.needed({"b0"}.__contains__) == {"b0"}


def test_brokers_that_cannot_be_reached_are_known_with_their_topics() -> None:
    routes = Routes()
    routes.learn(route_to(1, ("b0", "b1")))
    routes.learn(Route("sports", 1, (Address("b0", "b0"),)))
    assert list(routes.lacking({"b0"}.__contains__)) == ["b1"]
    assert routes.topics_at(["b1"]) == ["news"]
    assert routes.topics_at(["b0"]) == ["news", "sports"]
    assert len(routes) == 2 and routes.knows("news") and not routes.knows("arts")


def test_a_route_in_use_is_needed_until_the_next_one_is_complete() -> None:
    routes = Routes()
    routes.learn(route_to(1, ("b0",)))
    routes.choose("news", {"b0"}.__contains__)
    routes.learn(route_to(2, ("b1",)))
    assert routes.needed({"b0"}.__contains__) == {"b0", "b1"}
    assert routes.needed({"b0", "b1"}.__contains__) == {"b1"}
