"""What comes out of topics, on its way into datasets."""

from pathlib import Path

import msgspec
import pytest
from tests.runtime.broker.fakes import FakeBroker, message, route

from brokerwise.runtime.broker.processing import TopicSteps
from brokerwise.runtime.broker.topics import RoutedMessage
from brokerwise.runtime.protocol.fleet import Route
from brokerwise.runtime.protocol.order import Released


class Fed:
    """A broker's core that puts what comes of topics into datasets."""

    def __init__(self, name: str, **datasets: str) -> None:
        self.steps = TopicSteps()
        self.broker = FakeBroker(name, steps=self.steps)
        self.router = self.broker.router
        self.router.datasets = {t.replace("_", "/"): d for t, d in datasets.items()}
        self.records = self.broker.fed

    def learn(self, *routes: Route) -> None:
        self.router.change_routes(routes)

    def hear(self, *seqs: int, topic: str = "gps/1", generation: int = 1) -> None:
        session, _ = self.broker.session("cab")
        for seq in seqs:
            told = message(topic, seq, generation=generation, data=seq)
            self.broker.hear(session, told)


def fed_by(feeder: str, generation: int = 1) -> Route:
    return msgspec.structs.replace(
        route("gps/1", generation, "b0", "b1"), feeder=feeder
    )


def test_of_two_that_carry_a_topic_its_feeder_feeds_it_once() -> None:
    b0, b1 = Fed("b0", gps_1="positions"), Fed("b1", gps_1="positions")
    for broker in (b0, b1):
        broker.learn(fed_by("b1"))
        broker.hear(1, 2, 2, 3)
    assert b0.records == []
    assert b1.records == [("dataset/positions", b"%d" % n) for n in (1, 2, 3)]


def test_a_message_that_another_broker_passed_on_is_fed_like_others() -> None:
    b1 = Fed("b1", gps_1="positions")
    b1.learn(fed_by("b1", generation=2))
    b0 = Fed("b0", gps_1="positions")
    b0.learn(fed_by("b1", generation=2))
    b0.hear(1)  # by a route from before b1 carried the topic
    ((target, frame),) = b0.broker.peers.forwards
    peer, _ = b1.broker.session("b0", is_peer=True)
    b1.broker.hear(peer, frame, frame)
    assert (target, b0.records) == ("b1", [])
    assert b1.records == [("dataset/positions", b"1")]


def test_who_becomes_the_feeder_feeds_what_comes_from_then_on() -> None:
    b0 = Fed("b0", gps_1="positions")
    b0.learn(fed_by("b1"))
    b0.hear(1)
    b0.learn(msgspec.structs.replace(route("gps/1", 2, "b0"), feeder="b0"))
    b0.hear(2, generation=2)
    assert b0.records == [("dataset/positions", b"2")]


def test_a_name_goes_before_a_pattern_and_a_long_pattern_before_a_short_one() -> None:
    b0 = Fed("b0")
    b0.router.datasets = {"*": "all", "gps/*": "positions", "gps/1": "first"}
    names = ["gps/1", "gps/12", "gps", "gps/", "channel/x"]
    b0.learn(
        *(msgspec.structs.replace(route(name, 1, "b0"), feeder="b0") for name in names)
    )
    found = [b0.router.dataset_of(name) for name in names]
    assert found == ["first", "positions", "all", "positions", ""]
    assert b0.router.dataset_of("unheard") == ""


async def test_what_a_step_makes_of_messages_is_fed_and_what_it_drops_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    b0 = Fed("b0", **{"gps_*": "positions"})
    for topic in ("gps/1", "gps/2"):
        b0.learn(msgspec.structs.replace(route(topic, 1, "b0"), feeder="b0"))
    await b0.steps.start({"gps/*": "step_functions:doubled"})
    for topic in ("gps/1", "gps/2"):
        b0.hear(1, 2, topic=topic)
    last = RoutedMessage("cab", 1, 1, msgspec.Raw(b"6"), 0.0, 0.0)
    b0.router.hand_on(b0.router.topic("gps/2"), Released((last,)))
    assert b0.steps.find("art") is None
    await b0.steps.close()
    passed = {topic: c["passed"] for topic, c in b0.steps.counts().items()}
    found = [int(data) for _, data in b0.records]
    assert (passed, found) == ({"gps/*": 3}, [4, 4, 12])
