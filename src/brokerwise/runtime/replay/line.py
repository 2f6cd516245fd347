"""One connection of a replay: what it is told, counted and acknowledged."""

import asyncio
import ssl
from collections.abc import Callable
from time import time

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.latency import LatencyHistogram
from brokerwise.runtime.net.connection import ClientConnection, connect
from brokerwise.runtime.protocol.frames import (
    Ack,
    Frame,
    Login,
    Logout,
    Message,
    Problem,
    Published,
    Subscribe,
    Subscribed,
    decode_from_broker,
    encode,
)
from brokerwise.runtime.protocol.limits import (
    ACK_EVERY,
    MAX_TOPICS_PER_FRAME,
)
from brokerwise.runtime.replay.arrivals import Arrivals
from brokerwise.runtime.replay.tasks import Line

SUBSCRIBE_SECONDS = 30.0  # thousands of sessions subscribe at once
CLOSE_SECONDS = 5.0


class LineError(BrokerwiseError):
    """A connection of the replay was refused or lost, which spoils the count."""

    def __init__(self, line: Line, what: str) -> None:
        self.user, self.broker = line.user, line.broker
        super().__init__(
            f"the session of {line.user!r} on broker {line.broker!r} {what}"
        )


class Tally:
    """What all lines of a worker share: what has arrived, and how late. `failed` is
    called with the first error of a line that was up."""

    def __init__(self, epoch: int, failed: Callable[[LineError], None]) -> None:
        self.epoch = epoch
        self.failed = failed
        self.arrived = 0
        self.latencies = LatencyHistogram()
        self.unacknowledged: dict[OpenLine, None] = {}


class OpenLine:
    """A connection: what is heard on it is counted at once."""

    def __init__(self, line: Line, arrivals: Arrivals, tally: Tally) -> None:
        self._line = line
        self.arrivals = arrivals
        self._tally = tally
        self._dialled: ClientConnection | None = None
        self._last_id = 0
        self._subscribed: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._closed = asyncio.get_running_loop().create_future()
        self._closing = False
        self._messages = 0
        self._acknowledged = 0
        self._cursors: dict[tuple[str, str], tuple[int, int]] = {}
        self.sent = 0
        self.confirmed = 0

    async def open(self, url: str, tls: ssl.SSLContext | None) -> None:
        """Connect, log in and subscribe; returns when the broker serves the topics.
        Raises LineError if it does not. Cancelling it leaves the line to `close`."""
        line, subscribed = self._line, asyncio.get_running_loop().create_future()
        try:
            self._dialled = await connect(
                f"{url}/session",
                on_text=self._heard,
                on_closed=self._hung_up,
                ssl=tls,
                seconds=SUBSCRIBE_SECONDS,
            )
        except BrokerwiseError as cause:
            raise LineError(line, f"cannot be had: {cause.message}") from cause
        self._say(Login(line.user, line.token, line.source))
        if not line.topics:
            return
        self._subscribed = subscribed
        for start in range(0, len(line.topics), MAX_TOPICS_PER_FRAME):
            topics = line.topics[start : start + MAX_TOPICS_PER_FRAME]
            self._say(Subscribe(start, topics))
            self._last_id = start
        try:
            await asyncio.wait_for(subscribed, SUBSCRIBE_SECONDS)
        except TimeoutError as cause:
            raise LineError(line, "is not served in time") from cause

    def send(self, text: bytes) -> None:
        assert self._dialled is not None
        self.sent += 1
        self._dialled.send(text)

    async def confirmed_up_to(self, count: int) -> None:
        """Returns once the broker has confirmed so many messages, or the line is
        lost. Cancelling it loses nothing."""
        while self.confirmed < count and not self._closed.done():
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def acknowledge(self) -> None:
        """Say what has come, if something has since the last time."""
        rows = tuple((*stream, *at) for stream, at in self._cursors.items())
        self._cursors.clear()
        self._acknowledged = self._messages
        self._tally.unacknowledged.pop(self, None)
        if not self._closing:
            self._say(Ack(self._messages, rows))

    async def close(self) -> None:
        """Say goodbye, and hear whatever the broker has said before its own."""
        self._closing = True
        if self._dialled is None or self._closed.done():
            return
        self._say(Logout())
        try:
            await asyncio.wait_for(asyncio.shield(self._closed), CLOSE_SECONDS)
        except TimeoutError:
            self._dialled.abort()
            await self._closed

    def abort(self) -> None:
        self._closing = True
        if self._dialled is not None:
            self._dialled.abort()

    def _say(self, frame: Frame) -> None:
        assert self._dialled is not None
        if not self._closed.done():
            self._dialled.send(encode(frame))

    def _heard(self, text: bytes) -> None:
        frame = decode_from_broker(text)
        match frame:
            case Message():
                self._take(frame)
            case Published(count):
                self.confirmed = count
                self._wake()
            case Subscribed(id=number) if number == self._last_id:
                if self._subscribed is not None and not self._subscribed.done():
                    self._subscribed.set_result(None)
            case Problem():
                self._fail(f"was told: {frame.message}")

    def _take(self, message: Message) -> None:
        tally = self._tally
        self._messages += 1
        if message.epoch == tally.epoch:
            tally.arrived += self.arrivals.take(
                message.topic, message.source, message.seq
            )
            tally.latencies.record(int((time() * 1000 - message.at) * 1000))
        else:
            self.arrivals.take("", "", 0)  # somebody else's
        at = (message.epoch, message.seq)
        self._cursors[message.topic, message.source] = at
        if self._messages - self._acknowledged >= ACK_EVERY:
            self.acknowledge()
        else:
            tally.unacknowledged[self] = None

    def _hung_up(self, code: int, reason: str) -> None:
        if not self._closing:
            self._fail(f"was closed: {reason or 'the broker is gone'} ({code})")
        if not self._closed.done():
            self._closed.set_result(None)
        self._wake()

    def _wake(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _fail(self, what: str) -> None:
        error = LineError(self._line, what)
        if self._subscribed is not None and not self._subscribed.done():
            self._subscribed.set_exception(error)
        elif not self._closing:
            self._tally.failed(error)
