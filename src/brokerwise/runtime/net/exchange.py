"""A connection from its first byte: plain HTTP until it asks for a WebSocket."""

import asyncio
from typing import cast

import h11
import msgspec

from brokerwise.runtime.net.connection import Connection, Door, Listener
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest, split_target
from brokerwise.runtime.net.upgrade import accept, wants_websocket
from brokerwise.runtime.protocol.limits import MAX_HEAD_BYTES

_BODILESS = (204, 304)
_CAN_ANSWER = (h11.IDLE, h11.SEND_RESPONSE)


class Refusal(Exception):
    """A request that cannot be read: the status that says so, and why."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class Exchange(asyncio.Protocol):
    """Reads one request after the other, each within its time and its size, and has
    the handler answer it; the next is read when the answer is on its way."""

    __slots__ = (
        "_answering",
        "_body",
        "_choked",
        "_guarded",
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
        self._body = bytearray()
        self._answering: asyncio.Task[None] | None = None
        self._choked = False  # the other end does not read its answers
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
        self._over = True
        self._listener.leave(self)

    def pause_writing(self) -> None:
        self._choked = True

    def resume_writing(self) -> None:
        self._choked = False
        if self._http is not None:
            self._advance(self._http)

    def expire(self) -> None:
        """Half a request is told that its time is over; silence is not worth a word."""
        http = self._http
        began = self._request is not None or (http and http.trailing_data[0])
        if http is None or self._over or not began:
            self.abort()
        else:
            self._refuse(http, Refusal(408, "the request took too long to come"))

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
            self._refuse(http, Refusal(wrong.error_status_hint, str(wrong)))
        except Refusal as refusal:
            self._refuse(http, refusal)

    def _take(self, http: h11.Connection, event: h11.Event) -> None:
        match event:
            case h11.Request():
                self._request = event
                self._check_admission(event)
                if wants_websocket(event):
                    self._upgrade(http, event)
                else:
                    self._expect_body(http, event)
            case h11.Data():
                self._body += event.data
                self._check_size(len(self._body))
            case h11.EndOfMessage() if self._request is not None:
                request = _whole(self._request, bytes(self._body))
                self._listener.unfinished.end(self)
                self._transport.pause_reading()
                self._answering = self._listener.loop.create_task(
                    self._answer(http, request)
                )

    def _check_admission(self, request: h11.Request) -> None:
        door = self._guarded
        if door is not None and not door.lets_in(*_who_asks(request)):
            raise Refusal(503, door.refuse())

    def _expect_body(self, http: h11.Connection, request: h11.Request) -> None:
        for name, value in request.headers:
            if name == b"content-length":
                self._check_size(int(value))
        if http.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            self._transport.write(http.send(go_on) or b"")

    def _check_size(self, size: int) -> None:
        if size > self._listener.max_bytes:
            limit = self._listener.max_bytes
            raise Refusal(413, f"the body is longer than {limit:,} bytes")

    def _upgrade(self, http: h11.Connection, request: h11.Request) -> None:
        response = accept(request)
        self._transport.write(response.serialize())
        self._over = True
        if response.status_code != 101:
            self._linger()
            return
        listener = self._listener
        listener.leave(self)
        path = request.target.decode("ascii")
        connection = Connection(self._transport, listener, path)
        connection.begin(http.trailing_data[0])

    async def _answer(self, http: h11.Connection, request: HttpRequest) -> None:
        answer = await self._answer_of_handler(request)
        self._answering = None
        if self._over:
            return
        self._listener.await_request(self)
        self._send(http, answer, last=self._listener.stopping)
        if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            self._over = True
            self._transport.close()
            return
        http.start_next_cycle()
        self._request, self._body = None, bytearray()
        self._transport.resume_reading()
        self._advance(http)

    async def _answer_of_handler(self, request: HttpRequest) -> HttpAnswer:
        try:
            return await self._listener.handler.answer(request)
        except Exception as cause:
            what = f"{request.method} {request.path} failed"
            context = {"message": what, "exception": cause}
            self._listener.loop.call_exception_handler(context)
            return _saying(500, "this is our fault; the log says more")

    def _refuse(self, http: h11.Connection, refusal: Refusal) -> None:
        """Say why, once, and hear no more."""
        self._over = True
        if http.our_state in _CAN_ANSWER:
            answer = _saying(refusal.status, refusal.reason)
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
        headers = [
            ("content-type", answer.content_type),
            ("content-length", str(len(answer.body))),
        ]
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
            raise Refusal(431, f"the head is longer than {MAX_HEAD_BYTES:,} bytes")
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
        raise Refusal(400, f"the target cannot be read: {cause}") from cause
    return HttpRequest(request.method.decode("ascii"), path, query, headers, body)


def _saying(status: int, error: str) -> HttpAnswer:
    return HttpAnswer(status, msgspec.json.encode({"error": error}))
