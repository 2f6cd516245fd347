"""A data cluster that keeps what it is fed in memory, and fails as it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.runtime.net.ends import Recorder, serving

from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest


class PretendDataCluster(Recorder):
    """Takes lines that are objects. `faults` are what happens to the next requests:
    a status is answered without doing anything, "lost" does it and answers 503."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[str, list[Any]] = {"reports": []}
        self.batches: dict[str, dict[str, Any]] = {}
        self.faults: list[int | str] = []

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, int):
            return _answer(fault, {"error": f"told to say {fault}\nand more\n  ^"})
        answer = self._feed(request)
        return answer if fault is None else _answer(503, {"error": "lost"})

    def _feed(self, request: HttpRequest) -> HttpAnswer:
        name = request.path.removeprefix("/feed/")
        if name not in self.records:
            return _answer(404, {"error": f"there is no dataset {name!r}"})
        batch = request.query.get("batch", "")
        if batch in self.batches:
            return _answer(200, {**self.batches[batch], "repeated": True})
        fed: dict[str, Any] = {"rows": 0, "rejected": 0, "reasons": []}
        for number, line in enumerate(request.body.split(b"\n"), 1):
            if line.startswith(b"{"):
                self.records[name].append(json.loads(line))
                fed["rows"] += 1
            elif line:
                fed["rejected"] += 1
                fed["reasons"].append({"line": number, "reason": "no object"})
        if batch:
            self.batches[batch] = fed
        return _answer(200, {**fed, "repeated": False})


@asynccontextmanager
async def pretending(cluster: PretendDataCluster) -> AsyncIterator[DataClient]:
    async with serving(cluster, max_bytes=16 << 20) as server:
        yield DataClient(f"http://127.0.0.1:{server.port}", "a token")


async def parts(*content: bytes | None) -> AsyncIterator[bytes | None]:
    for part in content:
        await asyncio.sleep(0)
        yield part


def _answer(status: int, content: dict[str, Any]) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(content).encode())
