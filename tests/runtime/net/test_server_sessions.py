"""WebSockets to our server, from the `websockets` client and from bare sockets."""

import asyncio
import socket
import struct
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.net.conftest import Certificates, Run
from tests.runtime.net.ends import HANDSHAKE, Recorder, opened, raw, serving, until
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Close

from brokerwise.runtime.net.connection import frame_text, mask_text
from brokerwise.runtime.net.server import Connection, Deadlines, Server

KEY = b"\x01\x02\x03\x04"


def address(server: Server, path: str = "/session", scheme: str = "ws") -> str:
    return f"{scheme}://127.0.0.1:{server.port}{path}"


def where(server: Server) -> tuple[str, int]:
    return "127.0.0.1", server.port


def masked_close(code: int) -> bytes:
    return b"\x88\x82" + bytes(4) + struct.pack("!H", code)


async def close_of(client: ClientConnection) -> tuple[int, str]:
    """How the server closed it."""
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            await client.recv()
    received = closed.value.rcvd
    assert isinstance(received, Close)
    return received.code, received.reason


@pytest.mark.parametrize("tls", [False, True])
def test_what_is_sent_comes_back_whole_and_in_order(
    run: Run, certificates: Certificates, tls: bool
) -> None:
    texts = ["", "é" * 100, "x" * 125, "y" * 126, "z" * 65_535, "a" * (1 << 20)]

    async def check() -> None:
        handler = Recorder(echo=True)
        context: dict[str, Any] = {"ssl": certificates.client} if tls else {}
        options: dict[str, Any] = {"ssl": certificates.server} if tls else {}
        async with serving(handler, **options) as server:
            url = address(server, scheme="wss" if tls else "ws")
            async with connect(url, max_size=None, **context) as client:
                assert client.response is not None
                assert "Sec-WebSocket-Extensions" not in client.response.headers
                for text in texts:
                    await client.send(text)
                await client.send(iter(["in ", "four", "", " parts"]))
                received = [await client.recv() for _ in range(len(texts) + 1)]
                assert received == [*texts, "in four parts"]
                assert await (await client.ping("hello")) >= 0
                [connection] = handler.connections
                assert connection.path == "/session"
                assert connection.peer.startswith("127.0.0.1:")
                assert connection.is_open
            await until(lambda: handler.closed_ones)
            assert not connection.is_open

    run(check())


WRONG: list[tuple[bytes, int]] = [
    (b"\x82\x81" + bytes(4) + b"b", 1003),
    (b"\x81\x81" + bytes(4) + b"\xff", 1007),
    (b"\x81\xff" + (1 << 30).to_bytes(8) + bytes(4), 1009),
    (b"\x81\x05hello", 1002),
    (b"\xf1\x80" + bytes(4), 1002),
]


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(("frame", "code"), WRONG)
def test_a_wrong_frame_is_told_why_though_more_follows_it(
    run: Run, certificates: Certificates, frame: bytes, code: int, tls: bool
) -> None:
    async def check() -> None:
        handler = Recorder()
        options: dict[str, Any] = {"ssl": certificates.server} if tls else {}
        async with serving(handler, **options) as server:
            context = certificates.client if tls else None
            async with opened(server, context) as client:
                client.send(mask_text(b"before", KEY) + frame + bytes(300_000))
                head = await client.reader.readexactly(4)
                assert head[0] == 0x88
                assert struct.unpack("!H", head[2:]) == (code,)
                assert len(await client.rest()) == head[1] - 2
            await until(lambda: handler.closed_ones)
            assert handler.texts == [b"before"]

    run(check())


def test_the_library_client_hears_the_codes_of_its_mistakes(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler, max_bytes=1_000) as server:
            wrong: list[tuple[Any, int]] = [
                (b"binary", 1003),
                ("x" * 1_001, 1009),
                (iter(["x" * 600, "x" * 600]), 1009),
            ]
            for message, code in wrong:
                async with connect(address(server)) as client:
                    await client.send(message)
                    assert (await close_of(client))[0] == code
            assert handler.texts == []

    run(check())


