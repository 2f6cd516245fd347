"""Who comes in, whose turn it is, who is cut off, and what the log says of it."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import pytest
from tests.runtime.broker.fakes import FakeBroker, FakeConnection, message

from brokerwise.runtime.broker.connections import (
    REPORT_SECONDS,
    ConnectionLimit,
    Connections,
)
from brokerwise.runtime.process.open_files import OpenFiles
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
    RESERVED_FILES,
)
from brokerwise.runtime.protocol.tokens import Keys, Role

KEYS = Keys.of_secret(b"secret")


@pytest.mark.parametrize("limit", [16, 200, 1_024, 1_048_576])
def test_the_last_files_are_for_the_fleet_and_half_of_them_for_the_broker(
    limit: int,
) -> None:
    door = ConnectionLimit(KEYS, OpenFiles(limit))
    reserve = min(RESERVED_FILES, limit // 4)
    everybody = [n for n in range(limit - reserve - 3, limit) if door.is_open_to_all(n)]
    fleet = [n for n in range(limit - reserve, limit) if door.is_open(n)]
    assert everybody == list(range(limit - reserve - 3, limit - reserve))
    assert fleet == list(range(limit - reserve, limit - reserve // 2))


def test_only_brokers_and_those_who_ask_for_its_health_get_into_a_full_one() -> None:
    door = ConnectionLimit(KEYS, OpenFiles(200))
    assert door.lets_in("/control/routes", KEYS.token(Role.BROKER, "coordinator"))
    assert door.lets_in("/session", KEYS.token(Role.BROKER, "b1"))
    assert door.lets_in("/health", "")
    for token in (KEYS.token(Role.USER, "ann"), "", "broker.YjE.00"):
        assert not door.lets_in("/session", token)


def test_refusals_are_counted_and_logged_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 100.0
    door = ConnectionLimit(KEYS, OpenFiles(200), lambda: now)
    with caplog.at_level(logging.INFO):
        for _ in range(1_234):
            assert "is full" in door.refuse()
        now += REPORT_SECONDS
        door.report()
        now += REPORT_SECONDS
        door.report()
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(",")[0] for line in said] == [
        "connections refused: 1",
        "connections refused: 1",
    ]
    assert said[1].startswith(
        "connections refused: 1,233, as 150 files are open of 200"
    )
    assert door.refused == 1_234


@dataclass(eq=False)
class FakeIncoming(FakeConnection):
    owner: Any = None
    opened_at: float = 0.0
    peer: str = "127.0.0.1:40000"
    paused: bool = False

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Reception:
    """The connections of a broker, and one of them that has logged in."""

    def __init__(self) -> None:
        self.broker = FakeBroker()
        self.loop = asyncio.get_running_loop()
        self.connections = Connections(
            self.broker.handler,
            self.broker.router,
            KEYS,
            welcome=_welcome,
            carry_out=self.broker.commands.extend,
            loop=self.loop,
        )
        self.wire = FakeIncoming(opened_at=self.loop.time())
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
async def test_a_turn_ends_after_so_much_and_the_next_one_follows(
    size: int, heard: int
) -> None:
    reception = Reception()
    _, line = reception.broker.subscriber("ann", "news")
    for turn in (1, 2):
        assert reception.publish_until_paused(size) == heard
        await asyncio.sleep(0)
        assert not reception.wire.paused
        assert reception.wire.last() == Published(turn * heard)
        assert len(line.messages()) == turn * heard


async def test_whoever_publishes_too_much_in_a_second_waits_for_the_next() -> None:
    reception = Reception()
    while reception.said < PUBLISH_RATE:
        reception.publish_until_paused(1)
        await asyncio.sleep(0)
    assert reception.wire.paused
    reception.connections.tick(0.25)
    assert not reception.wire.paused
    assert reception.publish_until_paused(1) > 0


async def test_a_stranger_who_does_not_read_or_does_not_log_in_is_hung_up_on() -> None:
    reception = Reception()
    now = reception.loop.time()
    deaf = FakeIncoming(opened_at=now)
    dumb = FakeIncoming(opened_at=now - LOGIN_SECONDS - 1)
    for wire in (deaf, dumb):
        reception.connections.opened(wire)
    reception.connections.overflowed(deaf)
    reception.connections.tick(0.25)
    assert deaf.closed is not None and deaf.closed[0] == CloseCode.SLOW_READER
    assert dumb.closed is not None and dumb.closed[0] == CloseCode.LOGIN_TIMEOUT
    assert reception.wire.closed is None
    for wire in (deaf, dumb):
        reception.connections.closed(wire)


async def test_who_is_refused_or_cut_off_is_logged_and_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    reception = Reception()
    stranger = FakeIncoming(opened_at=reception.loop.time())
    reception.connections.opened(stranger)
    reception.connections.received(stranger, encode(Login("paper", "wrong")))
    reception.connections.closed(stranger)
    reception.connections.overflowed(reception.wire)
    reception.connections.closed(reception.wire)
    assert [record.getMessage() for record in caplog.records] == [
        "connection refused from 127.0.0.1:40000: \"wrong token for 'paper'\" (4401)",
        "session of 'paper' closed: 'reads too slowly' (4429); "
        "0 messages sent, 0 acknowledged",
    ]
