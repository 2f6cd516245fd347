"""Our client's end of a WebSocket: against the `websockets` server, and our own."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from tests.runtime.net.conftest import Certificates, Run
from tests.runtime.net.ends import HANDSHAKE, Recorder, serving, until
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as library_serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from brokerwise.model.errors import InputError
from brokerwise.runtime.net import connection as connection_module
from brokerwise.runtime.net.connection import ClientConnection, connect, frame_text
from brokerwise.runtime.net.errors import (
    RefusedError,
    UnreachableError,
    UnreadableAnswerError,
)
from brokerwise.runtime.net.server import Connection

HELLO = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade"
Serve = Callable[[ServerConnection], Awaitable[None]]


class Listening:
    """What a client was told."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.ends: list[tuple[int, str]] = []

    def on_text(self, text: bytes) -> None:
        assert not self.ends
        self.texts.append(text)

    def on_closed(self, code: int, reason: str) -> None:
        self.ends.append((code, reason))

    async def ended(self) -> None:
        await until(lambda: self.ends)

    async def connect(
        self, url: str, tls: ssl.SSLContext | None = None, seconds: float = 5.0
    ) -> ClientConnection:
        return await connect(
            url,
            on_text=self.on_text,
            on_closed=self.on_closed,
            ssl=tls,
            seconds=seconds,
        )


async def round_trip(url: str) -> None:
    """Another client's message there and back: what was under way before has come."""
    other = Listening()
    dialled = await other.connect(url)
    dialled.send(b"there and back")
    await until(lambda: other.texts)
    dialled.close()
    await other.ended()


async def echo(server: ServerConnection) -> None:
    try:
        async for message in server:
            await server.send(message)
    except ConnectionClosed:
        pass


