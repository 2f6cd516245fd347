"""What a broker says of its load to those who balance the fleet."""

import math

import msgspec
import pytest
from tests.runtime.broker.fakes import FakeBroker, framed

from brokerwise.runtime.broker.loads import ByteRates, TopicLoads, balance_page
from brokerwise.runtime.protocol.fleet import BalancePage
from brokerwise.runtime.protocol.frames import Ack, Publish, Unsubscribe, encode


class Watched(FakeBroker):
    """A broker whose page is asked for; `publish` sends one message of bob's."""

    def __init__(self) -> None:
        super().__init__()
        self.rates = ByteRates(self.router)
        self.seq = 0
        self.bob, _ = self.session("bob")

    def publish(self, topic: str, text: str) -> None:
        self.seq += 1
        data = msgspec.Raw(msgspec.json.encode(text))
        self.hear(self.bob, Publish(topic, 1, self.seq, data, generation=1))

    def page(self) -> BalancePage:
        self.rates.look(self.clock())
        return balance_page("b0", 7, self.rates, self.handler.users)

    def rate(self, topic: str) -> tuple[float, float]:
        (found,) = [row for row in self.page().topics if row[0] == topic]
        return found[1], found[2]


def test_a_message_counts_once_as_it_is_framed_however_many_get_it() -> None:
    broker = Watched()
    _, line = broker.subscriber("ann", "news")
    broker.subscriber("ben", "news")
    broker.page()
    broker.publish("news", "hello")
    size = len(framed(encode(line.messages()[0])))
    broker.clock.now += 4
    assert broker.rate("news")[0] == pytest.approx(size / 4)
    assert broker.router.topics["news"].framed_bytes == size


def test_a_topic_that_was_forgotten_and_comes_back_has_no_negative_load() -> None:
    broker = FakeBroker()
    loads = TopicLoads(broker.router)
    broker.router.topic("news").received = 100
    loads.look(broker.clock())
    broker.router.forget("news")
    broker.router.topic("news")
    broker.clock.now += 1
    assert loads.load_per_second(broker.clock()) == 0.0


def test_topics_and_users_are_named_in_order_and_topics_by_their_place() -> None:
    broker = Watched()
    ben, _ = broker.subscriber("ben", "sport", "news")
    broker.subscriber("ann", "art")
    gone, _ = broker.subscriber("zoe", "art")
    broker.hear(gone, Unsubscribe(2, ("art",)))
    broker.publish("sport", "goal")
    broker.hear(ben, Ack(1, (("sport", "bob", 1, 1),)))
    page = broker.page()
    assert [row[0] for row in page.topics] == ["art", "news", "sport"]
    state = len(b'[["sport","bob",1,1]]')
    assert page.sessions == (("ann", (0,), 0), ("ben", (1, 2), state))
    assert (page.broker, page.epoch) == ("b0", 7)


def test_the_time_without_sessions_says_nothing_about_a_topic() -> None:
    broker = Watched()
    ann, _ = broker.subscriber("ann", "news")
    broker.page()
    broker.publish("news", "hello")
    broker.clock.now += 10
    before, weight = broker.rate("news")
    broker.hear(ann, Unsubscribe(2, ("news",)))
    broker.clock.now += 1000
    assert broker.page().topics == ()
    broker.subscriber("ben", "news")
    assert broker.rate("news") == (0.0, 0.0)
    broker.publish("news", "hello")
    broker.clock.now += 10
    assert broker.rate("news") == pytest.approx((before, weight))


def test_an_average_weighs_more_the_longer_it_is_taken() -> None:
    broker = Watched()
    broker.subscriber("ann", "news")
    broker.page()
    weights = []
    for _ in range(5):
        broker.clock.now += 30
        weights.append(broker.rate("news")[1])
    assert weights == sorted(weights)
    assert 0.3 < weights[0] < weights[-1] < 1


def test_what_was_known_of_a_topic_is_kept_for_a_while_when_it_is_left() -> None:
    broker = Watched()
    ann, _ = broker.subscriber("ann", "news")
    broker.page()
    broker.publish("news", "hello")
    broker.clock.now += 30
    rate, weight = broker.rate("news")
    assert broker.page().left == ()
    broker.hear(ann, Unsubscribe(2, ("news",)))
    ((topic, kept, at_first),) = broker.page().left
    assert (topic, kept, at_first) == ("news", rate, weight)
    broker.clock.now += 60
    ((_, still, later),) = broker.page().left
    assert still == rate
    assert later == pytest.approx(weight / math.e, abs=1e-5)
    broker.clock.now += 600
    assert broker.page().left == ()


def test_a_short_visit_does_not_make_forget_what_a_long_one_found() -> None:
    broker = Watched()
    for seconds in (50, 0.5):
        visitor, _ = broker.subscriber("ann", "news")
        broker.page()
        if seconds == 50:
            broker.publish("news", "hello")
        broker.clock.now += seconds
        rate, _ = broker.rate("news")
        broker.hear(visitor, Unsubscribe(2, ("news",)))
        broker.page()
    assert rate == 0
    ((_, kept, _),) = broker.page().left
    assert kept > 0
