"""Plain HTTP on the same port, by bare bytes."""

import asyncio
from contextlib import suppress

import pytest
from tests.runtime.net.conftest import Certificates, Run
from tests.runtime.net.ends import HANDSHAKE, Recorder, opened, raw, serving, until

from brokerwise.runtime.net.connection import connect
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest, split_target
from brokerwise.runtime.protocol.limits import LOGIN_SECONDS, MAX_HEAD_BYTES

GET = b"GET /load?a=1&b=%C3%A9&c= HTTP/1.1\r\nHost: here\r\n\r\n"


def post(body: bytes, extra: bytes = b"") -> bytes:
    head = b"POST /publish HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n" % len(body)
    return head + extra + b"\r\n" + body


def test_a_request_is_taken_apart(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server, raw(server) as client:
            client.send(
                b"GET //a%20b?x=1&x=2&y HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nx-one: 2\r\n"
                b"Authorization: bearer  user.abc.def \r\n\r\n"
            )
            assert await client.answer() == (200, b"{}")
            [request] = handler.requests
            assert request.method == "GET"
            assert request.path == "//a b"
            assert request.query == {"x": "2", "y": ""}
            assert request.headers["x-one"] == "1, 2"
            assert request.token() == "user.abc.def"

    run(check())


@pytest.mark.parametrize(
    ("target", "path"),
    [("/a/b", "/a/b"), ("http://host:1/a?x=1", "/a"), ("*", "*"), ("/%41", "/A")],
)
def test_a_target_may_have_any_form_that_http_allows(target: str, path: str) -> None:
    assert split_target(target)[0] == path


@pytest.mark.parametrize("authorization", ["", "Basic abc", "token", "Bearer"])
def test_without_a_bearer_token_the_token_is_empty(authorization: str) -> None:
    headers = {"authorization": authorization}
    assert HttpRequest("GET", "/", {}, headers).token() == ""


def test_requests_share_a_connection_one_after_the_other(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server, raw(server) as client:
            for i in range(5):
                client.send(post(b"%d" % i))
                assert await client.answer() == (200, b"%d" % i)
            # All at once, the last cut in two.
            client.send(b"".join(post(b"p%d" % i) for i in range(20)) + GET[:10])
            for i in range(20):
                assert await client.answer() == (200, b"p%d" % i)
            client.send(GET[10:].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            assert await client.answer() == (200, b"{}")
            assert await client.rest() == b""
            assert handler.requests[-1].query == {"a": "1", "b": "é", "c": ""}

    run(check())


def test_http_and_sessions_share_a_port_with_tls_too(
    run: Run, certificates: Certificates
) -> None:
    async def check() -> None:
        handler = Recorder()
        async with (
            serving(handler, ssl=certificates.server) as server,
            raw(server, certificates.client) as client,
            opened(server, certificates.client),
        ):
            client.send(GET)
            assert await client.answer() == (200, b"{}")
            client.send(post(b"x" * 500_000))
            assert await client.answer() == (200, b"x" * 500_000)
            client.send(b"nonsense\r\n\r\n" + bytes(200_000))
            assert (await client.answer())[0] == 400

    run(check())


def test_who_does_not_speak_tls_is_let_go(run: Run, certificates: Certificates) -> None:
    async def check() -> None:
        # In debug mode asyncio tells its handler of each; otherwise nobody hears of it.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        handler = Recorder()
        async with serving(
            handler, ssl=certificates.server, login_seconds=0.2
        ) as server:
            async with raw(server) as silent, raw(server) as plain:
                plain.send(GET)
                with suppress(ConnectionResetError):
                    assert not (await plain.rest()).startswith(b"HTTP")
                with suppress(ConnectionResetError):
                    assert await silent.rest() == b""
            async with raw(server, certificates.client) as client:
                client.send(GET)
                assert await client.answer() == (200, b"{}")
        assert len(handler.requests) == 1

    run(check())


def test_a_body_may_come_in_chunks_and_wait_to_be_asked_for(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server, raw(server) as client:
            client.send(
                b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
                b"Expect: 100-continue\r\n\r\n"
            )
            assert b" 100 " in await client.head()
            client.send(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            assert await client.answer() == (200, b"abcde")

    run(check())


def test_head_is_answered_without_a_body(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server, raw(server) as client:
            client.send(GET.replace(b"GET", b"HEAD") + GET)
            assert b"content-length: 2" in await client.head()
            assert await client.answer() == (200, b"{}")

    run(check())


LIMIT = 1_000
LONG = b"X-Long: " + b"a" * MAX_HEAD_BYTES + b"\r\n"
MALFORMED = [
    (b"nonsense\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400),
    (b"GET http://[::1 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    (post(b"x" * (LIMIT + 1)), 413),
    (
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3ea\r\n"
        + b"x" * 1_002,
        413,
    ),
    (b"GET / HTTP/1.1\r\nHost: h\r\n" + LONG + b"\r\n", 431),
    (b"GET / HTTP/1.1\r\nHost: h\r\n" + LONG, 431),
    (b"GET /" + b"a" * MAX_HEAD_BYTES, 431),
]


@pytest.mark.parametrize("cut", [0, 7, 10_000])
@pytest.mark.parametrize(("sent", "status"), MALFORMED)
def test_what_cannot_be_read_is_told_so_and_hung_up_on(
    run: Run, sent: bytes, status: int, cut: int
) -> None:
    async def check() -> None:
        handler = Recorder()
        async with (
            serving(handler, max_bytes=LIMIT) as server,
            raw(server) as client,
        ):
            client.send(sent[:cut])
            await client.writer.drain()
            await asyncio.sleep(0.001)
            client.send(sent[cut:])
            client.send(bytes(300_000))  # it goes on talking, and hears us all the same
            found, body = await client.answer()
            assert found == status
            assert b'"error"' in body
            assert await client.rest() == b""
        assert handler.requests == []

    run(check())


def test_a_head_and_a_body_of_the_largest_size_are_taken(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with (
            serving(handler, max_bytes=LIMIT) as server,
            raw(server) as client,
        ):
            client.send(post(b"x" * LIMIT))
            assert await client.answer() == (200, b"x" * LIMIT)
            padding = MAX_HEAD_BYTES - len(GET) - len(b"X: \r\n")
            client.send(GET[:-2] + b"X: " + b"a" * padding + b"\r\n\r\n")
            assert await client.answer() == (200, b"{}")
            client.send(GET[:-2] + b"X: " + b"a" * (padding + 1) + b"\r\n\r\n")
            assert (await client.answer())[0] == 431

    run(check())


HALVES = [GET[:-1], post(b"x" * 100)[:-1], GET + GET[:5]]


@pytest.mark.parametrize("half", HALVES)
def test_half_a_request_is_told_that_its_time_is_over(run: Run, half: bytes) -> None:
    async def check() -> None:
        handler = Recorder()
        async with (
            serving(handler, login_seconds=0.2) as server,
            raw(server) as client,
        ):
            client.send(half)
            if half.startswith(GET):
                assert await client.answer() == (200, b"{}")
            assert (await client.answer())[0] == 408
            assert await client.rest() == b""

    run(check())


def test_a_request_that_trickles_has_no_more_time_than_others(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with (
            serving(handler, login_seconds=0.2) as server,
            raw(server) as client,
        ):
            answer = asyncio.ensure_future(client.answer())
            for i in range(len(GET) - 1):
                client.send(GET[i : i + 1])
                await asyncio.sleep(0.02)
                if answer.done():
                    break
            assert answer.done()
            assert (await answer)[0] == 408

    run(check())


def test_who_has_its_answer_and_asks_for_nothing_more_is_let_go(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with (
            serving(handler, login_seconds=0.2) as server,
            raw(server) as client,
        ):
            client.send(GET)
            assert await client.answer() == (200, b"{}")
            assert await client.rest() == b""

    run(check())


class Slow(Recorder):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()
        self.cancelled = False

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        self.requests.append(request)
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return HttpAnswer(200, b"late")


def test_an_answer_may_take_longer_than_a_request(run: Run) -> None:
    async def check() -> None:
        handler = Slow()
        async with (
            serving(handler, login_seconds=0.05) as server,
            raw(server) as client,
            raw(server) as silent,
        ):
            client.send(GET)
            await until(lambda: handler.requests)
            assert await silent.rest() == b""  # its time was over meanwhile
            handler.may_answer.set()
            assert await client.answer() == (200, b"late")

    run(check())


def test_a_request_goes_on_when_the_one_who_asked_has_gone(run: Run) -> None:
    async def check() -> None:
        handler = Slow()
        async with serving(handler, close_seconds=0.2) as server:
            async with raw(server) as client:
                client.send(GET)
                await until(lambda: handler.requests)
            handler.may_answer.set()
            async with raw(server) as client:
                client.send(GET)
                assert await client.answer() == (200, b"late")
        assert not handler.cancelled

    run(check())


def test_closing_waits_for_answers_but_not_for_ever(run: Run) -> None:
    async def check() -> None:
        handler = Slow()
        async with serving(handler) as server, raw(server) as client:
            client.send(GET)
            await until(lambda: handler.requests)
            closing = asyncio.ensure_future(server.close())
            await asyncio.sleep(0)
            handler.may_answer.set()
            assert b"connection: close" in await client.head()
            await closing
        handler = Slow()
        async with serving(handler, close_seconds=0.1) as server, raw(server) as client:
            client.send(GET)
            await until(lambda: handler.requests)
            await server.close()
            assert await client.rest() == b""
        assert handler.cancelled

    run(check())


def test_a_handler_that_raises_is_a_500_and_is_told_of(run: Run) -> None:
    class Fails(Recorder):
        async def answer(self, request: HttpRequest) -> HttpAnswer:
            if request.method == "POST":
                raise LookupError("our mistake")
            return HttpAnswer(200, b"{}")

    async def check() -> None:
        told: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
        async with serving(Fails()) as server, raw(server) as client:
            client.send(post(b"x") + GET)
            status, body = await client.answer()
            assert status == 500
            assert b"our mistake" not in body
            assert await client.answer() == (200, b"{}")
        assert [type(e) for e in told] == [LookupError]

    run(check())


def test_who_asks_without_reading_the_answers_is_held_back_and_cut_off(
    run: Run,
) -> None:
    class Big(Recorder):
        async def answer(self, request: HttpRequest) -> HttpAnswer:
            self.requests.append(request)
            return HttpAnswer(200, bytes(1_000_000))

    async def check() -> None:
        handler = Big()
        async with (
            serving(handler, login_seconds=0.3) as server,
            raw(server) as client,
        ):
            client.send(GET * 200)
            async with raw(server) as other:
                other.send(GET)
                assert (await other.answer())[0] == 200
            answered = -1
            while answered != len(handler.requests):
                answered = len(handler.requests)
                async with raw(server) as silent:
                    assert await silent.rest() == b""  # out of time, like whoever
            assert answered < 100  # came before and has been answered nothing since
            received = await client.rest()
            assert len(received) < 100_000_000

    run(check())


class Narrow:
    """A door that only those with a token pass; or nobody."""

    def __init__(self, *, cuts_off: bool = False) -> None:
        self.cuts_off, self.refused = cuts_off, 0

    def is_open_to_all(self, descriptor: int) -> bool:
        assert descriptor > 2
        return False

    def is_open(self, descriptor: int) -> bool:
        return not self.cuts_off

    def lets_in(self, path: str, token: str) -> bool:
        return token == "T" or path == "/health"

    def refuse(self) -> str:
        self.refused += 1
        return "full"


@pytest.mark.parametrize("tls", [False, True])
def test_a_narrow_door_lets_in_whom_it_knows_and_tells_others(
    run: Run, certificates: Certificates, tls: bool
) -> None:
    async def check() -> None:
        door = Narrow()
        ours, theirs = (
            (certificates.server, certificates.client) if tls else (None, None)
        )
        async with serving(Recorder(), ssl=ours, door=door) as server:
            for bytes_sent in (GET, post(b"{}"), HANDSHAKE):
                async with raw(server, theirs) as stranger:
                    stranger.send(bytes_sent)
                    assert await stranger.answer() == (503, b'{"error":"full"}')
                    assert await stranger.rest() == b""
            assert door.refused == 3
            async with raw(server, theirs) as client:
                client.send(post(b"{}", b"Authorization: Bearer T\r\n"))
                assert await client.answer() == (200, b"{}")
                client.send(GET.replace(b"/load", b"/health"))
                assert await client.answer() == (200, b"{}")
                client.send(GET)
                assert (await client.answer())[0] == 503
            texts: list[bytes] = []
            peer = await connect(
                f"{'wss' if tls else 'ws'}://127.0.0.1:{server.port}/session",
                on_text=texts.append,
                on_closed=lambda code, reason: None,
                ssl=theirs,
                token="T",
            )
            assert peer.is_open
            peer.abort()

    run(check())


@pytest.mark.parametrize("tls", [False, True])
def test_a_closed_door_cuts_off_at_once_even_before_a_handshake(
    run: Run, certificates: Certificates, tls: bool
) -> None:
    async def check() -> None:
        door = Narrow(cuts_off=True)
        ours = certificates.server if tls else None
        async with (
            serving(Recorder(), door=door, ssl=ours) as server,
            raw(server) as client,
        ):
            with suppress(ConnectionResetError):
                async with asyncio.timeout(LOGIN_SECONDS / 2):
                    assert await client.rest() == b""
            assert door.refused == 1

    run(check())
