"""What the data cluster does for brokers, and tells them."""

import secrets
from collections.abc import Callable, Iterable, Mapping

from brokerwise.runtime.data_cluster import brokers, channels, results, subscriptions
from brokerwise.runtime.data_cluster.notifying import Notifier
from brokerwise.runtime.data_cluster.sql.parameters_given import parameter_values
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.net.refusals import NotFoundError
from brokerwise.runtime.protocol.data import (
    AcknowledgeRequest,
    BrokerCreated,
    BrokerCreation,
    Done,
    PullAnswer,
    PullRequest,
    SubscribeAnswer,
    SubscribeRequest,
    UnsubscribeRequest,
)

Clock = Callable[[], float]


class Brokerage:
    """Answers brokers at once from the stored state, and stores what they change.

    Every call of a broker raises ConflictError unless its epoch is the one known.
    `instance` is another one each time the process starts. `wall` gives seconds
    since 1970.
    """

    def __init__(
        self, store: Store, notifier: Notifier, fleet: str, wall: Clock
    ) -> None:
        self._store, self._notifier, self._wall = store, notifier, wall
        self.instance = secrets.token_hex(8)
        with store.change() as sql:
            brokers.begin(sql, fleet, wall())

    def create(self, creation: BrokerCreation) -> BrokerCreated:
        before = brokers.find_broker(self._store.sql, creation.broker)
        with self._store.change() as sql:
            brokers.create_broker(sql, creation, self._wall())
        if before != brokers.find_broker(self._store.sql, creation.broker):
            self._notifier.forget(creation.broker)
        return BrokerCreated(self.instance)

    def subscribe(self, request: SubscribeRequest) -> SubscribeAnswer:
        self._check(request.broker, request.epoch)
        with self._store.change() as sql:
            return subscriptions.subscribe(sql, request, self._values)

    def unsubscribe(self, request: UnsubscribeRequest) -> Done:
        self._check(request.broker, request.epoch)
        with self._store.change() as sql:
            subscriptions.unsubscribe(sql, request)
        return Done(self.instance)

    def acknowledge(self, request: AcknowledgeRequest) -> Done:
        """Most of the time there is nothing new, and nothing is written."""
        self._check(request.broker, request.epoch)
        sql, now = self._store.sql, self._wall()
        news = request.seen or request.offline or request.serving
        if news or brokers.is_note_due(sql, request.broker, now):
            with self._store.change() as sql:
                subscriptions.acknowledge(sql, request, now)
        return Done(self.instance)

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
        for channel, numbers in subscriptions.behind(self._store.sql).items():
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
            broker = brokers.find_broker(self._store.sql, name)
            if broker is not None:
                self._notifier.tell(broker, channel, numbers, at)

    def forget(self) -> None:
        """Users who have been offline, and brokers that have been silent, for longer
        than anything is kept."""
        now = self._wall()
        with self._store.change() as sql:
            silent = brokers.forget_silent(sql, now)
            subscriptions.lapse(sql, now)
        for broker in silent:
            self._notifier.forget(broker)

    def _check(self, broker: str, epoch: int) -> None:
        brokers.check_epoch(self._store.sql, broker, epoch)

    def _values(self, name: str, texts: Mapping[str, str]) -> tuple[object, ...]:
        channel = channels.find_channel(self._store.sql, name)
        if channel is None:
            raise NotFoundError(f"there is no channel {name!r}")
        return parameter_values(channel, texts)
