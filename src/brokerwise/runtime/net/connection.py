"""The server's end of a WebSocket, and who is told what comes of it."""

import asyncio
from functools import partial
from typing import Any, Protocol

from websockets.frames import CloseCode

from brokerwise.runtime.net.framing import frame_text
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.incoming import Incoming
from brokerwise.runtime.net.link import Link
from brokerwise.runtime.net.patience import Patience


class Handler(Protocol):
    """What a server does with what comes. If `opened`, `received` or `overflowed`
    raises, that connection is cut off and the event loop's handler is told."""

    def opened(self, c: "Connection") -> None:
        """A WebSocket handshake is done."""

    def received(self, c: "Connection", text: bytes) -> None:
        """One whole text message, valid UTF-8, has come. Also after `close`, for what
        was sent before the other end heard of it."""

    def closed(self, c: "Connection") -> None:
        """It has gone, or nothing more will come of it. Called once for each that was
        opened, also if this handler closed it or cut it off."""

    def overflowed(self, c: "Connection") -> None:
        """More than the server's `queue_bytes` wait to be sent. Not called from inside
        a write; again each time that the queue has emptied in between."""

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """Answer a plain request. It is not cancelled if the other end goes away. What
        it raises becomes a 500."""
        raise NotImplementedError


class Door(Protocol):
    """Keeps strangers out of a server that has hardly any room left.

    A connection is known by the number of its file descriptor: the lowest that was
    free.
    """

    def is_open_to_all(self, descriptor: int) -> bool:
        """Whether anybody may have this one."""
        raise NotImplementedError

    def is_open(self, descriptor: int) -> bool:
        """Whether those may whom `lets_in` knows; else it is cut off at once."""
        raise NotImplementedError

    def lets_in(self, path: str, token: str) -> bool:
        """Whether this request comes in although strangers do not."""
        raise NotImplementedError

    def refuse(self) -> str:
        """Called for each that does not come in; what it is told."""
        raise NotImplementedError


class Member(Protocol):
    """A connection of a server, of either kind."""

    def expire(self) -> None:
        """Its time is over."""

    def stop(self) -> None:
        """The server stops: come to an end soon."""

    def abort(self) -> None: ...


class Listener:
    """What all connections of one server share."""

    def __init__(
        self,
        handler: Handler,
        *,
        queue_bytes: int,
        max_bytes: int,
        login_seconds: float,
        close_seconds: float,
        door: Door | None = None,
    ) -> None:
        self.handler = handler
        self.door = door
        self.loop = asyncio.get_running_loop()
        self.queue_bytes = queue_bytes
        self.max_bytes = max_bytes
        self.unfinished: Patience[Member] = Patience(login_seconds)
        self.ending: Patience[Member] = Patience(close_seconds)
        self.members: set[Member] = set()
        self.stopping = False
        self.emptied = asyncio.Event()  # it stops, and all have gone

    def enter(self, member: Member) -> None:
        self.members.add(member)

    def leave(self, member: Member) -> None:
        """It has gone, or become another kind of connection."""
        self.unfinished.end(member)
        self.ending.end(member)
        self.members.discard(member)
        if self.stopping and not self.members:
            self.emptied.set()

    def await_request(self, member: Member) -> None:
        self.unfinished.begin(member, self.loop.time())

    def await_end(self, member: Member) -> None:
        self.ending.begin(member, self.loop.time())

    def sweep(self) -> None:
        """See to those whose time is over."""
        now = self.loop.time()
        for late in (*self.unfinished.run_out(now), *self.ending.run_out(now)):
            late.expire()

    def stop(self) -> None:
        """Tell all members; `emptied` is set when the last has gone."""
        self.stopping = True
        if not self.members:
            self.emptied.set()
        for member in tuple(self.members):
            member.stop()


class Connection(Link):
    """A WebSocket that someone opened to a server.

    It has no task and no timer of its own.

    Attributes
    ----------
    opened_at
        In seconds of the event loop's clock.
    peer
        Address and port of the other end.
    path
        That it asked for, with the query.
    owner
        For the handler: whatever it wants to find here.
    """

    __slots__ = ("_listener", "_told", "opened_at", "owner", "path", "peer")

    def __init__(
        self, transport: asyncio.Transport, listener: Listener, path: str
    ) -> None:
        incoming = Incoming(masked=True, max_bytes=listener.max_bytes)
        super().__init__(transport, incoming, listener.queue_bytes)
        self._listener = listener
        self._told = False  # the handler, that it has closed
        self._deliver = partial(listener.handler.received, self)
        self.opened_at = listener.loop.time()
        self.peer = peer_of(transport)
        self.path = path
        self.owner: Any = None
        listener.enter(self)

    def begin(self, data: bytes) -> None:
        """Tell the handler that it is open, and what came right after the request."""
        try:
            self._listener.handler.opened(self)
        except BaseException:
            self.abort()
            raise
        if data:
            self.data_received(data)

    def send(self, text: bytes) -> None:
        """Frame and write one text message."""
        self.write(frame_text(text))

    def expire(self) -> None:
        self.abort()

    def stop(self) -> None:
        self.close(CloseCode.GOING_AWAY, "the server stops")

    def pause_writing(self) -> None:
        self._listener.loop.call_soon(self._overflowed)

    def _overflowed(self) -> None:
        if self._told:
            return
        try:
            self._listener.handler.overflowed(self)
        except BaseException:
            self.abort()
            raise

    def _expect_end(self) -> None:
        self._listener.await_end(self)

    def _over(self) -> None:
        """The handler hears of it now, so that it writes no more."""
        if not self._told:
            self._told = True
            self._listener.handler.closed(self)

    def _ended(self) -> None:
        self._listener.leave(self)
        self._over()


def peer_of(transport: asyncio.BaseTransport) -> str:
    name = transport.get_extra_info("peername")
    return f"{name[0]}:{name[1]}" if name else ""
