"""Who may come in, and with how much. An ASGI layer before everything else.

Nothing of a request but its head is read before its token has been found good.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import msgspec

from brokerwise.runtime.protocol.limits import LOGIN_SECONDS, MAX_FRAME_BYTES
from brokerwise.runtime.protocol.tokens import Holder, Keys, Role

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BROKER_BODY_BYTES = 16 << 20  # a broker may carry very many topics
LARGER_BODY_SECONDS = 30.0  # that a body has which may be larger than usual
_KEPT = frozenset({Role.BROKER, Role.OPERATOR})
_JSON = (b"content-type", b"application/json")


class _Rejected(Exception):
    """The request goes no further."""

    def __init__(self, status: int, error: str) -> None:
        self.status, self.error = status, error


class Gate:
    """Lets requests with a good token of the right role through, once their body has
    been read and is not too long.

    `roles` says whom a path (its first part) is for; `open_paths` are for anybody.
    `larger` are the bytes that a path takes where they are more than usual; those
    bodies may also take longer. The holder of the token is in the request's state,
    as `holder`. Brokers and operators may keep their connection for the next request;
    all others are closed after the answer.
    """

    def __init__(
        self,
        app: App,
        keys: Keys,
        roles: Mapping[str, frozenset[Role]],
        open_paths: frozenset[str],
        *,
        larger: Mapping[str, int] | None = None,
        body_seconds: float = LOGIN_SECONDS,
        larger_seconds: float = LARGER_BODY_SECONDS,
    ) -> None:
        self._app = app
        self._keys = keys
        self._roles = roles
        self._open = open_paths
        self._larger = dict(larger or {})
        self._body_seconds = body_seconds
        self._larger_seconds = larger_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        holder, body = None, b""
        try:
            if scope["path"] not in self._open:
                holder = self._admitted(scope)
                scope.setdefault("state", {})["holder"] = holder
                body = await self._body(scope, receive, holder)
        except _Rejected as rejected:
            await _reject(_last(send), rejected)
            return
        kept = holder is not None and holder.role in _KEPT
        answer = send if kept else _last(send)
        await self._app(scope, _replayed(body, receive), answer)

    def _admitted(self, scope: Scope) -> Holder:
        holder = self._keys.holder(_token(scope))
        if holder is None:
            raise _Rejected(401, "a valid token is needed: Authorization: Bearer TOKEN")
        first = _first(scope)
        allowed = self._roles.get(first)
        if allowed is not None and holder.role not in allowed:
            names = " or ".join(sorted(allowed))
            raise _Rejected(403, f"{first} is for {names}, not for {holder.role}")
        return holder

    async def _body(self, scope: Scope, receive: Receive, holder: Holder) -> bytes:
        larger = self._larger.get(_first(scope))
        most = max(_most(holder), larger or 0)
        told = _header(scope, b"content-length")
        if told.isdigit() and int(told[:19]) > most:
            raise _too_long(most)
        seconds = self._body_seconds if larger is None else self._larger_seconds
        try:
            async with asyncio.timeout(seconds):
                return await _whole_body(receive, most)
        except TimeoutError:
            text = f"the body did not come within {seconds:g} s"
            raise _Rejected(408, text) from None


async def _whole_body(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Rejected(408, "the connection was closed")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_long(most)
        if not message.get("more_body"):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again


def _last(send: Send) -> Send:
    """The same, and the connection is closed after the answer."""

    async def closing(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), (b"connection", b"close")]
            message = {**message, "headers": headers}
        await send(message)

    return closing


def _first(scope: Scope) -> str:
    """The first part of the path."""
    return "/" + str(scope["path"]).lstrip("/").partition("/")[0]


def _most(holder: Holder) -> int:
    broker = holder.role is Role.BROKER
    return MAX_BROKER_BODY_BYTES if broker else MAX_FRAME_BYTES


def _too_long(most: int) -> _Rejected:
    return _Rejected(413, f"the body is longer than {most:,} bytes")


def _token(scope: Scope) -> str:
    scheme, _, token = _header(scope, b"authorization").decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _header(scope: Scope, name: bytes) -> bytes:
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


async def _reject(send: Send, rejected: _Rejected) -> None:
    headers = [_JSON]
    if rejected.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    body = msgspec.json.encode({"error": rejected.error})
    headers.append((b"content-length", str(len(body)).encode()))
    await send(
        {
            "type": "http.response.start",
            "status": rejected.status,
            "headers": headers,
        }
    )
    await send({"type": "http.response.body", "body": body})
