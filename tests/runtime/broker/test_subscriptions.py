"""What sessions ask of a broker, and what they are told."""

import logging

import pytest
from tests.runtime.broker.fakes import FakeBroker, message, route

from brokerwise.runtime.broker.topics import Overlay
from brokerwise.runtime.protocol.fleet import (
    Address,
    Axis,
    Branch,
    JoinAnswer,
    MoveAnswer,
    MoveOrder,
    OverlayPart,
)
from brokerwise.runtime.protocol.frames import (
    Accept,
    Ack,
    CloseCode,
    Connect,
    Decline,
    Forward,
    FrameError,
    Login,
    Logout,
    Moved,
    Problem,
    RequestToMove,
    Subscribe,
    Subscribed,
    Unsubscribe,
    Unsubscribed,
)

TO = Address("b7", "ws://b7")


def test_a_subscription_is_confirmed_when_all_its_topics_are_carried() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(9, ("news", "sport")))
    assert line.frames == [] and broker.joins() == 1
    assert broker.handler.topics_to_join() == ("news", "sport")
    broker.finish_joining(JoinAnswer((route("news", 1, "b0"),)))
    assert line.frames == []
    broker.finish_joining(JoinAnswer((route("sport", 1, "b0"),)))
    assert line.frames == [Subscribed(9, ("news", "sport"))]
    assert not broker.handler.is_waiting()


def test_a_carried_topic_is_confirmed_at_once_with_what_was_delivered() -> None:
    broker = FakeBroker()
    broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1), message("news", 2))
    _, line = broker.subscriber("bob", "news")
    assert line.frames == [Subscribed(1, ("news",), (("news", "paper", 1, 2),))]
    assert broker.joins() == 1


def test_unknown_topics_are_named_and_the_others_served() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(9, ("news", "nwes", "spotr")))
    broker.handler.topics_to_join()
    broker.finish_joining(JoinAnswer((route("news", 1, "b0"),), ("nwes", "spotr")))
    problem, confirmed = line.frames
    assert isinstance(problem, Problem)
    assert problem.code == "unknown_topic"
    assert sorted(problem.topics) == ["nwes", "spotr"]
    assert confirmed == Subscribed(9, ("news",))


def test_whoever_has_gone_is_not_confirmed_and_its_topic_left() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(9, ("news",)))
    broker.handler.topics_to_join()
    broker.close(session)
    broker.finish_joining(JoinAnswer((route("news", 1, "b0"),)))
    assert line.frames == []
    assert broker.left() == ["news"]


def test_a_user_has_one_session_and_the_later_one_stays() -> None:
    broker = FakeBroker()
    _, first = broker.subscriber("ann", "news")
    _, second = broker.subscriber("ann", "news")
    assert first.closed is not None and first.closed[0] == CloseCode.REPLACED
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1))
    assert first.messages() == [] and len(second.messages()) == 1


def test_leaving_a_topic_holds_newcomers_until_it_is_settled() -> None:
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    broker.handle(session, Unsubscribe(2, ("news", "sport")))
    assert broker.left() == ["news"]
    assert broker.handler.topics_to_leave(["news"]) == ("news",)
    newcomer, line = broker.session("bob")
    broker.handle(newcomer, Subscribe(3, ("news",)))
    assert line.frames == []
    broker.router.change_routes([route("news", 2, "b5")])
    assert broker.handler.topics_to_join() == ("news",)
    broker.finish_joining(JoinAnswer((route("news", 3, "b0", "b5"),)))
    assert line.frames == [Subscribed(3, ("news",))]


def test_another_change_of_the_route_does_not_let_newcomers_in_while_leaving() -> None:
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    broker.close(session)
    assert broker.handler.topics_to_leave(["news"]) == ("news",)
    broker.router.change_routes([route("news", 2, "b0", "b5")])
    newcomer, line = broker.session("bob")
    broker.handle(newcomer, Subscribe(3, ("news",)))
    assert line.frames == []
    broker.router.change_routes([route("news", 3, "b5")])
    broker.handler.finish_leaving(("news",))
    assert line.frames == [] and broker.handler.topics_to_join() == ("news",)


