"""Records that clients send to datasets by way of their broker, or that come out of
its topics."""

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.tasks import Backoff, Signal
from brokerwise.runtime.protocol.names import DATASET

GATHER_SECONDS = 0.1  # records that come within it go together
BATCH_BYTES = 1 << 20
_LOOK_SECONDS = 0.02
QUEUED_BYTES = 64 << 20  # that wait for a data cluster that cannot be reached

Send = Callable[[str, bytes], Awaitable[None]]


@dataclass
class _Queue:
    """Of one dataset."""

    records: deque[bytes] = field(default_factory=deque)

    def batch(self) -> bytes:
        lines: list[bytes] = []
        size = 0
        while self.records and (not lines or size < BATCH_BYTES):
            lines.append(self.records.popleft())
            size += len(lines[-1]) + 1
        return b"\n".join(lines)


class Feeds:
    """Sends records on in batches, each until it has been answered: its number makes
    that harmless. What a data cluster refuses, or has no room for here while it cannot
    be reached, is dropped and counted."""

    def __init__(self, send: Send, name: Callable[[], str]) -> None:
        self.sent = 0
        self.dropped = 0
        self._send = send
        self._name = name
        self._queues: dict[str, _Queue] = {}
        self._queued = 0
        self._batches = 0
        self._began = secrets.token_hex(6)
        self._arrived = Signal()

    def add(self, topic: str, data: msgspec.Raw) -> str:
        """Why a record is not taken, if it is not."""
        record = _one_line(data)
        if self._queued + len(record) > QUEUED_BYTES:
            self.dropped += 1
            return "the data cluster cannot be reached, and too much waits for it"
        name = topic.removeprefix(DATASET)
        self._queues.setdefault(name, _Queue()).records.append(record)
        self._queued += len(record)
        self._arrived.notify()
        return ""

    async def run(self) -> None:
        """Cancelling it loses what waits."""
        while True:
            if not self._queues:
                await self._arrived.wait()
            await asyncio.sleep(GATHER_SECONDS)
            for name in list(self._queues):
                queue = self._queues.pop(name)
                while queue.records:
                    waiting = len(queue.records)
                    body = queue.batch()
                    await self._deliver(name, body, waiting - len(queue.records))

    async def drain(self, seconds: float) -> None:
        """Let `run` send what waits, for so long at most."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self._queued and loop.time() < until:
            await asyncio.sleep(_LOOK_SECONDS)

    async def _deliver(self, dataset: str, body: bytes, count: int) -> None:
        self._batches += 1
        batch = quote(f"{self._name()}-{self._began}-{self._batches}", safe="")
        path = f"/feed/{quote(dataset, safe='')}?batch={batch}"
        backoff = Backoff()
        while True:
            try:
                await self._send(path, body)
                self.sent += count
                break
            except RefusedError as error:
                if error.status < 500:
                    self.dropped += count
                    break
            except BrokerwiseError:
                pass  # said in its log, if anyone can
            await asyncio.sleep(backoff.pause())
        self._queued -= len(body) - count + 1


def _one_line(data: msgspec.Raw) -> bytes:
    record = bytes(data)
    return msgspec.json.format(record, indent=-1) if b"\n" in record else record
