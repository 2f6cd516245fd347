"""A data cluster in the test's own event loop, and brokers that it tells."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from tests.runtime.coordinator.fakes import BROKER, KEYS, OPERATOR, Caller

from brokerwise.runtime.data_cluster.api import make_service
from brokerwise.runtime.data_cluster.brokers import Notifier
from brokerwise.runtime.data_cluster.channels import create_channel, state_of
from brokerwise.runtime.data_cluster.cluster import DataCluster
from brokerwise.runtime.data_cluster.datasets import all_datasets
from brokerwise.runtime.data_cluster.results import RunScope, commit_run, write_results
from brokerwise.runtime.data_cluster.store import DataStore, counter
from brokerwise.runtime.net.api import GRACE_SECONDS
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest, ask, request
from brokerwise.runtime.net.server import Connection, serve, serve_http, url_of
from brokerwise.runtime.protocol.data import Channel, Column, ColumnType, Notification

FIRES = {
    "name": "fires",
    "kind": "append",
    "columns": [{"name": "place", "type": "string"}, {"name": "size", "type": "long"}],
}
NEAR = Channel(
    "near",
    "SELECT place, size FROM fires WHERE place = :place",
    10.0,
    (Column("place", ColumnType.STRING),),
)
HERE = "channel/near?place=here"


class Cluster(Caller):
    """A data cluster and its server, in this event loop."""

    def __init__(self, url: str, store: DataStore, cluster: DataCluster) -> None:
        super().__init__(url)
        self.store = store
        self.cluster = cluster

    async def feed(
        self, dataset: str, body: bytes, batch: str = "", token: str = OPERATOR
    ) -> tuple[int, Any]:
        query = f"?batch={batch}" if batch else ""
        answer = await request(
            "POST",
            f"{self.url}/feed/{dataset}{query}",
            body=body,
            token=token,
            seconds=20,
        )
        return answer.status, msgspec.json.decode(answer.body)

    def make_channel(self, channel: Channel = NEAR) -> None:
        """As `createchannel` would, were Spark up."""
        with self.store.change() as sql:
            create_channel(sql, channel, all_datasets(sql), 0.0)

    def commit(self, results: dict[int, list[str]], channel: str = "near") -> None:
        """A run with these results, as texts, by subscription."""
        rows = [(number, text) for number in results for text in results[number]]
        table = pa.table(
            {"subscription": [r[0] for r in rows], "data": [r[1] for r in rows]},
            schema=pa.schema([("subscription", pa.int64()), ("data", pa.string())]),
        )
        state = state_of(self.store.sql, channel)
        written = write_results(self.store, channel, table)
        version = counter(self.store.sql, "version")
        run = RunScope(state, state.segment + 1, state.segment + 1, version, 1, 5.0)
        assert commit_run(self.store, run, written, 6.0)
        self.cluster.brokers.announce(channel, 6.0, written.subscriptions())


@asynccontextmanager
async def cluster_in(
    folder: Path, spark: SparkSession | None = None, fleet: str = "ours"
) -> AsyncIterator[Cluster]:
    """From what the folder holds. Without a session Spark never comes up."""
    session: asyncio.Future[SparkSession] = asyncio.get_running_loop().create_future()
    if spark is not None:
        session.set_result(spark)
    with DataStore(folder) as store:
        async with Notifier(ask, BROKER, None) as notifier:
            cluster = DataCluster(store, fleet, notifier, session, master="local[2]")
            admit = make_service(cluster, KEYS).admit
            server = await serve_http(admit, host="127.0.0.1", port=0)
            url = url_of("127.0.0.1", server.port, secure=False)
            works = asyncio.create_task(cluster.run())
            try:
                yield Cluster(url, store, cluster)
                assert not works.done(), "it ended by itself"
            finally:
                await server.close(GRACE_SECONDS)
                works.cancel()
                await asyncio.gather(works, return_exceptions=True)


class Broker:
    """Hears of news, and says what a broker says."""

    def __init__(self, name: str, cluster: Caller, epoch: int) -> None:
        self.name, self.cluster, self.epoch = name, cluster, epoch
        self.url = ""
        self.heard: list[Notification] = []
        self.refusing = False
        self.refusals = 0

    def opened(self, c: Connection) -> None: ...
    def received(self, c: Connection, text: bytes) -> None: ...
    def closed(self, c: Connection) -> None: ...
    def overflowed(self, c: Connection) -> None: ...

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        assert KEYS.holder(request.token()) is not None
        assert request.path == "/notify"
        if self.refusing:
            self.refusals += 1
            return HttpAnswer(500, b'{"error":"not today"}')
        self.heard.append(msgspec.json.decode(request.body, type=Notification))
        return HttpAnswer(200, b"{}")

    def news(self) -> list[int]:
        return [number for each in self.heard for number in each.subscriptionIds]

    async def say(self, path: str, **content: Any) -> tuple[int, Any]:
        body = {"broker": self.name, "epoch": self.epoch, **content}
        return await self.cluster.call(path, body, token=BROKER)

    async def done(self, path: str, **content: Any) -> Any:
        status, answer = await self.say(path, **content)
        assert status == 200, answer
        return answer

    async def create(self) -> Any:
        return await self.done("/createbroker", url=self.url)

    async def subscribe(self, user: str, topic: str = HERE, **more: Any) -> Any:
        wanted = [{"user": user, "topic": topic, **more}]
        return await self.done("/subscribe", wanted=wanted)

    async def pull(self, number: int, after: int = 0) -> Any:
        pulls = [{"subscription": number, "after": after}]
        return await self.done("/results", pulls=pulls)


@asynccontextmanager
async def broker_of(
    cluster: Caller, name: str = "b0", epoch: int = 1, port: int = 0
) -> AsyncIterator[Broker]:
    """A broker that listens and has created itself."""
    broker = Broker(name, cluster, epoch)
    serving = await serve(broker, host="127.0.0.1", port=port, ssl=None)
    broker.url = f"http://127.0.0.1:{serving.port}"
    try:
        await broker.create()
        yield broker
    finally:
        await serving.close()
