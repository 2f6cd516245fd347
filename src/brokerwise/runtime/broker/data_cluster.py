"""What a broker and the data cluster say to each other."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TypeVar

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.channels import Channels
from brokerwise.runtime.broker.feeding import Feeds
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.tasks import Backoff, Signal
from brokerwise.runtime.protocol.data import (
    AcknowledgeRequest,
    BrokerCreated,
    BrokerCreation,
    Done,
    Notification,
    PullAnswer,
    PullRequest,
    Seen,
    SubscribeAnswer,
    SubscribeRequest,
    UnsubscribeRequest,
)
from brokerwise.runtime.protocol.limits import ACKNOWLEDGE_SECONDS

T = TypeVar("T")

SUBSCRIPTIONS_AT_ONCE = 2_000  # in a request, so that it is answered in time
SAY_ALL_SECONDS = 30.0  # how often the data cluster hears of everyone served
LOOK_SECONDS = 5.0  # how often it is seen whether there is more than we were told of
ANSWER_SECONDS = 10.0
DRAIN_SECONDS = 2.0  # for what waits to be fed when the broker ends
CATCH_UP_PAUSE = 0.05  # while a session that catches up reads what it has
_STALE = 409


class DataCluster:
    """Keeps the data cluster and `Channels` in step, from when it is started.

    While the data cluster cannot be reached, subscriptions to channels wait and
    everything else goes on. What changes who is served where goes one request after
    the other, so that the data cluster hears of it in order.
    """

    def __init__(
        self,
        url: str,
        creation: Callable[[], BrokerCreation],
        token: str,
        channels: Channels,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._url = url
        self._creation = creation
        self._token = token
        self._channels = channels
        self._tls = tls
        self._http = HttpClient(keeps=True, repeatable=True)
        self._news = Signal()
        self._results = Signal()
        self._said_all_at = 0.0
        self._created = 0  # the epoch under which the data cluster knows us
        self.feeds = Feeds(self._feed, lambda: creation().broker)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        works: list[Coroutine[None, None, None]] = [
            self._exchange(),
            self._pull(),
            self.feeds.run(),
        ]
        self._tasks = [loop.create_task(work) for work in works]

    async def close(self) -> None:
        """Say what is left to say, and feed what is left to feed, if that can be done
        at once."""
        if self._tasks:
            await self.feeds.drain(DRAIN_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._tasks and self._created == self._creation().epoch:
            with suppress(BrokerwiseError, TimeoutError):
                async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
                    await self._say()
        await self._http.close()

    def attach(self) -> None:
        """`Channels` has something to say."""
        self._news.notify()

    def notified(self, notification: Notification) -> None:
        self._channels.logs.notified(notification.subscriptionIds)
        self._results.notify()

    # One request after the other

    async def _exchange(self) -> None:
        backoff = Backoff()
        while True:
            try:
                await self._create()
                await self._say()
                await self._subscribe()
                backoff = Backoff()
            except BrokerwiseError as error:
                if isinstance(error, RefusedError) and error.status == _STALE:
                    self._created = 0
                await asyncio.sleep(backoff.pause())
                continue
            if not self._channels.is_waiting():
                await self._news.wait(ACKNOWLEDGE_SECONDS)

    async def _create(self) -> None:
        creation = self._creation()
        if self._created != creation.epoch:
            await self._ask("/createbroker", creation, BrokerCreated)
            self._created = creation.epoch
            self._results.notify()

    async def _say(self) -> None:
        """Who has left, and what was seen; each second at least, so that the data
        cluster knows that we live."""
        epoch, name = self._created, self._creation().broker
        ended = self._channels.ended()
        if ended:
            leaving = UnsubscribeRequest(name, epoch, ended)
            await self._ask("/unsubscribe", leaving, Done)
            self._channels.told(ended=ended)
        offline, seen = self._channels.offline(), self._channels.seen()
        news = AcknowledgeRequest(name, epoch, seen, offline, self._serving())
        await self._ask("/acknowledge", news, Done)
        self._channels.told(offline=offline, seen=seen)

    def _serving(self) -> tuple[Seen, ...]:
        now = asyncio.get_running_loop().time()
        if now - self._said_all_at < SAY_ALL_SECONDS:
            return ()
        self._said_all_at = now
        return self._channels.logs.serving()

    async def _subscribe(self) -> None:
        while wanted := self._channels.wanted(SUBSCRIPTIONS_AT_ONCE):
            creation = self._creation()
            asked = SubscribeRequest(creation.broker, self._created, wanted)
            answer = await self._ask("/subscribe", asked, SubscribeAnswer)
            self._channels.given(wanted, answer)
            self._results.notify()

    # Results

    async def _pull(self) -> None:
        """Fetch what is new, for as long as there is any. Now and then look at all:
        a notification may have been lost with whoever sent it."""
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
                self._channels.logs.pulled(frozenset(pulls), answer)

    async def _feed(self, path: str, body: bytes) -> None:
        url = f"{self._url}{path}"
        answer = await self._http.request(
            "POST",
            url,
            body=body,
            token=self._token,
            seconds=ANSWER_SECONDS,
            ssl=self._tls,
        )
        if answer.status >= 400:
            raise RefusedError(answer.status, answer.body.decode(errors="replace"), url)

    async def _ask(self, path: str, content: object, kind: type[T]) -> T:
        return await self._http.ask(
            f"{self._url}{path}",
            content,
            kind,
            token=self._token,
            seconds=ANSWER_SECONDS,
            ssl=self._tls,
        )
