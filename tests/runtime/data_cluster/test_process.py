"""The data cluster as a process of its own, with a Spark of its own."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.runtime.coordinator.fakes import KEYS, OPERATOR, Caller, run, until
from tests.runtime.data_cluster.clusters import (
    FIRES,
    HERE,
    NEAR,
    Broker,
    broker_of,
    cluster_in,
)

from brokerwise.runtime.net.http import request
from brokerwise.runtime.process.launch import Launch, Ready
from brokerwise.runtime.process.logs import LogFormat, LogSettings

QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


class Process(Caller):
    """Ready; `url` is where it listens."""

    def __init__(self, launch: Launch) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "brokerwise.runtime.data_cluster"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONASYNCIODEBUG": ""},
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(msgspec.json.encode(launch) + b"\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        super().__init__(msgspec.json.decode(line, type=Ready).url if line else "")
        self._log: str | None = None

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def wait(self) -> int:
        return self.child.wait(30)

    def close(self) -> str:
        """What it wrote to its log."""
        if self._log is None:
            self.child.kill()
            with self.child:
                assert self.child.stderr is not None
                self._log = self.child.stderr.read().decode()
        return self._log

    async def feed(self, place: str, batch: str) -> Any:
        body = b'{"place": "%s", "size": 1}\n' % place.encode()
        url = f"{self.url}/feed/fires?batch={batch}"
        answer = await request("POST", url, body=body, token=OPERATOR, seconds=20)
        assert answer.status == 200, answer.body
        return msgspec.json.decode(answer.body)

    async def create_channel(self) -> None:
        body = msgspec.json.encode(msgspec.structs.replace(NEAR, period=1.0))
        url = f"{self.url}/createchannel"
        answer = await request("POST", url, body=body, token=OPERATOR, seconds=90)
        assert answer.status == 200, answer.body


@contextmanager
def process_in(folder: Path, **changes: Any) -> Iterator[Process]:
    launch = Launch(
        name="data-cluster",
        host="127.0.0.1",
        port=0,
        keys=KEYS.as_json(),
        state=str(folder),
        master="local[2]",
        conf=QUICK,
    )
    process = Process(replace(launch, **changes))
    try:
        yield process
    finally:
        process.close()


def test_it_serves_before_spark_is_up_and_stops_in_good_order(tmp_path: Path) -> None:
    async def work() -> None:
        with process_in(tmp_path) as process:
            await process.done("/createdataset", FIRES)
            assert (await process.feed("here", "1"))["rows"] == 1
            assert (await process.done("/status"))["spark"] == "starting"
            process.child.send_signal(signal.SIGTERM)
            assert process.wait() == 0
            assert "Traceback" not in process.close()
        assert not (tmp_path / "data.sqlite-wal").exists()

    run(work(), 60)


def test_what_spark_says_when_it_cannot_start_is_said(tmp_path: Path) -> None:
    with process_in(tmp_path, master="here") as process:
        assert process.wait() == 3
        log = process.close()
        assert "error: --master: found 'here'" in log
        assert "Traceback" not in log


@pytest.mark.parametrize(
    "format", [LogFormat.JSON, pytest.param(LogFormat.TEXT, marks=pytest.mark.long)]
)
def test_a_segment_that_is_set_aside_is_a_line_in_the_log(
    tmp_path: Path, format: LogFormat
) -> None:
    async def work() -> None:
        async with cluster_in(tmp_path) as cluster, broker_of(cluster) as broker:
            await cluster.done("/createdataset", FIRES)
            cluster.make_channel(msgspec.structs.replace(NEAR, period=1.0))
            await broker.subscribe("ann")
            await cluster.feed("fires", b'{"place": "here", "size": 1}')
        (file,) = (tmp_path / "segments").iterdir()
        file.write_bytes(b"PAR1 but not a whole file PAR1")
        with process_in(tmp_path, log=LogSettings(format)) as process:

            async def is_set_aside() -> bool:
                return bool((await process.done("/status"))["set_aside"])

            while not await is_set_aside():
                await asyncio.sleep(0.1)
            lines = process.close().splitlines()
        (line,) = [line for line in lines if "is set aside" in line]
        said = "channel 'near': segment 1 is set aside: "
        if format is LogFormat.TEXT:
            assert f" ERROR data-cluster data_cluster.runs: {said}" in line
        else:
            found = msgspec.json.decode(line, type=dict[str, str])
            names = ("level", "process", "logger")
            values = [found[name] for name in names]
            assert values == ["error", "data-cluster", "data_cluster.runs"]
            assert found["message"].startswith(said)

    run(work(), 240)


@pytest.mark.long  # the emergency city kills one, too
def test_killed_and_started_again_it_repeats_nothing_and_loses_nothing(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        with process_in(tmp_path) as first:
            await first.done("/createdataset", FIRES)
            await first.create_channel()
            async with broker_of(first) as broker:
                (given,) = (await broker.subscribe("ann"))["given"]
                await first.feed("here", "1")
                await first.feed("elsewhere", "2")
                await until(lambda: broker.news() == [given["subscription"]], 60)
                assert await places(broker, given) == ["here"]
                seen = {"user": "ann", "subscription": given["subscription"], "seq": 1}
                await broker.done("/acknowledge", seen=[seen])
                await first.feed("here", "3")
                first.child.kill()
                first.wait()
                with process_in(tmp_path, port=first.port) as second:
                    assert second.url == first.url
                    assert (await second.feed("here", "3"))["repeated"]
                    await until(lambda: len(broker.news()) > 1, 90)
                    assert await places(broker, given) == ["here", "here"]
                    status = await second.done("/status")
                    assert (status["spark"], status["set_aside"]) == ("up", 0)
                    os.kill(java_of(second.child.pid), signal.SIGKILL)
                    assert second.wait() == 3
                    assert second.close().splitlines()[-1].endswith("Spark has ended")

    run(work(), 300)


async def places(broker: Broker, given: dict[str, Any]) -> list[str]:
    (pulled,) = (await broker.pull(given["subscription"]))["pulled"]
    assert given["topic"] == HERE
    return [result["data"]["place"] for result in pulled["results"]]


def java_of(pid: int) -> int:
    """Spark's JVM, which the process started."""
    folder = Path(f"/proc/{pid}/task")
    children = [text for t in folder.iterdir() for text in child_ids(t)]
    (java,) = [p for p in children if "java" in Path(f"/proc/{p}/comm").read_text()]
    return int(java)


def child_ids(thread: Path) -> list[str]:
    return (thread / "children").read_text().split()
