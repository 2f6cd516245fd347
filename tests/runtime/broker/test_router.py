"""What becomes of a message in a broker."""

import pytest
from tests.runtime.broker.fakes import (
    FakeBroker,
    FakeConnection,
    FakeStep,
    FakeSteps,
    message,
    route,
)

from brokerwise.runtime.broker.router import HeldBytes
from brokerwise.runtime.protocol.fleet import JoinAnswer
from brokerwise.runtime.protocol.frames import (
    Forward,
    Problem,
    StaleRoute,
    Subscribe,
    Subscribed,
)
from brokerwise.runtime.protocol.limits import (
    HELD_BYTES,
    HELD_BYTES_IN_ALL,
    HELD_MESSAGES,
    PRESSED_SECONDS,
    SESSION_QUEUE_BYTES,
    TRANSITION_SECONDS,
)


def test_a_message_reaches_all_sessions_of_its_topic_and_no_other() -> None:
    broker = FakeBroker()
    _, first = broker.subscriber("ann", "news")
    _, second = broker.subscriber("bob", "news", "sport")
    _, other = broker.subscriber("cid", "sport")
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1, data={"a": [1, 2]}), message("news", 2))
    for line in (first, second):
        assert line.positions() == [("paper", 1, 1), ("paper", 1, 2)]
        assert bytes(line.messages()[0].data) == b'{"a":[1,2]}'
    assert other.messages() == []
    topic = broker.router.topics["news"]
    assert (topic.received, topic.delivered) == (2, 4)


def test_a_message_that_comes_again_is_not_shown_again() -> None:
    broker = FakeBroker()
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    for seq in (1, 2, 2, 1, 3):
        broker.hear(source, message("news", seq))
    assert line.positions() == [("paper", 1, seq) for seq in (1, 2, 3)]
    assert broker.router.topics["news"].received == 3


def test_an_old_route_is_passed_on_and_its_publisher_told_once() -> None:
    broker = FakeBroker()
    _, line = broker.subscriber("ann", "news")
    source, told = broker.session("paper")
    broker.router.change_routes([route("news", 2, "b0", "b7")])
    broker.hear(source, message("news", 1), message("news", 2))
    assert line.positions() == [("paper", 1, 1), ("paper", 1, 2)]
    assert [(b, f.seq) for b, f in broker.peers.forwards] == [("b7", 1), ("b7", 2)]
    assert told.frames == [
        StaleRoute("news", 2, (("b0", "ws://b0"), ("b7", "ws://b7")))
    ]
    broker.hear(source, message("news", 3, generation=2))
    assert len(broker.peers.forwards) == 2
    assert broker.router.links == {"b7": 2}


def test_a_publisher_that_knows_no_route_gets_through_to_all_of_it() -> None:
    broker = FakeBroker()
    broker.subscriber("ann", "news")
    broker.router.change_routes([route("news", 2, "b0", "b7", "b8")])
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1, generation=0))
    assert sorted(b for b, _ in broker.peers.forwards) == ["b7", "b8"]


def test_a_change_of_route_tells_what_was_seen_before_it() -> None:
    broker = FakeBroker()
    broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1), message("news", 2))
    cursors = broker.router.change_routes([route("news", 2, "b0", "b7")])
    assert cursors == (("news", "paper", 1, 2),)


def test_a_topic_that_joins_is_in_order_whoever_speaks_first() -> None:
    broker = FakeBroker("b7")
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(5, ("news",)))
    assert broker.handler.topics_to_join() == ("news",)
    source, _ = broker.session("paper")
    peer, _ = broker.session("b0", is_peer=True)
    broker.hear(source, message("news", 8, generation=2))
    broker.finish_joining(
        JoinAnswer((route("news", 2, "b0", "b7"),), (), (("news", "paper", 1, 6),))
    )
    assert line.messages() == []
    broker.hear(peer, Forward("news", "paper", 1, 6))
    broker.hear(peer, Forward("news", "paper", 1, 7))
    assert line.positions() == [("paper", 1, 7), ("paper", 1, 8)]


def just_joined() -> tuple[FakeBroker, FakeConnection]:
    """A broker that has begun to carry news, of which paper had sent six messages,
    and its one subscriber."""
    broker = FakeBroker("b7")
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(5, ("news",)))
    broker.handler.topics_to_join()
    broker.finish_joining(
        JoinAnswer((route("news", 2, "b0", "b7"),), (), (("news", "paper", 1, 6),))
    )
    return broker, line


def test_what_never_comes_is_not_waited_for_for_ever() -> None:
    broker, line = just_joined()
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 9, generation=2))
    broker.router.settle_late()
    assert line.messages() == []
    broker.clock.now += TRANSITION_SECONDS
    broker.router.settle_late()
    broker.router.delivery.flush()
    assert line.positions() == [("paper", 1, 9)]


