"""Commands that need Spark, on the session that all tests share."""

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.golden.commands import Commands
from tests.golden.fleet import ask, command
from tests.golden.forms import steady
from tests.golden.golden import compare
from tests.runtime.coordinator.fakes import OPERATOR
from tests.runtime.data_cluster.clusters import cluster_in

pytestmark = pytest.mark.live

TINY = "latency measure --k 1 --configurations 1 --processing 1 --rate-each 100"
TINY += " --messages 10 --message-bytes 100B --longest 20"
FIRES = {"name": "fires", "kind": "append"}
COLUMNS = [{"name": "place", "type": "string"}, {"name": "size", "type": "long"}]
NEAR = "SELECT place, size AS burning FROM fires WHERE place = :place"


@contextmanager
def data_cluster(folder: Path, spark: SparkSession) -> Iterator[str]:
    """The URL of one that runs beside the test, in a thread of its own."""
    urls: list[str] = []
    ready, loop = threading.Event(), asyncio.new_event_loop()
    leave = asyncio.Event()

    async def serve() -> None:
        async with cluster_in(folder, spark) as cluster:
            urls.append(cluster.url)
            ready.set()
            await leave.wait()

    def work() -> None:
        try:
            loop.run_until_complete(serve())
        finally:
            loop.close()
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert ready.wait(30) and urls, "it did not come up"
        yield urls[0]
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(leave.set)
        thread.join()


def write_fleet_file(state: Path, url: str) -> None:
    """As of a fleet whose `up` is this process; nobody is to ask its coordinator."""
    begun = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    tokens = {"operator_token": OPERATOR, "broker_token": "", "secret": "00"}
    ours = {"pid": os.getpid(), "started": int(begun), "format": 1}
    about = {"coordinator": "http://127.0.0.1:9", "data_cluster": url}
    state.mkdir()
    (state / "fleet.json").write_text(json.dumps({**tokens, **ours, **about}))


@pytest.mark.long  # its first query takes Spark as long as everything else here
def test_a_channel_is_made(tmp_path: Path, spark: SparkSession) -> None:
    state, query, bad = tmp_path / "fleet", tmp_path / "near.sql", tmp_path / "bad.sql"
    query.write_text(NEAR)
    bad.write_text('SELECT place\nFROM fires\nWHERE place = reflect("a", "b")\n')
    say = Commands(state)
    made = "channel create near --period 1h --parameter place:string --sql"
    with data_cluster(tmp_path / "data", spark) as url:
        write_fleet_file(state, url)
        ask(f"{url}/createdataset", OPERATOR, {**FIRES, "columns": COLUMNS})
        say(made, str(query))
        say("channel create bad --period 1h --sql", str(bad), note="not allowed")
        sizes: dict[str, Any] = {"name": "sizes", "sql": "SELECT size FROM fires"}
        answer = ask(f"{url}/createchannel", OPERATOR, {**sizes, "period": 3600.0})
        shown = ask(f"{url}/channels/sizes", OPERATOR)
    calls = {
        "POST /createchannel": {"status": answer.status, "answer": answer.json},
        "GET /channels/sizes": {"status": shown.status, "answer": steady(shown.json)},
    }
    compare("channel_create", {**say.noted, **calls})


def test_latencies_are_measured(tmp_path: Path, spark: SparkSession) -> None:
    say = Commands(tmp_path)
    said = command(*TINY.split(), "--out", str(tmp_path / "data"), "--json")
    say.note(f"{TINY} --json", "", said)
    compare("latency_measure", say.noted)
