"""Channels of a data cluster, on Spark: made, run, told, pulled, dropped."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession
from tests.runtime.coordinator.fakes import run, until
from tests.runtime.data_cluster.clusters import (
    FIRES,
    NEAR,
    Cluster,
    broker_of,
    cluster_in,
)

from brokerwise.runtime.data_cluster import cluster as cluster_module
from brokerwise.runtime.data_cluster.segments import Retention

QUICK = msgspec.to_builtins(msgspec.structs.replace(NEAR, period=1.0))


def test_a_channel_answers_each_period_and_goes_on_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    async def work() -> None:
        async with cluster_in(tmp_path, spark) as cluster:
            await cluster.done("/createdataset", FIRES)
            await cluster.done("/createchannel", QUICK)
            assert (await cluster.call("/createchannel", QUICK))[0] == 409
            async with broker_of(cluster) as broker:
                (given,) = (await broker.subscribe("ann"))["given"]
                await feed(cluster, '{"place": "here", "size": 1}')
                await feed(cluster, '{"place": "there", "size": 2}')
                await until(lambda: broker.news() == [given["subscription"]], 60)
                assert await pulled(broker, given) == [{"place": "here", "size": 1}]
        async with (
            cluster_in(tmp_path, spark) as cluster,
            broker_of(cluster, epoch=2) as broker,
        ):
            (again,) = (await broker.subscribe("ann"))["given"]
            assert again == given | {"last": 1}
            await feed(cluster, '{"place": "here", "size": 3}')
            await until(lambda: broker.news() == [given["subscription"]], 60)
            sizes = [data["size"] for data in await pulled(broker, given)]
            assert sizes == [1, 3]
            shown = await cluster.done("/channels/near")
            kinds = {column["name"]: column["type"] for column in shown["columns"]}
            assert kinds == {"place": "string", "size": "bigint"}
            assert (shown["datasets"], shown["set_aside"]) == (["fires"], [])
            assert [r["rows"] for r in shown["last_runs"] if r["rows"]] == [1, 1]
            await cluster.done("/dropchannel", {"name": "near"})
            assert (await cluster.done("/channels"))["channels"] == []

    run(work(), 240, debug=False)


def test_sql_that_cannot_be_used_is_refused_with_the_place(
    spark: SparkSession, tmp_path: Path
) -> None:
    static = {**FIRES, "name": "shelters", "kind": "static"}

    async def work() -> None:
        async with cluster_in(tmp_path, spark) as cluster:
            await cluster.done("/createdataset", FIRES)
            await cluster.done("/createdataset", static)
            text = "SELECT place\nFROM fires\nWHERE reflect('a', 'b') = :place"
            reason, line, caret = (await refusal(cluster, text)).split("\n")[:3]
            assert "reflect" in reason
            assert line == text.split("\n")[2]
            assert caret.index("^") == line.index("reflect")
            assert "nowhere" in await refusal(
                cluster, "SELECT * FROM nowhere WHERE place = :place"
            )
            assert "append" in await refusal(
                cluster, "SELECT * FROM shelters WHERE place = :place"
            )
            assert (await cluster.done("/channels"))["channels"] == []

    run(work(), 120, debug=False)


async def test_it_tidies_again_after_a_disk_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole, tidied = Retention.tidy, asyncio.Event()
    failures = [OSError("no space"), sqlite3.OperationalError("full")]

    async def failing_first(retention: Retention) -> None:
        if failures:
            raise failures.pop()
        await whole(retention)
        tidied.set()

    monkeypatch.setattr(cluster_module, "TIDY_SECONDS", 0.01)
    monkeypatch.setattr(Retention, "tidy", failing_first)
    async with cluster_in(tmp_path):
        await tidied.wait()
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert warnings == [
        "what is old could not be removed: full",
        "what is old could not be removed: no space",
    ]


async def refusal(cluster: Cluster, text: str) -> str:
    status, answer = await cluster.call("/createchannel", {**QUICK, "sql": text})
    assert status == 422, answer
    return str(answer["error"])


async def feed(cluster: Cluster, line: str) -> None:
    status, answer = await cluster.feed("fires", line.encode())
    assert (status, answer["rows"]) == (200, 1)


async def pulled(broker: Any, given: dict[str, Any]) -> list[dict[str, Any]]:
    (found,) = (await broker.pull(given["subscription"]))["pulled"]
    return [result["data"] for result in found["results"]]
