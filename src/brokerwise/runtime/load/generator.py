"""The process that sends and receives for one trial: connects all users, sends at the
times that were drawn, waits for every message, and writes the log.

Publishers never wait; subscribers note when each message comes.
"""

import asyncio
import gc
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic_ns

import msgspec
import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.coordinator import CoordinatorClient
from brokerwise.runtime.load.trials import (
    Trial,
    send_schedule,
)
from brokerwise.runtime.load.worker import UserError, payload
from brokerwise.runtime.net.connection import ClientConnection, connect
from brokerwise.runtime.net.tasks import few_at_a_time
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.process.cpu_time import (
    TICK_SECONDS,
    core_seconds,
    process_seconds,
)
from brokerwise.runtime.protocol.fleet import Route
from brokerwise.runtime.protocol.frames import (
    Ack,
    Frame,
    Login,
    Message,
    Problem,
    Publish,
    Subscribe,
    Subscribed,
    Welcome,
    decode_from_broker,
    encode,
)
from brokerwise.runtime.protocol.limits import ACK_EVERY, ACK_SECONDS
from brokerwise.storage.latency_data import (
    LATE_MS,
    LOGS,
    LogFacts,
    LoggedTopic,
    write_log,
)
from brokerwise.storage.tables import table_of


class TrialTask(msgspec.Struct, frozen=True):
    """A trial to run against a fleet: of one broker, whose process is `broker_pid`, or
    of several, whose CPU time is then not measured here (`broker_pid` is 0).

    `topics` are their names; `publishers` and `subscribers` the tokens of the users
    of each topic. `log` is the file to write. `authority` signs the fleet's
    certificates, if it has any.
    """

    trial: Trial
    coordinator: str
    topics: tuple[str, ...]
    publishers: tuple[tuple[str, str], ...]
    subscribers: tuple[tuple[str, str], ...]
    broker_pid: int
    broker_cores: tuple[int, ...]
    cores: tuple[int, ...]
    nice: int
    log: str
    authority: str = ""


class LogWritten(msgspec.Struct, frozen=True, tag="written"):
    """The log is there."""


class WrongMessageError(BrokerwiseError):
    """A message came that was not sent, came twice, or came without its data."""


class Record:
    """One place for each message: by topic, publisher and number.

    Times are nanoseconds of a clock that never goes back; 0 is not yet.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        counts = [topic.total for topic in trial.topics]
        self._starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        self.sent: list[int] = [0] * trial.total
        self.came: list[int] = [0] * trial.total
        self.arrived = 0
        self.late = 0
        self.worst_late_ns = 0

    def place(self, topic: int, publisher: int, seq: int) -> int:
        start: int = self._starts[topic]
        return start + publisher * self._trial.topics[topic].messages + seq - 1

    def note_sent(self, place: int, now: int, due: int) -> None:
        self.sent[place] = now
        late = now - due
        self.worst_late_ns = max(self.worst_late_ns, late)
        self.late += late > LATE_MS * 1e6

    def note_came(self, topic: int, publisher: int, seq: int, now: int) -> None:
        """Raises WrongMessageError."""
        place = self.place(topic, publisher, seq)
        if not self.sent[place] or self.came[place]:
            what = "twice" if self.came[place] else "before it was sent"
            raise WrongMessageError(
                f"message {seq} of publisher {publisher} came {what}"
            )
        self.came[place] = now
        self.arrived += 1

    @property
    def is_complete(self) -> bool:
        return self.arrived == len(self.sent)

    def undelivered(self) -> tuple[int, ...]:
        """By topic: sent, and not come."""
        waits = (np.array(self.sent) > 0) & (np.array(self.came) == 0)
        parts = np.split(waits, self._starts[1:-1])
        return tuple(int(part.sum()) for part in parts)

    def unsent(self) -> int:
        return self.sent.count(0)

    def log(self, start: int, end: int) -> pa.Table:
        """All that was sent, times counted from `start`. What has not come counts with
        the time that it had waited until `end`: it would have been more."""
        sent, came = np.array(self.sent), np.array(self.came)
        topic, publisher, seq = _numbers(self._trial.topics)
        latency = np.where(came > 0, came, end) - sent
        columns = [
            np.full(len(sent), self._trial.number),
            *(topic, publisher, seq, sent - start, latency),
        ]
        there = sent > 0
        return table_of([column[there] for column in columns], LOGS)


def _numbers(topics: Sequence[LoggedTopic]) -> tuple[Int64s, Int64s, Int64s]:
    """Topic, publisher and number of each message, in the order of their places."""
    shapes = [(topic.publishers, topic.messages) for topic in topics]
    parts = [np.indices(shape).reshape(2, -1) for shape in shapes]
    publisher, seq = np.concatenate(parts, axis=1)
    topic = np.repeat(np.arange(len(topics)), [topic.total for topic in topics])
    return topic, publisher, seq + 1


OPEN_SECONDS = 30.0  # hundreds connect at once to a broker on one core

Failed = Callable[[BrokerwiseError], None]
Arrived = Callable[[Message, int], None]  # with the time, in nanoseconds


class TrialConnection:
    """A connection that logs in, and reports its failures.

    Publishing does not wait for confirmations: the broker gives them before a message
    goes through its processing step, so they would not slow a publisher down when the
    broker has a backlog; and messages have to be sent when they are due, in any case.
    """

    def __init__(self, user: str, failed: Failed) -> None:
        self.user = user
        self._failed = failed
        self._connection: ClientConnection | None = None
        self._closing = False
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()

    async def open(
        self,
        url: str,
        token: str,
        source: str = "",
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Returns once the broker has answered. Raises UserError. Cancelling it leaves
        the connection to `abort`."""
        try:
            self._connection = await connect(
                f"{url}/session",
                on_text=self._receive,
                on_closed=self._closed,
                ssl=tls,
                seconds=OPEN_SECONDS,
            )
        except BrokerwiseError as cause:
            raise UserError(self.user, f"cannot be had: {cause.message}") from cause
        self._send_frame(Login(self.user, token, source))
        await self._answered()

    def send(self, text: bytes) -> None:
        assert self._connection is not None
        self._connection.send(text)

    def abort(self) -> None:
        self._closing = True
        if self._connection is not None:
            self._connection.abort()

    def take(self, message: Message) -> None:
        """A message has come; publishers get none."""

    def _send_frame(self, frame: Frame) -> None:
        self.send(encode(frame))

    async def _answered(self) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), OPEN_SECONDS)
        except TimeoutError as cause:
            raise UserError(self.user, "got no answer in time") from cause

    def _receive(self, text: bytes) -> None:
        match decode_from_broker(text):
            case Message() as message:
                self.take(message)
            case Welcome() | Subscribed():
                if not self._ready.done():
                    self._ready.set_result(None)
            case Problem(message=what):
                self._fail(f"was told: {what}")

    def _closed(self, code: int, reason: str) -> None:
        if not self._closing:
            self._fail(f"was closed: {reason or 'the broker is gone'} ({code})")

    def _fail(self, what: str) -> None:
        error = UserError(self.user, what)
        if not self._ready.done():
            self._ready.set_exception(error)
        else:
            self._failed(error)


