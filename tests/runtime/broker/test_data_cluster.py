"""Records on their way through a broker to a dataset."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from brokerwise.runtime.broker import data_cluster
from brokerwise.runtime.broker.data_cluster import DatasetFeeder
from brokerwise.runtime.net.errors import RefusedError, UnreachableError


class Cluster:
    """A data cluster that does as it is told, once for each request."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.taken: dict[str, tuple[str, list[bytes]]] = {}
        self.requests: list[str] = []

    async def send(self, path: str, body: bytes) -> None:
        parts = urlsplit(path)
        (batch,) = parse_qs(parts.query)["batch"]
        self.requests.append(batch)
        if self.failures:
            raise self.failures.pop(0)
        self.taken[batch] = (parts.path, body.splitlines())


def fed(cluster: Cluster, records: list[tuple[str, bytes]]) -> DatasetFeeder:
    async def run() -> DatasetFeeder:
        feeds = DatasetFeeder(cluster.send, "b 0")
        for topic, data in records:
            assert feeds.add(topic, msgspec.Raw(data)) == ""
        running = asyncio.create_task(feeds.run())
        async with asyncio.timeout(30):
            while feeds.sent + feeds.dropped < len(records):
                await asyncio.sleep(0.005)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return feeds

    return asyncio.run(run())


def test_what_waits_is_sent_before_the_end_but_not_for_ever() -> None:
    async def run(cluster: Cluster, most: float) -> tuple[int, float]:
        feeds = DatasetFeeder(cluster.send, "b0")
        running = asyncio.create_task(feeds.run())
        feeds.add("dataset/a", msgspec.Raw(b"{}"))
        began = asyncio.get_running_loop().time()
        await feeds.drain(most)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return feeds.sent, asyncio.get_running_loop().time() - began

    sent, seconds = asyncio.run(run(Cluster(), 30))
    assert sent == 1 and seconds < 30
    away = Cluster(*(UnreachableError("http://a", "gone") for _ in range(1_000)))
    sent, seconds = asyncio.run(run(away, 0.5))
    assert sent == 0 and 0.5 <= seconds < 30


def test_records_go_together_one_a_line_by_dataset() -> None:
    cluster = Cluster()
    records = [
        ("dataset/a", b'{"x":1}'),
        ("dataset/b", b'{"x":2}'),
        ("dataset/a", b'{\n "x": 3\n}'),
    ]
    feeds = fed(cluster, records)
    assert (feeds.sent, feeds.dropped) == (3, 0)
    assert sorted(cluster.taken.values()) == [
        ("/feed/a", [b'{"x":1}', b'{"x":3}']),
        ("/feed/b", [b'{"x":2}']),
    ]


def test_a_batch_is_sent_under_one_name_until_it_is_answered() -> None:
    unreachable = UnreachableError("http://x", "no answer")
    cluster = Cluster(unreachable, RefusedError(503, "not now", "http://x"))
    feeds = fed(cluster, [("dataset/a", b"{}")])
    assert feeds.sent == 1
    assert len(cluster.requests) == 3 and len(set(cluster.requests)) == 1


def test_what_is_refused_for_good_is_dropped_and_counted() -> None:
    cluster = Cluster(RefusedError(404, "no such dataset", "http://x"))
    feeds = fed(cluster, [("dataset/nope", b"{}")])
    assert (feeds.sent, feeds.dropped) == (0, 1)


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_cluster, "QUEUED_BYTES", 10)
    feeds = DatasetFeeder(Cluster().send, "b0")
    record = msgspec.Raw(b"[1,2,3]")
    assert feeds.add("dataset/a", record) == ""
    assert "too much waits" in feeds.add("dataset/a", record)
    assert feeds.dropped == 1
