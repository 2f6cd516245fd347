"""What Prometheus reads of a broker, in its text format (version 0.0.4)."""

from collections.abc import Mapping
from typing import Literal

from brokerwise.runtime.broker.loads import TopicLoads

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def metrics_text(
    loads: TopicLoads, now: float, sessions: int, refused: int, links: dict[str, int]
) -> str:
    """A character of a name that UTF-8 cannot hold (half of a surrogate pair) becomes
    `?`."""
    topics = loads.by_topic(now)
    received, delivered = loads.totals()
    metrics = (
        _metric(
            "brokerwise_sessions",
            "gauge",
            "connections that have logged in",
            {(): sessions},
        ),
        _metric(
            "brokerwise_connections_refused_total",
            "counter",
            "connections for which there was no room",
            {(): refused},
        ),
        _metric(
            "brokerwise_received_total", "counter", "messages taken in", {(): received}
        ),
        _metric(
            "brokerwise_delivered_total",
            "counter",
            "messages handed to sessions",
            {(): delivered},
        ),
        _metric(
            "brokerwise_load_per_second",
            "gauge",
            "messages received and delivered a second, a moving average",
            {(): loads.load_per_second(now)},
        ),
        _metric(
            "brokerwise_forwarded_total",
            "counter",
            "messages passed on to another broker",
            {(name,): count for name, count in links.items()},
            ("peer",),
        ),
        _metric(
            "brokerwise_topic_received_total",
            "counter",
            "messages taken in, by topic",
            {(name,): load.received for name, load in topics.items()},
            ("topic",),
        ),
        _metric(
            "brokerwise_topic_delivered_total",
            "counter",
            "messages handed to sessions, by topic",
            {(name,): load.delivered for name, load in topics.items()},
            ("topic",),
        ),
        _metric(
            "brokerwise_topic_sessions",
            "gauge",
            "sessions that have it, by topic",
            {(name,): load.sessions for name, load in topics.items()},
            ("topic",),
        ),
        _metric(
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


def _metric(
    name: str,
    kind: Literal["counter", "gauge"],
    help: str,
    values: Mapping[tuple[str, ...], float],
    labels: tuple[str, ...] = (),
) -> str:
    """`values` are by what the labels are; () without labels."""
    lines = [f"# HELP {name} {help}\n", f"# TYPE {name} {kind}\n"]
    for key, value in values.items():
        pairs = zip(labels, key, strict=True)
        inside = ",".join(f'{k}="{v.translate(_ESCAPES)}"' for k, v in pairs)
        lines.append(
            f"{name}{{{inside}}} {value!r}\n" if key else f"{name} {value!r}\n"
        )
    return "".join(lines)
