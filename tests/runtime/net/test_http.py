"""The small HTTP client, against our server and against servers that misbehave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest
from tests.runtime.net.conftest import Certificates, Run
from tests.runtime.net.ends import Recorder, serving

from brokerwise.model.errors import InputError
from brokerwise.runtime.net import http as requests
from brokerwise.runtime.net.errors import (
    RefusedError,
    UnreachableError,
    UnreadableAnswerError,
)
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest, KeptLine, ask, request


@dataclass(frozen=True)
class Sum:
    total: int
    of: tuple[int, ...] = ()


class Answers(Recorder):
    def __init__(self, status: int, body: bytes) -> None:
        super().__init__()
        self.reply = HttpAnswer(status, body, "text/plain")

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        self.requests.append(request)
        return self.reply


@asynccontextmanager
async def speaking(answer: bytes, *, silent: bool = False) -> AsyncIterator[str]:
    """The address of a server that says this to whoever asks, and hangs up."""

    async def handle(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        if silent:
            await reader.read()
        writer.close()
        with suppress(OSError):  # the client was faster
            await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"


@pytest.mark.parametrize("tls", [False, True])
def test_a_request_arrives_as_it_was_meant(
    run: Run, certificates: Certificates, tls: bool
) -> None:
    async def check() -> None:
        handler = Answers(404, b"x" * 3_000_000)
        context = certificates.server if tls else None
        async with serving(handler, ssl=context) as server:
            url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}/a?b=c"
            body = b"y" * 1_000_000
            answer = await request(
                "PUT", url, body=body, token="T", ssl=certificates.client
            )
            assert answer == handler.reply
            [asked] = handler.requests
            assert (asked.method, asked.path, asked.query) == ("PUT", "/a", {"b": "c"})
            assert asked.body == body
            assert asked.token() == "T"
            assert asked.headers["host"] == f"127.0.0.1:{server.port}"
            await request("GET", url, ssl=certificates.client)
            assert "content-length" not in handler.requests[1].headers

    run(check())


def test_json_goes_both_ways(run: Run) -> None:
    async def check() -> None:
        handler = Answers(200, b'{"total": 3, "of": [1, 2], "new": null}')
        async with serving(handler) as server:
            url = f"http://127.0.0.1:{server.port}/sum"
            answer = await ask(url, Sum(0, (1, 2)), Sum, token="T")
            assert answer == Sum(3, (1, 2))
            assert handler.requests[0].body == b'{"total":0,"of":[1,2]}'
            assert handler.requests[0].method == "POST"
            await ask(url, None, Sum, method="GET")
            assert handler.requests[1].body == b""
            assert handler.requests[1].method == "GET"

    run(check())


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error": "no such topic"}', "no such topic"),
        (b'{"detail": "no such page"}', "no such page"),
        (b'{"detail": [1]}', '{"detail": [1]}'),
        (b"plain", "plain"),
        (b"", "no reason given"),
    ],
)
def test_a_refusal_carries_status_and_reason(run: Run, body: bytes, text: str) -> None:
    async def check() -> None:
        async with serving(Answers(409, body)) as server:
            with pytest.raises(RefusedError) as refused:
                await ask(f"http://127.0.0.1:{server.port}/", {}, Sum)
            assert (refused.value.status, refused.value.text) == (409, text)

    run(check())


@pytest.mark.parametrize("body", [b"", b"{}", b"nonsense", b'{"total": "3"}', b"\xff"])
def test_an_answer_of_another_kind_is_unreadable(run: Run, body: bytes) -> None:
    async def check() -> None:
        async with serving(Answers(200, body)) as server:
            with pytest.raises(UnreadableAnswerError):
                await ask(f"http://127.0.0.1:{server.port}/", {}, Sum)

    run(check())


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "hung up without an answer"),
        (b"HTTP/1.1 2", "hung up without an answer"),
        (b"nonsense\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "4 bytes, expected 10"),
    ],
)
def test_an_answer_that_breaks_off_is_no_answer(
    run: Run, answer: bytes, reason: str
) -> None:
    async def check() -> None:
        async with speaking(answer) as url:
            with pytest.raises(UnreachableError, match=reason):
                await request("GET", url)

    run(check())


def test_an_answer_may_end_with_the_connection(run: Run) -> None:
    async def check() -> None:
        async with speaking(b"HTTP/1.0 200 OK\r\n\r\nall of it") as url:
            assert (await request("GET", url)).body == b"all of it"

    run(check())


def test_an_answer_without_end_is_given_up(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_ANSWER_BYTES", 1_000)

    async def check() -> None:
        head = b"HTTP/1.1 200 OK\r\n\r\n"
        async with speaking(head + bytes(1_000)) as url:
            assert len((await request("GET", url)).body) == 1_000
        async with speaking(head + bytes(1_001), silent=True) as url:
            with pytest.raises(UnreadableAnswerError, match="over 1,000 bytes"):
                await request("GET", url)

    run(check())


def test_time_is_up_wherever_it_is_spent(run: Run, certificates: Certificates) -> None:
    async def check() -> None:
        for answer in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"):
            async with speaking(answer, silent=True) as url:
                with pytest.raises(UnreachableError, match=r"within 0\.1 s"):
                    await request("GET", url, seconds=0.1)
        with pytest.raises(UnreachableError):
            await request("GET", url)
        async with serving(Recorder(), ssl=certificates.server) as server:
            url = f"https://127.0.0.1:{server.port}/"
            with pytest.raises(UnreachableError, match="certificate"):
                await request("GET", url)

    run(check())


@pytest.mark.parametrize(
    "url", ["ws://a/", "http:///x", "http://a:b/", "a", "", "http://[::1/"]
)
def test_a_bad_address_is_an_input_error(url: str) -> None:
    with pytest.raises(InputError):
        asyncio.run(request("GET", url))


def test_a_request_that_cannot_be_written_is_an_input_error() -> None:
    for url, token in [("http://a/b c", ""), ("http://a/", "two\nlines")]:
        with pytest.raises(InputError):
            asyncio.run(request("GET", url, token=token))


@asynccontextmanager
async def hanging_up_after(answers: int) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that closes each connection after so many answers, without saying so;
    and how many it has given on each."""
    given: list[int] = []

    async def handle(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        own = len(given)
        given.append(0)
        with suppress(OSError, asyncio.IncompleteReadError):  # the client has gone
            while given[own] < answers:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len(ASKED))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + SAID)
                given[own] += 1
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", given


