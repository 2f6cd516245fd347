"""Connections have turns, and none may talk or wait for long."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from brokerwise.runtime.broker.connections import Connections
from brokerwise.runtime.protocol.frames import (
    CloseCode,
    Login,
    Published,
    Welcome,
    encode,
)
from brokerwise.runtime.protocol.limits import (
    BYTES_PER_TURN,
    LOGIN_SECONDS,
    MESSAGES_PER_TURN,
    PUBLISH_RATE,
)
from brokerwise.runtime.protocol.tokens import Keys, Role

from .pretend import KeptLine, Pretended, message

KEYS = Keys.of_secret(b"secret")


@dataclass(eq=False)
class KeptWire(KeptLine):
    owner: Any = None
    opened_at: float = 0.0
    paused: bool = False

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Reception:
    """The connections of a broker, and one of them that has logged in."""

    def __init__(self) -> None:
        self.broker = Pretended()
        self.loop = asyncio.get_running_loop()
        self.connections = Connections(
            *(self.broker.hub, self.broker.passage, KEYS, _welcome, self.loop)
        )
        self.wire = KeptWire(opened_at=self.loop.time())
        self.connections.opened(self.wire)
        login = Login("paper", KEYS.token(Role.USER, "paper"))
        self.connections.received(self.wire, encode(login))
        self.said = 0

    def publish_until_paused(self, size: int) -> int:
        """How many messages of this size are heard in a turn."""
        before = self.said
        while not self.wire.paused:
            self.said += 1
            frame = message("news", self.said, data="x" * size)
            self.connections.received(self.wire, encode(frame))
        return self.said - before


def _welcome() -> Welcome:
    return Welcome("b0", 1, 1, 1.0, 3.0, 64, 0.2, 1024, 1 << 20)


@pytest.mark.parametrize(
    ("size", "heard"),
    [(10, MESSAGES_PER_TURN + 1), (64 << 10, BYTES_PER_TURN // (64 << 10))],
)
def test_a_turn_ends_after_so_much_and_the_next_one_follows(
    size: int, heard: int
) -> None:
    async def scenario() -> None:
        reception = Reception()
        _, line = reception.broker.subscriber("ann", "news")
        for turn in (1, 2):
            assert reception.publish_until_paused(size) == heard
            await asyncio.sleep(0)
            assert not reception.wire.paused
            assert reception.wire.last() == Published(turn * heard)
            assert len(line.messages()) == turn * heard

    asyncio.run(scenario())


def test_whoever_publishes_too_much_in_a_second_waits_for_the_next() -> None:
    async def scenario() -> None:
        reception = Reception()
        while reception.said < PUBLISH_RATE:
            reception.publish_until_paused(1)
            await asyncio.sleep(0)
        assert reception.wire.paused
        reception.connections.tick(0.25)
        assert not reception.wire.paused
        assert reception.publish_until_paused(1) > 0

    asyncio.run(scenario())


def test_a_stranger_who_does_not_read_or_does_not_log_in_is_hung_up_on() -> None:
    async def scenario() -> None:
        reception = Reception()
        now = reception.loop.time()
        deaf = KeptWire(opened_at=now)
        dumb = KeptWire(opened_at=now - LOGIN_SECONDS - 1)
        for wire in (deaf, dumb):
            reception.connections.opened(wire)
        reception.connections.overflowed(deaf)
        reception.connections.tick(0.25)
        assert deaf.closed is not None and deaf.closed[0] == CloseCode.SLOW_READER
        assert dumb.closed is not None and dumb.closed[0] == CloseCode.LOGIN_TIMEOUT
        assert reception.wire.closed is None
        for wire in (deaf, dumb):
            reception.connections.closed(wire)

    asyncio.run(scenario())
