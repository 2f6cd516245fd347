"""Every call of the HTTP API: what it answers, and what it refuses."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.coordinator.fakes import (
    BROKER,
    OPERATOR,
    Running,
    broker,
    plain_seed,
    run,
    running,
    token,
    until,
)

from brokerwise.runtime.control import Axis, Branch, OverlayPart
from brokerwise.runtime.coordinator.gate import MAX_BROKER_BODY_BYTES
from brokerwise.runtime.limits import MAX_FRAME_BYTES, MAX_TOPICS_PER_FRAME
from brokerwise.runtime.seed import Seed, SeedBroker, SeedSession
from brokerwise.runtime.tokens import Keys, Role
from brokerwise.runtime.wire.requests import request

PLANNED = Seed(
    (SeedBroker("b0", capacity=500), SeedBroker("b1", capacity=300)),
    "plan",
    kind="provision",
    plan="out/plan",
    digest="abc",
    sessions=(
        SeedSession("ann", "b0", ("news", "sport")),
        SeedSession("ann", "b1", ("art",)),
        SeedSession("ben", "b1", ("art",)),
    ),
    rates={"news": 10, "sport": 5, "art": 1},
    steps={"news": "spin:5"},
    period_seconds=60,
)
PART = OverlayPart(
    (Axis("x", (0.0, 0.5, 1.0)),), (Branch("b0", "subchannel/0", ("b1",)),)
)
OVERLAY = Seed(
    (SeedBroker("b0"), SeedBroker("b1")),
    "plan",
    kind="overlay",
    sessions=(SeedSession("ann", "b0", ("subchannel/0",)),),
    rates={"subchannel/0": 3},
    overlay={"b0": PART, "b1": PART},
)


def test_a_broker_that_registers_learns_all_that_it_needs(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, PLANNED) as fleet,
            broker("b0", fleet) as b0,
        ):
            await b0.join(fleet, "news")
            async with broker("b1", fleet) as b1:
                found = b1.configuration
                assert found.epoch > b0.epoch
                assert (found.lease_seconds, found.heartbeat_seconds) == (3, 0.75)
                here = {"b0": b0.url, "b1": b1.url}
                assert {a.broker: a.url for a in found.brokers} == here
                assert [r.topic for r in found.routes] == ["news"]
                assert found.steps == {"news": "spin:5"}
                assert found.overlay is None

    run(work())


def test_a_broker_of_an_overlay_gets_its_part(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, OVERLAY) as fleet,
            broker("b1", fleet) as b1,
        ):
            assert b1.configuration.overlay == PART
            found = await fleet.done("/subchannels", token=token("ann"))
            assert found == {"axes": [{"attribute": "x", "edges": [0.0, 0.5, 1.0]}]}

    run(work())


def test_a_heartbeat_is_answered_with_who_is_there_and_shown(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            broker("b0", fleet) as b0,
        ):
            answer = await b0.beat(fleet)
            here = {"broker": "b0", "url": b0.url}
            assert answer == {"lost": False, "brokers": [here]}
            shown = await fleet.broker("b0")
            assert shown["state"] == "up"
            assert (shown["received"], shown["delivered"]) == (3, 4)
            assert (shown["sessions"], shown["topics"]) == (1, 2)
            assert shown["load_per_second"] == 1.5

    run(work())


def test_a_heartbeat_of_an_old_epoch_or_of_a_stranger_is_told_so(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            broker("b0", fleet) as b0,
        ):
            old = b0.configuration
            await b0.register(fleet)
            assert (await b0.beat(fleet))["lost"] is False
            b0.configuration = old
            assert (await b0.beat(fleet))["lost"] is True
            b0.name = "stranger"
            assert (await b0.beat(fleet))["lost"] is True

    run(work())


def test_joining_tells_those_that_carry_the_topic_and_brings_their_cursors(
    tmp_path: Path,
) -> None:
    async def work() -> None:
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

    run(work())


def test_joining_again_changes_nothing_and_brings_the_cursors_again(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            await b0.join(fleet, "news")
            b0.positions = [("news", "s", 1, 5)]
            first = await b1.join(fleet, "news")
            assert await b1.join(fleet, "news") == first

    run(work())


def test_leaving_a_topic_tells_all_but_the_only_one_stays(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            await b0.join(fleet, "news")
            await b1.join(fleet, "news")
            answer = await b1.join(fleet, leave=("news", "never"))
            (route,) = answer["routes"]
            assert [a["broker"] for a in route["brokers"]] == ["b0"]
            await until(lambda: b0.members("news") == ["b0"])
            await until(lambda: b1.members("news") == ["b0"])
            alone = await b0.join(fleet, leave=("news",))
            assert alone["routes"] == [route]

    run(work())


def test_joining_under_an_old_epoch_is_refused(tmp_path: Path) -> None:
    async def work() -> None:
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

    run(work())


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


def test_a_topic_that_nobody_carries_is_given_to_a_broker_that_is_told(
    tmp_path: Path,
) -> None:
    async def work() -> None:
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

    run(work())


def test_with_a_plan_only_its_topics_are_known_and_routes_may_be_empty(
    tmp_path: Path,
) -> None:
    async def work() -> None:
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
            assert topics == {"topics": {"art": 1, "news": 10, "sport": 5}}

    run(work())


def test_a_user_gets_the_same_token_each_time_and_is_placed_by_distance(
    tmp_path: Path,
) -> None:
    places = (SeedBroker("b0", None, 0.0, 0.0), SeedBroker("b1", None, 9.0, 0.0))

    async def work() -> None:
        async with (
            running(tmp_path, Seed(places, "nearest")) as fleet,
            broker("b0", fleet),
            broker("b1", fleet) as b1,
        ):
            ann = {"user": "ann", "x": 8.0, "y": 1.0}
            first = await fleet.done("/registeruser", ann)
            assert first == await fleet.done("/registeruser", {"user": "ann"})
            assert first == {"user": "ann", "token": token("ann")}
            for _ in range(2):
                found = await fleet.done(
                    "/requestbroker", {"user": "ann", "topics": ["a"]}, first["token"]
                )
                place = {"broker": "b1", "url": b1.url, "topics": None}
                assert found == {"sessions": [place], "unserved": []}
            half = await fleet.call("/registeruser", {"user": "ben", "x": 1.0})
            assert half[0] == 422

    run(work())


def test_with_a_plan_a_user_is_sent_where_its_pairs_are(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, PLANNED) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            everything = await fleet.done("/requestbroker", {"user": "ann"})
            assert everything["sessions"] == [
                {"broker": "b0", "url": b0.url, "topics": ["news", "sport"]},
                {"broker": "b1", "url": b1.url, "topics": ["art"]},
            ]
            some = await fleet.done(
                "/requestbroker", {"user": "ann", "topics": ["news", "chess"]}
            )
            assert some["sessions"] == [
                {"broker": "b0", "url": b0.url, "topics": ["news"]}
            ]
            assert some["unserved"] == ["chess"]
            nobody = await fleet.done(
                "/requestbroker", {"user": "zoe", "topics": ["news"]}
            )
            assert nobody == {"sessions": [], "unserved": ["news"]}

    run(work())


def test_while_no_broker_is_up_nobody_can_be_placed(tmp_path: Path) -> None:
    async def work() -> None:
        for folder, seed in (("a", plain_seed(1)), ("b", PLANNED), ("c", OVERLAY)):
            async with running(tmp_path / folder, seed) as fleet:
                status, content = await fleet.call("/requestbroker", {"user": "ann"})
                assert status == 503
                assert "up" in content["error"]

    run(work())


def test_moves_are_refused_that_make_no_sense(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(3), chores=False) as fleet,
            broker("b0", fleet),
            broker("b1", fleet),
        ):
            await fleet.done("/requestbroker", {"user": "ann"})
            move = {"user": "ann", "from": "b1", "to": "b0"}
            for change, expected in (
                ({"from": "b9"}, 404),
                ({"to": "b9"}, 404),
                ({"user": "zoe"}, 404),
                ({"from": "b0"}, 409),
                ({"to": "b2"}, 409),
                ({"to": "b1"}, 409),
                ({"to": ""}, 422),
            ):
                status, content = await fleet.call("/moves", move | change)
                assert status in (expected, 404), (change, content)
            begun = await fleet.done("/moves", move)
            assert begun == move | {"id": 1, "state": "requested", "reason": ""}
            assert (await fleet.call("/moves", move))[0] == 409
            assert await fleet.done("/moves/1") == begun
            assert (await fleet.call("/moves/2"))[0] == 404
            assert (await fleet.call("/moves/0"))[0] == 422
            assert (await fleet.call("/moves/x"))[0] == 422
            assert await fleet.done("/moves?state=requested&limit=5") == {
                "moves": [begun]
            }
            assert await fleet.done("/moves?state=done") == {"moves": []}
            assert (await fleet.call("/moves?state=odd"))[0] == 422
            assert (await fleet.call("/moves?limit=0"))[0] == 422

    run(work())


def test_an_overlay_refuses_moves_and_drains(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, OVERLAY) as fleet,
            broker("b0", fleet),
            broker("b1", fleet),
        ):
            for path, body in (
                ("/moves", {"user": "ann", "from": "b0", "to": "b1"}),
                ("/drain", {"broker": "b0"}),
            ):
                status, content = await fleet.call(path, body)
                assert status == 409
                assert content["error"].startswith("an overlay plan fixes")

    run(work())


def test_drains_are_refused_that_cannot_be(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet),
        ):
            await fleet.done("/requestbroker", {"user": "ann"})
            for body, expected in (
                ({"broker": "b9"}, 404),
                ({"broker": "b1"}, 409),
                ({"broker": "b0"}, 409),
                ({"broker": "b0", "then": "dance"}, 422),
            ):
                assert (await fleet.call("/drain", body))[0] == expected
            assert (await fleet.call("/activate", {"broker": "b9"}))[0] == 404
            assert (await fleet.call("/activate", {"broker": "b1"}))[0] == 409
            assert await fleet.done("/activate", {"broker": "b0"}) == {}

    run(work())


def test_status_says_what_the_fleet_was_made_from(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, PLANNED) as fleet,
            broker("b0", fleet) as b0,
        ):
            found = await fleet.done("/status")
            names = ("kind", "plan", "digest", "placement", "period_seconds")
            assert [found[name] for name in names] == [
                *("provision", "out/plan", "abc", "plan", 60)
            ]
            up, absent = found["brokers"]
            assert (up["state"], up["url"], up["capacity"]) == ("up", b0.url, 500)
            assert abs(up["since"] - time.time()) < 60
            assert (absent["state"], absent["epoch"]) == ("lost", 0)
            assert set(found["moves"]) == {
                *("requested", "accepted", "done", "declined", "failed")
            }

    run(work())


def test_metrics_are_in_the_format_of_prometheus(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            broker('b"0\\', fleet) as odd,
        ):
            await odd.beat(fleet)
            answer = await request("GET", f"{fleet.url}/metrics", token=OPERATOR)
            lines = answer.body.decode().splitlines()
            assert 'brokerwise_brokers{state="up"} 1' in lines
            assert 'brokerwise_brokers{state="lost"} 1' in lines
            assert 'brokerwise_broker_load{broker="b\\"0\\\\"} 1.5' in lines
            assert answer.content_type.startswith("text/plain")

    run(work())


PATHS = {
    "/registerbroker": "broker",
    "/heartbeat": "broker",
    "/leaving": "broker",
    "/join": "broker",
    "/registeruser": "operator",
    "/requestbroker": "user operator",
    "/moves": "operator",
    "/drain": "operator",
    "/activate": "operator",
    "/routes": "user broker operator",
}
PAGES = {
    "/moves": "operator",
    "/moves/1": "operator",
    "/status": "operator",
    "/topics": "operator",
    "/metrics": "operator",
    "/subchannels": "user broker operator",
}
TOKENS = {"user": token("ann"), "broker": BROKER, "operator": OPERATOR}


def test_who_has_no_token_or_the_wrong_one_gets_nothing_more(tmp_path: Path) -> None:
    calls: list[tuple[str, Any, str]] = [(p, {}, r) for p, r in PATHS.items()]
    calls += [(p, None, r) for p, r in PAGES.items()]

    async def work() -> None:
        async with running(tmp_path, plain_seed(1)) as fleet:
            for path, body, roles in calls:
                for bad in ("", "x", OPERATOR[:-1], "operator.b3A.00"):
                    status, content = await fleet.call(path, body, token=bad)
                    assert (status, set(content)) == (401, {"error"})
                for role, good in TOKENS.items():
                    answer = await request(
                        "GET" if body is None else "POST",
                        fleet.url + path,
                        body=None if body is None else b"not even JSON",
                        token=good,
                    )
                    assert (answer.status == 403) is (role not in roles.split())

    run(work())


def test_a_user_asks_only_for_itself(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            broker("b0", fleet),
        ):
            body = {"user": "ben"}
            assert (await fleet.call("/requestbroker", body, token=token("ann")))[
                0
            ] == 403
            assert (await fleet.call("/requestbroker", body, token=token("ben")))[
                0
            ] == 200
            assert (await fleet.call("/requestbroker", body))[0] == 200

    run(work())


def test_health_docs_and_description_are_open_and_load_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1)) as fleet:
            health = await request("GET", f"{fleet.url}/health")
            assert json.loads(health.body) == {"status": "up"}
            description = await request("GET", f"{fleet.url}/openapi.json")
            paths = json.loads(description.body)["paths"]
            assert set(PATHS) | {"/moves/{id}", "/status"} <= set(paths)
            page = await request("GET", f"{fleet.url}/docs")
            assert page.content_type.startswith("text/html")
            text = page.body.decode()
            assert "<script" not in text
            assert "http://" not in text
            assert "https://" not in text
            assert all(path in text for path in paths)

    run(work())


BAD_BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"{}",
    b"\xff\xfe\x00",
    b'{"user": 5}',
    b'{"user": ""}',
    b'{"user": "a\\u0000b"}',
    b'{"user": "\\ud800"}',
    b'{"user": "ann", "topics": "news"}',
    b'{"user": "ann", "topics": ["\\udfff"]}',
    b'{"user": "ann", "topics": ["a\\nb"]}',
    b'{"user": "ann", "topics": [""]}',
    b'{"user": "ann", "topics": [null]}',
    b'{"user": "' + b"x" * 257 + b'"}',
    b'{"user": "' + "é".encode() * 129 + b'"}',
    b'{"user": ' + b"9" * 5000 + b"}",
    b"[" * 200_000,
    b'{"user": "ann", "topics": ['
    + b",".join([b'"a"'] * (MAX_TOPICS_PER_FRAME + 1))
    + b"]}",
]


def test_a_bad_body_is_refused_with_a_reason(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            for body in BAD_BODIES:
                url = f"{fleet.url}/requestbroker"
                answer = await request("POST", url, body=body, token=OPERATOR)
                assert answer.status == 422, body[:40]
                assert json.loads(answer.body)["error"]

    run(work())


@pytest.mark.parametrize(
    ("who", "limit"), [(OPERATOR, MAX_FRAME_BYTES), (BROKER, MAX_BROKER_BODY_BYTES)]
)
def test_a_body_that_is_too_long_is_not_read(
    tmp_path: Path, who: str, limit: int
) -> None:
    async def head(fleet: Running, extra: str) -> bytes:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(fleet.url.rsplit(":", 1)[1])
        )
        writer.write(
            f"POST /routes HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {who}\r\n"
            f"{extra}".encode()
        )
        try:
            return await reader.readline()
        finally:
            writer.transport.abort()

    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            told = f"Content-Length: {limit + 1}\r\n\r\n"
            assert b" 413 " in await head(fleet, told)
            piece = "x" * (limit + 1)
            untold = f"Transfer-Encoding: chunked\r\n\r\n{limit + 1:x}\r\n{piece}\r\n"
            assert b" 413 " in await head(fleet, untold)

    run(work())


def test_an_unknown_path_and_a_wrong_method_are_answered_alike(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            assert (await fleet.call("/nothing"))[0] == 404
            assert (await fleet.call("/nothing", token=""))[0] == 401
            status, content = await fleet.call("/drain")
            assert (status, set(content)) == (405, {"error"})

    run(work())


def test_a_token_of_another_fleet_is_no_good(tmp_path: Path) -> None:
    forged = Keys.of_secret(b"another fleet").token(Role.OPERATOR, "op")

    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            assert (await fleet.call("/status", token=forged))[0] == 401

    run(work())