ASKED, SAID = b'{"total":0,"of":[]}', b'{"total": 3}'


def test_a_kept_line_uses_its_connection_again_and_opens_another_when_it_was_closed(
    run: Run,
) -> None:
    async def check() -> None:
        async with hanging_up_after(3) as (url, given):
            line = KeptLine(url, "T", None)
            for _ in range(8):
                assert await line.ask("/sum", Sum(0), Sum) == Sum(3)
            assert given == [3, 3, 2]
            await line.close()

    run(check())


def test_a_kept_line_goes_on_over_tls_and_after_a_refusal(
    run: Run, certificates: Certificates
) -> None:
    async def check() -> None:
        handler = Answers(409, b'{"error": "no"}')
        async with serving(handler, ssl=certificates.server) as server:
            url = f"https://127.0.0.1:{server.port}"
            line = KeptLine(url, "T", certificates.client)
            for _ in range(2):
                with pytest.raises(RefusedError, match="no"):
                    await line.ask("/", Sum(0), Sum)
            handler.reply = HttpAnswer(200, SAID)
            assert await line.ask("/", Sum(0), Sum) == Sum(3)
            assert handler.requests[2].token() == "T"
            await line.close()

    run(check())


def test_requests_at_the_same_time_do_not_wait_for_the_kept_line(run: Run) -> None:
    async def check() -> None:
        handler = Slow(200, SAID)
        async with serving(handler) as server:
            line = KeptLine(f"http://127.0.0.1:{server.port}", "", None)
            asked = [asyncio.create_task(line.ask("/", Sum(0), Sum)) for _ in range(3)]
            while len(handler.requests) < 3:
                await asyncio.sleep(0.005)
            handler.go_on.set()
            assert await asyncio.gather(*asked) == [Sum(3)] * 3
            await line.close()

    run(check())


def test_a_kept_line_that_nobody_answers_is_given_up_in_time(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "REQUEST_SECONDS", 0.1)

    async def check() -> None:
        handler = Slow(200, SAID)
        handler.go_on.set()
        async with serving(handler) as server:
            line = KeptLine(f"http://127.0.0.1:{server.port}", "", None)
            assert await line.ask("/", Sum(0), Sum) == Sum(3)
            handler.go_on.clear()
            with pytest.raises(UnreachableError, match=r"within 0\.1 s"):
                await line.ask("/", Sum(0), Sum)
            handler.go_on.set()
            assert await line.ask("/", Sum(0), Sum) == Sum(3)
            await line.close()
        with pytest.raises(UnreachableError):
            await line.ask("/", Sum(0), Sum)

    run(check())


class Slow(Answers):
    """Answers when it is told to."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status, body)
        self.go_on = asyncio.Event()

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        await super().answer(request)
        await self.go_on.wait()
        return self.reply
