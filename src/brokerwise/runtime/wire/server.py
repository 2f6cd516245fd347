"""One port that speaks HTTP and WebSocket."""

import asyncio
import ssl as tls
from contextlib import suppress
from functools import partial

from brokerwise.runtime.limits import (
    CLOSE_SECONDS,
    LOGIN_SECONDS,
    MAX_FRAME_BYTES,
    SESSION_QUEUE_BYTES,
)
from brokerwise.runtime.wire.connection import Connection, Door, Handler, Listener
from brokerwise.runtime.wire.exchange import Exchange
from brokerwise.runtime.wire.framing import frame_text
from brokerwise.runtime.wire.http import HttpAnswer, HttpRequest

__all__ = [
    "Connection",
    "Door",
    "Handler",
    "HttpAnswer",
    "HttpRequest",
    "Server",
    "frame_text",
    "serve",
]

BACKLOG = 4_096  # connections that may wait to be accepted: a fleet comes at once
SWEEPS = 4  # in the shortest time that anyone has


class Server:
    """A port that is open until `close`."""

    def __init__(self, listener: Listener, server: asyncio.Server) -> None:
        self._listener = listener
        self._server = server
        self.port: int = server.sockets[0].getsockname()[1]
        shortest = min(listener.unfinished.seconds, listener.ending.seconds)
        self._pause = shortest / SWEEPS
        self._timer = listener.loop.call_later(self._pause, self._sweep)

    def _sweep(self) -> None:
        self._timer = self._listener.loop.call_later(self._pause, self._sweep)
        self._listener.sweep()

    async def close(self) -> None:
        """Stop: no new connection, WebSockets closed with 1001, requests answered if
        they had come whole; who is not done in CLOSE_SECONDS is cut off. The handler
        has been told of every end when this returns. Cancelled, it cuts off at once.
        """
        self._server.close()
        self._listener.stop()
        try:
            with suppress(TimeoutError):
                seconds = self._listener.ending.seconds
                await asyncio.wait_for(self._listener.emptied.wait(), seconds)
        finally:
            self._timer.cancel()
            for member in tuple(self._listener.members):
                member.abort()
        await self._listener.emptied.wait()
        await self._server.wait_closed()


async def serve(
    handler: Handler,
    *,
    host: str,
    port: int,
    ssl: tls.SSLContext | None = None,
    queue_bytes: int = SESSION_QUEUE_BYTES,
    max_bytes: int = MAX_FRAME_BYTES,
    login_seconds: float = LOGIN_SECONDS,
    close_seconds: float = CLOSE_SECONDS,
    door: Door | None = None,
) -> Server:
    """Open a port; 0 takes a free one. Cancelling it leaves nothing open.

    A connection has `login_seconds` for each request: from its first moment, or from
    the last answer, to the end of the body. A WebSocket that is open has all the time
    that the handler gives it. Up to `queue_bytes` wait for a slow reader before the
    handler is told. Without a `door` everybody comes in.
    """
    listener = Listener(
        handler,
        queue_bytes=queue_bytes,
        max_bytes=max_bytes,
        login_seconds=login_seconds,
        close_seconds=close_seconds,
        door=door,
    )
    server = await listener.loop.create_server(
        partial(Exchange, listener),
        host,
        port,
        ssl=ssl,
        backlog=BACKLOG,
        ssl_handshake_timeout=login_seconds if ssl else None,
        ssl_shutdown_timeout=close_seconds if ssl else None,
    )
    return Server(listener, server)