def test_newcomers_are_served_when_a_topic_could_not_be_left() -> None:
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    broker.close(session)
    broker.handler.topics_to_leave(["news"])
    newcomer, line = broker.session("bob")
    broker.handle(newcomer, Subscribe(3, ("news",)))
    broker.handler.finish_leaving(("news",))  # we are alone in its route, and stay
    assert line.frames == [Subscribed(3, ("news",))]


def test_a_topic_that_a_waiting_subscription_counts_on_is_not_left() -> None:
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    broker.close(session)
    newcomer, line = broker.session("bob")
    broker.handle(newcomer, Subscribe(3, ("news", "sport")))
    assert broker.handler.topics_to_leave(broker.left()) == ()
    broker.handler.topics_to_join()
    broker.finish_joining(JoinAnswer((route("sport", 1, "b0"),)))
    assert line.frames == [Subscribed(3, ("news", "sport"))]


def test_unsubscribing_from_what_one_never_had_is_a_problem() -> None:
    broker = FakeBroker()
    session, line = broker.subscriber("ann", "news")
    broker.handle(session, Unsubscribe(2, ("news", "sport")))
    problem, done = line.frames[-2:]
    assert isinstance(problem, Problem) and problem.topics == ("sport",)
    assert done == Unsubscribed(2, ("news",))


def test_a_topic_that_is_wanted_again_is_not_left() -> None:
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    broker.close(session)
    broker.subscriber("bob", "news")
    assert broker.handler.topics_to_leave(broker.left()) == ()


def test_acknowledgements_count_and_keep_cursors_of_what_was_sent() -> None:
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1), message("news", 2))
    cursors = (("news", "paper", 1, 2), ("news", "nobody", 1, 1), ("x", "y", 1, 1))
    broker.handler.handle(session, Ack(2, cursors), 105.0)
    assert (session.acknowledged, session.acknowledged_at) == (2, 105.0)
    assert session.cursors == {("news", "paper"): (1, 2)}
    with pytest.raises(FrameError, match="found count 3, expected at most 2"):
        broker.handler.handle(session, Ack(3), 106.0)


def test_a_subscriber_that_comes_back_says_what_it_has_seen() -> None:
    broker = FakeBroker()
    broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1), message("news", 2))
    session, _ = broker.session("bob")
    cursors = (("news", "paper", 1, 1), ("sport", "paper", 1, 9))
    broker.handle(session, Subscribe(1, ("news",), {}, cursors))
    assert session.cursors == {("news", "paper"): (1, 1)}


def test_frames_of_another_role_are_refused() -> None:
    broker = FakeBroker()
    user, _ = broker.session("ann")
    peer, _ = broker.session("b7", is_peer=True)
    for session, frame in (
        (user, Forward("news", "paper", 1, 1)),
        (user, Login("ann", "token")),
        (peer, Subscribe(1, ("news",))),
    ):
        with pytest.raises(FrameError, match="after a login"):
            broker.handle(session, frame)


def test_a_move_is_asked_once_and_answered_to_all_who_ordered_it() -> None:
    broker = FakeBroker()
    session, line = broker.subscriber("ann", "news")
    answers: list[MoveAnswer] = []
    ask, connect = (MoveOrder(4, s, "ann", TO) for s in ("request_to_move", "connect"))
    broker.handler.moves.order(ask, session, answers.append)
    broker.handler.moves.order(ask, session, answers.append)
    assert line.frames[1:] == [RequestToMove(4, "b7", "ws://b7")]
    broker.handle(session, Accept(4))
    assert [a.answer for a in answers] == ["accepted"] * 2
    broker.handler.moves.order(connect, session, answers.append)
    assert line.last() == Connect(4, "b7", "ws://b7")
    broker.handle(session, Moved(4))
    broker.close(session)
    for order in (ask, connect):  # a coordinator that has forgotten what it heard
        broker.handler.moves.order(order, None, answers.append)
    assert [a.answer for a in answers[2:]] == ["moved", "accepted", "moved"]


