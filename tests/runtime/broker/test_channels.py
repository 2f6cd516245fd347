"""Channel subscriptions at a broker, one step at a time; test_channels_simulated.py has
everything at once."""

import msgspec
from tests.runtime.broker.fakes import FakeBroker, FakeConnection

from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.subscriptions import AskDataCluster
from brokerwise.runtime.protocol.data import (
    Interest,
    Pull,
    PullAnswer,
    Result,
    ResultBatch,
    SubscribeAnswer,
    Subscription,
    SubscriptionRefusal,
    UserCursor,
    UserTopic,
)
from brokerwise.runtime.protocol.frames import (
    Ack,
    Problem,
    Publish,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from brokerwise.runtime.protocol.names import SOURCE

FIRE, FLOOD = "channel/near?type=fire", "channel/near?type=flood"


def results(*seqs: int) -> tuple[Result, ...]:
    return tuple(Result(5.0, msgspec.Raw(b"%d" % seq)) for seq in seqs)


def pulled(subscription: int, after: int, *seqs: int, last: int) -> PullAnswer:
    return PullAnswer((ResultBatch(subscription, after, results(*seqs), last),))


def subscribed(
    broker: FakeBroker, user: str, *, start: int, last: int
) -> tuple[Session, FakeConnection]:
    session, line = broker.session(user)
    broker.handle(session, Subscribe(1, (FIRE,)))
    channels = broker.handler.channels
    wanted = channels.wanted(9)
    assert wanted == (Interest(user, FIRE),)
    channels.take_answer(
        wanted, SubscribeAnswer((Subscription(user, FIRE, 7, start, last),))
    )
    return session, line


def pull(broker: FakeBroker, answer: PullAnswer) -> None:
    channels = broker.handler.channels
    channels.logs.take_results(frozenset(channels.logs.pulls()), answer)
    broker.router.delivery.flush()


def test_a_subscription_begins_where_the_data_cluster_says() -> None:
    broker = FakeBroker()
    session, line = subscribed(broker, "ann", start=3, last=3)
    assert line.last() == Subscribed(1, (FIRE,), ((FIRE, SOURCE, 7, 3),))
    assert broker.commands == [AskDataCluster()]
    broker.handler.channels.logs.mark_new([7, 99])
    assert broker.handler.channels.logs.pulls() == (Pull(7, 3),)
    pull(broker, pulled(7, 3, 4, 5, last=5))
    assert line.positions() == [(SOURCE, 7, 4), (SOURCE, 7, 5)]
    assert line.messages()[0].at == 5.0
    assert broker.handler.channels.logs.pulls() == ()
    assert session.sent == 2


def test_one_pull_serves_all_sessions_and_who_begins_earlier_catches_up_alone() -> None:
    broker = FakeBroker()
    _, early = subscribed(broker, "ann", start=5, last=5)
    _, late = subscribed(broker, "bob", start=2, last=5)
    channels = broker.handler.channels
    assert channels.logs.is_behind()
    assert channels.logs.pulls() == (Pull(7, 2),)
    pull(broker, pulled(7, 2, 3, 4, last=5))
    assert channels.logs.pulls() == (Pull(7, 4),)
    channels.logs.mark_new([7])
    assert set(channels.logs.pulls()) == {Pull(7, 4), Pull(7, 5)}
    pull(
        broker,
        PullAnswer(
            (*pulled(7, 4, 5, 6, last=6).pulled, *pulled(7, 5, 6, last=6).pulled)
        ),
    )
    assert not channels.logs.is_behind()
    assert [seq for _, _, seq in early.positions()] == [6]
    assert [seq for _, _, seq in late.positions()] == [3, 4, 5, 6]


def test_who_is_to_begin_later_than_the_broker_is_gets_nothing_before_that() -> None:
    broker = FakeBroker()
    subscribed(broker, "ann", start=1, last=1)
    _, line = subscribed(broker, "bob", start=3, last=3)
    assert broker.handler.channels.logs.pulls() == (Pull(7, 1),)
    pull(broker, pulled(7, 1, 2, 3, 4, last=4))
    assert broker.handler.channels.logs.pulls() == (Pull(7, 3),)
    pull(broker, pulled(7, 3, 4, last=4))
    assert [seq for _, _, seq in line.positions()] == [4]


def test_what_a_client_acknowledges_is_kept_until_the_data_cluster_knows_it() -> None:
    broker = FakeBroker()
    session, _ = subscribed(broker, "ann", start=0, last=0)
    broker.handler.channels.logs.mark_new([7])
    pull(broker, pulled(7, 0, 1, 2, 3, last=3))
    channels = broker.handler.channels
    broker.handle(session, Ack(2, ((FIRE, SOURCE, 7, 2),)))
    assert channels.seen() == (UserCursor("ann", 7, 2),)
    before = channels.seen()
    broker.handle(session, Ack(3, ((FIRE, SOURCE, 7, 99),)))
    channels.mark_sent(seen=before)
    assert channels.seen() == (UserCursor("ann", 7, 3),), (
        "no further than there are any"
    )
    channels.mark_sent(seen=channels.seen())
    assert channels.seen() == ()
    broker.handle(session, Ack(3, ((FIRE, SOURCE, 6, 1),)))
    assert channels.seen() == (), "that is of another subscription"


def test_leaving_a_channel_and_going_offline_are_told_apart() -> None:
    for frame, ended, offline in (
        (Unsubscribe(2, (FIRE,)), (UserTopic("ann", FIRE),), ()),
        (Unsubscribe(2, (FIRE,), True), (), (UserTopic("ann", FIRE),)),
        (None, (), (UserTopic("ann", FIRE),)),
    ):
        broker = FakeBroker()
        session, _ = subscribed(broker, "ann", start=0, last=0)
        if frame is None:
            broker.close(session)
        else:
            broker.handle(session, frame)
        channels = broker.handler.channels
        assert (channels.ended(), channels.offline()) == (ended, offline)
        channels.logs.mark_new([7])
        assert channels.logs.pulls(all_of_them=True) == (), "nobody has it any more"
        channels.mark_sent(ended=ended, offline=offline)
        assert (channels.ended(), channels.offline()) == ((), ())


def test_a_client_that_connects_again_at_once_is_not_offline() -> None:
    broker = FakeBroker()
    before, _ = subscribed(broker, "ann", start=0, last=0)
    after, line = broker.session("ann")
    broker.handle(after, Subscribe(2, (FIRE,)))
    broker.close(before)
    channels = broker.handler.channels
    assert channels.offline() == ()
    given = Subscription("ann", FIRE, 7, 0, 0)
    channels.take_answer(channels.wanted(9), SubscribeAnswer((given,)))
    assert line.last() == Subscribed(2, (FIRE,), ((FIRE, SOURCE, 7, 0),))
    assert channels.logs.serving() == (UserCursor("ann", 7, 0),)


def test_who_has_gone_when_the_answer_comes_is_offline() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(1, (FIRE,)))
    channels = broker.handler.channels
    wanted = channels.wanted(9)
    broker.close(session)
    channels.mark_sent(offline=channels.offline())
    channels.take_answer(wanted, SubscribeAnswer((Subscription("ann", FIRE, 7, 0, 0),)))
    assert channels.offline() == (UserTopic("ann", FIRE),)
    assert line.frames == []


