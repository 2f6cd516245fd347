"""The broker's calls to the data cluster.

`DataClusterClient` reports what `channels` has for it, and fetches results.
`DatasetFeeder` sends on the records that clients publish to datasets, or that come out
of topics.
"""

import asyncio
import logging
import secrets
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import TypeVar
from urllib.parse import quote

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.channels import ChannelSubscriptions
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.tasks import Backoff, Signal
from brokerwise.runtime.protocol.data import (
    AcknowledgeRequest,
    BrokerCreation,
    Instance,
    Notification,
    PullAnswer,
    PullRequest,
    SubscribeAnswer,
    SubscribeRequest,
    UnsubscribeRequest,
    UserCursor,
)
from brokerwise.runtime.protocol.limits import ACKNOWLEDGE_SECONDS
from brokerwise.runtime.protocol.names import DATASET

T = TypeVar("T")
SUBSCRIPTIONS_AT_ONCE = 2_000  # in a request, so that it is answered in time
FULL_REPORT_SECONDS = 30.0  # between two reports of all users served
LOOK_SECONDS = 5.0  # between two checks for results without a notification
ANSWER_SECONDS = 10.0
DRAIN_SECONDS = 2.0  # for what waits to be fed when the broker ends
CATCH_UP_PAUSE = 0.05  # while a session that catches up reads what it has
_STALE = 409
GATHER_SECONDS = 0.1  # records that come within it go together
BATCH_BYTES = 1 << 20
_DRAIN_CHECK_SECONDS = 0.02
QUEUED_BYTES = 64 << 20  # that wait for a data cluster that cannot be reached
Send = Callable[[str, bytes], Awaitable[None]]

log = logging.getLogger(__name__)


