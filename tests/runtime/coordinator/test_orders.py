"""Brokers that join and leave topics, and which brokers are told."""

import time
from dataclasses import replace
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.coordinator.fakes import (
    BROKER,
    TwoBrokers,
    broker,
    plain_seed,
    run,
    running,
    token,
    until,
)
from tests.runtime.coordinator.seeds import PLANNED

from brokerwise.runtime.coordinator.orders import batches, highest
from brokerwise.runtime.protocol.fleet import Address, Route

names = st.sampled_from("abcd")
rows = st.tuples(names, names, st.integers(0, 3), st.integers(0, 3))


@given(st.lists(rows))
def test_the_highest_position_of_a_topic_and_source_counts(
    cursors: list[tuple[str, str, int, int]],
) -> None:
    expected = {
        (topic, source): max(row[2:] for row in cursors if row[:2] == (topic, source))
        for topic, source, *_ in cursors
    }
    found = highest(cursors)
    assert {row[:2]: row[2:] for row in found} == expected
    assert len(found) == len(expected)


def test_routes_are_told_in_batches_that_are_not_too_long() -> None:
    long = Route("y" * 300, 1, (Address("b", "ws://b:1"),))
    routes = [Route(f"t{i}", 1, (Address("b", "ws://b:1"),)) for i in range(20)]
    found = list(batches([*routes, long, *routes], 200))
    assert [route for batch in found for route in batch] == [*routes, long, *routes]
    assert (long,) in found
    assert max(len(batch) for batch in found) > 1
    assert all(len(msgspec.json.encode(b)) <= 201 for b in found if b != (long,))
    assert list(batches([], 200)) == []


async def test_joining_tells_those_that_carry_the_topic_and_brings_their_cursors(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, plain_seed(3)) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet) as b1,
        broker("b2", fleet) as b2,
    ):
        first = await b0.join(fleet, "news", "news")
        assert first["cursors"] == []
        assert [r["generation"] for r in first["routes"]] == [1]
        b0.positions = [("news", "s", 1, 5), ("news", "t", 2, 1), ("x", "s", 1, 9)]
        second = await b1.join(fleet, "news")
        assert second["cursors"] == [["news", "s", 1, 5], ["news", "t", 2, 1]]
        assert b0.members("news") == ["b0", "b1"]
        b1.positions = [("news", "s", 1, 7)]
        third = await b2.join(fleet, "news", "art")
        assert sorted(third["cursors"]) == [
            ["news", "s", 1, 7],
            ["news", "t", 2, 1],
        ]
        assert {r["topic"]: r["generation"] for r in third["routes"]} == {
            "news": 3,
            "art": 1,
        }
        assert b0.members("news") == b1.members("news") == ["b0", "b1", "b2"]


async def test_the_first_to_carry_a_topic_feeds_it_until_it_is_gone(
    tmp_path: Path,
) -> None:
    seed = replace(plain_seed(3), into={"gps/*": "positions"})

    async with (
        running(tmp_path, seed) as fleet,
        broker("b0", fleet) as b0,
        broker("b2", fleet) as b2,
    ):
        assert b2.configuration.into == {"gps/*": "positions"}
        (first,) = (await b2.join(fleet, "gps/1"))["routes"]
        (second,) = (await b0.join(fleet, "gps/1"))["routes"]
        assert (first["feeder"], second["feeder"]) == ("b2", "b2")
        gone = {"broker": "b2", "epoch": b2.epoch}
        await fleet.as_broker("/leaving", gone)
        (third,) = (await b0.join(fleet, "gps/1"))["routes"]
        assert third["feeder"] == "b0"


async def test_joining_again_changes_nothing_and_brings_the_cursors_again(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, b0, b1):
        await b0.join(fleet, "news")
        b0.positions = [("news", "s", 1, 5)]
        first = await b1.join(fleet, "news")
        assert await b1.join(fleet, "news") == first


async def test_leaving_a_topic_tells_all_but_the_only_one_stays(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, b0, b1):
        await b0.join(fleet, "news")
        await b1.join(fleet, "news")
        answer = await b1.join(fleet, leave=("news", "never"))
        (route,) = answer["routes"]
        assert [a["broker"] for a in route["brokers"]] == ["b0"]
        await until(lambda: b0.members("news") == ["b0"])
        await until(lambda: b1.members("news") == ["b0"])
        alone = await b0.join(fleet, leave=("news",))
        assert alone["routes"] == [route]


async def test_joining_under_an_old_epoch_is_refused(tmp_path: Path) -> None:
    async with (
        running(tmp_path, plain_seed(1)) as fleet,
        broker("b0", fleet) as b0,
    ):
        body = {"broker": "b0", "epoch": b0.epoch + 1, "topics": ["news"]}
        status, content = await fleet.call("/join", body, token=BROKER)
        assert status == 409
        assert "register again" in content["error"]
        unknown = body | {"broker": "stranger"}
        assert (await fleet.call("/join", unknown, token=BROKER))[0] == 409


def test_two_thousand_topics_are_joined_in_one_request(tmp_path: Path) -> None:
    topics = [f"a topic with a name of some length {i}" for i in range(2000)]

    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            started = time.monotonic()
            await b0.join(fleet, *topics)
            b0.positions = [(topic, "s", 1, 3) for topic in topics]
            answer = await b1.join(fleet, *topics)
            assert time.monotonic() - started < 10
            assert len(answer["routes"]) == len(answer["cursors"]) == 2000
            assert set(b0.routes) == set(topics)

    run(work(), debug=False)


async def test_a_topic_that_nobody_carries_is_given_to_a_broker_that_is_told(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, plain_seed(2)) as fleet:
        ask = {"topics": ["news", "sport", "news"]}
        nobody = await fleet.done("/routes", ask, token("ann"))
        assert [r["brokers"] for r in nobody["routes"]] == [[], []]
        async with broker("b0", fleet) as b0, broker("b1", fleet) as b1:
            found = await fleet.done("/routes", ask, token("ann"))
            carriers = [r["brokers"][0]["broker"] for r in found["routes"]]
            assert sorted(carriers) == ["b0", "b1"]
            for name, topic in zip(carriers, ("news", "sport"), strict=True):
                fake = b0 if name == "b0" else b1
                assert fake.members(topic) == [name]
            assert await fleet.done("/routes", ask, BROKER) == found


async def test_with_a_plan_only_its_topics_are_known_and_routes_may_be_empty(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, PLANNED) as fleet,
        broker("b0", fleet) as b0,
    ):
        found = await fleet.done("/routes", {"topics": ["news", "chess"]})
        assert found["unknown"] == ["chess"]
        assert [r["brokers"] for r in found["routes"]] == [[]]
        joined = await b0.join(fleet, "news", "chess")
        assert joined["unknown"] == ["chess"]
        assert [r["topic"] for r in joined["routes"]] == ["news"]
        topics = await fleet.done("/topics")
        assert topics.pop("topics") == {"art": 1, "news": 10, "sport": 5}
        assert topics == {"homes": {}, "targets": {}}
