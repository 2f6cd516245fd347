"""The live page: what it costs the coordinator that somebody watches.

A real coordinator has a fleet of brokers that exist on paper: one process sends their
heartbeats, as often as brokers do, and answers for them when they are asked for their
topics. The processor time of the coordinator is read from /proc, over some seconds with
nobody watching and over some with one watcher who reads everything, in turn. Each topic
has a broker and a target. A JSON line with the shares of one core, their difference,
and the size of what a watcher is sent.

    python -m benchmarks.page [--brokers 100] [--topics 10000] [--seconds 20]
        [--repeats 3]
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from benchmarks.measuring import print_line

from brokerwise.runtime.coordinator.store import STATE_FILE, seed_store
from brokerwise.runtime.fleet.children import Program, running_child
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest, ask
from brokerwise.runtime.net.server import Connection, serve
from brokerwise.runtime.process.cpu_time import process_seconds
from brokerwise.runtime.process.launch import Launch
from brokerwise.runtime.protocol.fleet import BrokerConfiguration
from brokerwise.runtime.protocol.limits import HEARTBEAT_SECONDS
from brokerwise.runtime.protocol.seed import Seed, SeedBroker
from brokerwise.runtime.protocol.tokens import Keys, Role

AIM = "a watcher adds under 0.05 of a core at 100 brokers and 10,000 topics"
KEYS = Keys.of_secret(b"a secret of the benchmark")
TOKEN = KEYS.token(Role.BROKER, "a broker")
_HOST = "127.0.0.1"
_LONGEST_LINE = 64 << 20
_ASK_SECONDS = 30.0


@dataclass
class PaperBroker:
    """Says of its topics what a broker would."""

    name: str
    topics: list[str]
    url: str = ""
    epoch: int = 0
    beats: int = 0
    page: bytes = b""

    def __post_init__(self) -> None:
        counts = {"received": 9_000, "delivered": 81_000, "sessions": 9}
        rates = {"received_per_second": 12.5, "delivered_per_second": 112.5}
        latencies = {"p50_ms": 1.234, "p90_ms": 45.678, "p99_ms": 99.123}
        each = counts | rates | latencies
        content = {"broker": self.name, "topics": dict.fromkeys(self.topics, each)}
        self.page = msgspec.json.encode(content)

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        is_load = request.path == "/load"
        return HttpAnswer(200, self.page if is_load else b'{"cursors":[]}')

    def opened(self, c: Connection) -> None: ...
    def received(self, c: Connection, text: bytes) -> None: ...
    def closed(self, c: Connection) -> None: ...
    def overflowed(self, c: Connection) -> None: ...

    async def come(self, coordinator: str) -> None:
        """Register, and carry all its topics."""
        body = {"broker": self.name, "url": self.url, "pid": 1}
        found = await _tell(coordinator, "/registerbroker", body, BrokerConfiguration)
        self.epoch = found.epoch
        body = {"broker": self.name, "epoch": self.epoch, "topics": self.topics}
        await _tell(coordinator, "/join", body, dict[str, Any])

    async def beat(self, coordinator: str) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            self.beats += 1
            counts = {"received": 100 * self.beats, "delivered": 900 * self.beats}
            body = {"broker": self.name, "epoch": self.epoch, "sessions": 9, **counts}
            load = {"topics": len(self.topics), "load_per_second": 1333.3 + self.beats}
            await _tell(coordinator, "/heartbeat", body | load, dict[str, Any])


async def _tell(coordinator: str, path: str, body: object, kind: type[Any]) -> Any:
    return await ask(coordinator + path, body, kind, token=TOKEN, seconds=_ASK_SECONDS)


def paper_fleet(brokers: int, topics: int) -> tuple[Seed, list[PaperBroker]]:
    """Topics by turns on brokers, each with a target."""
    names = [f"b{number}" for number in range(brokers)]
    homes = {f"topic/{number}": names[number % brokers] for number in range(topics)}
    seed = Seed(
        tuple(SeedBroker(name, capacity=100_000) for name in names),
        "plan",
        kind="colocate",
        rates=dict.fromkeys(homes, 750),
        homes=homes,
        targets=dict.fromkeys(homes, 50.0),
        period_seconds=60,
    )
    carried: dict[str, list[str]] = {name: [] for name in names}
    for topic, home in homes.items():
        carried[home].append(topic)
    return seed, [PaperBroker(name, topics) for name, topics in carried.items()]


@dataclass
class Watched:
    """Sizes of the lines that a watcher was sent, by kind."""

    sizes: dict[str, list[int]] = field(default_factory=dict)

    async def read(self, coordinator: str) -> None:
        """Until cancelled. To HTTP/1.0 lines come as they are."""
        port = int(coordinator.rpartition(":")[2])
        reader, writer = await asyncio.open_connection(_HOST, port, limit=_LONGEST_LINE)
        token = KEYS.token(Role.OPERATOR, "operator")
        head = f"GET /watch HTTP/1.0\r\nAuthorization: Bearer {token}\r\n\r\n"
        try:
            writer.write(head.encode())
            await reader.readuntil(b"\r\n\r\n")
            while line := await reader.readline():
                kind = msgspec.json.decode(line)["kind"]
                self.sizes.setdefault(kind, []).append(len(line))
        finally:
            writer.transport.abort()

    def median(self, kind: str) -> int | None:
        found = self.sizes.get(kind)
        return round(statistics.median(found)) if found else None


@asynccontextmanager
async def running(
    seed: Seed, brokers: Sequence[PaperBroker]
) -> AsyncIterator[tuple[str, int]]:
    """The coordinator's address and process, once all brokers are there and beat."""
    async with AsyncExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        seed_store(state / STATE_FILE, seed)
        launch = Launch("coordinator", _HOST, 0, KEYS.as_json(), state=str(state))
        command = (sys.executable, "-m", "brokerwise.runtime.coordinator")
        program = Program(command, launch, "the coordinator", state / "coordinator.log")
        child = await stack.enter_async_context(running_child(program))
        for broker in brokers:
            serving = await serve(broker, host=_HOST, port=0)
            stack.push_async_callback(serving.close)
            broker.url = f"ws://{_HOST}:{serving.port}"
        beating = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = []
        for broker in brokers:  # one after the other, so beats are spread, too
            await broker.come(child.ready.url)
            tasks.append(beating.create_task(broker.beat(child.ready.url)))
        yield child.ready.url, child.pid
        for task in tasks:
            task.cancel()


