"""Counters and gauges in the text format that Prometheus reads (version 0.0.4)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_IN_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})
_IN_LABEL = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


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
