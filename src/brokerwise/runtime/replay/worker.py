"""A worker of a replay: connects its lines, publishes its share, counts what comes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import time

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.net.tasks import few_at_a_time
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.protocol.frames import Publish, encode
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES
from brokerwise.runtime.replay.arrivals import Arrivals, Findings, Streams
from brokerwise.runtime.replay.line import LineError, OpenLine, Tally
from brokerwise.runtime.replay.schedule import schedule
from brokerwise.runtime.replay.tasks import (
    Begin,
    Command,
    Connected,
    Failure,
    Finish,
    Progress,
    Report,
    Result,
    Speech,
    Task,
)

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
