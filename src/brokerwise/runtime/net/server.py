"""One port that speaks HTTP and WebSocket."""

import asyncio
import socket
import ssl as tls
from contextlib import ExitStack, suppress
from functools import partial

from brokerwise.runtime.net.connection import Connection, Door, Handler, Listener
from brokerwise.runtime.net.exchange import Exchange
from brokerwise.runtime.net.framing import frame_text
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.protocol.limits import (
    CLOSE_SECONDS,
    LOGIN_SECONDS,
    MAX_FRAME_BYTES,
    SESSION_QUEUE_BYTES,
)

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
ACCEPT_PAUSE = 0.5  # seconds until accepting is tried again, when no file was left
SWEEPS = 4  # in the shortest time that anyone has


class Server:
    """A port that is open until `close`."""

    def __init__(
        self, listener: Listener, server: "asyncio.Server | _SecureServer"
    ) -> None:
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
    if ssl is not None:
        return Server(listener, await _SecureServer.open(listener, host, port, ssl))
    server = await listener.loop.create_server(
        partial(Exchange, listener), host, port, backlog=BACKLOG
    )
    return Server(listener, server)


class _SecureServer:
    """Accepts connections, and gives them to `Exchange` when their TLS handshake is
    done.

    As the event loop's own server does, but for one thing: each is shown to the door
    before its handshake, which takes an open file for as long as it lasts.
    """

    def __init__(
        self, listener: Listener, sockets: list[socket.socket], context: tls.SSLContext
    ) -> None:
        self.sockets = sockets
        self._listener, self._context = listener, context
        self._handshakes: set[asyncio.Task[None]] = set()
        self._closed = False
        for bound in sockets:
            self._listen(bound)

    @classmethod
    async def open(
        cls, listener: Listener, host: str, port: int, context: tls.SSLContext
    ) -> "_SecureServer":
        found = await listener.loop.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        with ExitStack() as bound:
            sockets = []
            for family, _, _, _, address in dict.fromkeys(found):
                one = socket.create_server(address, family=family, backlog=BACKLOG)
                bound.callback(one.close)
                one.setblocking(False)
                sockets.append(one)
            bound.pop_all()
        return cls(listener, sockets, context)

    def close(self) -> None:
        self._closed = True
        for bound in self.sockets:
            self._listener.loop.remove_reader(bound)
            bound.close()
        for handshake in self._handshakes:
            handshake.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._handshakes, return_exceptions=True)

    def _listen(self, bound: socket.socket) -> None:
        if not self._closed:
            self._listener.loop.add_reader(bound, self._accept, bound)

    def _accept(self, bound: socket.socket) -> None:
        for _ in range(BACKLOG):
            try:
                accepted, _ = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no file is left: those who wait go on waiting
                loop = self._listener.loop
                loop.remove_reader(bound)
                loop.call_later(ACCEPT_PAUSE, self._listen, bound)
                return
            self._admit(accepted)

    def _admit(self, accepted: socket.socket) -> None:
        door = self._listener.door
        if door is not None and not door.is_open(accepted.fileno()):
            door.refuse()
            accepted.close()
            return
        handshake = self._listener.loop.create_task(self._secure(accepted))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    async def _secure(self, accepted: socket.socket) -> None:
        listener = self._listener
        accepted.setblocking(False)
        try:
            await listener.loop.connect_accepted_socket(
                partial(Exchange, listener),
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=listener.unfinished.seconds,
                ssl_shutdown_timeout=listener.ending.seconds,
            )
        except OSError:  # of TLS too: the connection has been closed
            return
