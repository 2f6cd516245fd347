"""A worker of a replay: connects its sessions, publishes its share, counts what comes.

Topics speak evenly over the period, all of them mixed (`schedule`). It has connections
of its own rather than the client library, which would drop what comes twice.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from heapq import heapify, heappop, heapreplace
from math import sqrt
from time import time

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.load.arrivals import Arrivals, Findings, Streams
from brokerwise.runtime.load.crew import (
    Begin,
    Command,
    Connected,
    Failure,
    Finish,
    Line,
    Progress,
    Report,
    Result,
    Speech,
    Task,
)
from brokerwise.runtime.net.connection import ClientConnection, connect
from brokerwise.runtime.net.tasks import few_at_a_time
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.process.meters import LatencyHistogram
from brokerwise.runtime.protocol.frames import (
    Ack,
    Frame,
    Login,
    Logout,
    Message,
    Problem,
    Publish,
    Published,
    Subscribe,
    Subscribed,
    decode_from_broker,
    encode,
)
from brokerwise.runtime.protocol.limits import (
    ACK_EVERY,
    MAX_FRAME_BYTES,
    MAX_TOPICS_PER_FRAME,
)

_GOLDEN = (sqrt(5) - 1) / 2


def schedule(counts: Sequence[int]) -> Iterator[tuple[float, int]]:
    """(share of the period, index) of each message, in the order of time.

    Message j of `counts[i]` comes at (j + phase) / counts[i] of the period; the
    phases differ, so that topics of one rate do not all speak at once. O(log n) a
    message, and O(n) memory.
    """
    pending = [
        ((i * _GOLDEN) % 1 / count, i, 0) for i, count in enumerate(counts) if count
    ]
    heapify(pending)
    while pending:
        at, i, sent = pending[0]
        yield at, i
        if sent + 1 < counts[i]:
            heapreplace(pending, (at + 1 / counts[i], i, sent + 1))
        else:
            heappop(pending)


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


OPENING = 64  # lines that are being opened at a time
WINDOW = 8  # messages unconfirmed on a line: more would only wait longer
# The broker waits ten seconds for an acknowledgement, and asks for one five times a
# second; thousands of sessions that each get a message now and then would say little
# else.
ACK_SECONDS = 1.0
PROGRESS_SECONDS = 0.2
BATCH = 16  # messages between two looks at what has come

Tell = Callable[[Report], None]
NextCommand = Callable[[], Awaitable[Command]]


class Worker:
    """One task, from its connections to its result."""

    def __init__(self, task: Task, tell: Tell) -> None:
        self._task, self._tell = task, tell
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tally = Tally(task.epoch, self._fail)
        streams = Streams(task.streams)
        self._lines = [
            OpenLine(line, Arrivals(streams, line.topics, line.source), self._tally)
            for line in task.lines
        ]
        self._published = 0

    async def run(self, command: NextCommand) -> None:
        """Do the task, as commands come. Cancelling it drops all connections."""
        work = asyncio.ensure_future(self._work(command))
        try:
            await asyncio.wait(
                (work, self._failed), return_when=asyncio.FIRST_COMPLETED
            )
            if self._failed.done():
                self._failed.result()
            await work
        except BrokerwiseError as error:
            self._tell(Failure(error.message))
        finally:
            work.cancel()
            with suppress(asyncio.CancelledError, BrokerwiseError):
                await work
            for line in self._lines:
                line.abort()

    async def _work(self, command: NextCommand) -> None:
        beats = asyncio.ensure_future(self._beat())
        try:
            await self._connect()
            begin = await command()
            assert isinstance(begin, Begin)
            await self._publish(begin.generations)
            assert isinstance(await command(), Finish)
        finally:
            beats.cancel()
        await asyncio.gather(*(line.close() for line in self._lines))
        found = Findings.total(line.arrivals.findings() for line in self._lines)
        self._tell(Result(found, self._tally.latencies.counts))

    async def _connect(self) -> None:
        task = self._task
        tls = client_tls(next(iter(task.brokers.values())), task.authority)
        up = 0

        async def open_one(number: int) -> None:
            nonlocal up
            broker = task.lines[number].broker
            await self._lines[number].open(task.brokers[broker], tls)
            up += 1
            if up % OPENING == 0 or up == len(self._lines):
                self._tell(Connected(up))

        numbers = range(len(self._lines))
        await few_at_a_time([partial(open_one, n) for n in numbers], OPENING)

    async def _publish(self, generations: dict[str, int]) -> None:
        speeches = self._task.speeches
        pace = _Pace(self._task.seconds)
        data = payload(self._task.message_bytes)
        said = [0] * len(speeches)
        for share, number in schedule([speech.count for speech in speeches]):
            await pace.until(share)
            said[number] += 1
            speech = speeches[number]
            await self._say(
                speech,
                Publish(
                    topic=speech.topic,
                    epoch=self._task.epoch,
                    seq=said[number],
                    data=data,
                    generation=generations.get(speech.topic, 0),
                    at=time() * 1000,
                ),
            )
        for line in self._lines:
            await line.confirmed_up_to(line.sent)

    async def _say(self, speech: Speech, message: Publish) -> None:
        text = encode(message)
        for number in speech.lines:
            line = self._lines[number]
            if line.sent - line.confirmed >= WINDOW:
                await line.confirmed_up_to(line.sent - WINDOW + 1)
            line.send(text)
        self._published += 1

    async def _beat(self) -> None:
        """Acknowledge what has come, and tell how far we are, now and then."""
        acknowledged, told = 0.0, Progress(0, 0)
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            progress = Progress(self._published, self._tally.arrived)
            if progress != told:
                self._tell(progress)
                told = progress
            if clock() - acknowledged >= ACK_SECONDS:
                for line in list(self._tally.unacknowledged):
                    line.acknowledge()
                acknowledged = clock()

    def _fail(self, error: LineError) -> None:
        if not self._failed.done():
            self._failed.set_exception(error)


class _Pace:
    """Holds messages back until their time has come; without `seconds` none is, but
    everyone else has a turn now and then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._clock = asyncio.get_running_loop().time
        self._start = self._clock()
        self._count = 0

    async def until(self, share: float) -> None:
        self._count += 1
        early = self._start + share * self._seconds - self._clock()
        if early > 0:
            await asyncio.sleep(early)
        elif self._count % BATCH == 0:
            await asyncio.sleep(0)


def payload(message_bytes: int) -> msgspec.Raw:
    """JSON data of so many bytes, as far as a frame has room."""
    dots = max(0, min(message_bytes, MAX_FRAME_BYTES // 2) - 2)
    return msgspec.Raw(b'"' + b"." * dots + b'"')