def test_a_client_may_decline_and_answers_that_nobody_asked_for_are_refused() -> None:
    broker = FakeBroker()
    session, line = broker.subscriber("ann", "news")
    stranger, told = broker.subscriber("bob", "news")
    answers: list[MoveAnswer] = []
    order = MoveOrder(4, "request_to_move", "ann", TO)
    broker.handler.moves.order(order, session, answers.append)
    broker.handle(stranger, Accept(4))
    assert isinstance(told.last(), Problem) and answers == []
    broker.handle(session, Decline(4, "busy"))
    assert answers == [MoveAnswer("declined", "busy")]
    broker.handle(session, Moved(4))
    assert isinstance(line.last(), Problem)


def test_a_move_is_logged_from_its_first_step_to_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "brokerwise.runtime.broker.sessions")
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    for move, answer in ((4, Accept(4)), (5, Decline(5, "bu\nsy"))):
        order = MoveOrder(move, "request_to_move", "ann", TO)
        broker.handler.moves.order(order, session, lambda answer: None)
        broker.handle(session, answer)
    broker.close(session)
    found = [r.getMessage() for r in caplog.records if r.name.endswith(".sessions")]
    assert found == [
        "move 4: asks 'ann' for request_to_move to broker 'b7'",
        "move 4, request_to_move: accepted",
        "move 5: asks 'ann' for request_to_move to broker 'b7'",
        "move 5, request_to_move: declined: 'bu\\nsy'",
        "move 4 failed: 'ann' has gone",
    ]


def test_a_client_that_goes_in_the_middle_of_a_move_is_absent() -> None:
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    answers: list[MoveAnswer] = []
    order = MoveOrder(4, "request_to_move", "ann", TO)
    broker.handler.moves.order(order, session, answers.append)
    broker.close(session)
    broker.handler.moves.order(MoveOrder(5, "connect", "eve", TO), None, answers.append)
    assert [a.answer for a in answers] == ["absent", "absent"]


def test_a_client_that_does_not_answer_stays() -> None:
    broker = FakeBroker()
    session, line = broker.subscriber("ann", "news")
    answers: list[MoveAnswer] = []
    order = MoveOrder(4, "request_to_move", "ann", TO)
    broker.handler.moves.order(order, session, answers.append)
    broker.handler.moves.give_up(order, "no answer")
    broker.handler.moves.give_up(order, "no answer")
    assert answers == [MoveAnswer("timeout", "no answer")]
    broker.handle(session, Accept(4))
    assert isinstance(line.last(), Problem)


def overlay_broker() -> FakeBroker:
    broker = FakeBroker("b0")
    axes = (Axis("x", (0.0, 1.0, 2.0)), Axis("y", (0.0, 5.0, 6.0, 9.0)))
    branches = (
        Branch("b0", "subchannel/4", ("b1", "b2")),
        Branch("b9", "subchannel/4", ("b3",)),
    )
    broker.router.overlay = Overlay(OverlayPart(axes, branches))
    return broker


def test_on_an_overlay_content_goes_along_the_tree_of_where_it_came_in() -> None:
    broker = overlay_broker()
    _, own = broker.subscriber("paper", "subchannel/4")
    _, other = broker.subscriber("ann", "subchannel/4")
    source, _ = broker.session("paper")
    broker.hear(source, message("subchannel/4", 1))
    assert own.messages() == [] and other.positions() == [("paper", 1, 1)]
    sent = broker.peers.forwards
    assert [(b, f.origin) for b, f in sent] == [("b1", "b0"), ("b2", "b0")]
    peer, _ = broker.session("b9", is_peer=True)
    arrived = Forward("subchannel/4", "far", 1, 1, origin="b9")
    broker.hear(peer, arrived)
    assert broker.peers.forwards[2:] == [("b3", arrived)]
    assert len(own.messages()) == 1 and len(other.messages()) == 2


def test_on_an_overlay_users_give_ranges() -> None:
    broker = overlay_broker()
    session, line = broker.session("ann")
    ranges = {"x": (0.2, 1.0), "y": (5.0, 5.5)}
    broker.handle(session, Subscribe(1, (), ranges))
    assert line.frames == [Subscribed(1, ("subchannel/1", "subchannel/4"))]
    broker.handle(session, Subscribe(2, (), {"y": (6.0, 9.0)}))
    assert line.last() == Subscribed(2, ("subchannel/2", "subchannel/5"))
    for wrong, text in (
        ({"z": (0.0, 1.0)}, "attribute 'z'"),
        ({"x": (1.0, 0.5)}, "found 1 to 0.5"),
        ({"x": (0.0, 2.5)}, "expected within 0 to 2"),
    ):
        broker.handle(session, Subscribe(3, (), wrong))
        problem = line.last()
        assert isinstance(problem, Problem) and problem.code == "wrong_range"
        assert text in problem.message


