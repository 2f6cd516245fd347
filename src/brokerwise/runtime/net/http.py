"""A request over plain HTTP, and its answer."""

import asyncio
import ssl as tls
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import h11
import msgspec

from brokerwise.model.errors import InputError
from brokerwise.runtime.net.errors import (
    RefusedError,
    UnreachableError,
    UnreadableAnswerError,
)
from brokerwise.runtime.protocol.limits import MAX_ANSWER_BYTES, REQUEST_SECONDS


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
    status: int
    body: bytes = b""
    content_type: str = "application/json"


def split_target(target: str) -> tuple[str, dict[str, str]]:
    """Path and query of a request's target. Raises ValueError if it is malformed."""
    if target.startswith("/"):  # urlsplit would take //a for a host
        path, _, query = target.partition("?")
    else:
        parts = urlsplit(target)
        path, query = parts.path, parts.query
    return unquote(path), dict(parse_qsl(query, keep_blank_values=True))


T = TypeVar("T")
_PORTS = {"http": 80, "https": 443}
_READ_BYTES = 64 << 10


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
    """Send JSON and read JSON. A body of None sends none.

    Raises RefusedError for a status from 400 on, UnreadableAnswerError for an answer
    that is no `kind`, and what `request` raises.
    """
    content = None if body is None else msgspec.json.encode(body)
    answer = await request(
        method, url, body=content, token=token, seconds=seconds, ssl=ssl
    )
    return read_answer(answer, kind, url)


def read_answer(answer: HttpAnswer, kind: type[T], url: str) -> T:
    """What an answer says. Raises RefusedError for a status from 400 on,
    UnreadableAnswerError for one that is no `kind`."""
    if answer.status >= 400:
        raise RefusedError(answer.status, _error_in(answer.body), url)
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeError) as cause:
        raise UnreadableAnswerError(url, f"cannot read the answer: {cause}") from cause


async def request(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    token: str = "",
    seconds: float = REQUEST_SECONDS,
    ssl: tls.SSLContext | None = None,
) -> HttpAnswer:
    """The answer to one request, whatever its status.

    Raises UnreachableError if it cannot be had within `seconds`: then it may or may
    not have been carried out. The same holds when it is cancelled. Raises InputError
    for a bad address.
    """
    place = _place(url)
    message = _message(method, place, body, token, keep=False)
    async with _bounded(url, seconds):
        line = await _Line.open(place, ssl)
        try:
            return await line.answer(message, body or b"")
        finally:
            await line.close()


class KeptLine:
    """Asks one server again and again, over a connection that stays open in between.

    For requests that may be carried out twice: if the connection turns out to have
    been closed meanwhile, the request is sent again, once, over a new one. A request
    that comes while another is under way has a connection of its own.
    """

    def __init__(self, url: str, token: str, ssl: tls.SSLContext | None) -> None:
        self._url, self._token, self._ssl = url, token, ssl
        self._kept: _Line | None = None

    async def ask(self, path: str, content: object, kind: type[T]) -> T:
        """As `ask`."""
        url, body = f"{self._url}{path}", msgspec.json.encode(content)
        place = _place(url)
        message = _message("POST", place, body, self._token, keep=True)
        async with _bounded(url, REQUEST_SECONDS):
            answer = await self._answer(place, message, body)
        return read_answer(answer, kind, url)

    async def close(self) -> None:
        line, self._kept = self._kept, None
        if line is not None:
            await line.close()

    async def _answer(
        self, place: "_Place", message: h11.Request, body: bytes
    ) -> HttpAnswer:
        line, self._kept = self._kept, None
        if line is not None:
            with suppress(OSError):  # it was closed: once more, over a new one
                return await self._over(line, message, body)
        return await self._over(await _Line.open(place, self._ssl), message, body)

    async def _over(
        self, line: "_Line", message: h11.Request, body: bytes
    ) -> HttpAnswer:
        try:
            answer = await line.answer(message, body)
            if self._kept is None and line.is_good_for_more():
                self._kept = line
            return answer
        finally:
            if self._kept is not line:
                await line.close()


@asynccontextmanager
async def _bounded(url: str, seconds: float) -> AsyncIterator[None]:
    """Whatever keeps an answer away, within so many seconds, is one of our errors."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as cause:
        raise UnreachableError(url, f"no answer within {seconds:g} s") from cause
    except OSError as cause:
        raise UnreachableError(url, str(cause)) from cause
    except h11.RemoteProtocolError as cause:
        raise UnreadableAnswerError(url, str(cause)) from cause


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


class _Line:
    """A connection to a server, for one request after the other."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT)

    @classmethod
    async def open(cls, place: _Place, ssl: tls.SSLContext | None) -> "_Line":
        context = (ssl or tls.create_default_context()) if place.secure else None
        ends = await asyncio.open_connection(
            place.host, place.port, ssl=context, limit=_READ_BYTES
        )
        return cls(*ends)

    async def answer(self, message: h11.Request, body: bytes) -> HttpAnswer:
        http, writer = self._http, self._writer
        if http.our_state is h11.DONE:
            http.start_next_cycle()
        writer.write(http.send(message) or b"")
        writer.write(http.send(h11.Data(data=body)) or b"" if body else b"")
        writer.write(http.send(h11.EndOfMessage()) or b"")
        return await _answer(http, self._reader)

    def is_good_for_more(self) -> bool:
        """Whether the server keeps it open after the answer."""
        both = self._http.our_state, self._http.their_state
        return both == (h11.DONE, h11.DONE)

    async def close(self) -> None:
        self._writer.transport.abort()
        with suppress(OSError):  # the answer is there, or its absence has been told
            await self._writer.wait_closed()


async def _answer(http: h11.Connection, reader: asyncio.StreamReader) -> HttpAnswer:
    status, kind, body = 0, "", bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            data = await reader.read(_READ_BYTES)
            if not (data or status):
                raise ConnectionError("it hung up without an answer")
            http.receive_data(data)
        elif isinstance(event, h11.Response):
            status = event.status_code
            kind = dict(event.headers).get(b"content-type", b"").decode("latin-1")
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_ANSWER_BYTES:
                limit = f"{MAX_ANSWER_BYTES:,}"
                raise h11.RemoteProtocolError(f"the answer is over {limit} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return HttpAnswer(status, bytes(body), kind)


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
