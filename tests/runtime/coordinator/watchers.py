"""Somebody who watches a fleet, over a connection of their own."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import h11
import msgspec
from tests.runtime.coordinator.fakes import OPERATOR, Caller


class Watcher:
    """`status` and `headers` are those of the answer, of which lines are read."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._http = h11.Connection(h11.CLIENT)
        self._rest = b""
        self._lines: deque[dict[str, Any]] = deque()
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.is_over = False

    def asking(self, path: str, token: str) -> bytes:
        headers = [("host", "h")]
        headers += [("authorization", f"Bearer {token}")] if token else []
        question = h11.Request(method="GET", target=path, headers=headers)
        sent = self._http.send(question) or b""
        return sent + (self._http.send(h11.EndOfMessage()) or b"")

    async def answered(self) -> None:
        while not self.status:
            await self._hear()

    async def next(self, kind: str = "") -> dict[str, Any]:
        """The next line, or the next of a kind."""
        while True:
            while not self._lines:
                assert not self.is_over, f"it was over before {kind!r} came"
                await self._hear()
            line = self._lines.popleft()
            if kind in ("", line["kind"]):
                return line

    async def ended(self) -> None:
        """Returns when it is over, whatever comes before."""
        while not self.is_over:
            await self._hear()

    async def _hear(self) -> None:
        event = self._http.next_event()
        if event is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(1 << 16))
        elif isinstance(event, h11.Response):
            self.status, self.headers = event.status_code, dict(event.headers)
        elif isinstance(event, h11.Data):
            *whole, self._rest = (self._rest + bytes(event.data)).split(b"\n")
            self._lines.extend(msgspec.json.decode(line) for line in whole)
        else:
            self.is_over = True


@asynccontextmanager
async def watcher(
    fleet: Caller, token: str = OPERATOR, *, limit: int = 1 << 16
) -> AsyncIterator[Watcher]:
    """Somebody whose question has been answered, with lines or without."""
    port = int(fleet.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=limit)
    found = Watcher(reader)
    try:
        writer.write(found.asking("/watch", token))
        await found.answered()
        yield found
    finally:
        writer.transport.abort()
