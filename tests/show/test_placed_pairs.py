"""Where the topics and subscribers of a plan are, and why, in exact words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.auditing.naive import filled, provisioned, saved
from tests.show.plans import newsroom

from brokerwise.model.plan import Plan
from brokerwise.model.workload import NO_THRESHOLD, Workload
from brokerwise.show import view
from brokerwise.show.placed_pairs import Placed, TopicPlaced, placed_of, topic_why
from brokerwise.show.view import LISTED
from brokerwise.storage.place import Place
from brokerwise.storage.plan import read_plan_header, read_plan_runs

SERVED = {
    "world": '"world" (rate 10) is split over b0 and b1: its 5 pairs need 60 on one '
    "broker, the largest carries 45. All 5 subscribers who want it get it.",
    "sport": '"sport" (rate 8) is whole on b2, where its 4 pairs need 40. All 4 '
    "subscribers who want it get it.",
    "local": '"local" (rate 5) is whole on b1, where its 2 pairs need 15. 2 of 3 '
    "subscribers who want it get it; the other reaches its threshold without it.",
    "silent": '"silent" (rate 0) is on no broker: it has no messages.',
}
GIVEN = {
    "u0": '"u0" gets both topics that it wants, 18 a period, from b0 and b2.',
    "u2": '"u2" gets 18 a period, its threshold is 12: 2 of the 4 topics that it wants '
    "(26 a period), from b0 and b2.",
    "u3": '"u3" gets the topic that it wants, 3 a period, from b3; its threshold of 12 '
    "is more than that.",
    "u6": '"u6" wants nothing that has messages.',
}
LEFT = {
    "sport": '"sport" (rate 8) is on no broker: the fleet cannot carry everything, and '
    "other topics are served instead.",
    "local": '"local" (rate 5) is whole on b1, where its 2 pairs need 15. 2 of 3 '
    "subscribers who want it get it; the fleet cannot carry everything.",
    "u2": '"u2" gets 2 of the 4 topics that it wants, 15 of 26 a period, from b0 and '
    "b1.",
    "u5": '"u5" gets none of the 2 topics that it wants, 0 of 13 a period: the fleet '
    "cannot carry everything.",
    "u0": '"u0" gets 1 of the 2 topics that it wants, 10 of 18 a period, from b0.',
}


def opened(plan: Plan, workload: Workload, folder: Path) -> Placed:
    place = Place(str(saved(plan, workload, folder)))
    header = read_plan_header(place)
    runs = read_plan_runs(place, header)
    return placed_of(runs, place, header, Place(str(folder / "workload")))


@pytest.fixture
def placed(tmp_path: Path) -> Placed:
    """Threshold 12 on brokers of capacity 45: see `tests/auditing/conftest.py`."""
    workload = newsroom()
    return opened(provisioned(workload, threshold=12, capacity=45), workload, tmp_path)


def found(placed: Placed, text: str) -> dict[str, Any]:
    """The only thing of this name."""
    every = placed.find(text)
    (one,) = every["topics"] + every["subscribers"]
    assert (one["name"], every["more"]) == (text, False)
    return dict(one)


@pytest.mark.parametrize("name", [*SERVED, *GIVEN])
def test_why_a_provisioned_topic_or_subscriber_is_where_it_is(
    placed: Placed, name: str
) -> None:
    assert found(placed, name)["why"] == (SERVED | GIVEN)[name]


def test_where_says_how_much_of_it_is_on_each_broker(placed: Placed) -> None:
    assert found(placed, "world")["where"] == [
        {"number": 0, "broker": "b0", "text": "3 pairs", "pairs": 3},
        {"number": 1, "broker": "b1", "text": "2 pairs", "pairs": 2},
    ]
    assert found(placed, "u2")["where"] == [
        {"number": 0, "broker": "b0", "text": "world: 10 a period", "pairs": 1},
        {"number": 2, "broker": "b2", "text": "sport: 8 a period", "pairs": 1},
    ]


def test_of_very_many_places_some_are_listed() -> None:
    places = [{"number": number} for number in range(LISTED + 7)]
    one = view.found("x", "because", places)
    assert (len(one["where"]), one["places"]) == (LISTED, LISTED + 7)


def test_brokers_are_against_their_capacity(placed: Placed) -> None:
    rows = placed.brokers()
    assert [row["load"] for row in rows] == [40, 45, 40, 9]
    assert rows[1] == {
        "number": 1,
        "name": "b1",
        "load": 45,
        "capacity": 45,
        "used": 1.0,
        "topics": 2,
        "pairs": 4,
        "note": "plain",
    }


def test_a_broker_has_its_topics_the_heaviest_first(placed: Placed) -> None:
    broker = placed.broker(1)
    assert broker is not None
    assert broker["facts"] == [
        ["Type", "plain"],
        ["Load", "45 of 45 (100 %)"],
        ["Topics", "2"],
        ["Pairs", "4"],
    ]
    (table,) = broker["tables"]
    assert table["caption"] == "Topics on b1, the heaviest first"
    assert table["rows"] == [
        ["world", "10", "2", "30", "1 other"],
        ["local", "5", "2", "15", ""],
    ]
    assert placed.broker(4) is None
    assert placed.broker(-1) is None


@pytest.mark.parametrize("name", LEFT)
def test_why_a_full_fleet_leaves_something_out(tmp_path: Path, name: str) -> None:
    workload = newsroom()
    plan = filled(workload, brokers=2, capacity=45)
    assert found(opened(plan, workload, tmp_path), name)["why"] == LEFT[name]


def test_thresholds_of_ones_own_are_those_that_count(tmp_path: Path) -> None:
    pairs = Workload.from_pairs(
        topics=["a", "b", "a", "b"],
        subscribers=["ann", "ann", "ben", "ben"],
        rates={"a": 9, "b": 4},
    )
    workload = replace(pairs, thresholds=np.array([3, NO_THRESHOLD]))
    plan = provisioned(workload, threshold=12, capacity=45)
    placed = opened(plan, workload, tmp_path)
    assert found(placed, "ann")["why"] == (
        '"ann" gets 9 a period, its threshold is 3: 1 of the 2 topics that it wants '
        "(13 a period), from b0."
    )
    assert "both topics" in found(placed, "ben")["why"]


def test_a_topic_that_nobody_needs_wants_or_can_carry_says_so() -> None:
    def why(rate: int, wanted: int, kind: str = "provision") -> str:
        return topic_why(TopicPlaced("x", rate, wanted, [], []), kind, 45)

    assert why(5, 0) == '"x" (rate 5) is on no broker: nobody wants it.'
    assert why(23, 1) == (
        '"x" (rate 23) is on no broker: one pair needs 46, the largest broker carries '
        "45."
    )
    assert why(5, 2) == (
        '"x" (rate 5) is on no broker: both subscribers who want it reach their '
        "thresholds without it."
    )


def test_a_topic_that_would_fit_is_split_to_use_room() -> None:
    topic = TopicPlaced("x", 2, 9, ["b1", "b2", "b3", "b7", "b9"], [1, 1, 1, 1, 2])
    assert topic_why(topic, "provision", 45) == (
        '"x" (rate 2) is split over b1, b2, b3 and 2 more: its 6 pairs would need 14 '
        "on one broker; in parts they take the room that other topics leave. 6 of 9 "
        "subscribers who want it get it; the others reach their thresholds without it."
    )
