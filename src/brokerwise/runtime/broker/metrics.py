"""What Prometheus reads: the text format (version 0.0.4), and a broker's metrics."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from brokerwise.runtime.broker.loads import TopicLoads

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_IN_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})
_IN_LABEL = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_COLUMNS = {
    "received": "messages taken in",
    "delivered": "messages handed to sessions",
    "sessions": "sessions that have it",
}

Values = (
    Mapping[tuple[str, ...], float]
    | Mapping[tuple[()], float]
    | Mapping[tuple[str], float]
    | Mapping[tuple[str, str], float]
)


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True)
class Metric:
    """A name, what it means, and its values by labels (an empty key: no labels).

    Names are those of programs and are checked; help and the values of labels may be
    any text.
    """

    name: str
    kind: Kind
    help: str
    label_names: tuple[str, ...]
    values: Values

    def __post_init__(self) -> None:
        if not _METRIC_NAME.fullmatch(self.name):
            raise ValueError(f"not a name of a metric: {self.name!r}")
        for label in self.label_names:
            if not _LABEL_NAME.fullmatch(label):
                raise ValueError(f"not a name of a label: {label!r}")
        for key in self.values:
            if len(key) != len(self.label_names):
                raise ValueError(f"{self.name} has labels {self.label_names}: {key}")


def counter(name: str, help: str, value: float) -> Metric:
    """A count without labels."""
    return Metric(name, Kind.COUNTER, help, (), {(): value})


def gauge(name: str, help: str, value: float) -> Metric:
    """A value, without labels, that goes up and down."""
    return Metric(name, Kind.GAUGE, help, (), {(): value})


def exposition(metrics: Iterable[Metric]) -> str:
    """The text of all of them, in their order; ValueError for a name given twice.

    A character that UTF-8 cannot hold (half of a surrogate pair) becomes `?`.
    """
    seen: set[str] = set()
    lines: list[str] = []
    for metric in metrics:
        if metric.name in seen:
            raise ValueError(f"two metrics are called {metric.name}")
        seen.add(metric.name)
        lines += _lines(metric)
    return "".join(lines).encode(errors="replace").decode()


def _lines(metric: Metric) -> list[str]:
    name = metric.name
    lines = [
        f"# HELP {name} {metric.help.translate(_IN_HELP)}\n",
        f"# TYPE {name} {metric.kind}\n",
    ]
    for key, value in metric.values.items():
        pairs = zip(metric.label_names, key, strict=True)
        inside = ",".join(f'{k}="{v.translate(_IN_LABEL)}"' for k, v in pairs)
        labels = f"{{{inside}}}" if inside else ""
        lines.append(f"{name}{labels} {_number(value)}\n")
    return lines


def _number(value: float) -> str:
    """As the format spells it: integers whole, however large; NaN, +Inf, -Inf."""
    if isinstance(value, int):
        return str(int(value))  # bool is int
    text = repr(float(value))
    return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(text, text)


def metrics_text(
    loads: TopicLoads, now: float, sessions: int, refused: int, links: dict[str, int]
) -> str:
    """The metrics of a broker."""
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
        values = {(name,): getattr(found, column) for name, found in by_topic.items()}
        name = f"brokerwise_topic_{column}{suffix}"
        metrics.append(Metric(name, kind, f"{text}, by topic", ("topic",), values))
    seconds = {
        (name, quantile): milliseconds / 1000
        for name, found in by_topic.items()
        for quantile, milliseconds in (
            ("0.5", found.p50_ms),
            ("0.9", found.p90_ms),
            ("0.99", found.p99_ms),
        )
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
