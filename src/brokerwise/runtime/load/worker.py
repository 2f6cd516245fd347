"""A worker of a replay: plays its share of the users with real clients, publishes its
share of the messages, and counts what comes.

Clients log in where the coordinator sends them, follow routes and moves, connect again,
acknowledge. What they drop because it came twice, or too late, is counted as well.
Topics publish evenly over the period, all of them mixed (`publish_times`).
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from heapq import heapify, heappop, heapreplace
from math import sqrt
from time import time

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.context import ClientOptions
from brokerwise.runtime.client.events import (
    Connected,
    Disconnected,
    Event,
    Notice,
    Received,
    RequestRefused,
    Retrying,
)
from brokerwise.runtime.load.arrivals import Arrivals, Findings, Streams
from brokerwise.runtime.load.processes import GoOn
from brokerwise.runtime.net.tasks import few_at_a_time
from brokerwise.runtime.process.meters import LatencyHistogram
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES

# What a worker is to do, and what it tells


class ReplayUser(msgspec.Struct, frozen=True):
    """A client to run. It subscribes to `topics`, with sessions on `sessions` brokers,
    and publishes as `source`: `publishes` has rows of topic and number of messages."""

    name: str
    token: str
    source: str = ""
    topics: tuple[str, ...] = ()
    sessions: int = 0
    publishes: tuple[tuple[str, int], ...] = ()


class ReplayTask(msgspec.Struct, frozen=True):
    """One worker's share of a replay.

    `streams` is all that is published, by any worker, as rows of topic, source and
    count. `seconds` is how long publishing should take; 0: as long as it must.
    """

    epoch: int
    coordinator: str
    users: tuple[ReplayUser, ...]
    streams: tuple[tuple[str, str, int], ...]
    seconds: float = 0.0
    message_bytes: int = 0
    authority: str = ""

    @property
    def sessions(self) -> int:
        return sum(user.sessions for user in self.users)

    @property
    def expected(self) -> int:
        """How many messages its users should get."""
        by_topic: dict[str, int] = {}
        own: dict[tuple[str, str], int] = {}
        for topic, source, count in self.streams:
            by_topic[topic] = by_topic.get(topic, 0) + count
            own[topic, source] = count
        return sum(
            by_topic.get(topic, 0) - own.get((topic, user.source), 0)
            for user in self.users
            for topic in user.topics
        )


class SessionsOpened(msgspec.Struct, frozen=True, tag="opened"):
    """`sessions` of the worker's sessions are up."""

    sessions: int


class PublishersConnected(msgspec.Struct, frozen=True, tag="prepared"):
    """All publishers are connected."""


class ReplayProgress(msgspec.Struct, frozen=True, tag="progress"):
    """Messages published, and expected messages that have arrived. Those that are
    published have been confirmed once there are all of them."""

    published: int
    arrived: int


class WorkerResult(msgspec.Struct, frozen=True, tag="result"):
    """All that came of a task. `latencies` are the counts of a histogram."""

    findings: Findings
    latencies: list[int]


WorkerReport = SessionsOpened | PublishersConnected | ReplayProgress | WorkerResult

_GOLDEN = (sqrt(5) - 1) / 2


def publish_times(counts: Sequence[int]) -> Iterator[tuple[float, int]]:
    """(share of the period, index) of each message, in the order of time.

    Message j of `counts[i]` comes at (j + phase) / counts[i] of the period; the
    phases differ, so that topics of one rate do not all publish at once. O(log n) a
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


# How users are played

OPENING = 64  # users that are being connected at a time, or log out
WINDOW = 8  # messages unconfirmed at a broker: more would only wait longer
SUBSCRIBE_SECONDS = 30.0  # thousands of sessions subscribe at once
AWAY_SECONDS = 10.0  # a client connects again; if it cannot, the replay ends
PROGRESS_SECONDS = 0.2
BATCH = 16  # messages between two looks at what has come


class UserError(BrokerwiseError):
    """A user of a replay or a trial could not be connected, or not again, or was
    refused something: what came of it is of no use."""

    def __init__(self, user: str, what: str) -> None:
        self.user = user
        super().__init__(f"the session of {user!r} {what}")


class _Shared:
    """What all users of a worker share: what has arrived, and how late; who has lost a
    session, and since when. `failed` is called with what ends the replay."""

    def __init__(self, epoch: int, failed: Callable[[BrokerwiseError], None]) -> None:
        self.epoch, self.failed = epoch, failed
        self.arrived = 0
        self.latencies = LatencyHistogram()
        self.away: dict[_Player, tuple[float, UserError]] = {}


class _Player:
    """One user and its client."""

    def __init__(
        self, user: ReplayUser, task: ReplayTask, arrivals: Arrivals, shared: _Shared
    ) -> None:
        self.user, self.arrivals, self._shared = user, arrivals, shared
        self._trouble = ""
        options = ClientOptions(self._take, self._take, WINDOW, task.epoch)
        self.client = Client(
            *(task.coordinator, user.name, user.token, user.source or None),
            authority=task.authority,
            on_notice=self._note,
            literal=True,
            options=options,
        )
        self._watching: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Returns when brokers serve all topics. Raises BrokerwiseError. Cancelling it
        leaves the client to `close`."""
        await self.client.__aenter__()
        self._watching = asyncio.ensure_future(self._watch())
        if not self.user.topics:
            return
        try:
            async with asyncio.timeout(SUBSCRIBE_SECONDS):
                await self.client.subscribe(self.user.topics)
        except TimeoutError as cause:
            what = f"is not served in time; {self._trouble}"
            raise UserError(self.user.name, what) from cause

    async def close(self) -> None:
        """Log out, after taking in all that brokers have sent before."""
        await self.client.close()
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching

    async def _watch(self) -> None:
        try:
            async for _ in self.client.events():
                pass  # there are none: `_take` has them
        except BrokerwiseError as error:
            self._shared.failed(
                UserError(self.user.name, f"has ended: {error.message}")
            )

    def _note(self, notice: Notice) -> None:
        match notice:
            case Connected():
                self._shared.away.pop(self, None)
            case Disconnected(broker, reason):
                what = f"on broker {broker!r} was closed: {reason}"
                since = asyncio.get_running_loop().time()
                self._shared.away[self] = since, UserError(self.user.name, what)
            case Retrying(reason):
                self._trouble = reason
            case RequestRefused(reason):
                self._shared.failed(UserError(self.user.name, f"was told: {reason}"))

    def _take(self, event: Event) -> None:
        """A message has come. A gap needs no notice: what is missing is counted."""
        if type(event) is not Received:
            return
        shared = self._shared
        if event.epoch == shared.epoch:
            shared.arrived += self.arrivals.take(event.topic, event.source, event.seq)
            shared.latencies.record(int((time() * 1000 - event.at) * 1000))
        else:
            self.arrivals.take("", "", 0)  # of another replay