def test_the_server_closes_with_its_own_code_and_reason(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server, connect(address(server)) as client:
            await until(lambda: handler.connections)
            connection = handler.connections[0]
            connection.close(4503, "leaving " * 30)
            connection.close(4400, "not this one")
            assert not connection.is_open
            connection.write(frame_text(b"dropped"))
            code, reason = await close_of(client)
            assert (code, reason) == (4503, ("leaving " * 30)[:123])
            await until(lambda: handler.closed_ones)

    run(check())


def test_what_was_sent_before_the_close_was_heard_of_is_handed_over(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server, opened(server) as client:
            await until(lambda: handler.connections)
            handler.connections[0].close(4503, "leaving")
            late = [b"late %d" % i for i in range(500)]
            for text in late:
                client.send(mask_text(text, KEY))
            await until(lambda: len(handler.texts) == len(late))
            assert handler.closed_ones == []
            client.send(masked_close(4503) + mask_text(b"too late", KEY))
            await until(lambda: handler.closed_ones)
            assert handler.texts == late
            assert await client.rest() == b"\x88\x09" + struct.pack("!H", 4503) + (
                b"leaving"
            )

    run(check())


def test_who_never_answers_a_close_is_cut_off(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with (
            serving(handler, close_seconds=0.1) as server,
            opened(server) as client,
        ):
            await until(lambda: handler.connections)
            handler.connections[0].close(1000, "")
            await until(lambda: handler.closed_ones)
            assert await client.rest() == b"\x88\x02\x03\xe8"

    run(check())


class HoldsBack(Recorder):
    """Pauses at every third message."""

    def received(self, c: Connection, text: bytes) -> None:
        super().received(c, text)
        if len(self.texts) % 3 == 0:
            c.pause_reading()

    def has(self, messages: int) -> bool:
        return len(self.texts) >= messages


@pytest.mark.parametrize("tls", [False, True])
def test_who_is_held_back_loses_nothing_and_keeps_its_order(
    run: Run, certificates: Certificates, tls: bool
) -> None:
    async def check() -> None:
        handler = HoldsBack()
        options: dict[str, Any] = {"ssl": certificates.server} if tls else {}
        context = certificates.client if tls else None
        async with (
            serving(handler, **options) as server,
            opened(server, context) as client,
        ):
            texts = [b"%d" % i for i in range(100)]
            client.send(b"".join(mask_text(text, KEY) for text in texts))
            client.send(masked_close(1000))
            for held in range(3, 100, 3):
                await until(partial(handler.has, held))
                for _ in range(3):
                    await asyncio.sleep(0)
                assert len(handler.texts) == held
                assert handler.closed_ones == []
                handler.connections[0].resume_reading()
                assert len(handler.texts) == held  # never from inside the call
            await until(lambda: handler.closed_ones)
            assert handler.texts == texts
            assert (await client.rest()) == b"\x88\x02\x03\xe8"

    run(check())


def test_who_is_held_back_and_vanishes_has_its_last_words_heard(run: Run) -> None:
    async def check() -> None:
        handler = HoldsBack()
        async with serving(handler) as server:
            async with opened(server) as client:
                texts = [b"%d" % i for i in range(10)]
                client.send(b"".join(mask_text(text, KEY) for text in texts))
                await until(lambda: len(handler.texts) == 3)
            handler.connections[0].resume_reading()
            await until(lambda: len(handler.texts) >= 6)
            # If nothing is read from it, only a write finds out that it has gone.
            while not handler.closed_ones:
                handler.connections[0].send(b"there?")
                await asyncio.sleep(0.005)
            assert handler.texts == texts

    run(check())


def test_who_is_cut_off_is_not_heard_any_more(run: Run) -> None:
    class CutsOff(Recorder):
        def received(self, c: Connection, text: bytes) -> None:
            super().received(c, text)
            c.abort()
            c.send(b"dropped")
            c.close(1000, "dropped too")
            c.resume_reading()

    async def check() -> None:
        handler = CutsOff()
        async with serving(handler) as server, opened(server) as client:
            client.send(mask_text(b"first", KEY) + mask_text(b"second", KEY))
            await until(lambda: handler.closed_ones)
            assert handler.texts == [b"first"]
            assert handler.connections[0].buffered() == 0
            with pytest.raises(asyncio.IncompleteReadError):
                await client.reader.readexactly(1)

    run(check())


def test_a_slow_reader_is_told_of_and_nobody_else_waits(run: Run) -> None:
    class Cuts(Recorder):
        def overflowed(self, c: Connection) -> None:
            super().overflowed(c)
            c.close(4429, "too slow")

    async def check() -> None:
        handler = Cuts()
        limit = 200_000
        async with (
            serving(handler, queue_bytes=limit, close_seconds=0.2) as server,
            opened(server),
            connect(address(server)) as brisk,
        ):
            await until(lambda: len(handler.connections) == 2)
            slow, other = handler.connections
            framed = frame_text(b"x" * 10_000)
            sent = 0
            while not handler.overflows:
                slow.write(framed)
                other.write(framed)
                sent += 1
                assert slow.buffered() <= limit + len(framed)
                assert await brisk.recv() == "x" * 10_000
            assert slow.buffered() > limit
            assert not slow.is_open
            await until(lambda: handler.closed_ones)
            assert handler.closed_ones == [slow]
            assert handler.overflows == 1
            other.send(b"still here")
            assert await brisk.recv() == "still here"

    run(check())


def test_a_reader_who_stops_reading_and_hangs_up_halfway_is_let_go(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with (
            serving(handler, close_seconds=0.1) as server,
            opened(server) as client,
        ):
            await until(lambda: handler.connections)
            connection = handler.connections[0]
            while connection.buffered() < 1_000_000:
                connection.write(bytes(1_000_000))
                await asyncio.sleep(0)
            client.writer.write_eof()
            await until(lambda: handler.closed_ones)

    run(check())


@pytest.mark.parametrize("when", ["opened", "received", "overflowed"])
def test_a_handler_that_fails_costs_only_that_connection(run: Run, when: str) -> None:
    class Fails(Recorder):
        def opened(self, c: Connection) -> None:
            super().opened(c)
            self._fail("opened", c)

        def received(self, c: Connection, text: bytes) -> None:
            super().received(c, text)
            self._fail("received", c)

        def overflowed(self, c: Connection) -> None:
            super().overflowed(c)
            self._fail("overflowed", c)

        def _fail(self, where: str, c: Connection) -> None:
            if where == when and c is self.connections[0]:
                raise LookupError("our mistake")

    async def check() -> None:
        told: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
        handler = Fails()
        async with (
            serving(handler, queue_bytes=1_000) as server,
            opened(server) as one,
            opened(server) as other,
        ):
            one.send(mask_text(b"a", KEY) + mask_text(b"b", KEY))
            while not handler.closed_ones:
                handler.connections[0].write(bytes(100_000))
                await asyncio.sleep(0)
            assert handler.closed_ones == handler.connections[:1]
            assert [type(e) for e in told] == [LookupError]
            other.send(mask_text(b"goes on", KEY))
            await until(lambda: b"goes on" in handler.texts)
        assert b"b" not in handler.texts or when == "overflowed"

    run(check())


def test_frames_that_come_with_the_handshake_are_not_lost(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server, raw(server) as client:
            client.send(HANDSHAKE + mask_text(b"at once", KEY) + b"\x81")
            await until(lambda: handler.texts)
            client.send(mask_text(b"and on", KEY)[1:])
            await until(lambda: len(handler.texts) == 2)
            assert handler.texts == [b"at once", b"and on"]

    run(check())


def test_a_handshake_cut_anywhere_opens_a_session(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        stream = HANDSHAKE + mask_text(b"first", KEY)
        async with serving(handler) as server:
            for cut in range(1, len(stream), 7):
                async with raw(server) as client:
                    client.send(stream[:cut])
                    await client.writer.drain()
                    await asyncio.sleep(0.001)
                    client.send(stream[cut:])
                    assert b" 101 " in await client.head()
                    await until(lambda: handler.texts)
                    assert handler.texts == [b"first"]
                    handler.texts.clear()

    run(check())


BAD_HANDSHAKES = [
    (b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Version: 8", 400),
    (b"Sec-WebSocket-Key: AAAA", b"Sec-WebSocket-Key: A", 400),
    (b"Connection: Upgrade", b"Connection: close", 426),
    (b"GET", b"POST", 405),
    (b"Host: here", b"Host: here\r\nContent-Length: 3", 400),
]


@pytest.mark.parametrize(("good", "bad", "status"), BAD_HANDSHAKES)
def test_a_bad_handshake_is_refused(
    run: Run, good: bytes, bad: bytes, status: int
) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server, raw(server) as client:
            client.send(HANDSHAKE.replace(good, bad) + b"abc")
            assert (await client.answer())[0] == status
            assert await client.rest() == b""
        assert handler.connections == []

    run(check())


def test_closing_the_server_tells_everyone(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler, close_seconds=0.3) as server:
            async with connect(address(server)) as client, opened(server) as silent:
                await until(lambda: len(handler.connections) == 2)
                closing = asyncio.ensure_future(server.close())
                assert await close_of(client) == (1001, "the server stops")
                await closing
                assert len(handler.closed_ones) == 2
                assert (await silent.rest())[:1] == b"\x88"
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", server.port)

    run(check())


def test_a_thousand_who_say_nothing_are_swept_and_others_go_on(run: Run) -> None:
    async def check() -> None:
        handler = Recorder(echo=True)
        loop = asyncio.get_running_loop()
        async with serving(handler, login_seconds=0.5) as server:
            began = loop.time()
            silent = [socket.create_connection(where(server)) for _ in range(1_000)]
            async with connect(address(server)) as client:
                for one in silent:
                    one.setblocking(False)
                    assert await loop.sock_recv(one, 1) == b""
                    one.close()
                assert loop.time() - began >= 0.5
                await client.send("still here")  # long after the half second
                assert await client.recv() == "still here"

    run(check())


def test_a_refused_upgrade_reads_as_such_to_the_library(run: Run) -> None:
    async def check() -> None:
        handler = Recorder()
        async with serving(handler) as server:
            with pytest.raises(InvalidStatus) as refused:
                await connect(
                    address(server), additional_headers={"Content-Length": "1"}
                )
            assert refused.value.response.status_code == 400

    run(check())


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "end", "look"]), st.integers(0, 5), st.integers(0, 4)
    ),
    max_size=40,
)


@given(ACTIONS)
def test_exactly_those_run_out_whose_time_is_over(
    actions: list[tuple[str, int, int]],
) -> None:
    patience: Deadlines[int] = Deadlines(5.0)
    deadlines: dict[int, float] = {}
    now = 0.0
    for action, who, pause in actions:
        now += pause
        if action == "begin":
            patience.begin(who, now)
            deadlines[who] = now + 5.0
        elif action == "end":
            patience.end(who)
            deadlines.pop(who, None)
        else:
            late = {w for w, deadline in deadlines.items() if deadline <= now}
            found = patience.run_out(now)
            assert set(found) == late
            assert len(found) == len(late)
            assert [deadlines[w] for w in found] == sorted(deadlines[w] for w in found)
            for w in late:
                del deadlines[w]
        assert len(patience) == len(deadlines)