class SubscriberConnection(TrialConnection):
    """One that has a topic, and acknowledges what comes as clients do."""

    def __init__(self, user: str, failed: Failed, arrived: Arrived) -> None:
        super().__init__(user, failed)
        self._arrived = arrived
        self._count = self._acknowledged = 0
        self._cursors: dict[str, tuple[str, int, int]] = {}

    async def subscribe(self, topic: str) -> None:
        """Returns once it is served. Raises UserError."""
        self._ready = asyncio.get_running_loop().create_future()
        self._send_frame(Subscribe(0, (topic,)))
        await self._answered()

    def take(self, message: Message) -> None:
        now = monotonic_ns()
        self._count += 1
        self._cursors[message.source] = (message.topic, message.epoch, message.seq)
        self._arrived(message, now)
        if self._count - self._acknowledged >= ACK_EVERY:
            self.acknowledge()

    def acknowledge(self) -> None:
        """Say what has come, if something has since the last time."""
        if self._count > self._acknowledged and not self._closing:
            found = self._cursors.items()
            rows = tuple((topic, s, epoch, seq) for s, (topic, epoch, seq) in found)
            self._cursors.clear()
            self._acknowledged = self._count
            self._send_frame(Ack(self._count, rows))


OPENING = 16  # connections that are being opened at a time
QUIET_SECONDS = 0.5  # between the last connection and the first message
EPOCH = 1
BATCH = 8  # messages sent without a look at what has come
_EARLY_NS = 500_000  # the event loop wakes us to the millisecond


@dataclass(frozen=True)
class _Moment:
    """Clock, in nanoseconds; CPU seconds of the broker, of the cores that it runs on,
    and our own; how nice the broker is."""

    now: int
    own: float
    broker: float = 0.0
    cores: float = 0.0
    nice: int = 0


