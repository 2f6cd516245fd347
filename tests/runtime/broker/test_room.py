"""What waits in a broker is bounded, in messages and in bytes."""

from brokerwise.runtime.broker.room import Room
from brokerwise.runtime.protocol.control import JoinAnswer
from brokerwise.runtime.protocol.frames import Subscribe
from brokerwise.runtime.protocol.limits import (
    HELD_BYTES,
    HELD_BYTES_IN_ALL,
    TRANSITION_SECONDS,
)

from .pretend import Pretended, message, route

LARGE = "x" * (HELD_BYTES // 8)
MANY = range(1, 100)


def test_a_topic_that_is_full_leaves_room_for_others_as_long_as_there_is_any() -> None:
    room = Room()
    topics = HELD_BYTES_IN_ALL // HELD_BYTES
    for number in range(topics):
        assert room.has(f"t{number}", HELD_BYTES)
        room.take(f"t{number}", HELD_BYTES)
        assert not room.has(f"t{number}", 1)
    assert not room.has("one more", 1)
    room.give_back("t0", 10)
    assert room.has("one more", 10) and not room.has("one more", 11)
    assert room.has("t0", 10) and not room.has("t1", 1)
    room.give_back("t1")
    room.give_back("never took any", 5)
    assert room.has("t1", HELD_BYTES)
    room.clear()
    assert room.has("t2", HELD_BYTES)


def test_of_a_topic_without_a_route_only_so_much_waits() -> None:
    broker = Pretended()
    source, _ = broker.session("paper")
    for seq in MANY:
        broker.hear(source, message("news", seq, data=LARGE))
    broker.hear(source, message("sport", 1, data=LARGE))
    broker.passage.routed("news", route("news", 2, "b5"))
    broker.passage.routed("sport", route("sport", 2, "b5"))
    passed_on = [frame.seq for _, frame in broker.outside.forwards]
    assert passed_on == [*range(1, 8), 1]
    assert broker.passage.topics["news"].received == 0


def test_of_a_topic_that_joins_only_so_much_waits() -> None:
    broker = Pretended()
    session, line = broker.session("ann")
    source, _ = broker.session("paper")
    for _ in range(2):  # what has been let go leaves room
        line.frames.clear()
        broker.hear(session, Subscribe(1, ("news",)))
        broker.hub.wanted()
        for seq in MANY:
            broker.hear(source, message("news", seq, data=LARGE))
        broker.hub.joined(JoinAnswer((route("news", 1, "b0"),)))
        broker.passage.delivery.flush()
        assert len(line.messages()) == 7
        broker.passage.reset()
        broker.hub.close(session)


def test_what_waits_for_an_earlier_one_is_let_go_when_it_is_too_much() -> None:
    broker = Pretended()
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    for seq in range(2, 9):
        broker.hear(source, message("news", seq, data=LARGE))
    assert line.messages() == []
    broker.hear(source, message("news", 10, data=LARGE))
    assert [seq for _, _, seq in line.positions()] == [*range(2, 9), 10]


def test_what_has_not_waited_in_vain_leaves_room() -> None:
    broker = Pretended()
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    for start in range(1, 71, 7):
        for seq in (*range(start + 1, start + 7), start):
            broker.hear(source, message("news", seq, data=LARGE))
    assert [seq for _, _, seq in line.positions()] == [*range(1, 71)]


def test_room_is_given_back_when_a_transition_ends() -> None:
    broker = Pretended()
    _, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    for round_ in range(5):
        for seq in range(20 * round_ + 2, 20 * round_ + 8):
            broker.hear(source, message("news", seq, data=LARGE))
        assert len(line.messages()) == 6 * round_
        broker.clock.now += TRANSITION_SECONDS
        broker.passage.settle_late()
        broker.passage.delivery.flush()
        assert len(line.messages()) == 6 * (round_ + 1)