def test_refused_topics_are_a_problem_and_the_others_are_served() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(4, (FIRE, FLOOD)))
    channels = broker.handler.channels
    answer = SubscribeAnswer(
        (Subscription("ann", FLOOD, 8, 0, 0),),
        (SubscriptionRefusal("ann", FIRE, "no such thing"),),
    )
    channels.take_answer(channels.wanted(9), answer)
    assert line.frames == [
        Problem("unknown_topic", "no such thing", 4, (FIRE,)),
        Subscribed(4, (FLOOD,), ((FLOOD, SOURCE, 8, 0),)),
    ]


def test_channels_and_other_topics_are_asked_for_in_frames_of_their_own() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    broker.handle(session, Subscribe(4, (FIRE, "news")))
    problem = line.last()
    assert isinstance(problem, Problem)
    assert (problem.code, problem.id) == ("mixed_topics", 4)
    assert (
        not broker.handler.channels.is_waiting() and not broker.handler.topics_to_join()
    )


def test_the_sessions_of_a_dropped_channel_are_told() -> None:
    broker = FakeBroker()
    session, line = subscribed(broker, "ann", start=0, last=0)
    pull(broker, PullAnswer((), (7,)))
    problem = line.last()
    assert isinstance(problem, Problem) and problem.topics == (FIRE,)
    assert FIRE not in session.topics
    assert broker.handler.channels.logs.pulls(all_of_them=True) == ()


def test_only_the_data_cluster_sends_results_and_records_go_to_it() -> None:
    broker = FakeBroker()
    session, line = broker.session("ann")
    record = msgspec.Raw(b'{"user": "ann"}')
    broker.handle(session, Publish("dataset/places", 1, 1, record))
    assert broker.fed == [("dataset/places", b'{"user": "ann"}')]
    assert line.frames == [] and session.published == 1
    broker.handle(session, Publish(FIRE, 1, 1, record))
    problem = line.last()
    assert isinstance(problem, Problem) and problem.code == "unknown_topic"
    assert broker.looked_up() == []
