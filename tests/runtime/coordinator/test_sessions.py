"""A fleet that runs a co-location plan: sessions follow topics to their homes."""

from pathlib import Path
from typing import Any

from tests.runtime.coordinator.fakes import Running, broker, running, until
from tests.runtime.coordinator.seeds import COLOCATED


async def places(fleet: Running, user: str, *topics: str) -> dict[str, list[str]]:
    """Where a user is sent for topics, and for which of them."""
    body = {"user": user, "topics": list(topics)}
    found = await fleet.done("/requestbroker", body)
    return {place["broker"]: place["topics"] for place in found["sessions"]}


async def carriers(fleet: Running, topic: str) -> list[str]:
    found: dict[str, Any] = await fleet.done("/routes", {"topics": [topic]})
    return [carrier["broker"] for carrier in found["routes"][0]["brokers"]]


async def test_who_wants_a_topic_goes_to_its_home(tmp_path: Path) -> None:
    async with (
        running(tmp_path, COLOCATED) as fleet,
        broker("b0", fleet),
        broker("b1", fleet),
        broker("b2", fleet),
    ):
        assert await places(fleet, "ann", "news") == {"b0": ["news"]}
        both = await places(fleet, "ann", "news", "sport")
        assert both == {"b0": ["news"], "b1": ["sport"]}
        assert await places(fleet, "ann", "art") == {"b0": ["art"]}
        body = {"user": "ann", "topics": ["weather", "art"]}
        found = await fleet.done("/requestbroker", body)
        assert found["unserved"] == ["weather"]
        again = await fleet.done("/requestbroker", {"user": "ann"})
        assert {p["broker"]: p["topics"] for p in again["sessions"]} == {
            "b0": ["art", "news"],
            "b1": ["sport"],
        }


async def test_what_nobody_wants_is_carried_at_home_too(tmp_path: Path) -> None:
    async with (
        running(tmp_path, COLOCATED) as fleet,
        broker("b0", fleet),
        broker("b1", fleet),
    ):
        assert await carriers(fleet, "sport") == ["b1"]
        assert await carriers(fleet, "art") == ["b0"]
        topics = await fleet.done("/topics")
        assert topics["homes"] == COLOCATED.homes
        assert topics["targets"] == COLOCATED.targets


async def test_topics_and_sessions_of_a_lost_broker_meet_elsewhere_and_come_home(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, COLOCATED) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet),
        broker("b2", fleet) as b2,
    ):
        await places(fleet, "ann", "sport")
        await places(fleet, "ben", "sport")
        assert await carriers(fleet, "art") == ["b0"]
        fleet.pass_time(2)
        await b2.beat(fleet)
        fleet.pass_time(2)
        await b2.beat(fleet)
        assert (await fleet.broker("b0"))["state"] == "lost"
        (ann,) = await places(fleet, "ann", "sport")
        (ben,) = await places(fleet, "ben", "sport")
        (cid,) = await places(fleet, "cid", "sport")
        assert ann == ben == cid == "b2"
        assert await carriers(fleet, "art") == ["b2"]

        await b0.register(fleet)
        await until(lambda: b2.members("art") == ["b0"])
        assert await carriers(fleet, "art") == ["b0"]


async def test_sessions_are_not_balanced_away_from_their_topics(tmp_path: Path) -> None:
    async with running(tmp_path, COLOCATED) as fleet, broker("b0", fleet):
        status, answer = await fleet.call("/balance/plan", {})
        assert status == 409
        assert "fixes which broker carries which topic" in answer["error"]
        body = {"automatic": True}
        assert (await fleet.call("/balance/mode", body))[0] == 409


async def test_a_broker_starts_the_steps_of_topics_at_home_and_knows_the_others(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, COLOCATED) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet) as b1,
    ):
        assert b0.configuration.steps == b1.configuration.later
        assert b0.configuration.steps == {"news": "spin:5"}
        assert b0.configuration.later == b1.configuration.steps == {}
