"""The text that Prometheus reads of a broker, read back by a parser of its grammar."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.broker.fakes import FakeBroker

from brokerwise.runtime.broker.loads import TopicLoads
from brokerwise.runtime.broker.metrics import metrics_text
from brokerwise.runtime.protocol.frames import Publish
from brokerwise.runtime.protocol.names import refusal

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
TOPICS = NAMES.filter(lambda name: not refusal(name))
SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
MEANT = {r"\\": "\\", r"\n": "\n", r"\"": '"'}

Samples = dict[tuple[str, ...], float]


def unescaped(text: str) -> str:
    return re.sub(r'\\[\\n"]', lambda found: MEANT[found[0]], text)


def parsed(text: str) -> dict[str, tuple[str, Samples]]:
    """Kind and samples (values of labels -> value) by the name of a metric."""
    found: dict[str, tuple[str, Samples]] = {}
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name not in found
            found[name] = (kind, {})
        elif not line.startswith("# HELP "):
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            name, labels, value = sample.groups()
            key = tuple(unescaped(v) for _, v in LABEL.findall(labels or ""))
            assert key not in found[name][1]
            found[name][1][key] = float(value)
    return found


def text_of(topics: list[str], peers: dict[str, int]) -> str:
    """Of a broker that got one message of each topic, which one session has."""
    broker = FakeBroker()
    broker.subscriber("ann", *topics)
    bob, _ = broker.session("bob")
    for topic in topics:
        broker.hear(bob, Publish(topic, 1, 1, msgspec.Raw(b"1"), generation=1))
    broker.router.delivery.flush()
    loads = TopicLoads(broker.router)
    return metrics_text(loads, 0.0, sessions=2, refused=2**70, links=peers)


@given(
    topics=st.lists(TOPICS, min_size=1, max_size=4, unique=True),
    peers=st.dictionaries(NAMES, st.integers(0, 2**53), max_size=3),
)
def test_names_and_counts_are_read_back(
    topics: list[str], peers: dict[str, int]
) -> None:
    found = parsed(text_of(topics, peers))
    assert found["brokerwise_connections_refused_total"] == ("counter", {(): 2.0**70})
    assert found["brokerwise_sessions"] == ("gauge", {(): 2.0})
    assert found["brokerwise_forwarded_total"][1] == {(p,): c for p, c in peers.items()}
    one_each = dict.fromkeys([(topic,) for topic in topics], 1.0)
    assert found["brokerwise_topic_received_total"] == ("counter", one_each)
    assert found["brokerwise_topic_delivered_total"] == ("counter", one_each)
    assert found["brokerwise_topic_sessions"] == ("gauge", one_each)
    latencies = found["brokerwise_topic_latency_seconds"][1]
    assert latencies.keys() == {(t, q) for t in topics for q in ("0.5", "0.9", "0.99")}


def test_the_text_is_as_prometheus_documents_it() -> None:
    assert (
        "# HELP brokerwise_forwarded_total messages passed on to another broker\n"
        "# TYPE brokerwise_forwarded_total counter\n"
        'brokerwise_forwarded_total{peer="a\\"b\\\\c\\nd"} 3\n'
    ) in text_of(["news"], {'a"b\\c\nd': 3})


def test_half_a_surrogate_pair_spoils_nothing() -> None:
    text = text_of(["news"], {"x\ud800": 1})
    assert 'brokerwise_forwarded_total{peer="x?"} 1\n' in text
