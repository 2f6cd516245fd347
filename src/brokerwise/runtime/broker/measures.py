"""The load of a broker: exact counts, moving averages, latencies."""

from typing import Any

from brokerwise.runtime.broker.averages import MovingRate
from brokerwise.runtime.broker.metrics import Kind, Metric, counter, exposition, gauge
from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.topic import Topic

_PERCENTS = (50, 90, 99)
_COLUMNS = {
    "received": "messages taken in",
    "delivered": "messages handed to sessions",
    "sessions": "sessions that have it",
}


class Measures:
    """Looks at the counters of the topics. A topic's load is what it received and
    what it delivered: the load law, as it happens."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._rates: dict[str, tuple[MovingRate, MovingRate]] = {}

    def look(self, now: float) -> None:
        """Bring the averages up to date; once a second is often enough."""
        for topic in self._passage.topics.values():
            self._rates_of(topic, now)

    def totals(self) -> tuple[int, int]:
        """All messages received, and all deliveries."""
        topics = self._passage.topics.values()
        return sum(t.received for t in topics), sum(t.delivered for t in topics)

    def load_per_second(self, now: float) -> float:
        return sum(sum(self._rates_of(t, now)) for t in self._passage.topics.values())

    def by_topic(self, now: float) -> dict[str, dict[str, Any]]:
        return {
            topic.name: self._measures_of(topic, now)
            for topic in self._passage.topics.values()
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
    measures: Measures, now: float, sessions: int, refused: int, links: dict[str, int]
) -> str:
    """All of it for Prometheus."""
    by_topic = measures.by_topic(now)
    received, delivered = measures.totals()
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
            measures.load_per_second(now),
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
