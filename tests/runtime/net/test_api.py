"""A service made of a table of endpoints, over real connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
import pytest
from tests.runtime.net.ends import until

from brokerwise.runtime.net.api import (
    ANYONE,
    GRACE_SECONDS,
    OPERATORS,
    Endpoint,
    HttpService,
    Lines,
    Text,
)
from brokerwise.runtime.net.http import request
from brokerwise.runtime.net.openapi import About, description
from brokerwise.runtime.net.server import Server, serve_http
from brokerwise.runtime.protocol.fields import Name
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES
from brokerwise.runtime.protocol.tokens import Holder, Keys, Role

KEYS = Keys.of_secret(b"secret")
OPERATOR = KEYS.token(Role.OPERATOR, "op")
USER = KEYS.token(Role.USER, "ann")
PART = b"#" * 65_536


class Order(msgspec.Struct, frozen=True):
    """What is asked for."""

    name: Name
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


class Calls:
    def __init__(self) -> None:
        self.sent = 0
        self.ended = 0
        self.enough = asyncio.Event()

    async def order(self, holder: Holder, body: Order) -> Order:
        """Order."""
        return Order(f"{holder.name}/{body.name}", body.count)

    async def nothing(self, body: bytes) -> None:
        """Takes much."""

    async def show(self, name: str, limit: int = 3) -> Text:
        """Show."""
        return f"{name} {limit}"

    def slow(self) -> Order:
        """In a thread."""
        return Order("slow")

    async def broken(self) -> Order:
        raise RuntimeError("a fault")

    async def stream(self) -> Lines:
        """Without end."""
        return self._parts()

    async def _parts(self) -> Lines:
        try:
            while not self.enough.is_set():
                self.sent += 1
                yield PART
                await asyncio.sleep(0)
            yield b"end"
        finally:
            self.ended += 1


def endpoints(calls: Calls) -> list[Endpoint]:
    return [
        Endpoint("POST", "/order", ANYONE, calls.order),
        Endpoint("POST", "/much", ANYONE, calls.nothing, largest=2 * MAX_FRAME_BYTES),
        Endpoint("GET", "/show/{name:path}", OPERATORS, calls.show, (404,)),
        Endpoint("GET", "/slow", OPERATORS, calls.slow),
        Endpoint("GET", "/broken", OPERATORS, calls.broken),
        Endpoint("GET", "/stream", OPERATORS, calls.stream),
    ]


@asynccontextmanager
async def running(calls: Calls) -> AsyncIterator[tuple[str, Server]]:
    admit = HttpService(endpoints(calls), KEYS).admit
    server = await serve_http(admit, host="127.0.0.1", port=0)
    try:
        yield f"http://127.0.0.1:{server.port}", server
    finally:
        await server.close(GRACE_SECONDS)


async def test_a_call_takes_and_gives_what_its_signature_says() -> None:
    async with running(Calls()) as (url, _):
        body = b'{"name": "tea", "of_a_newer_version": 1}'
        answer = await request("POST", f"{url}/order", body=body, token=USER)
        assert json.loads(answer.body) == {"name": "ann/tea", "count": 1}
        answer = await request("GET", f"{url}/show/a%2Fb?limit=5", token=OPERATOR)
        assert (answer.body, answer.content_type[:10]) == (b"a/b 5", "text/plain")
        answer = await request("POST", f"{url}/much", body=b"?", token=USER)
        assert (answer.status, answer.body) == (200, b"{}")
        answer = await request("GET", f"{url}/slow", token=OPERATOR)
        assert json.loads(answer.body)["name"] == "slow"


@pytest.mark.parametrize(
    ("method", "path", "body", "token", "status", "error"),
    [
        ("POST", "/order", b"{}", "", 401, "a valid token is needed"),
        ("GET", "/slow", None, USER, 403, "/slow is for operator, not for user"),
        ("GET", "/none", None, USER, 404, "Not Found"),
        ("GET", "/order", None, USER, 405, "Method Not Allowed"),
        (
            "POST",
            "/order",
            b"x" * (MAX_FRAME_BYTES + 1),
            USER,
            413,
            "the body is longer",
        ),
        ("POST", "/order", b"{}", USER, 422, "body: Object missing required field"),
        ("POST", "/order", b'{"name": "a", "count": 0}', USER, 422, "body.count: Exp"),
        ("POST", "/order", b'{"name": "a\\n"}', USER, 422, "body.name: found a name"),
        ("GET", "/show/a?limit=x", None, OPERATOR, 422, "query.limit: Expected `int`"),
    ],
)
async def test_what_is_wrong_is_refused_with_a_reason(
    method: str, path: str, body: bytes | None, token: str, status: int, error: str
) -> None:
    async with running(Calls()) as (url, _):
        answer = await request(method, url + path, body=body, token=token)
        assert answer.status == status
        assert json.loads(answer.body)["error"].startswith(error)


async def test_a_fault_of_ours_is_a_500_and_is_reported() -> None:
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    async with running(Calls()) as (url, _):
        answer = await request("GET", f"{url}/broken", token=OPERATOR)
        assert answer.status == 500
    assert [str(each["exception"]) for each in reported] == ["a fault"]


async def test_one_endpoint_takes_more_than_others() -> None:
    async with running(Calls()) as (url, _):
        body = b"x" * (MAX_FRAME_BYTES + 1)
        answer = await request("POST", f"{url}/much", body=body, token=USER)
        assert answer.status == 200


async def test_no_service_becomes_a_websocket() -> None:
    async with running(Calls()) as (_, server):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            b"GET /slow HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            b"Sec-WebSocket-Version: 13\r\n\r\n"
        )
        assert b" 401 " in await reader.readline()
        writer.close()


@asynccontextmanager
async def watching(
    port: int,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    head = f"GET /stream HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {OPERATOR}"
    writer.write(f"{head}\r\n\r\n".encode())
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def test_a_stream_waits_for_a_reader_that_is_slow() -> None:
    calls = Calls()
    async with running(calls) as (_, server), watching(server.port) as (reader, _):
        assert b" 200 " in await reader.readline()
        before = -1
        while before != calls.sent:  # the buffers of the kernel fill
            before = calls.sent
            await asyncio.sleep(0.2)
        assert calls.sent < 2_000
        calls.enough.set()
        found = await reader.read(-1)
        assert found.endswith(b"end\r\n0\r\n\r\n")
        assert found.count(b"#") == calls.sent * len(PART)
    assert calls.ended == 1


async def test_a_stream_ends_when_its_reader_has_gone() -> None:
    calls = Calls()
    async with running(calls) as (_, server):
        async with watching(server.port) as (reader, _):
            await reader.readline()
        await until(lambda: calls.ended)


async def test_a_stream_does_not_keep_a_server_from_stopping() -> None:
    calls = Calls()
    async with running(calls) as (_, server), watching(server.port) as (reader, _):
        await reader.readline()
        await server.close(0.05)
        assert calls.ended == 1


def test_calls_are_described_by_their_types() -> None:
    found = description(About("t", "d"), endpoints(Calls.__new__(Calls)))
    order = found["paths"]["/order"]["post"]
    body = order["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/Order"}
    assert set(found["paths"]) == {
        *("/order", "/much", "/show/{name}", "/slow", "/broken", "/stream")
    }
    shown = found["paths"]["/show/{name}"]["get"]["parameters"]
    assert [(p["name"], p["in"], p["required"]) for p in shown] == [
        ("name", "path", True),
        ("limit", "query", False),
    ]
