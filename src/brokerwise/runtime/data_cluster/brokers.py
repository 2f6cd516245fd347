"""What the data cluster does for brokers, and tells them.

`Brokers` answers their requests from the stored state: subscribe, acknowledge, pull
results. `Notifier` tells them that there are new results, and again until they know.
Whether a broker may speak at all is decided in subscriptions.py.
"""

import asyncio
import logging
import secrets
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.data_cluster import channels, results, subscriptions
from brokerwise.runtime.data_cluster.definitions import parameter_values
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.data_cluster.subscriptions import (
    KnownBroker,
    begin_fleet,
    check_epoch,
    create_broker,
    find_broker,
    forget_silent,
    is_note_due,
)
from brokerwise.runtime.net.http import Ask
from brokerwise.runtime.net.tasks import Backoff
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
)
from brokerwise.runtime.protocol.fields import Empty
from brokerwise.runtime.protocol.limits import REQUEST_SECONDS

T = TypeVar("T")
Clock = Callable[[], float]
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between two attempts
MOST_TOLD = 10_000  # subscriptions in one notification

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Queue:
    """What there is to tell a broker: by channel, the subscriptions with news. Those
    in `told` have been sent, and the broker has not pulled since."""

    broker: KnownBroker
    news: dict[str, dict[int, float]] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    sending: asyncio.Task[None] | None = None

    def add(self, channel: str, numbers: Iterable[int], at: float) -> None:
        new = {number: at for number in numbers if number not in self.told}
        if new:
            self.news.setdefault(channel, {}).update(new)

    def take(self) -> tuple[str, dict[int, float]]:
        """The news of one channel, from here on told: the broker may pull before
        its answer has come."""
        channel, waiting = next(iter(self.news.items()))
        taken = dict(islice(waiting.items(), MOST_TOLD))
        for number in taken:
            del waiting[number]
        if not waiting:
            del self.news[channel]
        self.told.update(taken)
        return channel, taken

    def put_back(self, channel: str, taken: dict[int, float]) -> None:
        """It was not heard; what was pulled meanwhile is known all the same."""
        unheard = {n: at for n, at in taken.items() if n in self.told}
        self.told.difference_update(unheard)
        if unheard:
            self.news.setdefault(channel, {}).update(unheard)

    def pulled(self, numbers: set[int]) -> None:
        self.told -= numbers
        for waiting in self.news.values():
            for number in numbers & waiting.keys():
                del waiting[number]
        self.news = {c: waiting for c, waiting in self.news.items() if waiting}


class Notifier:
    """Sends each broker its news, one request after the other, and again until it is
    answered. Calls do not wait for it. Leaving the context ends it, and what was not
    sent is lost: `undelivered` in subscriptions.py finds it again."""

    def __init__(self, ask: Ask, token: str, tls: ssl.SSLContext | None) -> None:
        self._ask = ask
        self._token = token
        self._tls = tls
        self._queues: dict[str, _Queue] = {}

    async def __aenter__(self) -> "Notifier":
        return self

    async def __aexit__(self, *_: object) -> None:
        ended = [self._end(queue) for queue in self._queues.values()]
        self._queues.clear()
        await asyncio.gather(*filter(None, ended), return_exceptions=True)

    def tell(
        self, broker: KnownBroker, channel: str, numbers: Iterable[int], at: float
    ) -> None:
        """These subscriptions have results of a run that was executed `at`. Those
        that the broker has been told of and not pulled since are passed over."""
        queue = self._queue(broker)
        queue.add(channel, numbers, at)
        if queue.news and queue.sending is None:
            queue.sending = asyncio.create_task(self._send(queue))

    def pulled(self, broker: str, numbers: Iterable[int]) -> None:
        """The broker is about to have all results of these that there are now."""
        if queue := self._queues.get(broker):
            queue.pulled(set(numbers))

    def forget(self, broker: str) -> None:
        """The broker has gone, or has another epoch."""
        if queue := self._queues.pop(broker, None):
            self._end(queue)

    def _queue(self, broker: KnownBroker) -> _Queue:
        queue = self._queues.get(broker.name)
        if queue is None or queue.broker != broker:
            self.forget(broker.name)
            queue = self._queues[broker.name] = _Queue(broker)
        return queue

    async def _send(self, queue: _Queue) -> None:
        name, backoff = queue.broker.name, Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        try:
            while queue.news:
                channel, taken = queue.take()
                try:
                    await self._say(queue.broker, channel, taken)
                except BrokerwiseError as cause:
                    queue.put_back(channel, taken)
                    if not backoff.attempts:
                        log.warning("broker %r is not notified: %s", name, cause)
                    await asyncio.sleep(backoff.pause())
                    continue
                if backoff.attempts:
                    log.info("broker %r is notified again", name)
                    backoff.attempts = 0
        finally:
            queue.sending = None

    async def _say(
        self, broker: KnownBroker, channel: str, taken: dict[int, float]
    ) -> None:
        at = max(taken.values())
        await self._ask(
            f"{broker.url}/notify",
            Notification(channel, tuple(taken), channelExecutionEpochTime=at),
            Empty,
            token=self._token,
            seconds=REQUEST_SECONDS,
            ssl=self._tls,
        )

    @staticmethod
    def _end(queue: _Queue) -> "asyncio.Task[None] | None":
        if queue.sending is not None:
            queue.sending.cancel()
        return queue.sending


