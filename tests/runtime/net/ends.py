"""The two ends of a connection, for tests: a handler that notes what it is told, and
a client that sends and reads bare bytes."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from typing import Any

from brokerwise.runtime.net.api import GRACE_SECONDS
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import (
    Admit,
    Connection,
    Server,
    serve,
    serve_http,
    url_of,
)

HANDSHAKE = (
    b"GET /session?v=1 HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Version: 13\r\n\r\n"
)


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition; the test's own limit ends it."""
    while not condition():
        await asyncio.sleep(0.005)


class Recorder:
    """Notes all that it is told, and echoes if asked to."""

    def __init__(self, *, echo: bool = False) -> None:
        self.echo = echo
        self.connections: list[Connection] = []
        self.texts: list[bytes] = []
        self.closed_ones: list[Connection] = []
        self.overflows = 0
        self.requests: list[HttpRequest] = []

    def opened(self, c: Connection) -> None:
        self.connections.append(c)

    def received(self, c: Connection, text: bytes) -> None:
        assert c not in self.closed_ones
        self.texts.append(text)
        if self.echo:
            c.send(text)

    def closed(self, c: Connection) -> None:
        self.closed_ones.append(c)

    def overflowed(self, c: Connection) -> None:
        assert c not in self.closed_ones
        self.overflows += 1

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        self.requests.append(request)
        return HttpAnswer(200, request.body or b"{}")


@asynccontextmanager
async def serving(handler: Recorder, **options: Any) -> AsyncIterator[Server]:
    server = await serve(handler, host="127.0.0.1", port=0, **options)
    try:
        yield server
    finally:
        await server.close()
        assert len(handler.closed_ones) == len(set(handler.connections))
        assert set(handler.closed_ones) == set(handler.connections)


class Raw:
    """A client that sends bytes as they are."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def head(self) -> bytes:
        return await self.reader.readuntil(b"\r\n\r\n")

    async def answer(self) -> tuple[int, bytes]:
        """Status and body of one answer with a length."""
        head = await self.head()
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length")
        )
        return int(head.split()[1]), await self.reader.readexactly(length)

    async def rest(self) -> bytes:
        """All until the server hangs up."""
        return await self.reader.read()


@asynccontextmanager
async def raw(server: Server, tls: ssl.SSLContext | None = None) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=tls)
    try:
        yield Raw(reader, writer)
    finally:
        writer.transport.abort()
        with suppress(OSError):  # the server may have reset it
            await writer.wait_closed()


@asynccontextmanager
async def opened(
    server: Server, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Raw]:
    """A bare client whose WebSocket handshake is done."""
    async with raw(server, tls) as client:
        client.send(HANDSHAKE)
        assert b" 101 " in await client.head()
        yield client


@contextmanager
def served_in_thread(
    opened: Callable[[], AbstractAsyncContextManager[Admit]],
) -> Iterator[str]:
    """The address of a service that is opened, and answers, in a thread of its own."""
    ready = threading.Event()
    urls: list[str] = []
    loop, leave = asyncio.new_event_loop(), asyncio.Event()

    async def work() -> None:
        async with opened() as admit:
            server = await serve_http(admit, host="127.0.0.1", port=0)
            urls.append(url_of("127.0.0.1", server.port, secure=False))
            ready.set()
            await leave.wait()
            await server.close(GRACE_SECONDS)

    def run() -> None:
        try:
            loop.run_until_complete(work())
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(60) and urls, "it did not come up"
        yield urls[0]
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(leave.set)
        thread.join()
