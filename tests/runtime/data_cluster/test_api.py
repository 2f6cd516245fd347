"""The data cluster's HTTP API while Spark is not up: what it takes all the same."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.runtime.coordinator.fakes import BROKER, OPERATOR, run, token, until
from tests.runtime.data_cluster.clusters import (
    FIRES,
    HERE,
    NEAR,
    Cluster,
    broker_of,
    cluster_in,
)

from brokerwise.runtime.net.http import request
from brokerwise.runtime.protocol.limits import MAX_FEED_BYTES, MAX_FRAME_BYTES

FIRE = b'{"place": "here", "size": 3}\n'


@asynccontextmanager
async def with_channel(folder: Path) -> AsyncIterator[Cluster]:
    """A data cluster with a dataset and a channel that reads it."""
    async with cluster_in(folder) as cluster:
        await cluster.done("/createdataset", FIRES)
        cluster.make_channel()
        yield cluster


async def test_datasets_are_made_fed_shown_and_dropped(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        assert await cluster.done("/createdataset", FIRES) == {}
        body = FIRE + b'{"place": "there", "size": "big"}\n' + FIRE
        status, fed = await cluster.feed("fires", body, token=token("ann"))
        assert (status, fed["rows"], fed["rejected"]) == (200, 2, 1)
        assert fed["reasons"][0]["line"] == 2
        assert "size" in fed["reasons"][0]["reason"]
        shown = await cluster.done("/datasets/fires")
        assert (shown["rows"], shown["segments"], shown["fed"]) == (2, 1, 2)
        assert [r["line"] for r in shown["last_rejected"]] == [2]
        (listed,) = (await cluster.done("/datasets"))["datasets"]
        assert listed == shown | {"last_rejected": []}
        assert await cluster.done("/dropdataset", {"name": "fires"}) == {}
        assert (await cluster.done("/datasets"))["datasets"] == []
        assert list((tmp_path / "segments").iterdir()) == []


async def test_a_batch_is_fed_once_also_after_a_restart(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        await cluster.done("/createdataset", FIRES)
        feeds = (cluster.feed("fires", FIRE, "one") for _ in range(3))
        answers = [fed for _, fed in await asyncio.gather(*feeds)]
        assert sorted(fed["repeated"] for fed in answers) == [False, True, True]
    async with cluster_in(tmp_path) as cluster:
        _, fed = await cluster.feed("fires", FIRE, "one")
        assert (fed["rows"], fed["repeated"]) == (1, True)
        assert (await cluster.done("/datasets/fires"))["rows"] == 1


async def test_results_go_from_a_run_to_the_broker_that_pulls_them(
    tmp_path: Path,
) -> None:
    async with with_channel(tmp_path) as cluster, broker_of(cluster) as broker:
        answer = await broker.subscribe("ann")
        (given,) = answer["given"]
        assert (given["start"], given["last"]) == (0, 0)
        number = given["subscription"]
        cluster.commit({number: ['{"size":1}', '{"size":2}']})
        await until(lambda: broker.news() == [number])
        assert broker.heard[0].channelName == "near"
        assert broker.heard[0].channelExecutionEpochTime == 6.0
        (pulled,) = (await broker.pull(number))["pulled"]
        assert [r["data"] for r in pulled["results"]] == [{"size": 1}, {"size": 2}]
        assert pulled["results"][0]["at"] == 6000.0
        assert (pulled["after"], pulled["last"]) == (0, 2)
        seen = [{"user": "ann", "subscription": number, "seq": 2}]
        await broker.done("/acknowledge", seen=seen)
        (again,) = (await broker.subscribe("ann"))["given"]
        assert (again["start"], again["last"]) == (2, 2)
        shown = await cluster.done("/channels/near")
        assert (shown["subscriptions"], shown["frontends"]) == (1, 1)
        assert (shown["runs"], shown["last_runs"][0]["rows"]) == (1, 2)
        assert (shown["parameters"]) == [{"name": "place", "type": "string"}]


async def test_a_broker_that_was_down_is_told_when_it_is_back(tmp_path: Path) -> None:
    async with with_channel(tmp_path) as cluster:
        async with broker_of(cluster) as broker:
            (given,) = (await broker.subscribe("ann"))["given"]
            number = given["subscription"]
            broker.refusing = True
            cluster.commit({number: ["{}"]})
            await until(lambda: broker.refusals > 1)
            broker.refusing = False
            await until(lambda: broker.news() == [number])
            await broker.pull(number)
        cluster.commit({number: ["{}"]})
        port = int(broker.url.rpartition(":")[2])
        async with broker_of(cluster, port=port) as same:
            await until(lambda: same.news() == [number])
            (pulled,) = (await same.pull(number, 1))["pulled"]
            assert (len(pulled["results"]), pulled["last"]) == (1, 2)
        cluster.commit({number: ["{}"]})
        async with broker_of(cluster, epoch=2) as new:
            (given,) = (await new.subscribe("ann"))["given"]
            assert (given["start"], given["last"]) == (0, 3)
            cluster.commit({number: ["{}"]})
            await until(lambda: new.news() == [number])


async def test_after_a_restart_brokers_are_told_what_their_users_have_not_had(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        async with with_channel(tmp_path) as cluster:
            broker = await stack.enter_async_context(broker_of(cluster))
            (given,) = (await broker.subscribe("ann"))["given"]
            first = await broker.create()
            assert await broker.create() == first
            broker.refusing = True
            cluster.commit({given["subscription"]: ["{}"]})
        broker.refusing = False
        async with cluster_in(tmp_path) as again:
            await until(lambda: broker.news() == [given["subscription"]])
            broker.cluster = again
            (same,) = (await broker.subscribe("ann"))["given"]
            assert same["subscription"] == given["subscription"]
            assert await broker.create() != first


async def test_a_broker_is_told_of_a_dropped_channel_and_finds_it_gone(
    tmp_path: Path,
) -> None:
    async with with_channel(tmp_path) as cluster, broker_of(cluster) as broker:
        (given,) = (await broker.subscribe("ann"))["given"]
        number = given["subscription"]
        cluster.commit({number: ["{}"]})
        await broker.pull(number)
        await until(lambda: broker.news() == [number])
        refused = await cluster.call("/dropdataset", {"name": "fires"})
        assert refused[0] == 409
        assert "near" in refused[1]["error"]
        await cluster.done("/dropchannel", {"name": "near"})
        await until(lambda: broker.news() == [number, number])
        assert await broker.pull(number) == {"pulled": [], "gone": [number]}
        assert list((tmp_path / "results").iterdir()) == []
        await cluster.done("/dropdataset", {"name": "fires"})
        (refusal,) = (await broker.subscribe("ann"))["refused"]
        assert refusal["reason"] == "there is no channel 'near'"


async def test_subscriptions_that_cannot_be_given_are_refused_one_by_one(
    tmp_path: Path,
) -> None:
    async with with_channel(tmp_path) as cluster, broker_of(cluster) as broker:
        topics = ["news", "channel/near", "channel/near?size=1", HERE]
        wanted = [{"user": "ann", "topic": topic} for topic in topics]
        answer = await broker.done("/subscribe", wanted=wanted)
        assert [g["topic"] for g in answer["given"]] == [HERE]
        reasons = {r["topic"]: r["reason"] for r in answer["refused"]}
        assert list(reasons) == topics[:3]
        assert "place" in reasons["channel/near"]
        assert "size" in reasons["channel/near?size=1"]


async def test_a_broker_of_an_old_epoch_or_unknown_is_refused(tmp_path: Path) -> None:
    lists = {"subscribe": "wanted", "unsubscribe": "ended", "results": "pulls"}
    calls: list[tuple[str, dict[str, Any]]] = [
        (f"/{path}", {name: []}) for path, name in lists.items()
    ]
    calls.append(("/acknowledge", {}))

    async with (
        cluster_in(tmp_path) as cluster,
        broker_of(cluster, epoch=7) as broker,
    ):
        for path, content in calls:
            await broker.done(path, **content)
            for epoch in (6, 8):
                broker.epoch = epoch
                status, answer = await broker.say(path, **content)
                assert status == 409
                assert f"found epoch {epoch}, expected its newest, 7" in str(answer)
            broker.epoch = 7
        broker.epoch = 8
        await broker.create()
        broker.epoch = 7
        assert (await broker.say("/createbroker", url=broker.url))[0] == 409
        broker.name = "stranger"
        for path, content in calls:
            status, answer = await broker.say(path, **content)
            assert status == 409
            assert "createbroker" in answer["error"]


async def test_another_fleet_on_the_same_data_begins_with_new_epochs(
    tmp_path: Path,
) -> None:
    async with (
        with_channel(tmp_path) as cluster,
        broker_of(cluster, epoch=9) as broker,
    ):
        await broker.subscribe("ann")
    async with cluster_in(tmp_path, fleet="theirs") as again:
        status = await again.done("/status")
        assert (status["frontends"], status["online"]) == (1, 0)
        async with broker_of(again, epoch=1) as broker:
            await broker.subscribe("ann")
            assert (await again.done("/status"))["online"] == 1


async def test_it_is_said_who_may_ask_for_what(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        await cluster.done("/createdataset", FIRES)
        for path in ("/datasets", "/channels", "/status", "/metrics"):
            await refused(cluster, path, None, "", 401)
            await refused(cluster, path, None, token("ann"), 403)
            await refused(cluster, path, None, BROKER, 403)
        for path in ("/createdataset", "/createchannel", "/dropchannel"):
            await refused(cluster, path, {}, token("ann"), 403)
        for path in ("/createbroker", "/subscribe", "/results", "/acknowledge"):
            await refused(cluster, path, {}, OPERATOR, 403)
            await refused(cluster, path, {}, token("ann"), 403)
        for name in (token("ann"), BROKER, OPERATOR):
            assert (await cluster.feed("fires", FIRE, token=name))[0] == 200
        assert (await cluster.feed("fires", FIRE, token="ann"))[0] == 401
        assert (await cluster.done("/datasets/fires"))["rows"] == 3
        for path in ("/health", "/docs", "/openapi.json"):
            assert (await request("GET", cluster.url + path)).status == 200


async def test_what_is_not_there_or_there_already_is_said(tmp_path: Path) -> None:
    async with with_channel(tmp_path) as cluster:
        await refused(cluster, "/createdataset", FIRES, OPERATOR, 409)
        channel = {"name": "near", "sql": "SELECT 1", "period": 10}
        await refused(cluster, "/createchannel", channel, OPERATOR, 409)
        for path in ("/dropdataset", "/dropchannel"):
            await refused(cluster, path, {"name": "none"}, OPERATOR, 404)
        for path in ("/datasets/none", "/channels/none"):
            await refused(cluster, path, None, OPERATOR, 404)
        status, answer = await cluster.feed("none", FIRE)
        assert (status, answer["error"]) == (404, "there is no dataset 'none'")


async def test_definitions_that_cannot_be_used_are_refused_at_once(
    tmp_path: Path,
) -> None:
    bad: list[tuple[str, dict[str, Any], str]] = [
        ("dataset", {**FIRES, "kind": "heap"}, "kind"),
        ("dataset", {**FIRES, "columns": []}, "0 columns"),
        ("dataset", {**FIRES, "name": "a b"}, "a b"),
        ("dataset", {**FIRES, "key": "place"}, "key"),
        ("dataset", {**FIRES, "columns": 2 * list(FIRES["columns"])}, "twice"),
        ("channel", {"name": "c", "sql": "SELECT 1", "period": 0.1}, "period"),
        ("channel", {"name": "c", "sql": "", "period": 10}, "sql"),
        ("channel", {"name": "c", "sql": "x" * 20_001, "period": 10}, "sql"),
        ("channel", {"name": "c", "sql": "x", "period": float("nan")}, "JSON"),
    ]

    async with cluster_in(tmp_path) as cluster:
        for what, body, words in bad:
            said = await refused(cluster, f"/create{what}", body, OPERATOR, 422)
            assert words in said
        status = await cluster.done("/status")
        assert (status["datasets"], status["channels"]) == (0, 0)


async def test_what_brokers_say_is_checked_field_by_field(tmp_path: Path) -> None:
    bad: list[tuple[str, dict[str, Any]]] = [
        ("createbroker", {"url": "ws://127.0.0.1:1"}),
        ("createbroker", {"url": "http://127.0.0.1:1/path"}),
        ("createbroker", {"url": "http://127.0.0.1:1", "epoch": -1}),
        ("subscribe", {"wanted": [{"user": "", "topic": HERE}]}),
        ("subscribe", {"wanted": [{"user": "a", "topic": HERE, "cursor": [1]}]}),
        ("subscribe", {"wanted": [{"user": "a", "topic": HERE, "cursor": [1, -1]}]}),
        ("subscribe", {"wanted": [{"user": "a", "topic": HERE, "cursor": ["1", 1]}]}),
        ("unsubscribe", {"ended": [{"user": "a\n", "topic": HERE}]}),
        ("acknowledge", {"seen": [{"user": "a", "subscription": 1, "seq": 1e300}]}),
        ("results", {"pulls": [{"subscription": 1 << 70, "after": 0}]}),
    ]

    async with cluster_in(tmp_path) as cluster, broker_of(cluster):
        for path, content in bad:
            body = {"broker": "b0", "epoch": 1, **content}
            await refused(cluster, f"/{path}", body, BROKER, 422)


def test_feeds_may_be_larger_than_other_bodies_but_not_without_end(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with cluster_in(tmp_path) as cluster:
            await cluster.done("/createdataset", FIRES)
            body = FIRE * (2 * MAX_FRAME_BYTES // len(FIRE))
            status, fed = await cluster.feed("fires", body, token=token("ann"))
            assert (status, fed["rows"]) == (200, body.count(b"\n"))
            status, answer = await cluster.feed("fires", b" " * (MAX_FEED_BYTES + 1))
            assert status == 413
            assert f"{MAX_FEED_BYTES:,}" in answer["error"]
            large = {"name": "fires", "note": "x" * MAX_FRAME_BYTES}
            await refused(cluster, "/dropdataset", large, OPERATOR, 413)

    run(work(), debug=False)


async def test_a_channel_waits_for_spark_and_everything_else_goes_on(
    tmp_path: Path,
) -> None:
    async with cluster_in(tmp_path) as cluster:
        await cluster.done("/createdataset", FIRES)
        columns = [{"name": p.name, "type": p.type} for p in NEAR.parameters]
        body = {"name": "c", "sql": NEAR.sql, "parameters": columns, "period": 10}
        waiting = asyncio.create_task(cluster.call("/createchannel", body))
        assert (await cluster.feed("fires", FIRE))[0] == 200
        status = await cluster.done("/status")
        assert (status["spark"], status["master"]) == ("starting", "local[2]")
        assert status["spark_cpu_seconds"] > 0
        assert not waiting.done()
        waiting.cancel()
        metrics = await request("GET", f"{cluster.url}/metrics", token=OPERATOR)
        lines = metrics.body.decode().splitlines()
        assert "brokerwise_data_segments 1" in lines
        assert "brokerwise_data_spark_up 0" in lines


async def test_users_who_are_away_too_long_are_forgotten(tmp_path: Path) -> None:
    async with with_channel(tmp_path) as cluster, broker_of(cluster) as broker:
        (given,) = (await broker.subscribe("ann"))["given"]
        await broker.subscribe("ben")
        offline = [{"user": user, "topic": HERE} for user in ("ann", "ben")]
        await broker.done("/acknowledge", offline=offline)
        assert (await cluster.done("/status"))["online"] == 0
        with cluster.store.change() as sql:
            sql.execute("UPDATE frontends SET seen = 0 WHERE user = 'ben'")
        cluster.cluster.brokers.forget()
        status = await cluster.done("/status")
        assert (status["subscriptions"], status["frontends"]) == (1, 1)
        with cluster.store.change() as sql:
            sql.execute("UPDATE frontends SET seen = 0")
        cluster.cluster.brokers.forget()
        assert (await cluster.done("/status"))["subscriptions"] == 0
        (anew,) = (await broker.subscribe("ann"))["given"]
        assert anew["subscription"] > given["subscription"]


async def test_what_a_user_wants_no_more_goes_when_nobody_wants_it(
    tmp_path: Path,
) -> None:
    async with with_channel(tmp_path) as cluster, broker_of(cluster) as broker:
        await broker.subscribe("ann")
        await broker.subscribe("ben")
        for user, left in (("ann", 1), ("zoe", 1), ("ben", 0)):
            ended = [{"user": user, "topic": HERE}]
            await broker.done("/unsubscribe", ended=ended)
            assert (await cluster.done("/status"))["subscriptions"] == left


async def refused(
    cluster: Cluster, path: str, body: Any, caller: str, expected: int
) -> str:
    """What is said about it."""
    content = None if body is None else json.dumps(body).encode()
    answer = await request(
        "GET" if body is None else "POST",
        cluster.url + path,
        body=content,
        token=caller,
        seconds=20,
    )
    assert answer.status == expected, answer.body
    return str(json.loads(answer.body)["error"])
