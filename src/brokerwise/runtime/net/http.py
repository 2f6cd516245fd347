"""HTTP: a request and its answer, and a client that keeps its connections.

`HttpClient` is how our processes ask each other; `ask` and `request` are for a single
question.
"""

import asyncio
import logging
import ssl as tls
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Protocol, Self, TypeVar, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import h11
import msgspec

from brokerwise.model.errors import InputError
from brokerwise.model.renames import with_new_names
from brokerwise.runtime.net.errors import (
    RefusedError,
    UnreachableError,
    UnreadableAnswerError,
)
from brokerwise.runtime.protocol.limits import MAX_ANSWER_BYTES, REQUEST_SECONDS

log = logging.getLogger(__name__)

IDLE_SECONDS = 4.0  # that a connection is kept; our servers give it one second more
MOST_IDLE_PER_SERVER = 4
MOST_IDLE = 256

T = TypeVar("T")
_PORTS = {"http": 80, "https": 443}
_HUNG_UP = "it hung up without an answer"
_SAFE = frozenset({"GET", "HEAD"})


@dataclass(frozen=True)
class HttpRequest:
    """One whole request.

    Attributes
    ----------
    path
        Without percent signs and query.
    query
        The last value of each name.
    headers
        By name in lower case; values of a name that comes twice joined by a comma.
    """

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def token(self) -> str:
        """The bearer token; empty if there is none."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""


@dataclass(frozen=True)
class HttpAnswer:
    """A whole answer or, with a `stream`, one that goes on until that ends; `headers`
    are those beside its type and its length."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    stream: AsyncGenerator[bytes, None] | None = None


def split_target(target: str) -> tuple[str, dict[str, str]]:
    """Path and query of a request's target. Raises ValueError if it is malformed."""
    if target.startswith("/"):  # urlsplit would take //a for a host
        path, _, query = target.partition("?")
    else:
        parts = urlsplit(target)
        path, query = parts.path, parts.query
    return unquote(path), dict(parse_qsl(query, keep_blank_values=True))


class Ask(Protocol):
    """As `HttpClient.ask`."""

    async def __call__(
        self,
        url: str,
        body: object | None,
        kind: type[T],
        *,
        method: str = "POST",
        token: str = "",
        seconds: float = REQUEST_SECONDS,
        ssl: tls.SSLContext | None = None,
    ) -> T: ...


async def ask(
    url: str,
    body: object | None,
    kind: type[T],
    *,
    method: str = "POST",
    token: str = "",
    seconds: float = REQUEST_SECONDS,
    ssl: tls.SSLContext | None = None,
) -> T:
    """As `HttpClient.ask`, once, over a connection of its own."""
    return await HttpClient().ask(
        url, body, kind, method=method, token=token, seconds=seconds, ssl=ssl
    )


async def request(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    token: str = "",
    seconds: float = REQUEST_SECONDS,
    ssl: tls.SSLContext | None = None,
) -> HttpAnswer:
    """As `HttpClient.request`, once, over a connection of its own."""
    return await HttpClient().request(
        method, url, body=body, token=token, seconds=seconds, ssl=ssl
    )


def read_answer(answer: HttpAnswer, kind: type[T], url: str) -> T:
    """What an answer says. Raises RefusedError for a status from 400 on,
    UnreadableAnswerError for one that is no `kind`."""
    if answer.status >= 400:
        raise RefusedError(answer.status, _error_in(answer.body), url)
    try:
        return _decoded(answer.body, kind)
    except (msgspec.DecodeError, UnicodeError) as cause:
        raise UnreadableAnswerError(url, f"cannot read the answer: {cause}") from cause


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        content = msgspec.json.decode(body)
        renamed = with_new_names(content)
        if renamed == content:
            raise
        return msgspec.convert(renamed, kind)


class _Server(NamedTuple):
    """Who is asked. Connections are shared by requests to the same."""

    host: str
    port: int
    ssl: tls.SSLContext | None