class Brokers:
    """Answers brokers at once from the stored state, and stores what they change.

    Every call of a broker raises ConflictError unless its epoch is the one known.
    `instance` is another one each time the process starts. `wall` gives seconds
    since 1970.
    """

    def __init__(
        self, store: DataStore, notifier: Notifier, fleet: str, wall: Clock
    ) -> None:
        self._store, self._notifier, self._wall = store, notifier, wall
        self.instance = secrets.token_hex(8)
        with store.change() as sql:
            begin_fleet(sql, fleet, wall())

    def create(self, creation: BrokerCreation) -> Instance:
        before = find_broker(self._store.sql, creation.broker)
        with self._store.change() as sql:
            create_broker(sql, creation, self._wall())
        if before != find_broker(self._store.sql, creation.broker):
            self._notifier.forget(creation.broker)
        return Instance(self.instance)

    def subscribe(self, request: SubscribeRequest) -> SubscribeAnswer:
        self._check(request.broker, request.epoch)
        with self._store.change() as sql:
            return subscriptions.subscribe(sql, request, self._values)

    def unsubscribe(self, request: UnsubscribeRequest) -> Instance:
        self._check(request.broker, request.epoch)
        with self._store.change() as sql:
            subscriptions.unsubscribe(sql, request)
        return Instance(self.instance)

    def acknowledge(self, request: AcknowledgeRequest) -> Instance:
        """Most of the time there is nothing new, and nothing is written."""
        self._check(request.broker, request.epoch)
        sql, now = self._store.sql, self._wall()
        news = request.seen or request.offline or request.serving
        if news or is_note_due(sql, request.broker, now):
            with self._store.change() as sql:
                subscriptions.acknowledge(sql, request, now)
        return Instance(self.instance)

    def results(self, request: PullRequest) -> PullAnswer:
        self._check(request.broker, request.epoch)
        answer = results.pull(self._store, request.pulls)
        pulled = (pull.subscription for pull in request.pulls)
        self._notifier.pulled(request.broker, pulled)
        return answer

    def announce(self, channel: str, at: float, numbers: Iterable[int]) -> None:
        """Tell the brokers that serve them that these subscriptions have new
        results, of a run that was committed `at`."""
        self.tell(channel, subscriptions.brokers_of(self._store.sql, numbers), at)

    def announce_all(self) -> None:
        """What was to be told when the process before this one ended was lost."""
        for channel, numbers in subscriptions.undelivered(self._store.sql).items():
            self.announce(channel, self._wall(), numbers)

    def serving(self, channel: str) -> dict[str, list[int]]:
        """The brokers that serve subscriptions of a channel, each with theirs."""
        sql = self._store.sql
        rows = sql.execute("SELECT id FROM subscriptions WHERE channel = ?", (channel,))
        return subscriptions.brokers_of(sql, [number for (number,) in rows])

    def tell(
        self, channel: str, served: Mapping[str, Iterable[int]], at: float
    ) -> None:
        """Let brokers look at these subscriptions: there is more, or they are gone."""
        for name, numbers in served.items():
            broker = find_broker(self._store.sql, name)
            if broker is not None:
                self._notifier.tell(broker, channel, numbers, at)

    def forget(self) -> None:
        """Users who have been offline, and brokers that have been silent, for longer
        than anything is kept."""
        now = self._wall()
        with self._store.change() as sql:
            silent = forget_silent(sql, now)
            subscriptions.forget_offline(sql, now)
        for broker in silent:
            self._notifier.forget(broker)

    def _check(self, broker: str, epoch: int) -> None:
        check_epoch(self._store.sql, broker, epoch)

    def _values(self, name: str, texts: Mapping[str, str]) -> tuple[object, ...]:
        channel = channels.state_of(self._store.sql, name).channel
        return parameter_values(channel, texts)
