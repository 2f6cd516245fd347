"""Requests over plain HTTP that make no sense, and bytes that are no request: each has
an answer, and everyone else goes on."""

import json
from typing import Any

import pytest

from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES, MAX_NAME_BYTES

from .besieged import Besieged
from .guests import answer_to

pytestmark = pytest.mark.xdist_group("bad input")

NO_UTF_8 = b'"\xff\xfe"'
DEEP = b"[" * 200_000


def test_pages_are_for_those_whom_they_concern(fleet: Besieged) -> None:
    async def scenario() -> None:
        body = json.dumps({"topic": "h", "epoch": 1, "seq": 1, "source": "ann"})
        for what, token in fleet.wrong_tokens("ann").items():
            if not token.isascii():
                continue  # our own HTTP client would not send it
            answer = await fleet.ask("POST", "/publish", token, body.encode())
            expected = {"another user's": 403, "a broker's": 403}.get(what, 401)
            assert (what, answer.status) == (what, expected)
        stop = ("POST", "/control/stop", b'{"restart": true}')
        for method, path, content in (
            *(("GET", page, None) for page in ("/load", "/sessions", "/metrics")),
            stop,
        ):
            for token, status in (
                (fleet.token("ann"), 403),
                (fleet.file.operator_token, 401),
                ("", 401),
            ):
                answer = await fleet.ask(method, path, token, content)
                assert (path, answer.status) == (path, status)

    fleet.survives(scenario())


def bad_bodies() -> dict[bytes, int]:
    """What ann might post, and what it is answered."""
    good = {"topic": "posted", "epoch": 1, "seq": 1}
    begun = json.dumps(good)[:-1].encode() + b', "data": '
    wrong: list[tuple[dict[str, Any], int]] = [
        ({"topic": "posted"}, 422),
        ({**good, "seq": 0}, 422),
        ({**good, "seq": "1"}, 422),
        ({**good, "epoch": -1}, 422),
        ({**good, "topic": ""}, 422),
        ({**good, "topic": "a\x85b"}, 422),
        ({**good, "topic": "ä" * MAX_NAME_BYTES}, 422),
        ({**good, "at": "now"}, 422),
        ({**good, "source": "x" * 257}, 422),
        ({**good, "source": "bob"}, 403),
        ({**good, "source": "annie"}, 403),
        ({**good, "data": "x" * MAX_FRAME_BYTES}, 413),
    ]
    texts = (b"", b"{", b"[]", b"null", b"hello", NO_UTF_8, DEEP)
    inside = (NO_UTF_8, b'"\\ud800"', DEEP, b"nul", b"")
    return {
        **dict.fromkeys(texts, 422),
        **{json.dumps(body).encode(): status for body, status in wrong},
        **{begun + data + b"}": 422 for data in inside},
    }


def test_bad_bodies_are_refused_and_reach_nobody(fleet: Besieged) -> None:
    async def scenario() -> None:
        async with fleet.visitor("reader") as reader:
            await reader.subscribe("posted")
            for body, expected in bad_bodies().items():
                answer = await fleet.ask("POST", "/publish", fleet.token("ann"), body)
                found = (body[:90], answer.status)
                assert found == (body[:90], expected), answer.body
                assert json.loads(answer.body)["error"]
            good = b'{"topic": "posted", "epoch": 1, "seq": 1, "data": [1, 2]}'
            answer = await fleet.ask("POST", "/publish", fleet.token("ann"), good)
            assert (answer.status, answer.body) == (200, b'{"accepted":true}')
            await reader.got(1)
            await reader.log_out()
            assert reader.messages == 1

    fleet.survives(scenario())


def test_orders_that_cannot_be_read_are_refused(fleet: Besieged) -> None:
    async def scenario() -> None:
        for page in ("routes", "move", "stop"):
            for body in (b"", b"[]", b"null", NO_UTF_8, DEEP, b'{"routes": 1}'):
                if page == "stop" and body == b'{"routes": 1}':
                    continue  # which is an order to stop
                path = f"/control/{page}"
                answer = await fleet.ask("POST", path, fleet.file.broker_token, body)
                assert (page, body[:20], answer.status) == (page, body[:20], 422)

    fleet.survives(scenario())


def test_garbage_on_the_port_is_a_bad_request(fleet: Besieged) -> None:
    upgrade = b"GET /session HTTP/1.1\r\nHost: b\r\nUpgrade: websocket\r\n"
    cases = {
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500: b"400",
        b"\x00" * 1_000: b"400",
        b"\xff\xfe\r\n\r\n": b"400",
        b"GET /health HTTP/1.1\r\n\r\n": b"400",
        b"GET /health HTTP/1.1\r\nHost: b\r\nContent-Length: -1\r\n\r\n": b"400",
        b"GET /health HTTP/1.1\r\nHost: b\r\nX: " + b"x" * 20_000: b"431",
        upgrade + b"\r\n": b"426",
        upgrade + b"Connection: Upgrade\r\n\r\n": b"400",
    }

    async def scenario() -> None:
        for said, expected in cases.items():
            answer = await answer_to(fleet.url, said)
            assert (said[:60], answer[9:12]) == (said[:60], expected)

    fleet.survives(scenario())
