"""Subscribing: sessions that begin, move, break and are found again."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.client.fake_fleet import (
    BEAT_SECONDS,
    SILENCE_SECONDS,
    FakeBroker,
    FakeFleet,
    fake_fleet,
    take,
    until,
)

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.errors import (
    ClientClosedError,
    NoBrokerError,
    NotInPlanError,
    ProtocolError,
    ReplacedError,
    UnauthorizedError,
    UnknownTopicError,
)
from brokerwise.runtime.client.events import (
    Connected,
    Disconnected,
    GapTold,
    Received,
    Retrying,
    SessionMoved,
)
from brokerwise.runtime.client.inbox import MOST_EVENTS
from brokerwise.runtime.client.subscriber import subscriptions
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.protocol.fleet import Address, Axis, Route
from brokerwise.runtime.protocol.frames import (
    Accept,
    Ack,
    CloseCode,
    Connect,
    Decline,
    Login,
    Logout,
    Publish,
    RequestToMove,
    Subscribe,
    Unsubscribe,
    encode,
)
from brokerwise.runtime.protocol.frames import Moved as MovedFrame
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES, MAX_TOPICS_PER_FRAME
from brokerwise.runtime.protocol.names import PatternError
from brokerwise.runtime.protocol.subchannels import WrongRangeError


def seqs(events: list[object]) -> list[int]:
    return [event.seq for event in events if isinstance(event, Received)]


async def test_messages_come_once_in_order_with_their_data() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        async with fleet.client() as client:
            await client.subscribe(["news", "sports"])
            broker.deliver("news", 1, {"a": [1, "x"]})
            broker.deliver("news", 1, {"a": [1, "x"]})
            broker.deliver("sports", 1)
            broker.deliver("news", 4)
            found = await take(client, 4)
        assert found == [
            Received("news", "paper", 1, 1, {"a": [1, "x"]}),
            Received("sports", "paper", 1, 1),
            GapTold("news", "paper", 2),
            Received("news", "paper", 1, 4),
        ]
        assert fleet.notices == [Connected("b0", 2)]


async def test_a_topic_that_there_is_none_of_is_refused_and_the_others_are_served() -> (
    None
):
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        broker.unknown = {"nonsense"}
        async with fleet.client() as client:
            with pytest.raises(UnknownTopicError, match="nonsense") as refused:
                await client.subscribe(["news", "nonsense"])
            assert refused.value.topics == ("nonsense",)
            broker.deliver("news", 1)
            assert seqs(list(await take(client, 1))) == [1]
            broker.unknown = set()
            await client.subscribe(["nonsense"])


async def test_a_pattern_is_refused_unless_it_is_meant_as_a_name() -> None:
    async with fake_fleet() as fleet:
        async with fleet.client() as client:
            for call in (
                client.subscribe(["news", "gps/*"]),
                client.publish("gps/+/x", 1),
                client.prepare(["#"]),
            ):
                with pytest.raises(PatternError, match="looks like a pattern"):
                    await call
        assert fleet.brokers[0].all_heard(Subscribe) == []
        async with fleet.client(literal=True) as client:
            await client.subscribe(["gps/*"])
        assert fleet.brokers[0].all_heard(Subscribe)[0].topics == ("gps/*",)


async def test_a_topic_that_the_plan_does_not_give_the_user_is_refused() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.sessions = (fleet.brokers[0].place(("news",)),)
        fleet.coordinator.unserved = ("sports",)
        async with fleet.client() as client:
            with pytest.raises(NotInPlanError, match="'ann' no broker for 'sports'"):
                await client.subscribe(["news", "sports"])
        assert fleet.brokers[0].all_heard(Subscribe)[0].topics == ("news",)


async def test_a_plan_gives_a_user_a_session_at_each_of_its_brokers() -> None:
    async with fake_fleet() as fleet:
        first, second = fleet.brokers
        fleet.coordinator.sessions = (
            first.place(("news", "arts")),
            second.place(("sports",)),
        )
        async with fleet.client() as client:
            await client.subscribe(["news", "sports"])
            first.deliver("news", 1)
            await until(lambda: first.all_heard(Ack))
            second.deliver("sports", 1)
            found = await take(client, 2)
        assert [e.topic for e in found] == ["news", "sports"]
        assert not any("arts" in f.topics for f in first.all_heard(Subscribe))


async def test_who_has_a_session_subscribes_without_the_coordinator() -> None:
    async with fake_fleet() as fleet, fleet.client() as client:
        await client.subscribe(["news"])
        fleet.coordinator.status = 503
        await client.subscribe(["sports"])
        fleet.brokers[0].deliver("sports", 1)
        assert seqs(list(await take(client, 1))) == [1]


async def test_a_client_waits_for_a_coordinator_and_a_broker_to_appear() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.status = 503
        async with fleet.client() as client:
            subscribing = asyncio.create_task(client.subscribe(["news"]))
            await until(lambda: len(fleet.coordinator.asked) > 2)
            assert not subscribing.done()
            fleet.coordinator.status = 0
            await subscribing
        assert isinstance(fleet.notices[0], Retrying)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (CloseCode.UNAUTHORIZED, UnauthorizedError),
        (CloseCode.REPLACED, ReplacedError),
        (CloseCode.MALFORMED, ProtocolError),
    ],
)
async def test_some_ends_are_for_good(code: int, kind: type[BrokerwiseError]) -> None:
    async with fake_fleet() as fleet:
        async with fleet.client() as client:
            await client.subscribe(["news"])
            fleet.brokers[0].deliver("news", 1)
            fleet.brokers[0].hang_up(code, "why")
            assert len(await take(client, 1)) == 1
            with pytest.raises(kind):
                await take(client, 1)
            with pytest.raises(kind):
                await client.publish("news", 1)
            with pytest.raises(kind):
                await client.subscribe(["sports"])
        assert len(fleet.brokers[0].all_heard(Subscribe)) == 1


async def test_a_wrong_token_is_an_error_wherever_it_is_refused() -> None:
    async with fake_fleet() as fleet:
        fleet.brokers[0].refuses = CloseCode.UNAUTHORIZED
        async with fleet.client() as client:
            with pytest.raises(UnauthorizedError, match="broker b0 refuses"):
                await client.subscribe(["news"])
        fleet.coordinator.status = 401
        async with fleet.client() as client:
            with pytest.raises(UnauthorizedError, match="as the test says"):
                await client.subscribe(["news"])


async def test_a_request_that_the_coordinator_refuses_is_not_repeated_for_ever() -> (
    None
):
    async with fake_fleet() as fleet:
        fleet.coordinator.status = 422
        async with fleet.client() as client:
            with pytest.raises(RefusedError, match="422"):
                await client.subscribe(["news"])


@pytest.mark.parametrize("how", ["vanishes", "leaves", "lease", "slow"])
async def test_a_broker_that_goes_is_replaced_and_what_was_missed_is_told(
    how: str,
) -> None:
    async with fake_fleet() as fleet:
        first, second = fleet.brokers
        second.cursors = [("news", "paper", 1, 5)]
        async with fleet.client() as client:
            await client.subscribe(["news"])
            first.deliver("news", 1)
            await until(lambda: first.all_heard(Ack))
            fleet.coordinator.sessions = (second.place(),)
            if how == "vanishes":
                first.vanish()
            else:
                codes = {
                    "leaves": CloseCode.LEAVING,
                    "lease": CloseCode.LEASE_LOST,
                    "slow": CloseCode.SLOW_READER,
                }
                first.hang_up(codes[how], "why")
            await until(lambda: second.topics)
            second.deliver("news", 6)
            found = await take(client, 3)
        assert found[1] == GapTold("news", "paper", 4)
        assert seqs(list(found)) == [1, 6]
        asked = second.all_heard(Subscribe)[0]
        assert asked.cursors == (("news", "paper", 1, 1),)
        kinds = [type(n) for n in fleet.notices if not isinstance(n, Retrying)]
        assert kinds == [Connected, Disconnected, Connected]


async def test_how_a_session_fares_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "brokerwise.runtime.client")

    async with fake_fleet() as fleet:
        first, second = fleet.brokers
        async with fleet.client() as client:
            await client.subscribe(["news"])
            fleet.coordinator.sessions = (second.place(),)
            first.hang_up(CloseCode.LEASE_LOST, "why")
            await until(lambda: second.topics)
        told = [r.getMessage() for r in caplog.records if "Retrying" not in r.message]
        assert [line.partition(": ")[2] for line in told] == [
            "Connected(broker='b0', topics=1)",
            f"connection to broker 'b0' closed: why ({int(CloseCode.LEASE_LOST)})",
            "Disconnected(broker='b0', reason='why')",
            "Connected(broker='b1', topics=1)",
        ]


async def test_a_broker_that_cannot_be_reached_yet_is_tried_until_it_can() -> None:
    async with fake_fleet() as fleet:
        fleet.brokers[0].refuses = CloseCode.LEAVING
        async with fleet.client() as client:
            subscribing = asyncio.create_task(client.subscribe(["news"]))
            await until(lambda: len(fleet.brokers[0].heard) >= 3)
            fleet.brokers[0].refuses = 0
            await subscribing


async def test_a_silent_broker_is_left_for_the_one_that_the_coordinator_names() -> None:
    async with fake_fleet() as fleet:
        first, second = fleet.brokers
        async with fleet.client() as client:
            await client.subscribe(["news"])
            first.frozen = True
            fleet.coordinator.sessions = (second.place(),)
            await until(lambda: second.topics)
            first.deliver("news", 1)  # it wakes: nobody listens to it any more
            second.deliver("news", 1)
            assert seqs(list(await take(client, 1))) == [1]
            await until(lambda: not first.topics)
        assert Disconnected("b0", "it has fallen silent") in fleet.notices


async def test_a_broker_that_was_only_silent_for_a_while_is_kept() -> None:
    async with fake_fleet() as fleet:
        first = fleet.brokers[0]
        async with fleet.client() as client:
            await client.subscribe(["news"])
            first.frozen = True
            fleet.coordinator.status = 503
            await until(lambda: any(isinstance(n, Retrying) for n in fleet.notices))
            first.frozen = False
            await until(lambda: fleet.notices[-1] == Connected("b0", 1))
            first.deliver("news", 1)
            assert seqs(list(await take(client, 1))) == [1]
        assert len(first.all_heard(Subscribe)) == 1


async def test_a_refusal_that_comes_when_all_is_served_again_is_not_told() -> None:
    async with fake_fleet() as fleet:
        first, coordinator = fleet.brokers[0], fleet.coordinator
        async with fleet.client() as client:
            await client.subscribe(["news"])
            before = len(coordinator.asked)
            coordinator.awake.clear()
            coordinator.status = 503
            first.frozen = True
            await until(lambda: len(coordinator.asked) > before)
            first.frozen = False
            await until(lambda: fleet.notices[-1] == Connected("b0", 1))
            coordinator.awake.set()
            for seq in range(1, 30):  # by then the refusal has come
                first.deliver("news", seq)
                await take(client, 1)
        assert not any(isinstance(notice, Retrying) for notice in fleet.notices)


async def test_a_line_that_is_dead_while_its_broker_lives_is_replaced_by_another() -> (
    None
):
    """The new connection makes the broker close the old one with `replaced`: that is
    our own doing, and no error."""

    async with fake_fleet() as fleet:
        first = fleet.brokers[0]
        async with fleet.client() as client:
            await client.subscribe(["news"])
            dead = first.users.copy()
            first.users.clear()  # it gets no beats any more
            await until(lambda: first.users and len(first.all_heard(Subscribe)) == 2)
            first.users.update(dead)
            first.deliver("news", 1)
            assert seqs(list(await take(client, 1))) == [1]


async def test_a_move_loses_nothing_and_shows_nothing_twice() -> None:
    async with fake_fleet() as fleet:
        old, new = fleet.brokers
        async with fleet.client() as client:
            await client.subscribe(["news"])
            old.deliver("news", 1)
            old.tell("ann", RequestToMove(7, "b1", new.url))
            await until(lambda: old.all_heard(Accept))
            new.cursors = [("news", "paper", 1, 3)]
            old.tell("ann", Connect(7, "b1", new.url))
            await until(lambda: new.topics)
            new.deliver("news", 4)
            old.deliver("news", 2)
            assert not old.all_heard(MovedFrame)
            old.deliver("news", 3)
            old.deliver("news", 4)
            new.deliver("news", 5)
            found = await take(client, 5)
            await until(lambda: old.all_heard(Logout))
            assert old.all_heard(MovedFrame) == [MovedFrame(7)]
            assert new.all_heard(Subscribe)[0].cursors == (("news", "paper", 1, 1),)
        assert seqs(list(found)) == [1, 2, 3, 4, 5]
        assert SessionMoved("b0", "b1") in fleet.notices


async def test_a_move_onto_a_broker_with_a_session_merges_the_two() -> None:
    async with fake_fleet() as fleet:
        old, new = fleet.brokers
        fleet.coordinator.sessions = (old.place(("news",)), new.place(("sports",)))
        async with fleet.client() as client:
            await client.subscribe(["news", "sports"])
            old.tell("ann", Connect(7, "b1", new.url))
            await until(lambda: old.all_heard(MovedFrame))
            assert len(new.users) == 1
            new.deliver("news", 1)
            new.deliver("sports", 1)
            assert len(await take(client, 2)) == 2


async def test_a_broker_that_is_still_published_to_is_only_unsubscribed_from() -> None:
    async with fake_fleet() as fleet:
        old, new = fleet.brokers
        fleet.coordinator.routes["arts"] = Route("arts", 1, (Address("b0", old.url),))
        async with fleet.client() as client:
            await client.publish("arts", 1)
            await client.subscribe(["news"])
            old.tell("ann", Connect(7, "b1", new.url))
            await until(lambda: old.all_heard(Unsubscribe))
            assert old.all_heard(Unsubscribe)[0].topics == ("news",)
            await client.publish("arts", 2)
            await until(lambda: len(old.all_heard(Publish)) == 2)
        assert len(old.closed_with) == 1


@pytest.mark.parametrize("fails", [False, True])
async def test_the_application_may_decline_a_move(fails: bool) -> None:
    def accepts(request: RequestToMove) -> bool:
        if fails:
            raise LookupError("no opinion")
        return request.broker != "b1"

    async with fake_fleet() as fleet:
        old = fleet.brokers[0]
        async with fleet.client(accepts_moves=accepts) as client:
            await client.subscribe(["news"])
            old.tell("ann", RequestToMove(7, "b1", "ws://nowhere"))
            await until(lambda: old.all_heard(Decline))
            assert ("no opinion" in old.all_heard(Decline)[0].reason) == fails


async def test_a_new_broker_that_dies_in_a_move_leaves_the_session_where_it_is() -> (
    None
):
    async with fake_fleet() as fleet:
        old, new = fleet.brokers
        async with fleet.client() as client:
            await client.subscribe(["news"])
            new.cursors = [("news", "paper", 1, 3)]
            old.tell("ann", Connect(7, "b1", new.url))
            await until(lambda: new.topics)
            new.vanish()
            await until(lambda: isinstance(fleet.notices[-1], Retrying))
            for seq in range(1, 6):
                old.deliver("news", seq)
            assert seqs(list(await take(client, 5))) == [1, 2, 3, 4, 5]
        assert not old.all_heard(MovedFrame)


async def test_an_old_broker_that_does_not_finish_a_move_is_left_with_a_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("brokerwise.runtime.client.subscriber.CATCH_UP_SECONDS", 0.2)

    async with fake_fleet() as fleet:
        old, new = fleet.brokers
        async with fleet.client() as client:
            await client.subscribe(["news"])
            old.deliver("news", 1)
            assert len(await take(client, 1)) == 1
            new.cursors = [("news", "paper", 1, 3)]
            old.tell("ann", Connect(7, "b1", new.url))
            await until(lambda: old.all_heard(MovedFrame))
            assert await take(client, 1) == [GapTold("news", "paper", 2)]


async def test_messages_are_acknowledged_every_few_or_soon() -> None:
    def last_ack(broker: FakeBroker) -> int:
        return broker.all_heard(Ack)[-1].count

    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        async with fleet.client() as client:
            await client.subscribe(["news"])
            for seq in range(1, 10):
                broker.deliver("news", seq)
            await until(lambda: broker.all_heard(Ack)[-1:] and last_ack(broker) == 9)
        acks = broker.all_heard(Ack)
        assert acks[-1].cursors == (("news", "paper", 1, 9),)
        assert [a.count for a in acks][:2] == [4, 8]


async def test_a_slow_application_is_waited_for_and_loses_nothing() -> None:
    def acknowledged(fleet: FakeFleet) -> int:
        return max((a.count for a in fleet.brokers[0].all_heard(Ack)), default=0)

    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        total = 3 * MOST_EVENTS
        async with fleet.client() as client:
            await client.subscribe(["news"])
            sent = 0
            for sent in range(1, total + 1):
                broker.deliver("news", sent, "x" * 200)
                if sent % 500 == 0:
                    await asyncio.sleep(0)
            await until(lambda: acknowledged(fleet) >= MOST_EVENTS)
            beats = broker.beats + 3 * SILENCE_SECONDS / BEAT_SECONDS
            await until(lambda: broker.beats > beats)
            assert acknowledged(fleet) < total
            found = await take(client, total)
        assert seqs(list(found)) == list(range(1, total + 1))
        assert not any(isinstance(n, Disconnected) for n in fleet.notices)


async def test_data_that_our_reader_does_not_take_does_not_end_a_session() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        odd = (b"1e999", b"1" * 5_000, b"7")  # brokers pass these on as they are
        async with fleet.client() as client:
            await client.subscribe(["news"])
            for seq, data in enumerate(odd, 1):
                head = b'{"type":"message","topic":"news","source":"p","epoch":1,'
                text = head + b'"seq":%d,"data":%b}' % (seq, data)
                for connection in broker.users:
                    connection.send(text)
            found = await take(client, len(odd))
        read = [event.data for event in found if isinstance(event, Received)]
        assert read == [float("inf"), "1" * 5_000, 7]


async def test_a_broker_that_talks_nonsense_is_left() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        async with fleet.client() as client:
            await client.subscribe(["news"])
            for connection in list(broker.users):
                connection.send(b"nonsense")
            await until(lambda: len(broker.all_heard(Subscribe)) == 2)
            await client.subscribe(["news"])


async def test_what_is_unsubscribed_from_comes_no_more() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        async with fleet.client() as client:
            await client.subscribe(["news", "sports"])
            await client.unsubscribe(["news"])
            await until(lambda: broker.all_heard(Unsubscribe))
            broker.deliver("sports", 1)
            assert [e.topic for e in await take(client, 1)] == ["sports"]
            await client.unsubscribe(["sports"])
            await until(lambda: not broker.users)


async def test_content_outside_of_the_box_is_not_shown() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        fleet.coordinator.axes = (Axis("x", (0.0, 0.5, 1.0)),)
        async with fleet.client() as client:
            await client.subscribe_ranges({"x": (0.2, 0.6)})
            assert broker.all_heard(Subscribe)[0].ranges == {"x": (0.2, 0.6)}
            for seq, x in enumerate((0.1, 0.2, 0.3), 1):
                data = {"content": {"x": x}, "data": f"at {x}"}
                broker.deliver("subchannel/0", seq, data)
            found = await take(client, 2)
            with pytest.raises(WrongRangeError, match="too far"):
                await client.subscribe_ranges({"x": (0.2, 7.0)})
            broker.vanish()
            await until(lambda: len(broker.all_heard(Subscribe)) == 3)
        assert [e.data for e in found if isinstance(e, Received)] == [
            "at 0.2",
            "at 0.3",
        ]


async def test_a_user_that_the_plan_of_an_overlay_does_not_have_is_told_so() -> None:
    async with fake_fleet() as fleet:
        fleet.coordinator.sessions = ()
        fleet.coordinator.axes = (Axis("x", (0.0, 1.0)),)
        async with fleet.client() as client:
            with pytest.raises(NoBrokerError, match="'ann'"):
                await client.subscribe_ranges({"x": (0.2, 0.6)})
            with pytest.raises(NoBrokerError, match="'ann'"):
                await client.publish_content({"x": 0.5}, 1)


async def test_an_application_that_fails_over_a_notice_keeps_its_session() -> None:
    async with fake_fleet() as fleet:
        complaints: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, c: complaints.append(c["message"]))

        def fail(notice: object) -> None:
            raise LookupError("no idea what to do")

        async with Client(fleet.coordinator.url, "ann", "x", on_notice=fail) as client:
            await client.subscribe(["news"])
            fleet.brokers[0].deliver("news", 1)
            assert seqs(list(await take(client, 1))) == [1]
        assert complaints == ["on_notice failed"]


async def test_a_broker_that_hangs_up_right_after_its_welcome_is_tried_again() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        broker.hangs_up_after_welcome = True
        async with fleet.client() as client:
            subscribing = asyncio.create_task(client.subscribe(["news"]))
            await until(lambda: len(broker.all_heard(Login)) > 2)
            broker.hangs_up_after_welcome = False
            await subscribing


async def test_a_client_is_used_while_it_is_open_and_no_longer() -> None:
    async with fake_fleet() as fleet:
        client = fleet.client()
        with pytest.raises(ClientClosedError):
            await client.subscribe(["news"])
        await client.close()
        async with client:
            await client.subscribe(["news"])
            fleet.brokers[0].deliver("news", 1)
            await until(lambda: fleet.brokers[0].all_heard(Ack))
        assert seqs([e async for e in client.events()]) == [1]
        with pytest.raises(ClientClosedError):
            await client.publish("news", 1)
        await client.close()


async def test_waiting_for_an_event_can_be_given_up_without_losing_one() -> None:
    async with fake_fleet() as fleet, fleet.client() as client:
        await client.subscribe(["news"])
        events = client.events()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(events)
        fleet.brokers[0].deliver("news", 1)
        assert seqs([await anext(events)]) == [1]


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 257])
async def test_what_cannot_be_a_name_is_refused_before_anyone_is_asked(
    name: str,
) -> None:
    async with fake_fleet() as fleet:
        async with fleet.client() as client:
            with pytest.raises(InputError, match="topic"):
                await client.subscribe([name])
            with pytest.raises(InputError, match="topic"):
                await client.publish(name, 1)
        assert not fleet.coordinator.asked
        with pytest.raises(InputError, match="user"):
            Client("http://x", name, "token")


names = st.text("abä€", min_size=1, max_size=5)


@given(st.lists(names, unique=True, max_size=20), st.data())
def test_all_topics_and_cursors_are_asked_for_in_order(
    topics: list[str], data: st.DataObject
) -> None:
    rows = [(t, "s", 1, data.draw(st.integers(1, 9))) for t in topics]
    frames = list(subscriptions(topics, rows))
    assert [t for f in frames for t in f.topics] == topics
    assert [row for f in frames for row in f.cursors] == rows


def test_no_frame_has_more_topics_than_a_broker_takes() -> None:
    topics = [f"t{number}" for number in range(MAX_TOPICS_PER_FRAME + 1)]
    assert [len(f.topics) for f in subscriptions(topics, ())] == [len(topics) - 1, 1]


def test_no_frame_is_larger_than_a_broker_takes() -> None:
    topics = [f"{number:03}" + '"' * 253 for number in range(1_000)]
    rows = [
        (t, f"{n}" + "\\" * 250, 2**53 - 1, 2**53 - 1) for t in topics for n in "ab"
    ]
    frames = list(subscriptions(topics, rows))
    assert [t for f in frames for t in f.topics] == topics
    assert sum(len(f.cursors) for f in frames) == len(rows)
    for frame in frames:
        asked = Subscribe(2**53 - 1, frame.topics, {}, frame.cursors)
        assert len(encode(asked)) <= MAX_FRAME_BYTES


def test_cursors_that_would_not_fit_beside_their_topic_are_left_out() -> None:
    rows = [("news", f"source {number}", 1, 1) for number in range(20_000)]
    (frame,) = subscriptions(["news"], rows)
    assert frame.topics == ("news",) and frame.cursors == ()


def test_nothing_is_asked_for_without_topics() -> None:
    assert list(subscriptions([], ())) == []
