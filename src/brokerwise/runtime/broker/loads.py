"""The load of a broker: counts, rates and latencies by topic, and its balance page.

`TopicLoads` is what operators see (`/load`, `/metrics`), `ByteRates` and `balance_page`
what the coordinator balances by (`/balance`). Both read the counters of `topics`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

import msgspec

from brokerwise.runtime.broker.router import MessageRouter
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.topics import Topic
from brokerwise.runtime.process.meters import MovingRate
from brokerwise.runtime.protocol.fleet import (
    BalancePage,
    RateRow,
    SessionRow,
    TopicLoad,
)

AVERAGE_SECONDS = 60.0  # channels run every few seconds: their bursts even out
_FORGOTTEN = 0.001  # weight below which a former rate is forgotten


class TopicLoads:
    """Rates from the counters of topics. A topic's load is what it received and
    what it delivered: the load law, as it happens."""

    def __init__(self, router: MessageRouter) -> None:
        self._router = router
        self._rates: dict[Topic, tuple[MovingRate, MovingRate]] = {}

    def look(self, now: float) -> None:
        """Bring the averages up to date, and drop those of topics that are gone; once a
        second is often enough."""
        topics = self._router.topics.values()
        for topic in topics:
            self._rates_of(topic, now)
        self._rates = {topic: self._rates[topic] for topic in topics}

    def totals(self) -> tuple[int, int]:
        """All messages received, and all deliveries."""
        topics = self._router.topics.values()
        return sum(t.received for t in topics), sum(t.delivered for t in topics)

    def load_per_second(self, now: float) -> float:
        return sum(sum(self._rates_of(t, now)) for t in self._router.topics.values())

    def by_topic(self, now: float) -> dict[str, TopicLoad]:
        return {
            topic.name: self._load_of(topic, now)
            for topic in self._router.topics.values()
            if topic.received or topic.sessions
        }

    def _load_of(self, topic: Topic, now: float) -> TopicLoad:
        latencies = topic.latency.percentiles(50, 90, 99)
        return TopicLoad(
            *(topic.received, topic.delivered, len(topic.sessions)),
            *self._rates_of(topic, now),
            *(microseconds / 1000 for microseconds in latencies),
        )

    def _rates_of(self, topic: Topic, now: float) -> tuple[float, float]:
        rates = self._rates.get(topic)
        if rates is None:
            rates = MovingRate(now, topic.received), MovingRate(now, topic.delivered)
            self._rates[topic] = rates
        received, delivered = rates
        return received.look(topic.received, now), delivered.look(topic.delivered, now)


@dataclass(frozen=True)
class _FormerRate:
    """The rate of a topic when its last session left, at that time."""

    rate: float
    weight: float
    at: float

    def weight_at(self, now: float) -> float:
        return self.weight * exp(-(now - self.at) / AVERAGE_SECONDS)


class ByteRates:
    """Bytes a second of each topic, over the time that it has had sessions here.

    A topic without sessions is not measured: when a session comes back to it, the time
    in between says nothing about its rate. The former rate is kept for a while, and
    its weight decays, because a new average takes time to become reliable.
    """

    def __init__(self, router: MessageRouter) -> None:
        self._router = router
        self._rates: dict[str, MovingRate] = {}
        self._left: dict[str, _FormerRate] = {}
        self._now = 0.0

    def look(self, now: float) -> None:
        """Bring the averages up to date; once a second is often enough."""
        rates: dict[str, MovingRate] = {}
        for name, topic in self._router.topics.items():
            if topic.sessions:
                rate = self._rates.get(name)
                if rate is None:
                    rate = MovingRate(now, topic.framed_bytes, AVERAGE_SECONDS)
                rate.look(topic.framed_bytes, now)
                rates[name] = rate
        for name, rate in self._rates.items():
            if name not in rates:
                self._leave(name, _FormerRate(rate.per_second, rate.weight, now))
        self._rates, self._now = rates, now
        self._left = {
            name: left
            for name, left in self._left.items()
            if left.weight_at(now) > _FORGOTTEN
        }

    def row(self, topic: str) -> RateRow:
        rate = self._rates.get(topic)
        if rate is None:
            return topic, 0.0, 0.0
        return _row(topic, rate.per_second, rate.weight)

    def left(self) -> tuple[RateRow, ...]:
        """The former rates of topics without sessions, by name."""
        return tuple(
            _row(name, left.rate, left.weight_at(self._now))
            for name, left in sorted(self._left.items())
        )

    def _leave(self, topic: str, left: _FormerRate) -> None:
        """An average over a short time does not replace one over a longer time."""
        before = self._left.get(topic)
        if before is None or before.weight_at(left.at) <= left.weight:
            self._left[topic] = left


def balance_page(
    broker: str, epoch: int, rates: ByteRates, users: Mapping[str, Session]
) -> BalancePage:
    """Users and topics by name, so that the same state gives the same page. A user
    without topics brings no load: it has only connected, or has just moved away.
    """
    names = sorted({name for session in users.values() for name in session.topics})
    places = {name: place for place, name in enumerate(names)}
    sessions: list[SessionRow] = []
    for user in sorted(user for user, session in users.items() if session.topics):
        wanted = tuple(sorted(places[name] for name in users[user].topics))
        sessions.append((user, wanted, state_bytes(users[user])))
    topics = tuple(map(rates.row, names))
    return BalancePage(broker, epoch, topics, tuple(sessions), rates.left())


def state_bytes(session: Session) -> int:
    """What a move has to carry over: how far the session is in each of its topics."""
    cursors = [(*key, *at) for key, at in session.cursors.items()]
    return len(msgspec.json.encode(cursors)) if cursors else 0


def _row(topic: str, rate: float, weight: float) -> RateRow:
    return topic, round(rate, 3), round(weight, 6)