async def share(pid: int, seconds: float) -> float:
    """Of one core, that a process uses."""
    loop = asyncio.get_running_loop()
    before, began = process_seconds(pid), loop.time()
    await asyncio.sleep(seconds)
    return (process_seconds(pid) - before) / (loop.time() - began)


async def measure(options: argparse.Namespace) -> None:
    seed, brokers = paper_fleet(options.brokers, options.topics)
    watched, without, with_one = Watched(), list[float](), list[float]()
    async with running(seed, brokers) as (coordinator, pid):
        await asyncio.sleep(options.seconds / 4)
        for _ in range(options.repeats):
            without.append(await share(pid, options.seconds))
            reading = asyncio.create_task(watched.read(coordinator))
            with_one.append(await share(pid, options.seconds))
            if reading.done():
                sys.exit("the watcher was sent away: a defect")
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    added = [b - a for a, b in zip(without, with_one, strict=True)]
    print_line(
        benchmark="page",
        brokers=options.brokers,
        topics=options.topics,
        core_share_unwatched=statistics.median(without),
        core_share_watched=statistics.median(with_one),
        core_share_added=statistics.median(added),
        added_spread=[round(min(added), 4), round(max(added), 4)],
        tick_bytes=watched.median("tick"),
        hello_bytes=watched.median("hello"),
        topics_bytes=watched.median("topics"),
        ticks=len(watched.sizes.get("tick", ())),
        aim=AIM,
        cores=os.cpu_count(),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--brokers", type=int, default=100)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=3)
    asyncio.run(measure(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