def test_a_broker_that_leaves_hands_on_what_waits() -> None:
    """A publisher that starts again right after a move waits for what may still come of
    its time before: not beyond the end of the broker."""
    broker, line = just_joined()
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1, epoch=2, generation=2))
    assert line.messages() == []
    broker.router.settle_all()
    broker.router.delivery.flush()
    assert line.positions() == [("paper", 2, 1)]


def test_too_many_that_wait_are_not_waited_for_either() -> None:
    broker, line = just_joined()
    source, _ = broker.session("paper")
    for seq in range(8, 8 + HELD_MESSAGES + 1):
        broker.hear(source, message("news", seq, generation=2))
    assert len(line.messages()) == HELD_MESSAGES + 1


def test_what_waits_here_is_passed_on_to_who_joins_next() -> None:
    broker = FakeBroker("b7")
    session, _ = broker.session("ann")
    broker.handle(session, Subscribe(5, ("news",)))
    broker.handler.topics_to_join()
    broker.finish_joining(
        JoinAnswer((route("news", 2, "b0", "b7"),), (), (("news", "paper", 1, 6),))
    )
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 8, generation=2))
    cursors = broker.router.change_routes([route("news", 3, "b0", "b7", "b8")])
    assert cursors == (("news", "paper", 1, 6),)
    assert [(b, f.seq) for b, f in broker.peers.forwards] == [("b8", 8)]


def test_a_topic_that_is_not_carried_is_looked_up_and_passed_on() -> None:
    broker = FakeBroker()
    source, told = broker.session("paper")
    broker.hear(source, message("news", 1, generation=0), message("news", 2))
    assert broker.looked_up() == ["news"]
    broker.router.take_route("news", route("news", 4, "b3"))
    assert [(b, f.seq) for b, f in broker.peers.forwards] == [("b3", 1), ("b3", 2)]
    assert isinstance(told.last(), StaleRoute)
    assert broker.router.topics["news"].received == 0


def test_a_topic_that_there_is_none_of_is_refused() -> None:
    broker = FakeBroker()
    source, told = broker.session("paper")
    broker.hear(source, message("nwes", 1))
    broker.router.take_route("nwes", None)
    problem = told.last()
    assert isinstance(problem, Problem)
    assert (problem.code, problem.topics) == ("unknown_topic", ("nwes",))


def test_what_a_step_gives_is_delivered_when_it_gives_it() -> None:
    step = FakeStep()
    broker = FakeBroker(steps=FakeSteps({"news": step}))
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1, data="raw"), message("news", 2))
    topic = broker.router.topics["news"]
    assert line.messages() == [] and topic.received == 2
    assert topic.delivered_cursors() == []
    (first, first_done), (_, second_done) = step.submitted
    assert first == b'"raw"'
    first_done(b'"cooked"')
    second_done(None)
    broker.router.delivery.flush()
    assert bytes(line.messages()[0].data) == b'"cooked"'
    assert [m.skipped for m in line.messages()] == [False, True]
    assert topic.delivered_cursors() == [("news", "paper", 1, 2)]


def test_the_messages_of_a_turn_are_written_in_one_piece() -> None:
    broker = FakeBroker()
    session, line = broker.subscriber("ann", "news", "sport")
    source, _ = broker.session("paper")
    for seq in (1, 2, 3):
        broker.handle(source, message("news", seq))
    broker.handle(source, message("sport", 1))
    assert line.messages() == [] and session.sent == 0
    assert broker.soon == [broker.router.delivery.flush]
    written: list[bytes] = []
    session.write = written.append
    broker.router.delivery.flush()
    assert [piece.count(b"\n") for piece in written] == [3, 1]
    assert session.sent == 4
    broker.handle(source, message("sport", 2))
    assert len(broker.soon) == 2


def test_whoever_comes_or_goes_in_a_turn_gets_what_is_due() -> None:
    broker = FakeBroker()
    leaving, gone = broker.subscriber("ann", "news")
    _, stays = broker.subscriber("bob", "news")
    source, _ = broker.session("paper")
    broker.handle(source, message("news", 1))
    broker.close(leaving)
    broker.handle(source, message("news", 2))
    _, newcomer = broker.subscriber("cid", "news")
    broker.hear(source, message("news", 3))
    assert [m.seq for m in gone.messages()] == [1]
    assert [m.seq for m in stays.messages()] == [1, 2, 3]
    assert [m.seq for m in newcomer.messages()] == [3]
    assert newcomer.frames[0] == Subscribed(1, ("news",), (("news", "paper", 1, 2),))