class DatasetFeeder:
    """Sends records on in batches, each until it has been answered: its number makes
    that harmless. What a data cluster refuses, or has no room for here while it cannot
    be reached, is dropped and counted."""

    def __init__(self, send: Send, name: str) -> None:
        self.sent = 0
        self.dropped = 0
        self._is_dropping = False  # since the last that was sent, and that was logged
        self._send = send
        self._name = name
        self._queues: dict[str, deque[bytes]] = {}  # by dataset
        self._queued = 0
        self._batches = 0
        self._began = secrets.token_hex(6)
        self._arrived = Signal()

    def add(self, topic: str, data: msgspec.Raw) -> str:
        """Why a record is not taken, if it is not."""
        record = _one_line(data)
        if self._queued + len(record) > QUEUED_BYTES:
            self._drop("too much waits for the data cluster")
            return "the data cluster cannot be reached, and too much waits for it"
        name = topic.removeprefix(DATASET)
        self._queues.setdefault(name, deque()).append(record)
        self._queued += len(record)
        self._arrived.notify()
        return ""

    def _drop(self, why: str, count: int = 1) -> None:
        self.dropped += count
        if not self._is_dropping:
            self._is_dropping = True
            log.warning("records for datasets are dropped: %s", why)

    async def run(self) -> None:
        """Cancelling it loses what waits."""
        while True:
            if not self._queues:
                await self._arrived.wait()
            await asyncio.sleep(GATHER_SECONDS)
            for name in list(self._queues):
                queue = self._queues.pop(name)
                while queue:
                    batch = _take_batch(queue)
                    await self._deliver(name, b"\n".join(batch), len(batch))

    async def drain(self, seconds: float) -> None:
        """Wait until `run` has sent what waits, at most `seconds`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self._queued and loop.time() < until:
            await asyncio.sleep(_DRAIN_CHECK_SECONDS)

    async def _deliver(self, dataset: str, body: bytes, count: int) -> None:
        self._batches += 1
        batch = quote(f"{self._name}-{self._began}-{self._batches}", safe="")
        path = f"/feed/{quote(dataset, safe='')}?batch={batch}"
        backoff, logged = Backoff(), ""
        while True:
            try:
                await self._send(path, body)
                self.sent += count
                self._is_dropping = False
                if logged:
                    log.info("dataset %r takes records again", dataset)
                break
            except BrokerwiseError as error:
                if isinstance(error, RefusedError) and error.status < 500:
                    self._drop(f"{dataset!r} refuses them: {error.message}", count)
                    break
                if error.message != logged:
                    logged = error.message  # a full disk, too
                    log.warning(
                        "dataset %r: %d records wait: %s", dataset, count, logged
                    )
            await asyncio.sleep(backoff.pause())
        self._queued -= len(body) - count + 1


def _take_batch(queue: deque[bytes]) -> list[bytes]:
    """The records that waited longest, up to BATCH_BYTES but at least one."""
    records = [queue.popleft()]
    size = len(records[0]) + 1
    while queue and size < BATCH_BYTES:
        records.append(queue.popleft())
        size += len(records[-1]) + 1
    return records


def record_sender(
    http: HttpClient, url: str, token: str, tls: ssl.SSLContext | None
) -> Send:
    """Sends a batch of records to the data cluster. Raises RefusedError, and what
    `request` raises."""

    async def send(path: str, body: bytes) -> None:
        answer = await http.request(
            "POST",
            f"{url}{path}",
            body=body,
            token=token,
            seconds=ANSWER_SECONDS,
            ssl=tls,
        )
        if answer.status >= 400:
            text = answer.body.decode(errors="replace")
            raise RefusedError(answer.status, text, f"{url}{path}")

    return send


def _one_line(data: msgspec.Raw) -> bytes:
    record = bytes(data)
    return msgspec.json.format(record, indent=-1) if b"\n" in record else record


class DataClusterClient:
    """Keeps the data cluster and `ChannelSubscriptions` in step once it is started.

    While the data cluster cannot be reached, subscriptions to channels wait and
    everything else goes on. Requests that change which broker serves a user go one
    after the other, so that the data cluster gets them in order.
    """

    def __init__(
        self,
        http: HttpClient,
        url: str,
        token: str,
        tls: ssl.SSLContext | None,
        *,
        creation: Callable[[], BrokerCreation],
        channels: ChannelSubscriptions,
        feeder: DatasetFeeder,
    ) -> None:
        self._http = http
        self._url = url
        self._token = token
        self._tls = tls
        self._creation = creation
        self._channels = channels
        self._feeder = feeder
        self._news = Signal()
        self._results = Signal()
        self._reported_all_at = 0.0
        self._created = 0  # the epoch under which the data cluster knows us
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        works: list[Coroutine[None, None, None]] = [
            self._exchange(),
            self._pull(),
            self._feeder.run(),
        ]
        self._tasks = [loop.create_task(work) for work in works]

    async def close(self) -> None:
        """Report and feed what is left, if that can be done at once."""
        if self._tasks:
            await self._feeder.drain(DRAIN_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._tasks and self._created == self._creation().epoch:
            with suppress(BrokerwiseError, TimeoutError):
                async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
                    await self._report()
        await self._http.close()

    def send_soon(self) -> None:
        """`ChannelSubscriptions` has something to send."""
        self._news.notify()

    def take_notification(self, notification: Notification) -> None:
        self._channels.logs.mark_new(notification.subscriptionIds)
        self._results.notify()

    # One request after the other

    async def _exchange(self) -> None:
        backoff, logged = Backoff(), ""
        while True:
            try:
                await self._create()
                await self._report()
                await self._subscribe()
                if logged:
                    log.info("the data cluster answers again")
                backoff, logged = Backoff(), ""
            except BrokerwiseError as error:
                if isinstance(error, RefusedError) and error.status == _STALE:
                    self._created = 0
                if error.message != logged:
                    logged = error.message
                    log.warning("data cluster: %s", logged)
                await asyncio.sleep(backoff.pause())
                continue
            if not self._channels.is_waiting():
                await self._news.wait(ACKNOWLEDGE_SECONDS)

    async def _create(self) -> None:
        creation = self._creation()
        if self._created != creation.epoch:
            await self._ask("/createbroker", creation, Instance)
            self._created = creation.epoch
            log.info("known to the data cluster, with epoch %d", creation.epoch)
            self._results.notify()

    async def _report(self) -> None:
        """Unsubscriptions, and what was acknowledged; once a second at least, as a
        sign of life."""
        epoch, name = self._created, self._creation().broker
        ended = self._channels.ended()
        if ended:
            leaving = UnsubscribeRequest(name, epoch, ended)
            await self._ask("/unsubscribe", leaving, Instance)
            self._channels.mark_sent(ended=ended)
        offline, seen = self._channels.offline(), self._channels.seen()
        news = AcknowledgeRequest(name, epoch, seen, offline, self._serving())
        await self._ask("/acknowledge", news, Instance)
        self._channels.mark_sent(offline=offline, seen=seen)

    def _serving(self) -> tuple[UserCursor, ...]:
        now = asyncio.get_running_loop().time()
        if now - self._reported_all_at < FULL_REPORT_SECONDS:
            return ()
        self._reported_all_at = now
        return self._channels.logs.serving()

    async def _subscribe(self) -> None:
        while wanted := self._channels.wanted(SUBSCRIPTIONS_AT_ONCE):
            creation = self._creation()
            asked = SubscribeRequest(creation.broker, self._created, wanted)
            answer = await self._ask("/subscribe", asked, SubscribeAnswer)
            self._channels.take_answer(wanted, answer)
            self._results.notify()

    # Results

    async def _pull(self) -> None:
        """Fetch new results while there are any. Every LOOK_SECONDS check all logs: a
        notification may have been lost with its sender."""
        backoff = Backoff()
        loop = asyncio.get_running_loop()
        looked_at = loop.time()
        while True:
            due = loop.time() - looked_at >= LOOK_SECONDS
            pulls = self._channels.logs.pulls(all_of_them=due)
            if not pulls or not self._created:
                behind = self._channels.logs.is_behind()
                await self._results.wait(CATCH_UP_PAUSE if behind else LOOK_SECONDS)
                continue
            wanted = PullRequest(self._creation().broker, self._created, pulls)
            try:
                answer = await self._ask("/results", wanted, PullAnswer)
            except BrokerwiseError:
                await asyncio.sleep(backoff.pause())
                continue
            backoff = Backoff()
            if due:
                looked_at = loop.time()
            if wanted.epoch == self._creation().epoch:
                self._channels.logs.take_results(frozenset(pulls), answer)

    async def _ask(self, path: str, content: object, kind: type[T]) -> T:
        return await self._http.ask(
            f"{self._url}{path}",
            content,
            kind,
            token=self._token,
            seconds=ANSWER_SECONDS,
            ssl=self._tls,
        )
