"""With whom topics share a broker, and how near they come to their targets."""

from dataclasses import replace

import numpy as np
import pytest
from tests.auditing.test_colocation import ROWS, plan_of
from tests.colocation import model_of

from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.names import Names
from brokerwise.show.numbers import significant
from brokerwise.show.shared_brokers import ReplicaAt, SharedBrokers, topic_why

TOPICS = TopicTable(
    Names.of(name for name, *_ in ROWS),
    *(np.array([float(row[at] or 100) for row in ROWS]) for at in (1, 2, 3)),
)


@pytest.fixture
def plan() -> ColocationPlan:
    """a and b on broker 0, half of c on 1, the other half and d on 2."""
    return plan_of(TOPICS, model_of())


def test_why_says_with_whom_and_how_late(plan: ColocationPlan) -> None:
    a, b, *_ = (significant(float(p90)) for p90 in plan.replicas.predicted_p90_ms)
    shared = SharedBrokers(plan, TOPICS)
    assert [topic["why"] for topic in shared.find("a")["topics"]] == [
        f'"a" is on b0 with "b": its p90 is predicted to be {a} ms, at most 90 ms are '
        "allowed (its target of 100 ms less 10 %)."
    ]
    (found,) = shared.find("b")["topics"]
    assert f"{b} ms, at most 108 ms are allowed (its target of 120 ms" in found["why"]
    assert found["where"][0]["text"] == f"p90 {b} ms, at most 108 ms"


def test_a_topic_that_is_split_is_in_several_places(plan: ColocationPlan) -> None:
    (found,) = SharedBrokers(plan, TOPICS).find("c")["topics"]
    assert found["why"] == (
        '"c" is split into 2 replicas, on b1 and b2: whole, it would miss its target '
        "of 100 ms."
    )
    assert [place["broker"] for place in found["where"]] == ["b1", "b2"]
    assert found["where"][0]["text"].endswith("at most 90 ms, alone")
    assert found["where"][1]["text"].endswith('at most 90 ms, with "d"')


def test_a_topic_that_moved_says_why(plan: ColocationPlan) -> None:
    move = {"topic": "d", "replica": 0, "from": 7, "to": 2, "why": "broker 7 was late"}
    moved = replace(plan, figures={**plan.figures, "moves": [move]})
    (found,) = SharedBrokers(moved, TOPICS).find("d")["topics"]
    assert found["why"].endswith(" It moved from b7: broker 7 was late.")


def test_a_broker_has_its_topics_with_their_latencies(plan: ColocationPlan) -> None:
    shared = SharedBrokers(plan, TOPICS)
    broker = shared.broker(2)
    assert broker is not None
    assert broker["facts"][:2] == [["Load", "0.4 cores"], ["Topics", "2 of at most 2"]]
    rows = broker["tables"][0]["rows"]
    assert [row[:3] for row in rows] == [["c (1)", "20", "0.2"], ["d", "10", "0.2"]]
    assert shared.broker(3) is None
    assert [row["load"] for row in shared.brokers()] == pytest.approx([0.35, 0.2, 0.4])


def test_alone_and_seen_to_do_better_than_predicted() -> None:
    alone = ReplicaAt("b1", [], 95.0, 90.0)
    assert topic_why("x", [alone], 90.0, 0.0) == (
        '"x" is alone on b1: its p90 is predicted to be 95 ms, more than 90 ms, but '
        "these topics were seen to meet their targets (its target of 90 ms)."
    )
