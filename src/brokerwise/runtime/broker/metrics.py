"""What Prometheus reads of a broker, in its text format (version 0.0.4)."""

from brokerwise.runtime.broker.loads import TopicLoads
from brokerwise.runtime.process.meters import metric_text

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_text(
    loads: TopicLoads, now: float, sessions: int, refused: int, links: dict[str, int]
) -> str:
    """A character of a name that UTF-8 cannot hold (half of a surrogate pair) becomes
    `?`."""
    topics = loads.by_topic(now)
    received, delivered = loads.totals()
    metrics = (
        metric_text(
            "brokerwise_sessions",
            "gauge",
            "connections that have logged in",
            {(): sessions},
        ),
        metric_text(
            "brokerwise_connections_refused_total",
            "counter",
            "connections for which there was no room",
            {(): refused},
        ),
        metric_text(
            "brokerwise_received_total", "counter", "messages taken in", {(): received}
        ),
        metric_text(
            "brokerwise_delivered_total",
            "counter",
            "messages handed to sessions",
            {(): delivered},
        ),
        metric_text(
            "brokerwise_load_per_second",
            "gauge",
            "messages received and delivered a second, a moving average",
            {(): loads.load_per_second(now)},
        ),
        metric_text(
            "brokerwise_forwarded_total",
            "counter",
            "messages passed on to another broker",
            {(name,): count for name, count in links.items()},
            ("peer",),
        ),
        metric_text(
            "brokerwise_topic_received_total",
            "counter",
            "messages taken in, by topic",
            {(name,): load.received for name, load in topics.items()},
            ("topic",),
        ),
        metric_text(
            "brokerwise_topic_delivered_total",
            "counter",
            "messages handed to sessions, by topic",
            {(name,): load.delivered for name, load in topics.items()},
            ("topic",),
        ),
        metric_text(
            "brokerwise_topic_sessions",
            "gauge",
            "sessions that have it, by topic",
            {(name,): load.sessions for name, load in topics.items()},
            ("topic",),
        ),
        metric_text(
            "brokerwise_topic_latency_seconds",
            "gauge",
            "from arrival until handed to all sessions",
            {
                (name, quantile): milliseconds / 1000
                for name, load in topics.items()
                for quantile, milliseconds in (
                    ("0.5", load.p50_ms),
                    ("0.9", load.p90_ms),
                    ("0.99", load.p99_ms),
                )
            },
            ("topic", "quantile"),
        ),
    )
    return "".join(metrics).encode(errors="replace").decode()
