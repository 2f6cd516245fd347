"""Where is this topic, where is this user."""

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.coordinator.fakes import plain_seed, run, running
from tests.runtime.coordinator.seeds import COLOCATED, PLANNED, States
from tests.runtime.coordinator.test_reasons import up

from brokerwise.runtime.coordinator import carriers, finding, seats
from brokerwise.runtime.coordinator.finding import MOST_FOUND, MOST_TOPICS, find
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession


def carrying(states: States, *topics: str) -> Sql:
    """A fleet without a plan whose only broker carries topics."""
    sql = states(plain_seed(1))
    up(sql, "b0")
    for topic in topics:
        carriers.join(sql, "b0", topic)
    return sql


def names(found: dict[str, Any], kind: str = "topic") -> list[str]:
    return [each[kind] for each in found[f"{kind}s"]]


def test_the_same_comes_first_then_what_begins_so_then_what_has_it_inside(
    states: States,
) -> None:
    sql = carrying(states, "a news", "newsroom", "news", "b News", "new", "newspaper")
    found = find(sql, "news")
    assert names(found) == ["news", "newspaper", "newsroom", "a news", "b News"]
    assert not found["more"]
    inside = ["a news", "b News", "news", "newspaper", "newsroom"]
    assert names(find(sql, "NEWS")) == inside
    assert find(sql, "olds") == {"topics": [], "users": [], "more": False}


@pytest.mark.parametrize("text", ["%", "_", "'", '"', "ä", "a b", "*", "?", "\\"])
def test_no_letter_means_more_than_itself(states: States, text: str) -> None:
    sql = carrying(states, "plain", f"x{text}y")
    assert names(find(sql, text)) == [f"x{text}y"]
    assert names(find(sql, text + "\x00")) == []


def test_of_many_the_first_are_shown_and_that_there_are_more_is_said(
    states: States,
) -> None:
    sql = carrying(states, *(f"t{number:03}" for number in range(MOST_FOUND)))
    assert not find(sql, "t")["more"]
    carriers.join(sql, "b0", "t999")
    found = find(sql, "t")
    assert names(found) == [f"t{number:03}" for number in range(MOST_FOUND)]
    assert found["more"]
    assert find(sql, "0")["more"] is False


def test_one_that_is_called_so_is_found_among_very_many(
    states: States,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finding, "SCANNED", 3)
    sql = carrying(states, "a", "b", "c", "d", "e/d", "z")
    assert names(find(sql, "z")) == ["z"]
    assert names(find(sql, "e")) == ["e/d"]
    assert names(find(sql, "d")) == ["d"], "e/d was not looked through"
    assert find(sql, "d")["more"]


def test_a_planned_topic_has_a_rate_a_second_and_its_target(states: States) -> None:
    sql = states(COLOCATED)
    up(sql, "b0")
    carriers.join(sql, "b0", "news")
    (topic,) = find(sql, "news")["topics"]
    assert topic.pop("why")
    assert topic == {
        **{"topic": "news", "brokers": ("b0",), "home": "b0"},
        **{"rate": 10 / 60, "target_ms": 250.0},
    }


def test_a_topic_without_a_plan_or_a_period_has_no_rate(states: States) -> None:
    (topic,) = find(carrying(states, "news"), "news")["topics"]
    assert (topic["rate"], topic["target_ms"], topic["home"]) == (None, None, "")
    rated = states(Seed((SeedBroker("b0"),), "plan", "fill", rates={"news": 5}))
    (topic,) = find(rated, "news")["topics"]
    assert (topic["rate"], topic["brokers"]) == (None, ())


def test_a_planned_user_has_its_sessions_with_their_topics(states: States) -> None:
    sql = states(PLANNED)
    (ann,) = find(sql, "ann")["users"]
    assert ann["sessions"] == [
        {
            **{"broker": "b0", "home": "b0"},
            **{"topics": ("news", "sport"), "topic_count": 2},
        },
        {"broker": "b1", "home": "b1", "topics": ("art",), "topic_count": 1},
    ]


def test_of_very_many_topics_of_a_session_the_first_are_shown(states: States) -> None:
    topics = tuple(f"t{number:03}" for number in range(MOST_TOPICS + 1))
    session = SeedSession("ann", "b0", topics)
    sql = states(Seed((SeedBroker("b0"),), "plan", "fill", sessions=(session,)))
    ((shown,),) = (user["sessions"] for user in find(sql, "ann")["users"])
    assert shown["topics"] == topics[:MOST_TOPICS]
    assert shown["topic_count"] == MOST_TOPICS + 1


def test_a_user_without_a_plan_is_found_by_its_session_or_its_registration(
    states: States,
) -> None:
    sql = carrying(states)
    seats.register_user(sql, "anna", None)
    seats.request_broker(sql, "ann", None)
    found = find(sql, "ann")
    assert names(found, "user") == ["ann", "anna"]
    (session,) = found["users"][0]["sessions"]
    assert session == {"broker": "b0", "home": "", "topics": (), "topic_count": None}
    assert found["users"][1]["sessions"] == []


def test_it_is_asked_for_over_http(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, PLANNED, chores=False) as fleet:
            found = await fleet.done("/watch/find?text=a")
            assert names(found) == ["art"]
            assert names(found, "user") == ["ann"]
            for bad in ("", "?text=", f"?text={'x' * 257}"):
                assert (await fleet.call(f"/watch/find{bad}"))[0] == 422

    run(work())