@asynccontextmanager
async def library(
    answer: Serve, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """The address of a `websockets` server."""
    async with library_serve(answer, "127.0.0.1", 0, ssl=tls, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"{'wss' if tls else 'ws'}://127.0.0.1:{port}/session"


@asynccontextmanager
async def bare(
    speak: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[str]:
    """The address of a server that says what it likes."""

    async def handle(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await speak(reader, writer)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@pytest.mark.parametrize("tls", [False, True])
def test_messages_go_there_and_come_back(
    run: Run, certificates: Certificates, tls: bool
) -> None:
    texts = ["", "é" * 99, "x" * 125, "y" * 126, "z" * 65_536, "a" * (1 << 20)]

    async def check() -> None:
        listening = Listening()
        async with library(echo, certificates.server if tls else None) as url:
            dialled = await listening.connect(url, certificates.client)
            for text in texts:
                dialled.send(text.encode())
            await until(lambda: len(listening.texts) == len(texts))
            assert [text.decode() for text in listening.texts] == texts
            assert dialled.is_open
            dialled.close()
            assert not dialled.is_open
            dialled.send(b"dropped")
            await listening.ended()
            assert listening.ends == [(1000, "")]
            await dialled.drained()

    run(check())


def test_both_ends_of_ours_understand_each_other(
    run: Run, certificates: Certificates
) -> None:
    async def check() -> None:
        handler, listening = Recorder(echo=True), Listening()
        async with serving(handler, ssl=certificates.server) as server:
            url = f"wss://127.0.0.1:{server.port}/session"
            dialled = await listening.connect(url, certificates.client)
            texts = [b"%d" % i for i in range(5_000)]
            for text in texts:
                dialled.send(text)
                await dialled.drained()
            dialled.close(4444, "done")
            await listening.ended()
            assert handler.texts == texts
            assert listening.texts == texts
            assert listening.ends == [(4444, "done")]

    run(check())


@pytest.mark.parametrize("tls", [False, True])
def test_the_end_is_told_once_with_the_code_of_the_server(
    run: Run, certificates: Certificates, tls: bool
) -> None:
    async def leave(server: ServerConnection) -> None:
        await server.send("last words")
        await server.close(4503, "leaving")

    async def check() -> None:
        listening = Listening()
        async with library(leave, certificates.server if tls else None) as url:
            dialled = await listening.connect(url, certificates.client)
            await listening.ended()
            assert listening.texts == [b"last words"]
            assert listening.ends == [(4503, "leaving")]
            dialled.close()
            dialled.abort()
            await asyncio.sleep(0)
            assert len(listening.ends) == 1

    run(check())


def test_a_server_that_vanishes_is_told_as_1006(run: Run) -> None:
    async def check() -> None:
        handler, listening = Recorder(), Listening()
        async with serving(handler) as server:
            dialled = await listening.connect(f"ws://127.0.0.1:{server.port}/")
            await until(lambda: handler.connections)
            handler.connections[0].send(b"last words")
            await until(lambda: listening.texts)
            handler.connections[0].abort()
            await listening.ended()
            assert listening.ends == [(1006, "")]
            assert not dialled.is_open
            assert dialled.buffered() == 0

    run(check())


def test_our_own_abort_is_told_too(run: Run) -> None:
    async def check() -> None:
        listening = Listening()
        async with library(echo) as url:
            dialled = await listening.connect(url)
            dialled.abort()
            assert listening.ends == []  # never from inside the call
            await listening.ended()
            assert listening.ends == [(1006, "")]

    run(check())


def test_messages_wait_while_reading_is_paused(run: Run) -> None:
    async def check() -> None:
        handler, listening = Recorder(echo=True), Listening()
        async with serving(handler) as server:
            dialled = await listening.connect(f"ws://127.0.0.1:{server.port}/")
            await until(lambda: handler.connections)
            texts = [b"%d" % i for i in range(50)]
            for text in texts[:10]:
                handler.connections[0].send(text)
            await until(lambda: len(listening.texts) == 10)
            dialled.pause_reading()
            dialled.pause_reading()
            for text in texts[10:]:
                handler.connections[0].send(text)
            await until(lambda: handler.connections[0].buffered() == 0)
            await round_trip(f"ws://127.0.0.1:{server.port}/")
            assert len(listening.texts) == 10
            dialled.resume_reading()
            dialled.resume_reading()
            await until(lambda: len(listening.texts) == 50)
            assert listening.texts == texts
            dialled.close()
            await listening.ended()

    run(check())


def test_nothing_is_told_before_connect_has_returned(run: Run) -> None:
    class Greets(Recorder):
        def opened(self, c: Connection) -> None:
            super().opened(c)
            c.send(b"welcome")
            c.close(4503, "and goodbye")

    async def check() -> None:
        async with serving(Greets()) as server:
            for _ in range(20):
                listening = Listening()
                await listening.connect(f"ws://127.0.0.1:{server.port}/")
                assert (listening.texts, listening.ends) == ([], [])
                await listening.ended()
                assert listening.texts == [b"welcome"]
                assert listening.ends == [(4503, "and goodbye")]

    run(check())


def test_drained_waits_for_a_server_that_does_not_read(run: Run) -> None:
    async def check() -> None:
        handler, listening = Recorder(), Listening()
        async with serving(handler) as server:
            dialled = await listening.connect(f"ws://127.0.0.1:{server.port}/")
            await until(lambda: handler.connections)
            handler.connections[0].pause_reading()
            await dialled.drained()
            while dialled.buffered() <= connection_module.QUEUE_BYTES:
                dialled.send(b"x" * 500_000)
                await asyncio.sleep(0)
            waiting = [asyncio.ensure_future(dialled.drained()) for _ in range(3)]
            await asyncio.wait(waiting, timeout=0.02)
            assert not any(waiter.done() for waiter in waiting)
            waiting.pop().cancel()
            handler.connections[0].resume_reading()
            await asyncio.gather(*waiting)
            assert dialled.buffered() < connection_module.QUEUE_BYTES
            handler.connections[0].pause_reading()
            while dialled.buffered() <= connection_module.QUEUE_BYTES:
                dialled.send(b"x" * 500_000)
                await asyncio.sleep(0)
            waiter = asyncio.ensure_future(dialled.drained())
            await asyncio.sleep(0)
            dialled.abort()
            await waiter

    run(check())


def test_a_server_that_does_not_finish_the_close_is_cut_off(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "CLOSE_SECONDS", 0.1)

    async def check() -> None:
        handler, listening = Recorder(), Listening()
        async with serving(handler) as server:
            dialled = await listening.connect(f"ws://127.0.0.1:{server.port}/")
            await until(lambda: handler.connections)
            handler.connections[0].pause_reading()
            dialled.close(1000, "goodbye")
            await listening.ended()
            assert listening.ends == [(1006, "")]

    run(check())


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (Frame(Opcode.BINARY, b"b").serialize(mask=False), 1003),
        (Frame(Opcode.TEXT, b"\xff").serialize(mask=False), 1007),
        (Frame(Opcode.TEXT, b"a").serialize(mask=True), 1002),
        (b"\x81\x7f" + (1 << 40).to_bytes(8), 1009),
    ],
    ids=["binary", "not UTF-8", "masked", "endless"],  # a mask is drawn by chance
)
def test_a_server_that_breaks_the_rules_is_left(
    run: Run, frame: bytes, code: int
) -> None:
    async def check() -> None:
        handler, listening = Recorder(), Listening()
        async with serving(handler) as server:
            await listening.connect(f"ws://127.0.0.1:{server.port}/")
            await until(lambda: handler.connections)
            handler.connections[0].write(frame_text(b"good") + frame)
            await listening.ended()
            assert listening.texts == [b"good"]
            assert [end[0] for end in listening.ends] == [code]

    run(check())


def test_a_callback_that_fails_ends_the_connection_and_is_told_of(run: Run) -> None:
    def fails(text: bytes) -> None:
        raise LookupError("our mistake")

    async def check() -> None:
        told: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
        listening = Listening()
        listening.on_text = fails  # type: ignore[method-assign]
        async with library(echo) as url:
            dialled = await listening.connect(url)
            dialled.send(b"a")
            await listening.ended()
            assert [type(e) for e in told] == [LookupError]

    run(check())


def test_an_http_refusal_is_told_with_its_status(run: Run) -> None:
    async def refuse(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 Unavailable\r\n\r\nno room")
        await reader.read()

    async def check() -> None:
        async with bare(refuse) as url:
            with pytest.raises(RefusedError, match="503: no room") as refused:
                await Listening().connect(url)
            assert refused.value.status == 503

    run(check())


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        HELLO + b"\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
        HELLO + b"\r\n\r\n",
        b"x" * 100_000,
    ],
)
def test_another_program_is_not_taken_for_a_broker(run: Run, answer: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await reader.read()

    async def check() -> None:
        async with bare(speak) as url:
            with pytest.raises(UnreadableAnswerError):
                await Listening().connect(url)

    run(check())


def test_who_cannot_be_reached_in_time_is_unreachable(
    run: Run, certificates: Certificates
) -> None:
    async def silent(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.read()

    async def hangs_up(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")

    async def check() -> None:
        async with bare(silent) as url:
            for scheme in ("ws", "wss"):
                address = url.replace("ws", scheme, 1)
                with pytest.raises(UnreachableError, match=r"within 0\.1 s"):
                    await Listening().connect(address, certificates.client, 0.1)
        with pytest.raises(UnreachableError):
            await Listening().connect(url)
        async with bare(hangs_up) as url:
            with pytest.raises(UnreachableError):
                await Listening().connect(url)
        async with library(echo, certificates.server) as url:
            with pytest.raises(UnreachableError, match="certificate"):
                await Listening().connect(url)

    run(check())


@pytest.mark.parametrize("url", ["http://a/", "ws:///", "ws://a:b/", "nonsense", ""])
def test_a_bad_address_is_an_input_error(url: str) -> None:
    with pytest.raises(InputError):
        asyncio.run(Listening().connect(url))


def test_our_handshake_asks_for_no_extension(run: Run) -> None:
    heads: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))

    async def check() -> None:
        async with bare(note) as url:
            with pytest.raises(UnreachableError):
                await Listening().connect(url + "session?v=1")
        assert heads[0].startswith(HANDSHAKE[: HANDSHAKE.index(b"\r\n")])
        assert b"extensions" not in heads[0].lower()

    run(check())