class Worker:
    """One task, from its connections to its result."""

    def __init__(self, task: ReplayTask, tell: Callable[[WorkerReport], None]) -> None:
        self._task, self._tell = task, tell
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._shared = _Shared(task.epoch, self._fail)
        streams = Streams(task.streams)
        self._players = [
            _Player(
                user, task, Arrivals(streams, user.topics, user.source), self._shared
            )
            for user in task.users
        ]
        self._published = 0
        self._waits_since: float | None = None

    async def run(self, go_on: GoOn) -> None:
        """Connect, and then, each part when told to go on: connect publishers;
        publish; disconnect and report what came. Raises BrokerwiseError. Cancelling it
        disconnects."""
        works = [
            asyncio.ensure_future(work)
            for work in (self._work(go_on), self._report_progress())
        ]
        try:
            everything = (*works, self._failed)
            await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
            for ended in (self._failed, *works):
                if ended.done():
                    ended.result()
        finally:
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)
            await self._close()

    async def _work(self, go_on: GoOn) -> None:
        await self._open()
        await go_on()
        for player in self._publishers:
            await player.client.prepare(topic for topic, _ in player.user.publishes)
        self._tell(PublishersConnected())
        await go_on()
        await self._publish()
        await go_on()
        await self._close()
        found = Findings.total(player.arrivals.findings() for player in self._players)
        self._tell(WorkerResult(found, self._shared.latencies.counts))

    @property
    def _publishers(self) -> list[_Player]:
        return [player for player in self._players if player.user.publishes]

    async def _open(self) -> None:
        sessions = told = 0

        async def open_one(player: _Player) -> None:
            nonlocal sessions, told
            await player.open()
            sessions += player.user.sessions
            if sessions - told >= OPENING:
                told = sessions
                self._tell(SessionsOpened(sessions))

        await few_at_a_time([partial(open_one, p) for p in self._players], OPENING)
        self._tell(SessionsOpened(sessions))

    async def _close(self) -> None:
        await few_at_a_time([player.close for player in self._players], OPENING)

    async def _publish(self) -> None:
        pace = _Pace(self._task.seconds)
        data = payload(self._task.message_bytes)
        publications = [
            (player.client, topic, count)
            for player in self._publishers
            for topic, count in player.user.publishes
        ]
        clock = asyncio.get_running_loop().time
        for share, number in publish_times([count for _, _, count in publications]):
            await pace.until(share)
            client, topic, _ = publications[number]
            self._waits_since = clock()
            await client.publish(topic, data)
            self._waits_since = None
            self._published += 1
        for player in self._publishers:
            self._waits_since = clock()
            await player.client.flush()
        self._waits_since = None

    async def _report_progress(self) -> None:
        """Report progress. Raises BrokerwiseError if there is none for too long."""
        told = ReplayProgress(0, 0)
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            progress = ReplayProgress(self._published, self._shared.arrived)
            if progress != told:
                self._tell(progress)
                told = progress
            long_ago = clock() - AWAY_SECONDS
            for since, error in self._shared.away.values():
                if since < long_ago:
                    raise error
            if self._waits_since is not None and self._waits_since < long_ago:
                raise BrokerwiseError(
                    f"no broker has taken a message for {AWAY_SECONDS:g} s"
                )

    def _fail(self, error: BrokerwiseError) -> None:
        if not self._failed.done():
            self._failed.set_exception(error)


class _Pace:
    """Holds messages back until they are due; without `seconds` none is held back, but
    other tasks have a turn after each BATCH."""

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
    """JSON data of `message_bytes` bytes, as far as a frame has room."""
    dots = max(0, min(message_bytes, MAX_FRAME_BYTES // 2) - 2)
    return msgspec.Raw(b'"' + b"." * dots + b'"')
