"""The small HTTP client, against our server and against servers that misbehave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest
from tests.runtime.net.conftest import Certificates, Run
from tests.runtime.net.ends import Recorder, serving

from brokerwise.model.errors import InputError
from brokerwise.runtime.net import http
from brokerwise.runtime.net.errors import (
    RefusedError,
    UnreachableError,
    UnreadableAnswerError,
)
from brokerwise.runtime.net.http import (
    HttpAnswer,
    HttpClient,
    HttpRequest,
    ask,
    request,
)


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
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 1_000)

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
async def hanging_up_after(
    answers: int, *, reading: bool = False
) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that closes each connection after so many answers, without saying so,
    or, if it is `reading`, when it has read one request more; and how many requests
    came on each."""
    came: list[int] = []

    async def handle(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        own = len(came)
        came.append(0)
        with suppress(OSError, asyncio.IncompleteReadError):  # the client has gone
            while came[own] < answers + reading:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"POST"):
                    await reader.readexactly(len(ASKED))
                came[own] += 1
                if came[own] <= answers:
                    writer.write(
                        b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + SAID
                    )
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/sum", came


ASKED, SAID = b'{"total":0,"of":[]}', b'{"total": 3}'


class Counter:
    """A door that lets everybody in and counts them."""

    def __init__(self) -> None:
        self.accepted = 0

    def is_open_to_all(self, descriptor: int) -> bool:
        self.accepted += 1
        return True

    def is_open(self, descriptor: int) -> bool:
        return True

    def lets_in(self, path: str, token: str) -> bool:
        return True

    def refuse(self) -> str:
        return ""


@pytest.mark.parametrize("tls", [False, True])
def test_many_requests_go_over_one_connection(
    run: Run, certificates: Certificates, tls: bool
) -> None:
    async def check() -> None:
        handler, door = Answers(200, SAID), Counter()
        context = certificates.server if tls else None
        async with serving(handler, ssl=context, door=door) as server:
            url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
            async with HttpClient() as client:
                for token in ("a", "b", "c"):
                    for path in ("/x", "/y"):
                        found = await client.ask(
                            *(url + path, Sum(0), Sum),
                            token=token,
                            ssl=certificates.client,
                        )
                        assert found == Sum(3)
                handler.reply = HttpAnswer(409, b'{"error": "no"}')
                with pytest.raises(RefusedError, match="no"):
                    await client.ask(url, Sum(0), Sum, ssl=certificates.client)
                await client.request("GET", url, ssl=certificates.client)
            assert door.accepted == 1
            assert [r.token() for r in handler.requests[:6]] == list("aabbcc")
            await HttpClient().request("GET", url, ssl=certificates.client)
            await HttpClient().request("GET", url, ssl=certificates.client)
            assert door.accepted == 3

    run(check())


def test_a_connection_that_was_closed_is_replaced(run: Run) -> None:
    async def check() -> None:
        async with (
            hanging_up_after(3) as (url, came),
            HttpClient(repeatable=True) as client,
        ):
            for _ in range(8):
                assert await client.ask(url, Sum(0), Sum) == Sum(3)
            assert came == [3, 3, 2]

    run(check())


def test_a_connection_that_is_seen_to_be_closed_is_replaced_whatever_is_asked(
    run: Run,
) -> None:
    async def check() -> None:
        async with hanging_up_after(1) as (url, came), HttpClient() as client:
            for _ in range(3):
                assert await client.ask(url, Sum(0), Sum) == Sum(3)
                await asyncio.sleep(0.05)  # for its end to come
            assert came == [1, 1, 1]

    run(check())


def test_a_request_that_may_have_been_carried_out_is_repeated_only_if_it_may_be(
    run: Run,
) -> None:
    async def check() -> None:
        async with hanging_up_after(1, reading=True) as (url, came):
            async with HttpClient() as client:
                assert await client.ask(url, Sum(0), Sum) == Sum(3)
                with pytest.raises(UnreachableError, match="hung up"):
                    await client.ask(url, Sum(0), Sum)
                assert came == [2]
            async with HttpClient() as client:
                assert await client.ask(url, Sum(0), Sum) == Sum(3)
                assert await client.ask(url, None, Sum, method="GET") == Sum(3)
                assert came == [2, 2, 1]
            async with HttpClient(repeatable=True) as client:
                assert await client.ask(url, Sum(0), Sum) == Sum(3)
                assert await client.ask(url, Sum(0), Sum) == Sum(3)
                assert came == [2, 2, 1, 2, 1]

    run(check())


def test_requests_at_the_same_time_do_not_wait_for_each_other_and_few_are_kept(
    run: Run,
) -> None:
    async def check() -> None:
        handler, door = Slow(200, SAID), Counter()
        async with serving(handler, door=door) as server, HttpClient() as client:
            url = f"http://127.0.0.1:{server.port}/"
            for _ in range(2):
                asked = [
                    asyncio.create_task(client.ask(url, Sum(0), Sum)) for _ in range(6)
                ]
                while len(handler.requests) < 6:
                    await asyncio.sleep(0.005)
                handler.go_on.set()
                assert await asyncio.gather(*asked) == [Sum(3)] * 6
                handler.requests.clear()
                handler.go_on.clear()
            assert door.accepted == 6 + 6 - http.MOST_IDLE_PER_SERVER

    run(check())


def test_a_connection_that_is_not_used_is_closed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "IDLE_SECONDS", 0.05)

    async def check() -> None:
        async with hanging_up_after(9) as (url, came), HttpClient() as client:
            assert await client.ask(url, Sum(0), Sum) == Sum(3)
            assert await client.ask(url, Sum(0), Sum) == Sum(3)
            assert came == [2]
            await asyncio.sleep(0.2)
            assert await client.ask(url, Sum(0), Sum) == Sum(3)
            assert came == [2, 1]

    run(check())


def test_what_nobody_asked_for_is_not_taken_for_an_answer(run: Run) -> None:
    async def check() -> None:
        twice = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + SAID
        async with (
            speaking(twice + twice.replace(b"3", b"4"), silent=True) as url,
            HttpClient() as client,
        ):
            for _ in range(2):
                found = await client.ask(url, None, Sum, method="GET")
                assert found == Sum(3)

    run(check())


def test_a_kept_connection_that_nobody_answers_on_is_given_up_in_time(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "brokerwise")

    async def check() -> None:
        handler = Slow(200, SAID)
        handler.go_on.set()
        async with HttpClient(repeatable=True) as client:
            async with serving(handler) as server:
                url = f"http://127.0.0.1:{server.port}/"
                assert await client.ask(url, Sum(0), Sum) == Sum(3)
                handler.go_on.clear()
                for _ in range(2):
                    with pytest.raises(UnreachableError, match=r"within 0\.1 s"):
                        await client.ask(url, Sum(0), Sum, seconds=0.1)
                handler.go_on.set()
                assert await client.ask(url, Sum(0), Sum) == Sum(3)
            with pytest.raises(UnreachableError):
                await client.ask(url, Sum(0), Sum)
        told = [record.getMessage().split(":")[0] for record in caplog.records]
        assert told == ["no answer", "127.0.0.1", "no answer"]

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
