"""The load of a broker: exact counts, moving averages, latencies."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Any

import msgspec

from brokerwise.runtime.broker.meters import MovingRate
from brokerwise.runtime.broker.metrics import Kind, Metric, counter, exposition, gauge
from brokerwise.runtime.broker.router import MessageRouter
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.topics import Topic
from brokerwise.runtime.protocol.control import BalancePage, RateRow, SessionRow

_PERCENTS = (50, 90, 99)
_COLUMNS = {
    "received": "messages taken in",
    "delivered": "messages handed to sessions",
    "sessions": "sessions that have it",
}


class TopicLoads:
    """Looks at the counters of the topics. A topic's load is what it received and
    what it delivered: the load law, as it happens."""

    def __init__(self, router: MessageRouter) -> None:
        self._router = router
        self._rates: dict[str, tuple[MovingRate, MovingRate]] = {}

    def look(self, now: float) -> None:
        """Bring the averages up to date; once a second is often enough."""
        for topic in self._router.topics.values():
            self._rates_of(topic, now)

    def totals(self) -> tuple[int, int]:
        """All messages received, and all deliveries."""
        topics = self._router.topics.values()
        return sum(t.received for t in topics), sum(t.delivered for t in topics)

    def load_per_second(self, now: float) -> float:
        return sum(sum(self._rates_of(t, now)) for t in self._router.topics.values())

    def by_topic(self, now: float) -> dict[str, dict[str, Any]]:
        return {
            topic.name: self._measures_of(topic, now)
            for topic in self._router.topics.values()
            if topic.received or topic.sessions
        }

    def _measures_of(self, topic: Topic, now: float) -> dict[str, Any]:
        received, delivered = self._rates_of(topic, now)
        latencies = topic.latency.percentiles(*_PERCENTS)
        return {
            "received": topic.received,
            "delivered": topic.delivered,
            "sessions": len(topic.sessions),
            "received_per_second": received,
            "delivered_per_second": delivered,
            **{
                f"p{percent}_ms": microseconds / 1000
                for percent, microseconds in zip(_PERCENTS, latencies, strict=True)
            },
        }

    def _rates_of(self, topic: Topic, now: float) -> tuple[float, float]:
        rates = self._rates.get(topic.name)
        if rates is None:
            rates = MovingRate(now, topic.received), MovingRate(now, topic.delivered)
            self._rates[topic.name] = rates
        received, delivered = rates
        return received.look(topic.received, now), delivered.look(topic.delivered, now)


def metrics_text(
    loads: TopicLoads, now: float, sessions: int, refused: int, links: dict[str, int]
) -> str:
    """All of it for Prometheus."""
    by_topic = loads.by_topic(now)
    received, delivered = loads.totals()
    metrics = [
        gauge("brokerwise_sessions", "connections that have logged in", sessions),
        counter(
            "brokerwise_connections_refused_total",
            "connections for which there was no room",
            refused,
        ),
        counter("brokerwise_received_total", _COLUMNS["received"], received),
        counter("brokerwise_delivered_total", _COLUMNS["delivered"], delivered),
        gauge(
            "brokerwise_load_per_second",
            "messages received and delivered a second, a moving average",
            loads.load_per_second(now),
        ),
        Metric(
            "brokerwise_forwarded_total",
            Kind.COUNTER,
            "messages passed on to another broker",
            ("peer",),
            {(name,): count for name, count in links.items()},
        ),
    ]
    for column, text in _COLUMNS.items():
        kind = Kind.GAUGE if column == "sessions" else Kind.COUNTER
        suffix = "" if column == "sessions" else "_total"
        values = {(name,): found[column] for name, found in by_topic.items()}
        name = f"brokerwise_topic_{column}{suffix}"
        metrics.append(Metric(name, kind, f"{text}, by topic", ("topic",), values))
    seconds = {
        (name, str(percent / 100)): found[f"p{percent}_ms"] / 1000
        for name, found in by_topic.items()
        for percent in _PERCENTS
    }
    metrics.append(
        Metric(
            "brokerwise_topic_latency_seconds",
            Kind.GAUGE,
            "from arrival until handed to all sessions",
            ("topic", "quantile"),
            seconds,
        )
    )
    return exposition(metrics)


AVERAGE_SECONDS = 60.0  # channels run every few seconds: their bursts even out
_FORGOTTEN = 0.001  # weight of what is as good as unknown


@dataclass(frozen=True)
class _Left:
    """What was known of a topic when its last session left, at that time."""

    rate: float
    weight: float
    at: float

    def weight_at(self, now: float) -> float:
        return self.weight * exp(-(now - self.at) / AVERAGE_SECONDS)


class ByteRates:
    """Bytes a second of each topic, over the time that it has had sessions here.

    A topic that nobody has is not followed: when somebody comes back to it, the time
    in between says nothing about what it brings. What was known of it is kept for a
    while, and counts less the older it is: whoever has it now has only just begun.
    """

    def __init__(self, router: MessageRouter) -> None:
        self._router = router
        self._rates: dict[str, MovingRate] = {}
        self._left: dict[str, _Left] = {}
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
                self._leave(name, _Left(rate.per_second, rate.weight, now))
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
        """What is still known of topics that were left, by name."""
        return tuple(
            _row(name, left.rate, left.weight_at(self._now))
            for name, left in sorted(self._left.items())
        )

    def _leave(self, topic: str, left: _Left) -> None:
        """A short visit does not make forget what a long one had found."""
        before = self._left.get(topic)
        if before is None or before.weight_at(left.at) <= left.weight:
            self._left[topic] = left


def balance_page(
    broker: str, epoch: int, rates: ByteRates, users: Mapping[str, Session]
) -> BalancePage:
    """Users and topics by name, so that the same state gives the same page. Who has no
    topic brings no load: it has only connected, or has just moved away.
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
