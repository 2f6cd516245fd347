"""A fleet of real processes, with users on it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.runtime.fleet.fakes import until

from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import Received
from brokerwise.runtime.fleet.joining import joined_broker, joining_settings
from brokerwise.runtime.fleet.operator import Operator, drain_broker, rolling_restart
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.supervisor import RunningFleet, running_fleet
from brokerwise.runtime.net.errors import UnreachableError

TOPICS = ("news", "sport", "weather")


class Reader:
    """A user that subscribes to all topics and keeps what it gets."""

    def __init__(self) -> None:
        self.events: list[object] = []

    async def read(self, client: Client) -> None:
        async for event in client.events():
            self.events.append(event)

    def has(self, count: int) -> bool:
        got = [e for e in self.events if isinstance(e, Received)]
        return len(got) >= count * len(TOPICS)

    def saw_everything_once_in_order(self, count: int) -> bool:
        got = [(e.topic, e.seq) if isinstance(e, Received) else e for e in self.events]
        expected = {topic: list(range(1, count + 1)) for topic in TOPICS}
        return expected == {
            topic: [e[1] for e in got if isinstance(e, tuple) and e[0] == topic]
            for topic in TOPICS
        } and len(got) == count * len(TOPICS)


@asynccontextmanager
async def readers(
    fleet: RunningFleet, names: Iterable[str]
) -> AsyncIterator[list[Reader]]:
    operator = Operator(fleet.file)
    async with AsyncExitStack() as stack:
        found, tasks = [], []
        for name in names:
            token = await operator.register(name)
            client = await stack.enter_async_context(
                Client(fleet.coordinator, name, token)
            )
            await client.subscribe(TOPICS)
            found.append(Reader())
            tasks.append(asyncio.create_task(found[-1].read(client)))
        try:
            yield found
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class Writer:
    """Publishes a message to every topic, again and again."""

    def __init__(self) -> None:
        self.count = 0
        self._over = asyncio.Event()

    async def write(self, client: Client) -> None:
        while not self._over.is_set():
            for topic in TOPICS:
                await client.publish(topic, self.count)
            self.count += 1
            await asyncio.sleep(0.005)
        await client.flush()

    async def finish(self, task: "asyncio.Task[None]") -> int:
        self._over.set()
        await task
        return self.count


async def test_brokers_come_and_go_under_traffic_and_nobody_misses_a_thing(
    tmp_path: Path,
) -> None:
    """One joins, one is drained, all are restarted."""

    said: list[str] = []
    async with running_fleet(
        seed_of_count(2), state=tmp_path, tell=said.append
    ) as fleet:
        operator = Operator(fleet.file)
        token = await operator.register("writer")
        names = [f"u{number}" for number in range(6)]
        async with (
            Client(fleet.coordinator, "writer", token) as client,
            readers(fleet, names) as found,
        ):
            writer = Writer()
            writing = asyncio.create_task(writer.write(client))
            joining = joined_broker(fleet.file, tmp_path, joining_settings(fleet.file))
            async with joining as (third, keeper):
                assert third.name == "b2"
                await drain_broker(operator, "b0", stop=False, tell=said.append)
                await operator.activate("b0")
                moves = await rolling_restart(operator, tell=said.append)
                assert sorted(moves) == ["b0", "b1", "b2"]
                await drain_broker(operator, "b2", stop=True, tell=said.append)
                await keeper.over()
            count = await writer.finish(writing)
            told = f"unrouted {client.unrouted}, unconfirmed {client.unconfirmed}"
            await until(lambda: all(r.has(count) for r in found), why=told)
            for reader in found:
                assert reader.saw_everything_once_in_order(count), told
    assert "b2: stopped" in said
    for name in ("b0", "b1"):
        assert f"{name} restarts, as it was told to" in said
    assert not [line for line in said if "ended with" in line]


async def test_a_coordinator_that_is_killed_comes_back_and_knows_everyone(
    tmp_path: Path,
) -> None:
    async with running_fleet(seed_of_count(2), state=tmp_path) as fleet:
        operator = Operator(fleet.file)
        before = await operator.status()
        token = await operator.register("ann")
        killed = fleet.coordinator_pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        await until(lambda: fleet.coordinator_pid not in (None, killed))
        while True:
            try:
                after = await operator.status()
                break
            except UnreachableError:
                await asyncio.sleep(0.05)
        assert await operator.register("ann") == token
        known = [(b.broker, b.state, b.epoch, b.pid) for b in before.brokers]
        assert [(b.broker, b.state, b.epoch, b.pid) for b in after.brokers] == known
