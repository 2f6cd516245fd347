"""Every call of the HTTP API: what it answers, and when it cannot."""

import json
import time
from pathlib import Path

from tests.runtime.coordinator.fakes import (
    OPERATOR,
    broker,
    plain_seed,
    run,
    running,
    token,
)
from tests.runtime.coordinator.seeds import OVERLAY, PART, PLANNED

from brokerwise.runtime.net.http import request
from brokerwise.runtime.protocol.seed import Seed, SeedBroker


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
                assert status == expected, (change, content)
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


def test_health_docs_and_description_are_open_and_load_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1)) as fleet:
            health = await request("GET", f"{fleet.url}/health")
            assert json.loads(health.body) == {"status": "up"}
            description = await request("GET", f"{fleet.url}/openapi.json")
            paths = json.loads(description.body)["paths"]
            assert {"/registerbroker", "/balance/plan", "/metrics"} <= set(paths)
            assert len(paths) == 28
            page = await request("GET", f"{fleet.url}/docs")
            assert page.content_type.startswith("text/html")
            text = page.body.decode()
            assert "<script" not in text
            assert "http://" not in text
            assert "https://" not in text
            assert all(path in text for path in paths)

    run(work())