def test_publishers_wait_for_readers_with_much_to_read_but_not_for_long() -> None:
    broker = FakeBroker()
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    large = "x" * 100_000
    broker.hear(source, message("news", 1, data=large))
    assert not broker.router.delivery.is_congested()
    line.unread = SESSION_QUEUE_BYTES
    broker.hear(source, message("news", 2, data="small"))
    assert not broker.router.delivery.is_congested()
    broker.hear(source, message("news", 3, data=large))
    assert broker.router.delivery.is_congested()
    broker.clock.now += PRESSED_SECONDS
    assert not broker.router.delivery.is_congested()
    line.unread = 0
    assert not broker.router.delivery.is_congested()
    line.unread = SESSION_QUEUE_BYTES
    broker.hear(source, message("news", 4, data=large))
    assert broker.router.delivery.is_congested()
    broker.close(broker.handler.users["ann"])
    assert not broker.router.delivery.is_congested()


LARGE = "x" * (HELD_BYTES // 8)
MANY = range(1, 100)


def test_a_topic_that_is_full_leaves_room_for_others_as_long_as_there_is_any() -> None:
    held = HeldBytes()
    topics = HELD_BYTES_IN_ALL // HELD_BYTES
    for number in range(topics):
        assert held.has_room(f"t{number}", HELD_BYTES)
        held.take(f"t{number}", HELD_BYTES)
        assert not held.has_room(f"t{number}", 1)
    assert not held.has_room("one more", 1)
    held.give_back("t0", 10)
    assert held.has_room("one more", 10) and not held.has_room("one more", 11)
    assert held.has_room("t0", 10) and not held.has_room("t1", 1)
    held.give_back("t1")
    held.give_back("never took any", 5)
    assert held.has_room("t1", HELD_BYTES)
    held.clear()
    assert held.has_room("t2", HELD_BYTES)


def test_of_a_topic_without_a_route_only_so_much_waits() -> None:
    broker = FakeBroker()
    source, _ = broker.session("paper")
    for seq in MANY:
        broker.hear(source, message("news", seq, data=LARGE))
    broker.hear(source, message("sport", 1, data=LARGE))
    broker.router.take_route("news", route("news", 2, "b5"))
    broker.router.take_route("sport", route("sport", 2, "b5"))
    passed_on = [frame.seq for _, frame in broker.peers.forwards]
    assert passed_on == [*range(1, 8), 1]
    assert broker.router.topics["news"].received == 0


def test_of_a_topic_that_joins_only_so_much_waits() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    source, _ = broker.session("paper")
    for _ in range(2):  # what has been let go leaves room
        line.frames.clear()
        broker.hear(session, Subscribe(1, ("news",)))
        broker.handler.topics_to_join()
        for seq in MANY:
            broker.hear(source, message("news", seq, data=LARGE))
        broker.finish_joining(JoinAnswer((route("news", 1, "b0"),)))
        broker.router.delivery.flush()
        assert len(line.messages()) == 7
        broker.router.reset()
        broker.close(session)


def test_what_waits_for_an_earlier_one_is_let_go_when_it_is_too_much() -> None:
    broker = FakeBroker()
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    for seq in range(2, 9):
        broker.hear(source, message("news", seq, data=LARGE))
    assert line.messages() == []
    broker.hear(source, message("news", 10, data=LARGE))
    assert [seq for _, _, seq in line.positions()] == [*range(2, 9), 10]


def test_what_has_not_waited_in_vain_leaves_room() -> None:
    broker = FakeBroker()
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    for start in range(1, 71, 7):
        for seq in (*range(start + 1, start + 7), start):
            broker.hear(source, message("news", seq, data=LARGE))
    assert [seq for _, _, seq in line.positions()] == [*range(1, 71)]


def test_room_is_given_back_when_a_transition_ends() -> None:
    broker = FakeBroker()
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    for round_ in range(5):
        for seq in range(20 * round_ + 2, 20 * round_ + 8):
            broker.hear(source, message("news", seq, data=LARGE))
        assert len(line.messages()) == 6 * round_
        broker.clock.now += TRANSITION_SECONDS
        broker.router.settle_late()
        broker.router.delivery.flush()
        assert len(line.messages()) == 6 * (round_ + 1)


def test_a_gap_that_is_given_up_and_messages_without_room_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker, _ = just_joined()
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 9, generation=2))
    broker.clock.now += TRANSITION_SECONDS
    broker.router.settle_late()
    for seq in MANY:
        broker.hear(source, message("sport", seq, data=LARGE))
    broker.router.take_route("sport", route("sport", 2, "b5"))
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "topic 'news': gave up waiting in 1 gaps, the first of source 'paper' between "
        "(1, 6) and (1, 9); 1 later messages go on",
        "topic 'sport': dropped 92 messages: too many waited for its route",
    ]