@pytest.mark.parametrize(
    "name", ["subchannel/6", "subchannel/04", "x", "subchannel/-1"]
)
def test_on_an_overlay_only_sub_channels_are_topics(name: str) -> None:
    broker = overlay_broker()
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(1, (name,)))
    assert isinstance(line.frames[0], Problem)
    assert line.frames[1] == Subscribed(1, ())
    broker.hear(session, message(name, 1))
    assert isinstance(line.last(), Problem)


def test_ranges_mean_nothing_without_an_overlay() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(1, (), {"x": (0.0, 1.0)}))
    assert isinstance(line.last(), Problem)


def test_a_topic_that_is_withdrawn_is_not_waited_for() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.hear(session, Subscribe(1, ("news", "sport")), Unsubscribe(2, ("sport",)))
    assert line.frames == [Unsubscribed(2, ())]
    assert broker.handler.topics_to_join() == ("news",)
    broker.finish_joining(JoinAnswer((route("news", 1, "b0"),)))
    assert line.last() == Subscribed(1, ("news",))


def test_a_subscription_that_is_withdrawn_whole_is_answered_at_once() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.hear(session, Subscribe(1, ("news",)), Unsubscribe(2, ("news",)))
    assert line.frames == [Subscribed(1, ()), Unsubscribed(2, ())]
    assert not broker.handler.is_waiting()


def test_a_topic_that_was_served_already_can_be_withdrawn_too() -> None:
    broker = FakeBroker()
    broker.subscriber("bob", "news")
    session, line = broker.session("ann")
    broker.hear(session, Subscribe(1, ("news", "sport")), Unsubscribe(2, ("news",)))
    broker.handler.topics_to_join()
    broker.finish_joining(JoinAnswer((route("sport", 1, "b0"),)))
    assert line.frames == [Unsubscribed(2, ()), Subscribed(1, ("sport",))]
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1))
    assert line.messages() == []


def test_of_a_withdrawal_only_its_own_client_hears() -> None:
    broker = FakeBroker()
    first, told = broker.session("ann")
    second, other = broker.session("bob")
    broker.hear(first, Subscribe(1, ("news",)))
    broker.hear(second, Subscribe(1, ("news",)), Unsubscribe(2, ("news", "sport")))
    problem = other.frames[1]
    assert isinstance(problem, Problem) and problem.topics == ("sport",)
    broker.handler.topics_to_join()
    broker.finish_joining(JoinAnswer((route("news", 1, "b0"),)))
    assert told.frames == [Subscribed(1, ("news",))]
    assert Subscribed(1, ("news",)) not in other.frames


def test_whoever_waits_longest_is_asked_for_first() -> None:
    broker = FakeBroker()
    session, _ = broker.session("ann")
    for number, topic in enumerate(("z", "y", "x")):
        broker.hear(session, Subscribe(number, (topic,)))
    assert broker.handler.topics_to_join(2) == ("z", "y")
    broker.finish_joining(JoinAnswer((route("z", 1, "b0"), route("y", 1, "b0"))))
    assert broker.handler.topics_to_join(2) == ("x",)


def test_a_topic_is_asked_to_be_left_until_that_is_answered() -> None:
    broker = FakeBroker()
    session, _ = broker.subscriber("ann", "news")
    broker.close(session)
    assert broker.handler.topics_to_leave(("news",)) == ("news",)
    assert broker.handler.topics_to_leave(("news",)) == ("news",)


def test_nothing_follows_a_goodbye() -> None:
    broker = FakeBroker()
    session, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    broker.hear(session, Logout())
    broker.hear(source, message("news", 1))
    assert line.closed == (1000, "goodbye")
    assert line.messages() == []
    assert broker.handler.users == {}