class HttpClient:
    """Asks servers. If it `keeps` connections, they are there for the next request,
    until `close`; in `async with` it does. Else each request has one of its own.

    A connection that is not used again within IDLE_SECONDS is closed, before our
    servers would; at most MOST_IDLE_PER_SERVER wait for each server, MOST_IDLE in all.
    Requests at the same time have a connection each.

    A kept connection may turn out to be closed. If that is seen before the request is
    sent, a new one is opened. If it is seen afterwards, and no byte of an answer has
    come, the request is sent again, once, over a new one, provided that it may be
    carried out twice: if it is a GET, or this client is `repeatable`. All others fail,
    as nobody can know.
    """

    def __init__(self, *, keeps: bool = False, repeatable: bool = False) -> None:
        self._keeps = keeps
        self._repeatable = repeatable
        self._idle: dict[_Line, tuple[_Server, asyncio.TimerHandle]] = {}
        self._silent: set[_Server] = set()  # did not answer the last time
        self._trusted: tls.SSLContext | None = None  # the system's authorities

    async def __aenter__(self) -> Self:
        self._keeps = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Keep no connection any more. Requests under way go on."""
        self._keeps = False
        lines = list(self._idle)
        for line in lines:
            self._drop(line)
        for line in lines:
            await line.close()

    async def ask(
        self,
        url: str,
        body: object | None,
        kind: type[T],
        *,
        method: str = "POST",
        token: str = "",
        seconds: float = REQUEST_SECONDS,
        ssl: tls.SSLContext | None = None,
    ) -> T:
        """Send JSON and read JSON. A body of None sends none.

        Raises RefusedError for a status from 400 on, UnreadableAnswerError for an
        answer that is no `kind`, and what `request` raises.
        """
        content = None if body is None else msgspec.json.encode(body)
        answer = await self.request(
            method, url, body=content, token=token, seconds=seconds, ssl=ssl
        )
        return read_answer(answer, kind, url)

    async def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        token: str = "",
        seconds: float = REQUEST_SECONDS,
        ssl: tls.SSLContext | None = None,
    ) -> HttpAnswer:
        """The answer to one request, whatever its status.

        Raises UnreachableError if it cannot be had within `seconds`: then it may or
        may not have been carried out. The same holds when it is cancelled. Raises
        InputError for a bad address.
        """
        place = _place(url)
        context = (ssl or self._trust()) if place.secure else None
        server = _Server(place.host, place.port, context)
        message = _message(method, place, body, token, keep=self._keeps)
        async with self._bounded(server, url, seconds):
            return await self._answer(server, message, body or b"")

    async def _answer(
        self, server: _Server, message: h11.Request, body: bytes
    ) -> HttpAnswer:
        kept = self._take(server)
        if kept is not None:
            try:
                return await self._answer_over(kept, server, message, body)
            except OSError:
                may_repeat = self._repeatable or message.method.decode() in _SAFE
                if kept.has_heard or not may_repeat:
                    raise
        line = await _Line.open(server)
        return await self._answer_over(line, server, message, body)

    async def _answer_over(
        self, line: "_Line", server: _Server, message: h11.Request, body: bytes
    ) -> HttpAnswer:
        try:
            answer = await line.answer(message, body)
        except BaseException:
            await line.close()
            raise
        if self._keeps and line.is_good_for_more():
            self._keep(line, server)
        else:
            await line.close()
        return answer

    def _take(self, server: _Server) -> "_Line | None":
        """The connection to a server that was used last, if one is still open."""
        for line in reversed(self._idle):
            if self._idle[line][0] == server:
                is_open = line.is_open
                self._release(line)
                if is_open:
                    return line
                return self._take(server)
        return None

    def _keep(self, line: "_Line", server: _Server) -> None:
        own = [idle for idle, (other, _) in self._idle.items() if other == server]
        if len(own) >= MOST_IDLE_PER_SERVER:
            self._drop(own[0])
        if len(self._idle) >= MOST_IDLE:
            self._drop(next(iter(self._idle)))
        loop = asyncio.get_running_loop()
        timer = loop.call_later(IDLE_SECONDS, self._drop, line)
        self._idle[line] = (server, timer)

    def _release(self, line: "_Line") -> None:
        _, timer = self._idle.pop(line)
        timer.cancel()

    def _drop(self, line: "_Line") -> None:
        self._release(line)
        line.abort()

    def _trust(self) -> tls.SSLContext:
        if self._trusted is None:
            self._trusted = tls.create_default_context()
        return self._trusted

    @asynccontextmanager
    async def _bounded(
        self, server: _Server, url: str, seconds: float
    ) -> AsyncIterator[None]:
        """Whatever keeps an answer away, within so many seconds, is one of our errors.
        Logged when a server stops to answer, and when it answers again."""
        try:
            try:
                async with asyncio.timeout(seconds):
                    yield
            except TimeoutError as cause:
                raise UnreachableError(
                    url, f"no answer within {seconds:g} s"
                ) from cause
            except OSError as cause:
                raise UnreachableError(url, str(cause)) from cause
            except h11.RemoteProtocolError as cause:
                raise UnreadableAnswerError(url, str(cause)) from cause
        except UnreachableError as error:
            if server not in self._silent:
                log.info("no answer: %s", error)
            if len(self._silent) >= MOST_IDLE:  # most of them have gone for good
                self._silent.clear()
            self._silent.add(server)
            raise
        if server in self._silent:
            self._silent.discard(server)
            log.info("%s:%d answers again", server.host, server.port)


class _Line(asyncio.Protocol):
    """A connection to a server, for one request after the other.

    `has_heard`: some of the answer to the last request has come.
    """

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self.has_heard = False
        self._http = h11.Connection(h11.CLIENT)
        self._status, self._kind, self._body = 0, "", bytearray()
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, server: _Server) -> "_Line":
        _, line = await asyncio.get_running_loop().create_connection(
            cls, server.host, server.port, ssl=server.ssl
        )
        return line

    async def answer(self, message: h11.Request, body: bytes) -> HttpAnswer:
        if not self.is_open:
            raise ConnectionError(_HUNG_UP)
        http = self._http
        if http.our_state is h11.DONE:
            http.start_next_cycle()
        self.has_heard = False
        self._status, self._kind, self._body = 0, "", bytearray()
        self._answer = asyncio.get_running_loop().create_future()
        sent = http.send(message) or b""
        sent += (http.send(h11.Data(data=body)) or b"") if body else b""
        self._transport.write(sent + (http.send(h11.EndOfMessage()) or b""))
        try:
            return await self._answer
        finally:
            self._answer = None

    @property
    def is_open(self) -> bool:
        return not (self._gone.done() or self._transport.is_closing())

    def is_good_for_more(self) -> bool:
        """Whether the server keeps it open after the answer."""
        both = self._http.our_state, self._http.their_state
        clean = not self._http.trailing_data[0]
        return self.is_open and clean and both == (h11.DONE, h11.DONE)

    def abort(self) -> None:
        self._transport.abort()

    async def close(self) -> None:
        """Abort, and wait until it has gone."""
        self.abort()
        await asyncio.shield(self._gone)

    # What the connection brings

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, as uvloop's transports are no subclass of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nobody asked: it must not answer the next request
            self.abort()
            return
        self.has_heard = True
        self._advance(data)

    def eof_received(self) -> None:
        """The transport closes by itself."""
        if self._status:  # the answer may end with the connection
            self._advance(b"")
        else:
            self._fail(ConnectionError(_HUNG_UP))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionError(_HUNG_UP))
        self._gone.set_result(None)

    def _advance(self, data: bytes) -> None:
        try:
            self._http.receive_data(data)
            event = self._http.next_event()
            while isinstance(
                event, h11.Response | h11.InformationalResponse | h11.Data
            ):
                self._take(event)
                event = self._http.next_event()
            if isinstance(event, h11.EndOfMessage):
                self._take(event)
        except h11.RemoteProtocolError as wrong:
            self._fail(wrong)

    def _take(self, event: h11.Event) -> None:
        match event:
            case h11.Response():
                self._status = event.status_code
                found = dict(event.headers).get(b"content-type", b"")
                self._kind = found.decode("latin-1")
            case h11.Data():
                self._body += event.data
                if len(self._body) > MAX_ANSWER_BYTES:
                    limit = f"{MAX_ANSWER_BYTES:,}"
                    raise h11.RemoteProtocolError(f"the answer is over {limit} bytes")
            case h11.EndOfMessage() if self._answer and not self._answer.done():
                whole = HttpAnswer(self._status, bytes(self._body), self._kind)
                self._answer.set_result(whole)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


@dataclass(frozen=True)
class _Place:
    host: str
    port: int
    secure: bool
    target: str
    authority: str  # host and port, as the Host header has them


def _place(url: str) -> _Place:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
        secure = parts.scheme == "https"
    except (ValueError, KeyError) as cause:
        raise InputError(f"{url!r} is no http:// or https:// address") from cause
    if not parts.hostname:
        raise InputError(f"{url!r} names no host")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    authority = parts.netloc.rpartition("@")[2]
    return _Place(parts.hostname, port, secure, target, authority)


def _message(
    method: str, place: _Place, body: bytes | None, token: str, *, keep: bool
) -> h11.Request:
    headers = [("host", place.authority)]
    if not keep:
        headers.append(("connection", "close"))
    if body is not None:
        headers.append(("content-type", "application/json"))
        headers.append(("content-length", str(len(body))))
    if token:
        headers.append(("authorization", f"Bearer {token}"))
    try:
        return h11.Request(method=method, target=place.target, headers=headers)
    except (h11.LocalProtocolError, UnicodeError) as cause:
        what = f"{method} {place.target}"
        raise InputError(f"cannot ask for {what!r}: {cause}") from cause


def _error_in(body: bytes) -> str:
    """What an answer says went wrong: its `error` or `detail`, or all of it."""
    try:
        content = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError):
        content = None
    if isinstance(content, dict):
        for key in ("error", "detail"):
            if isinstance(content.get(key), str):
                return str(content[key])
    return body.decode(errors="replace").strip() or "no reason given"
