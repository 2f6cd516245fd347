"""What is passed on to another broker, and what becomes of it if that does not read."""

import asyncio
from collections.abc import Callable

import msgspec

from brokerwise.runtime.broker.peers import QUEUED_BYTES, Peers
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import Connection, serve
from brokerwise.runtime.protocol.fleet import Address
from brokerwise.runtime.protocol.frames import Forward, Login, decode_from_client

MIB = 1 << 20


class Deaf:
    """A broker that reads nothing until it is told to."""

    def __init__(self) -> None:
        self.lines: list[Connection] = []
        self.heard: list[object] = []

    def opened(self, c: Connection) -> None:
        self.lines.append(c)
        c.pause_reading()

    def received(self, c: Connection, text: bytes) -> None:
        self.heard.append(decode_from_client(text))

    def closed(self, c: Connection) -> None:
        pass

    def overflowed(self, c: Connection) -> None:
        raise AssertionError("nothing was sent to it")

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        raise NotImplementedError


def forward(seq: int) -> Forward:
    data = msgspec.Raw(msgspec.json.encode("x" * (MIB - 1_000)))
    return Forward("news", "paper", 1, seq, data)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_what_another_broker_does_not_read_is_bounded_and_counted() -> None:
    deaf = Deaf()
    server = await serve(deaf, host="127.0.0.1", port=0)
    peers = Peers("b0", "token", None)
    peers.learn([Address("b1", f"ws://127.0.0.1:{server.port}")])
    peers.forward("b1", forward(1))
    await until(lambda: bool(deaf.lines))
    assert not peers.is_congested()
    seq = 1
    while not peers.is_congested():  # a socket holds some, which is not ours
        seq += 1
        peers.forward("b1", forward(seq))
        await asyncio.sleep(0)
    await until(lambda: not peers.is_congested())  # it has been slow for long
    assert peers.dropped() == 0
    for _ in range(QUEUED_BYTES // MIB + 16):
        seq += 1
        peers.forward("b1", forward(seq))
    assert peers.dropped() > 0
    deaf.lines[0].resume_reading()
    await until(lambda: len(deaf.heard) == 1 + seq - peers.dropped())
    assert isinstance(deaf.heard[0], Login)
    seen = [f.seq for f in deaf.heard if isinstance(f, Forward)]
    assert seen == [*range(1, seq - peers.dropped() + 1)]
    assert not peers.is_congested()
    await peers.close()
    await server.close()
