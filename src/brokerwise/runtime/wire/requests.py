"""A small HTTP client: one connection for each request."""

import asyncio
import ssl as tls
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

import h11
import msgspec

from brokerwise.model.errors import InputError
from brokerwise.runtime.limits import MAX_ANSWER_BYTES, REQUEST_SECONDS
from brokerwise.runtime.wire.errors import (
    RefusedError,
    UnreachableError,
    UnreadableAnswerError,
)
from brokerwise.runtime.wire.http import HttpAnswer

__all__ = [
    "RefusedError",
    "UnreachableError",
    "UnreadableAnswerError",
    "ask",
    "read_answer",
    "request",
]

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
    message = _message(method, place, body, token)
    try:
        async with asyncio.timeout(seconds):
            return await _converse(place, message, body or b"", ssl)
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


def _message(method: str, place: _Place, body: bytes | None, token: str) -> h11.Request:
    headers = [("host", place.authority), ("connection", "close")]
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


async def _converse(
    place: _Place, message: h11.Request, body: bytes, ssl: tls.SSLContext | None
) -> HttpAnswer:
    context = (ssl or tls.create_default_context()) if place.secure else None
    reader, writer = await asyncio.open_connection(
        place.host, place.port, ssl=context, limit=_READ_BYTES
    )
    try:
        http = h11.Connection(h11.CLIENT)
        writer.write(http.send(message) or b"")
        writer.write(http.send(h11.Data(data=body)) or b"" if body else b"")
        writer.write(http.send(h11.EndOfMessage()) or b"")
        return await _answer(http, reader)
    finally:
        writer.transport.abort()
        with suppress(OSError):  # the answer is there, or its absence has been told
            await writer.wait_closed()


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
