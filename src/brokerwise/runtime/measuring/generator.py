"""Runs one trial against a broker: connects everyone, sends at the times that were
drawn, waits for every message, and writes the log."""

import asyncio
import gc
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic_ns

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.coordinator import Coordinator
from brokerwise.runtime.measuring.lines import Line, SubscriberLine
from brokerwise.runtime.measuring.processor_time import TICK_SECONDS, Busy, busy
from brokerwise.runtime.measuring.record import Record, WrongMessageError
from brokerwise.runtime.measuring.tasks import Task
from brokerwise.runtime.measuring.trials import schedule
from brokerwise.runtime.net.tasks import few_at_a_time
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.protocol.control import Route
from brokerwise.runtime.protocol.frames import Message, Publish, encode
from brokerwise.runtime.protocol.limits import ACK_SECONDS
from brokerwise.runtime.replay.worker import payload
from brokerwise.storage.latency_logs import LogFacts, write_log

OPENING = 16  # lines that are being opened at a time
QUIET_SECONDS = 0.5  # between the last connection and the first message
EPOCH = 1
BATCH = 8  # messages sent without a look at what has come
_EARLY_NS = 500_000  # the event loop wakes us to the millisecond


@dataclass(frozen=True)
class _Moment:
    """Clock, in nanoseconds; processor time of the broker, and our own, in seconds;
    how nice the broker is."""

    now: int
    broker: Busy
    own: float
    nice: int


class Generator:
    """One task, from its connections to its log."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._tls = client_tls(task.coordinator, task.authority)
        self._record = Record(task.trial)
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._publishers: list[list[Line]] = []
        self._subscribers: list[SubscriberLine] = []
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
            for line in self._lines():
                line.abort()
        self._write(began_at, before, after)

    # Connections

    async def _connect(self) -> None:
        """Subscribers first: they make the routes that publishers send by."""
        task = self._task
        for number, (user, token) in enumerate(task.subscribers):
            await self._subscribe(task.topics[number], number, user, token)
        coordinator = Coordinator(task.coordinator, task.publishers[0][1], self._tls)
        routes = {r.topic: r for r in (await coordinator.routes(task.topics)).routes}
        self._generations = [routes[topic].generation for topic in task.topics]
        opening = self._publishing([routes[topic] for topic in task.topics])
        await few_at_a_time(opening, OPENING)

    async def _subscribe(self, topic: str, number: int, user: str, token: str) -> None:
        coordinator = Coordinator(self._task.coordinator, token, self._tls)
        found = await coordinator.request_broker(user, [topic])
        if not found.sessions:
            raise BrokerwiseError(f"no broker serves topic {topic!r}")
        line = SubscriberLine(user, self._fail, self._taking(number))
        self._subscribers.append(line)
        await line.open(found.sessions[0].url, token, tls=self._tls)
        await line.subscribe(topic)

    def _publishing(
        self, routes: Sequence[Route]
    ) -> Iterable[Callable[[], Awaitable[None]]]:
        for number, (user, token) in enumerate(self._task.publishers):
            url = routes[number].brokers[0].url
            count = self._task.trial.topics[number].publishers
            sources = [f"{user}/{publisher}" for publisher in range(count)]
            self._numbers.append({s: publisher for publisher, s in enumerate(sources)})
            lines = [Line(user, self._fail) for _ in sources]
            self._publishers.append(lines)
            for line, source in zip(lines, sources, strict=True):
                yield partial(line.open, url, token, source, tls=self._tls)

    def _lines(self) -> Iterable[Line]:
        yield from self._subscribers
        for lines in self._publishers:
            yield from lines

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
        record, plan = self._record, schedule(self._task.trial)
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
            for line in self._subscribers:
                line.acknowledge()

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
            return _Moment(monotonic_ns(), Busy(0.0, 0.0), time.process_time(), 0)
        used = busy(task.broker_pid, task.broker_cores)
        nice = os.getpriority(os.PRIO_PROCESS, task.broker_pid)
        return _Moment(monotonic_ns(), used, time.process_time(), nice)

    def _write(self, began_at: float, before: _Moment, after: _Moment) -> None:
        trial, record = self._task.trial, self._record
        seconds = (after.now - before.now) / 1e9
        used = after.broker.since(before.broker)
        cores = seconds * max(1, len(self._task.broker_cores))
        facts = LogFacts(
            configuration=trial.number,
            topics=trial.topics,
            seconds=seconds,
            cpu_share=max(used.own, TICK_SECONDS) / cores,  # it is never nothing
            others_share=max(0.0, used.cores - used.own) / cores,
            generator_share=(after.own - before.own) / seconds,
            late=record.late,
            worst_late_ms=record.worst_late_ns / 1e6,
            undelivered=record.undelivered(),
            unsent=record.unsent(),
            began_at=began_at,
            nice=after.nice,
        )
        write_log(Path(self._task.log), record.log(before.now, after.now), facts)
