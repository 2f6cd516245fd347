"""One port that speaks HTTP and, for brokers, WebSocket.

Every connection begins as plain HTTP (`HttpConnection`) and stays that, request by
request, or becomes a WebSocket (`Connection`). Brokers `serve` a `Handler`, which is
told what comes of them; a `Door` keeps strangers out when there is hardly any room
left. Other processes `serve_http`: who may ask, and with how much, is decided by the
head of a request, before its body is read. However many connections there are, one
timer looks after all their deadlines.
"""

import asyncio
import logging
import socket
import ssl as tls
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import h11
import msgspec
from websockets.datastructures import Headers
from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from brokerwise.runtime.net.connection import (
    FrameReader,
    WebSocket,
    frame_text,
    peer_of,
)
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest, split_target
from brokerwise.runtime.process.logs import limited
from brokerwise.runtime.protocol.fields import ErrorAnswer
from brokerwise.runtime.protocol.limits import (
    CLOSE_SECONDS,
    LOGIN_SECONDS,
    MAX_FRAME_BYTES,
    MAX_HEAD_BYTES,
    SESSION_QUEUE_BYTES,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
BACKLOG = 4_096  # connections that may wait to be accepted: a fleet comes at once
ACCEPT_PAUSE = 0.5  # seconds until accepting is tried again, when no file was left
SWEEPS = 4  # in the shortest time that anyone has
_BODILESS = (204, 304)
_CAN_ANSWER = (h11.IDLE, h11.SEND_RESPONSE)


# What is told to whoever serves


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


class Admission(NamedTuple):
    """How a request goes on whose head has come: its body may be so long and take so
    many seconds, `answer` answers it, and the connection is kept afterwards or not.
    What `answer` raises becomes a 500; it is not cancelled if the other end goes away.
    """

    answer: Callable[[HttpRequest], Awaitable[HttpAnswer]]
    max_bytes: int
    body_seconds: float
    is_kept: bool = True


Admit = Callable[[HttpRequest], Admission]


class BadRequestError(Exception):
    """A request that goes no further: the status that says so, and why."""

    def __init__(
        self, status: int, reason: str, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.status, self.reason, self.headers = status, reason, headers
        super().__init__(reason)


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


# What the connections of a port share


class Deadlines(Generic[T]):
    """Many deadlines of the same length, without a timer for each: who has been waited
    for since when. All have the same time, so they run out in
    the order in which they began: each look costs only what has run out."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadlines: dict[T, float] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def begin(self, who: T, now: float) -> None:
        """Wait for it from now on; from anew, if it was waited for already."""
        self._deadlines.pop(who, None)
        self._deadlines[who] = now + self.seconds

    def end(self, who: T) -> None:
        """It has come, or gone."""
        self._deadlines.pop(who, None)

    def run_out(self, now: float) -> list[T]:
        """Those whose time is over, oldest first. They are waited for no longer."""
        late = []
        for who, deadline in self._deadlines.items():
            if deadline > now:
                break
            late.append(who)
        for who in late:
            del self._deadlines[who]
        return late


class Member(Protocol):
    """A connection of a server, of either kind."""

    def expire(self) -> None:
        """Its time is over."""

    def stop(self) -> None:
        """The server stops: come to an end soon."""

    def abort(self) -> None: ...


class Listener:
    """What all connections of one server share: of a broker's a `handler`, of others
    `admit`, which raises BadRequestError for a request that goes no further."""

    def __init__(
        self,
        handler: Handler | None = None,
        admit: Admit | None = None,
        *,
        queue_bytes: int = SESSION_QUEUE_BYTES,
        max_bytes: int = MAX_FRAME_BYTES,
        login_seconds: float = LOGIN_SECONDS,
        close_seconds: float = CLOSE_SECONDS,
        door: Door | None = None,
    ) -> None:
        self.handler, self.admit = handler, admit
        self.door = door
        self.loop = asyncio.get_running_loop()
        self.queue_bytes = queue_bytes
        self.max_bytes = max_bytes
        self.unfinished: Deadlines[Member] = Deadlines(login_seconds)
        self.bodies: dict[float, Deadlines[Member]] = {}  # that have another time
        self.ending: Deadlines[Member] = Deadlines(close_seconds)
        self.members: set[Member] = set()
        self.stopping = False
        self.emptied = asyncio.Event()  # it stops, and all have gone

    def enter(self, member: Member) -> None:
        self.members.add(member)

    def leave(self, member: Member) -> None:
        """It has gone, or become another kind of connection."""
        self.end_request(member)
        self.ending.end(member)
        self.members.discard(member)
        if self.stopping and not self.members:
            self.emptied.set()

    def await_request(self, member: Member) -> None:
        self.unfinished.begin(member, self.loop.time())

    def await_body(self, member: Member, seconds: float) -> None:
        """From now on: its token is good."""
        self.unfinished.end(member)
        found = self.bodies.setdefault(seconds, Deadlines(seconds))
        found.begin(member, self.loop.time())

    def end_request(self, member: Member) -> None:
        """All of it has come, or nothing more will."""
        self.unfinished.end(member)
        for deadlines in self.bodies.values():
            deadlines.end(member)

    def await_end(self, member: Member) -> None:
        self.ending.begin(member, self.loop.time())

    def sweep(self) -> None:
        """See to those whose time is over."""
        now = self.loop.time()
        for deadlines in (self.unfinished, *self.bodies.values(), self.ending):
            for late in deadlines.run_out(now):
                late.expire()

    def stop(self) -> None:
        """Tell all members; `emptied` is set when the last has gone."""
        self.stopping = True
        if not self.members:
            self.emptied.set()
        for member in tuple(self.members):
            member.stop()


class Connection(WebSocket):
    """A WebSocket that someone opened to a server.

    It has no task and no timer of its own.

    Attributes
    ----------
    opened_at
        In seconds of the event loop's clock.
    path
        That it asked for, with the query.
    owner
        For the handler: whatever it wants to find here.
    """

    __slots__ = ("_handler", "_listener", "_told", "opened_at", "owner", "path")

    def __init__(
        self,
        transport: asyncio.Transport,
        listener: Listener,
        handler: Handler,
        path: str,
    ) -> None:
        reader = FrameReader(masked=True, max_bytes=listener.max_bytes)
        super().__init__(transport, reader, listener.queue_bytes)
        self._listener, self._handler = listener, handler
        self._told = False  # the handler, that it has closed
        self._deliver = partial(handler.received, self)
        self.opened_at = listener.loop.time()
        self.path = path
        self.owner: Any = None
        listener.enter(self)

    def begin(self, data: bytes) -> None:
        """Tell the handler that it is open, and what came right after the request."""
        try:
            self._handler.opened(self)
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
            self._handler.overflowed(self)
        except BaseException:
            self.abort()
            raise

    def _expect_end(self) -> None:
        self._listener.await_end(self)

    def _over(self) -> None:
        """The handler hears of it now, so that it writes no more."""
        if not self._told:
            self._told = True
            self._handler.closed(self)

    def _ended(self) -> None:
        self._listener.leave(self)
        self._over()


# Plain HTTP


class HttpConnection(asyncio.Protocol):
    """Reads one request after the other, each within its time and its size, and has
    it answered; the next is read when the answer is on its way. An answer that streams
    is the last one."""

    __slots__ = (
        "_admission",
        "_answering",
        "_body",
        "_choked",
        "_drained",
        "_guarded",
        "_head",
        "_http",
        "_listener",
        "_over",
        "_request",
        "_transport",
    )

    _transport: asyncio.Transport

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._http: h11.Connection | None = None  # made when the first byte comes
        self._request: h11.Request | None = None
        self._head: HttpRequest | None = None  # of the request, if it was admitted
        self._admission: Admission | None = None
        self._body = bytearray()
        self._answering: asyncio.Task[None] | None = None
        self._choked = False  # the other end does not read its answers
        self._drained: asyncio.Future[None] | None = None  # a stream waits for that
        self._guarded: Door | None = None  # who decides on each request, if anyone
        self._over = False  # what comes is dropped

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, as uvloop's transports are no subclass of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._listener.enter(self)
        self._listener.await_request(self)
        if self._listener.stopping:
            self.abort()
        elif self._listener.door is not None:
            self._enter(self._listener.door)

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        if self._http is None:
            self._http = h11.Connection(
                h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES
            )
        self._http.receive_data(data)
        self._advance(self._http)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._over and self._answering is not None:  # a stream: nobody is there
            self._answering.cancel()
        self._over = True
        self._listener.leave(self)

    def pause_writing(self) -> None:
        self._choked = True

    def resume_writing(self) -> None:
        self._choked = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        if self._http is not None:
            self._advance(self._http)

    def expire(self) -> None:
        """Half a request is told that its time is over; silence is not worth a word."""
        http = self._http
        began = self._request is not None or (http and http.trailing_data[0])
        if http is None or self._over or not began:
            self.abort()
        else:
            self._refuse(
                http, BadRequestError(408, "the request took too long to come")
            )

    def stop(self) -> None:
        """A request that is being answered is the last one."""
        if self._answering is None:
            self.abort()

    def abort(self) -> None:
        """Also what is being done to answer, if anything, is cancelled."""
        self._over = True
        if self._answering is not None:
            self._answering.cancel()
        self._transport.abort()

    def _enter(self, door: Door) -> None:
        descriptor = self._transport.get_extra_info("socket").fileno()
        if door.is_open_to_all(descriptor):
            return
        self._guarded = door
        if not door.is_open(descriptor):
            door.refuse()
            self.abort()

    def _advance(self, http: h11.Connection) -> None:
        try:
            while not (self._over or self._choked or self._answering):
                event = _next_event(http)
                if not isinstance(event, h11.Event):
                    return
                self._take(http, event)
        except h11.RemoteProtocolError as wrong:
            self._refuse(http, BadRequestError(wrong.error_status_hint, str(wrong)))
        except BadRequestError as refusal:
            self._refuse(http, refusal)

    def _take(self, http: h11.Connection, event: h11.Event) -> None:
        match event:
            case h11.Request():
                self._request = event
                self._check_admission(event)
                handler = self._listener.handler
                if handler is not None and _wants_websocket(event):
                    self._upgrade(http, event, handler)
                else:
                    self._expect_body(http, event)
            case h11.Data():
                self._body += event.data
                self._check_size(len(self._body))
            case h11.EndOfMessage() if self._request is not None:
                body = bytes(self._body)
                request = (
                    _whole(self._request, body)
                    if self._head is None
                    else replace(self._head, body=body)
                )
                self._listener.end_request(self)
                self._transport.pause_reading()
                self._answering = self._listener.loop.create_task(
                    self._answer(http, request)
                )

    def _check_admission(self, request: h11.Request) -> None:
        door = self._guarded
        if door is not None and not door.lets_in(*_who_asks(request)):
            raise BadRequestError(503, door.refuse())
        if self._listener.admit is not None:
            self._head = _whole(request, b"")
            self._admission = self._listener.admit(self._head)
            self._listener.await_body(self, self._admission.body_seconds)

    def _expect_body(self, http: h11.Connection, request: h11.Request) -> None:
        for name, value in request.headers:
            if name == b"content-length":
                self._check_size(int(value))
        if http.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            self._transport.write(http.send(go_on) or b"")

    def _check_size(self, size: int) -> None:
        admission = self._admission
        limit = self._listener.max_bytes if admission is None else admission.max_bytes
        if size > limit:
            raise BadRequestError(413, f"the body is longer than {limit:,} bytes")

    def _upgrade(
        self, http: h11.Connection, request: h11.Request, handler: Handler
    ) -> None:
        response = _accept(request)
        self._transport.write(response.serialize())
        self._over = True
        if response.status_code != 101:
            self._linger()
            return
        listener = self._listener
        listener.leave(self)
        path = request.target.decode("ascii")
        connection = Connection(self._transport, listener, handler, path)
        connection.begin(http.trailing_data[0])

    async def _answer(self, http: h11.Connection, request: HttpRequest) -> None:
        answer = await self._answer_to(request)
        if answer.stream is not None:
            await self._stream(http, answer, answer.stream)
            return
        self._answering = None
        if self._over:
            return
        self._listener.await_request(self)
        is_kept = self._admission is None or self._admission.is_kept
        self._send(http, answer, last=self._listener.stopping or not is_kept)
        if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            self._over = True
            self._transport.close()
            return
        http.start_next_cycle()
        self._request, self._head, self._body = None, None, bytearray()
        self._transport.resume_reading()
        self._advance(http)

    async def _answer_to(self, request: HttpRequest) -> HttpAnswer:
        handler, admission = self._listener.handler, self._admission
        try:
            if admission is not None:
                return await admission.answer(request)
            assert handler is not None
            return await handler.answer(request)
        except Exception as cause:
            self._report(f"{request.method} {request.path} failed", cause)
            return _saying(500, "this is our fault; the log says more")

    def _report(self, what: str, cause: Exception) -> None:
        context = {"message": what, "exception": cause}
        self._listener.loop.call_exception_handler(context)

    async def _stream(
        self,
        http: h11.Connection,
        answer: HttpAnswer,
        stream: AsyncGenerator[bytes, None],
    ) -> None:
        """Send what comes, each part when the one before has gone. What the other end
        sends meanwhile is dropped; that it goes away ends the stream."""
        async with aclosing(stream):
            if self._over:
                return
            self._over = True
            self._transport.resume_reading()
            headers = [("content-type", answer.content_type), ("connection", "close")]
            head = h11.Response(
                status_code=answer.status, headers=[*headers, *answer.headers]
            )
            self._transport.write(http.send(head) or b"")
            try:
                async for part in stream:
                    self._transport.write(http.send(h11.Data(data=part)) or b"")
                    await self._drain()
                self._transport.write(http.send(h11.EndOfMessage()) or b"")
            except Exception as cause:
                self._report("an answer ended early", cause)
                self._transport.abort()
            finally:
                self._answering = None
                self._transport.close()

    async def _drain(self) -> None:
        while self._choked:
            self._drained = self._listener.loop.create_future()
            await self._drained

    def _refuse(self, http: h11.Connection, refusal: BadRequestError) -> None:
        """Say why, once, and hear no more."""
        self._over = True
        limited(log, "refused").info(
            "request from %s refused with %d: %s",
            peer_of(self._transport),
            refusal.status,
            refusal.reason,
        )
        if http.our_state in _CAN_ANSWER:
            answer = _saying(refusal.status, refusal.reason, refusal.headers)
            self._send(http, answer, last=True)
        self._linger()

    def _linger(self) -> None:
        """Close once the other end has: to close with bytes unread would reset the
        connection, and our last word would be lost on its way."""
        self._listener.await_end(self)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()

    def _send(self, http: h11.Connection, answer: HttpAnswer, *, last: bool) -> None:
        headers = list(answer.headers)
        if answer.status not in _BODILESS:
            headers.append(("content-type", answer.content_type))
            headers.append(("content-length", str(len(answer.body))))
        if last:
            headers.append(("connection", "close"))
        asked = self._request.method if self._request is not None else b""
        with_body = asked != b"HEAD" and answer.status not in _BODILESS
        response = h11.Response(status_code=answer.status, headers=headers)
        sent = http.send(response) or b""
        if with_body:
            sent += http.send(h11.Data(data=answer.body)) or b""
        sent += http.send(h11.EndOfMessage()) or b""
        self._transport.write(sent)


def _next_event(http: h11.Connection) -> object:
    """The next event. A head is held to its size also if all of it came at once."""
    before = len(http.trailing_data[0])
    event = http.next_event()
    if isinstance(event, h11.Request):
        size = before - len(http.trailing_data[0])
        if size > MAX_HEAD_BYTES:
            raise BadRequestError(
                431, f"the head is longer than {MAX_HEAD_BYTES:,} bytes"
            )
    return event


def _who_asks(request: h11.Request) -> tuple[str, str]:
    """Path and bearer token of a request whose body has not come yet."""
    head = _whole(request, b"")
    return head.path, head.token()


def _whole(request: h11.Request, body: bytes) -> HttpRequest:
    headers: dict[str, str] = {}
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    try:
        path, query = split_target(request.target.decode("ascii"))
    except ValueError as cause:
        raise BadRequestError(400, f"the target cannot be read: {cause}") from cause
    return HttpRequest(request.method.decode("ascii"), path, query, headers, body)


def _saying(
    status: int, error: str, headers: tuple[tuple[str, str], ...] = ()
) -> HttpAnswer:
    return HttpAnswer(status, msgspec.json.encode(ErrorAnswer(error)), headers=headers)


def _wants_websocket(request: h11.Request) -> bool:
    """Other protocols that a request would like to change to are passed over."""
    return any(
        name == b"upgrade" and b"websocket" in value.lower()
        for name, value in request.headers
    )


def _accept(request: h11.Request) -> Response:
    """101 and the key that proves it, or a refusal that says what is missing.

    No extension is agreed on, so nothing is compressed.
    """
    handshake = ServerProtocol()
    if any(_announces_body(name, value) for name, value in request.headers):
        return handshake.reject(400, "A WebSocket handshake has no body.\n")
    headers = Headers(
        (name.decode("ascii"), value.decode("latin-1"))
        for name, value in request.headers
    )
    asked = Request(
        request.target.decode("ascii"),
        headers,
        request.method.decode("ascii"),
        f"HTTP/{request.http_version.decode('ascii')}",
    )
    return handshake.accept(asked)


def _announces_body(name: bytes, value: bytes) -> bool:
    """Java's client says of its handshake that its length is 0, which is as good as
    nothing."""
    return name == b"transfer-encoding" or (name == b"content-length" and value != b"0")


# The port


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

    async def close(self, seconds: float | None = None) -> None:
        """Stop: no new connection, WebSockets closed with 1001, requests answered if
        they had come whole; who is not done in so many seconds, or in `close_seconds`,
        is cut off. The handler has been told of every end when this returns. Cancelled,
        it cuts off at once.
        """
        self._server.close()
        self._listener.stop()
        if seconds is None:
            seconds = self._listener.ending.seconds
        try:
            with suppress(TimeoutError):
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
    return await _open(listener, host, port, ssl)


async def serve_http(
    admit: Admit,
    *,
    host: str,
    port: int,
    ssl: tls.SSLContext | None = None,
    login_seconds: float = LOGIN_SECONDS,
) -> Server:
    """As `serve`, without WebSockets. A connection has `login_seconds` for the head of
    a request; what its body may have, `admit` says."""
    listener = Listener(admit=admit, login_seconds=login_seconds)
    return await _open(listener, host, port, ssl)


def url_of(host: str, port: int, *, secure: bool) -> str:
    """Where a service can be reached."""
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{shown}:{port}"


async def _open(
    listener: Listener, host: str, port: int, ssl: tls.SSLContext | None
) -> Server:
    if ssl is not None:
        return Server(listener, await _SecureServer.open(listener, host, port, ssl))
    server = await listener.loop.create_server(
        partial(HttpConnection, listener), host, port, backlog=BACKLOG
    )
    return Server(listener, server)


class _SecureServer:
    """Accepts connections, and makes each an `HttpConnection` when its TLS handshake
    is done.

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
            except OSError as cause:  # no file is left: those who wait go on waiting
                log.warning(
                    "cannot accept connections, tried again in %g s: %s",
                    ACCEPT_PAUSE,
                    cause,
                )
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
                partial(HttpConnection, listener),
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=listener.unfinished.seconds,
                ssl_shutdown_timeout=listener.ending.seconds,
            )
        except OSError as cause:  # of TLS too: the connection has been closed
            limited(log, "TLS").info("TLS handshake failed: %s", cause)