class Generator:
    """One task, from its connections to its log."""

    def __init__(self, task: TrialTask) -> None:
        self._task = task
        self._tls = client_tls(task.coordinator, task.authority)
        self._record = Record(task.trial)
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._publishers: list[list[TrialConnection]] = []
        self._subscribers: list[SubscriberConnection] = []
        self._generations: list[int] = []
        self._numbers: list[dict[str, int]] = []

    async def run(self) -> None:
        """Raises BrokerwiseError. Cancelling it drops all connections, and there is no
        log."""
        try:
            await self._connect()
            await asyncio.sleep(QUIET_SECONDS)
            gc.collect()
            gc.disable()  # its pauses would be taken for the broker's
            began_at, before = time.time(), self._moment()
            await self._measure(before.now)
            after = self._moment()
        finally:
            for connection in self._connections():
                connection.abort()
        self._write(began_at, before, after)

    # Connections

    async def _connect(self) -> None:
        """Subscribers first: they make the routes that publishers send by."""
        task = self._task
        for number, (user, token) in enumerate(task.subscribers):
            await self._subscribe(task.topics[number], number, user, token)
        coordinator = CoordinatorClient(
            task.coordinator, task.publishers[0][1], self._tls
        )
        routes = {r.topic: r for r in (await coordinator.routes(task.topics)).routes}
        self._generations = [routes[topic].generation for topic in task.topics]
        opening = self._publishing([routes[topic] for topic in task.topics])
        await few_at_a_time(opening, OPENING)

    async def _subscribe(self, topic: str, number: int, user: str, token: str) -> None:
        coordinator = CoordinatorClient(self._task.coordinator, token, self._tls)
        found = await coordinator.request_broker(user, [topic])
        if not found.sessions:
            raise BrokerwiseError(f"no broker serves topic {topic!r}")
        connection = SubscriberConnection(user, self._fail, self._taking(number))
        self._subscribers.append(connection)
        await connection.open(found.sessions[0].url, token, tls=self._tls)
        await connection.subscribe(topic)

    def _publishing(
        self, routes: Sequence[Route]
    ) -> Iterable[Callable[[], Awaitable[None]]]:
        for number, (user, token) in enumerate(self._task.publishers):
            url = routes[number].brokers[0].url
            count = self._task.trial.topics[number].publishers
            sources = [f"{user}/{publisher}" for publisher in range(count)]
            self._numbers.append({s: publisher for publisher, s in enumerate(sources)})
            connections = [TrialConnection(user, self._fail) for _ in sources]
            self._publishers.append(connections)
            for connection, source in zip(connections, sources, strict=True):
                yield partial(connection.open, url, token, source, tls=self._tls)

    def _connections(self) -> Iterable[TrialConnection]:
        yield from self._subscribers
        for connections in self._publishers:
            yield from connections

    def _fail(self, error: BrokerwiseError) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    # Messages

    async def _measure(self, start: int) -> None:
        """Returns when everything has come, or waiting has lasted long enough."""
        chores = [asyncio.ensure_future(self._send(start))]
        chores.append(asyncio.ensure_future(self._acknowledge()))
        for chore in chores:
            chore.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(self._task.trial.longest):
                await asyncio.shield(self._over)
        except TimeoutError:
            return
        finally:
            for chore in chores:
                chore.cancel()

    def _ended(self, chore: "asyncio.Future[None]") -> None:
        if not chore.cancelled() and (error := chore.exception()) is not None:
            self._fail(BrokerwiseError(f"sending failed: {error!r}"))

    async def _send(self, start: int) -> None:
        record, plan = self._record, send_schedule(self._task.trial)
        data = payload(self._task.trial.message_bytes)
        columns = (plan.due, plan.topic, plan.publisher, plan.seq)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for count, (due, topic, publisher, seq) in enumerate(rows):
            due += start
            while (early := due - monotonic_ns()) > _EARLY_NS:
                await asyncio.sleep(early / 1e9)
            if count % BATCH == 0:
                await asyncio.sleep(0)
            name, generation = self._task.topics[topic], self._generations[topic]
            now = monotonic_ns()
            text = encode(Publish(name, EPOCH, seq, data, generation))
            self._publishers[topic][publisher].send(text)
            record.note_sent(record.place(topic, publisher, seq), now, due)

    async def _acknowledge(self) -> None:
        while True:
            await asyncio.sleep(ACK_SECONDS)
            for connection in self._subscribers:
                connection.acknowledge()

    def _taking(self, topic: int) -> Callable[[Message, int], None]:
        record = self._record

        def take(message: Message, now: int) -> None:
            try:
                if message.skipped:
                    raise WrongMessageError("the broker skipped a message")
                publisher = self._numbers[topic][message.source]
                record.note_came(topic, publisher, message.seq, now)
            except BrokerwiseError as error:
                self._fail(error)
            if record.is_complete and not self._over.done():
                self._over.set_result(None)

        return take

    # What is left of it

    def _moment(self) -> _Moment:
        task = self._task
        if not task.broker_pid:
            return _Moment(monotonic_ns(), time.process_time())
        broker = process_seconds(task.broker_pid)
        cores = core_seconds(task.broker_cores)
        nice = os.getpriority(os.PRIO_PROCESS, task.broker_pid)
        return _Moment(monotonic_ns(), time.process_time(), broker, cores, nice)

    def _write(self, began_at: float, before: _Moment, after: _Moment) -> None:
        trial, record = self._task.trial, self._record
        seconds = (after.now - before.now) / 1e9
        used = after.broker - before.broker
        busy = after.cores - before.cores
        cores = seconds * max(1, len(self._task.broker_cores))
        facts = LogFacts(
            configuration=trial.number,
            topics=trial.topics,
            seconds=seconds,
            cpu_share=max(used, TICK_SECONDS) / cores,  # it is never nothing
            others_share=max(0.0, busy - used) / cores,
            generator_share=(after.own - before.own) / seconds,
            late=record.late,
            worst_late_ms=record.worst_late_ns / 1e6,
            undelivered=record.undelivered(),
            unsent=record.unsent(),
            began_at=began_at,
            nice=after.nice,
        )
        write_log(Path(self._task.log), record.log(before.now, after.now), facts)
