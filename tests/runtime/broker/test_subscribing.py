"""Subscriptions that wait for the coordinator, and clients who change their mind."""

from brokerwise.runtime.protocol.control import JoinAnswer
from brokerwise.runtime.protocol.frames import (
    Logout,
    Problem,
    Subscribe,
    Subscribed,
    Unsubscribe,
    Unsubscribed,
)

from .pretend import Pretended, message, route


def test_a_topic_that_is_withdrawn_is_not_waited_for() -> None:
    broker = Pretended()
    session, line = broker.session("ann")
    broker.hear(session, Subscribe(1, ("news", "sport")), Unsubscribe(2, ("sport",)))
    assert line.frames == [Unsubscribed(2, ())]
    assert broker.hub.wanted() == ("news",)
    broker.hub.joined(JoinAnswer((route("news", 1, "b0"),)))
    assert line.last() == Subscribed(1, ("news",))


def test_a_subscription_that_is_withdrawn_whole_is_answered_at_once() -> None:
    broker = Pretended()
    session, line = broker.session("ann")
    broker.hear(session, Subscribe(1, ("news",)), Unsubscribe(2, ("news",)))
    assert line.frames == [Subscribed(1, ()), Unsubscribed(2, ())]
    assert not broker.hub.is_waiting()


def test_a_topic_that_was_served_already_can_be_withdrawn_too() -> None:
    broker = Pretended()
    broker.subscriber("bob", "news")
    session, line = broker.session("ann")
    broker.hear(session, Subscribe(1, ("news", "sport")), Unsubscribe(2, ("news",)))
    broker.hub.wanted()
    broker.hub.joined(JoinAnswer((route("sport", 1, "b0"),)))
    assert line.frames == [Unsubscribed(2, ()), Subscribed(1, ("sport",))]
    source, _ = broker.session("paper")
    broker.hear(source, message("news", 1))
    assert line.messages() == []


def test_of_a_withdrawal_only_its_own_client_hears() -> None:
    broker = Pretended()
    first, told = broker.session("ann")
    second, other = broker.session("bob")
    broker.hear(first, Subscribe(1, ("news",)))
    broker.hear(second, Subscribe(1, ("news",)), Unsubscribe(2, ("news", "sport")))
    problem = other.frames[1]
    assert isinstance(problem, Problem) and problem.topics == ("sport",)
    broker.hub.wanted()
    broker.hub.joined(JoinAnswer((route("news", 1, "b0"),)))
    assert told.frames == [Subscribed(1, ("news",))]
    assert Subscribed(1, ("news",)) not in other.frames


def test_whoever_waits_longest_is_asked_for_first() -> None:
    broker = Pretended()
    session, _ = broker.session("ann")
    for number, topic in enumerate(("z", "y", "x")):
        broker.hear(session, Subscribe(number, (topic,)))
    assert broker.hub.wanted(2) == ("z", "y")
    broker.hub.joined(JoinAnswer((route("z", 1, "b0"), route("y", 1, "b0"))))
    assert broker.hub.wanted(2) == ("x",)


def test_a_topic_is_asked_to_be_left_until_that_is_answered() -> None:
    broker = Pretended()
    session, _ = broker.subscriber("ann", "news")
    broker.hub.close(session)
    assert broker.hub.unwanted(("news",)) == ("news",)
    assert broker.hub.unwanted(("news",)) == ("news",)


def test_nothing_follows_a_goodbye() -> None:
    broker = Pretended()
    session, line = broker.subscriber("ann", "news")
    source, _ = broker.session("paper")
    broker.hear(session, Logout())
    broker.hear(source, message("news", 1))
    assert line.closed == (1000, "goodbye")
    assert line.messages() == []
    assert broker.hub.users == {}
