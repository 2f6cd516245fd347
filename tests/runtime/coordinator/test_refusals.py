"""Whom the API lets in, and what it does with requests that are wrong."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.coordinator.fakes import (
    BROKER,
    OPERATOR,
    Running,
    broker,
    plain_seed,
    run,
    running,
    token,
)

from brokerwise.runtime.net.api import (
    ANYONE,
    MAX_BROKER_BODY_BYTES,
    Endpoint,
    HttpService,
)
from brokerwise.runtime.net.http import request
from brokerwise.runtime.net.server import serve_http
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES, MAX_TOPICS_PER_FRAME
from brokerwise.runtime.protocol.tokens import Keys, Role

PATHS = {
    "/registerbroker": "broker",
    "/heartbeat": "broker",
    "/leaving": "broker",
    "/join": "broker",
    "/registeruser": "operator",
    "/requestbroker": "user operator",
    "/moves": "operator",
    "/drain": "operator",
    "/activate": "operator",
    "/routes": "user broker operator",
}
PAGES = {
    "/moves": "operator",
    "/moves/1": "operator",
    "/status": "operator",
    "/topics": "operator",
    "/metrics": "operator",
    "/watch/broker/b0": "operator",
    "/watch/find": "operator",
    "/subchannels": "user broker operator",
}
TOKENS = {"user": token("ann"), "broker": BROKER, "operator": OPERATOR}


def test_who_has_no_token_or_the_wrong_one_gets_nothing_more(tmp_path: Path) -> None:
    calls: list[tuple[str, Any, str]] = [(p, {}, r) for p, r in PATHS.items()]
    calls += [(p, None, r) for p, r in PAGES.items()]

    async def work() -> None:
        async with running(tmp_path, plain_seed(1)) as fleet:
            for path, body, roles in calls:
                for bad in ("", "x", OPERATOR[:-1], "operator.b3A.00"):
                    status, content = await fleet.call(path, body, token=bad)
                    assert (status, set(content)) == (401, {"error"})
                for role, good in TOKENS.items():
                    answer = await request(
                        "GET" if body is None else "POST",
                        fleet.url + path,
                        body=None if body is None else b"not even JSON",
                        token=good,
                    )
                    assert (answer.status == 403) is (role not in roles.split())

    run(work())


def test_a_user_asks_only_for_itself(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            broker("b0", fleet),
        ):
            body = {"user": "ben"}
            assert (await fleet.call("/requestbroker", body, token=token("ann")))[
                0
            ] == 403
            assert (await fleet.call("/requestbroker", body, token=token("ben")))[
                0
            ] == 200
            assert (await fleet.call("/requestbroker", body))[0] == 200

    run(work())


BAD_BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"{}",
    b"\xff\xfe\x00",
    b'{"user": 5}',
    b'{"user": ""}',
    b'{"user": "a\\u0000b"}',
    b'{"user": "\\ud800"}',
    b'{"user": "ann", "topics": "news"}',
    b'{"user": "ann", "topics": ["\\udfff"]}',
    b'{"user": "ann", "topics": ["a\\nb"]}',
    b'{"user": "ann", "topics": [""]}',
    b'{"user": "ann", "topics": [null]}',
    b'{"user": "' + b"x" * 257 + b'"}',
    b'{"user": "' + "é".encode() * 129 + b'"}',
    b'{"user": ' + b"9" * 5000 + b"}",
    b"[" * 200_000,
    b'{"user": "ann", "topics": ['
    + b",".join([b'"a"'] * (MAX_TOPICS_PER_FRAME + 1))
    + b"]}",
]


def test_a_bad_body_is_refused_with_a_reason(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            for body in BAD_BODIES:
                url = f"{fleet.url}/requestbroker"
                answer = await request("POST", url, body=body, token=OPERATOR)
                assert answer.status == 422, body[:40]
                assert json.loads(answer.body)["error"]

    run(work())


@pytest.mark.parametrize(
    ("who", "limit"), [(OPERATOR, MAX_FRAME_BYTES), (BROKER, MAX_BROKER_BODY_BYTES)]
)
def test_a_body_that_is_too_long_is_not_read(
    tmp_path: Path, who: str, limit: int
) -> None:
    async def head(fleet: Running, extra: str) -> bytes:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(fleet.url.rsplit(":", 1)[1])
        )
        writer.write(
            f"POST /routes HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {who}\r\n"
            f"{extra}".encode()
        )
        try:
            return await reader.readline()
        finally:
            writer.transport.abort()

    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            told = f"Content-Length: {limit + 1}\r\n\r\n"
            assert b" 413 " in await head(fleet, told)
            piece = "x" * (limit + 1)
            untold = f"Transfer-Encoding: chunked\r\n\r\n{limit + 1:x}\r\n{piece}\r\n"
            assert b" 413 " in await head(fleet, untold)

    run(work())


def test_an_unknown_path_and_a_wrong_method_are_answered_alike(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            assert (await fleet.call("/nothing"))[0] == 404
            assert (await fleet.call("/nothing", token=""))[0] == 401
            status, content = await fleet.call("/drain")
            assert (status, set(content)) == (405, {"error"})

    run(work())


def test_a_token_of_another_fleet_is_no_good(tmp_path: Path) -> None:
    forged = Keys.of_secret(b"another fleet").token(Role.OPERATOR, "op")

    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            assert (await fleet.call("/status", token=forged))[0] == 401

    run(work())


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def never(body: bytes) -> None:
        raise AssertionError("it went through")

    keys = Keys.of_secret(b"s")
    endpoint = Endpoint("POST", "/routes", ANYONE, never)
    admit = HttpService([endpoint], keys, body_seconds=0.05).admit
    server = await serve_http(admit, host="127.0.0.1", port=0)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    token = keys.token(Role.USER, "ann")
    head = f"POST /routes HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n"
    writer.write(f"{head}Content-Length: 5\r\n\r\nhal".encode())
    assert b" 408 " in await reader.readline()
    writer.close()
    await server.close()


def test_a_state_that_cannot_be_stored_is_said_to_be_so(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1), chores=False) as fleet,
            broker("b0", fleet),
        ):
            fleet.coordinator.sql.execute("PRAGMA query_only = 1")
            status, content = await fleet.call("/requestbroker", {"user": "ann"})
            assert status == 503
            assert "cannot be stored" in content["error"]
            fleet.coordinator.sql.execute("PRAGMA query_only = 0")
            assert (await fleet.call("/requestbroker", {"user": "ann"}))[0] == 200

    run(work())
