"""Plots as data: what to draw, independent of colours and of the drawing library."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.plan import Plan
from brokerwise.show.numbers import percent, significant, tick
from brokerwise.show.results import Result
from brokerwise.show.tables import Table

_MARGIN = 0.04  # of the axis, so that no mark touches the frame
_LEAST_DECADES = 0.5  # of an axis, so that it has room for ticks


@dataclass(frozen=True)
class Series:
    """Points with what to say about each. A `step` holds its value to the next; a
    `path` is a line with its points marked.

    Series have different colours and dashes unless they say which: those of one
    `colour` belong together, and a `dashed` one among them is a limit.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    hover: Sequence[str]
    style: Literal["step", "line", "points", "path", "bar"] = "points"
    colour: int | None = None
    dashed: bool = False


@dataclass(frozen=True)
class Axis:
    """A title with its unit; logarithmic axes show only what is above zero.

    `labels` name the places 0, 1, 2, ... of an axis that has no numbers.
    """

    title: str
    log: bool = True
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class Plot:
    """A figure, what it shows in words, and the same in tables.

    Bars at one place stand side by side, or on each other if `stacked`. A `wide` one
    has the whole width of the page.
    """

    title: str
    caption: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    tables: Sequence[Table] = field(default=())
    stacked: bool = False
    wide: bool = False

    @property
    def drawable(self) -> bool:
        return any(len(points) for points, _ in self._points())

    @property
    def hidden(self) -> int:
        """Points that a logarithmic axis cannot show."""
        return sum(len(s.x) for s in self.series) - sum(
            len(points) for points, _ in self._points()
        )

    def spec(self) -> dict[str, Any]:
        """What the page's script draws. Labels are escaped: the drawing library
        would read markup in them.
        """
        drawn = self._points()
        every = [point for points, _ in drawn for point in points]
        return {
            "x": _axis_spec(self.x, [x for x, _, _ in every]),
            "y": _axis_spec(self.y, [y for _, y, _ in every]),
            "series": [_series_spec(series, points) for points, series in drawn],
            "stacked": self.stacked,
        }

    def _points(self) -> list[tuple[list[tuple[float, float, str]], Series]]:
        return [
            (
                [
                    (x, y, text)
                    for x, y, text in zip(s.x, s.y, s.hover, strict=True)
                    if (x > 0 or not self.x.log) and (y > 0 or not self.y.log)
                ],
                s,
            )
            for s in self.series
        ]


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Places and labels of ticks from `low` to `high`, both above zero.

    Two to nine of them on an axis of half a decade to thirty: powers of ten, fewer
    on a long axis, and digits between them on a short one.
    """
    decades = math.log10(high / low)
    step = max(1, math.ceil(decades / 8))
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = []
    for exponent in range(first - first % step, last + 1, step):
        for digits in _digits(decades):
            value = float(f"{digits}e{exponent}")
            if low <= value <= high:
                ticks.append((value, tick(digits, exponent)))
    return ticks


def _digits(decades: float) -> Sequence[str]:
    if decades < 1:
        return ("1", "1.5", "2", "3", "5", "7")
    return ("1", "2", "5") if decades < 2.5 else ("1",)


def _series_spec(
    series: Series, points: list[tuple[float, float, str]]
) -> dict[str, Any]:
    return {
        "name": escape(series.name),
        "style": series.style,
        "colour": series.colour,
        "dashed": series.dashed,
        "x": [x for x, _, _ in points],
        "y": [y for _, y, _ in points],
        "hover": [escape(text) for _, _, text in points],
    }


def _axis_spec(axis: Axis, values: list[float]) -> dict[str, Any]:
    spec: dict[str, Any] = {"title": escape(axis.title), "log": axis.log}
    if axis.labels:
        spec["range"] = [-0.5 - _MARGIN, len(axis.labels) - 0.5 + _MARGIN]
        spec["ticks"] = list(range(len(axis.labels)))
        spec["labels"] = [escape(label) for label in axis.labels]
        return spec
    if not axis.log or not values:
        return spec
    low, high = math.log10(min(values)), math.log10(max(values))
    margin = max(_MARGIN * (high - low), (_LEAST_DECADES - (high - low)) / 2)
    spec["range"] = [low - margin, high + margin]
    ticks = log_ticks(10 ** (low - margin), 10 ** (high + margin))
    spec["ticks"] = [value for value, _ in ticks]
    spec["labels"] = [label for _, label in ticks]
    return spec


_ROWS = 61


def table_of(plot: Plot) -> Table:
    """A row for each place on the x axis, a column for each series; of many places
    some, the first and the last among them."""
    places = sorted({x for series in plot.series for x in series.x if _is_on(plot, x)})
    step = max(1, -(-len(places) // _ROWS))
    shown = sorted({*places[::step], *places[-1:]})
    columns = [_column(series, shown) for series in plot.series]
    some = "" if step == 1 else f", {len(shown):,} of {len(places):,} points"
    return Table(
        f"{plot.title}{some}",
        (plot.x.title, *(series.name for series in plot.series)),
        [
            (_place(plot, place), *(column[at] for column in columns))
            for at, place in enumerate(shown)
        ],
    )


def _column(series: Series, places: Sequence[float]) -> list[str]:
    values = dict(zip(series.x, series.y, strict=True))
    return [significant(values[at]) if at in values else "" for at in places]


def _is_on(plot: Plot, place: float) -> bool:
    """Whether it has a name, where places have names: lines may begin before the
    first."""
    return not plot.x.labels or place in range(len(plot.x.labels))


def _place(plot: Plot, place: float) -> str:
    labels = plot.x.labels
    return labels[int(place)] if labels else f"{place:,.6g}"


_POINTS = 200  # of a curve
BARS = 60  # more than this are a curve


def brokers_by_type(plan: Plan) -> Int64s:
    """How many brokers a plan has of each type of its fleet."""
    return np.bincount(plan.brokers.type, minlength=len(plan.fleet.broker_types))


def loads_of(plan: Plan) -> dict[str, Any]:
    """Load as a share of capacity, the fullest broker first; of many, a sample."""
    brokers = plan.brokers
    shares = brokers.load / brokers.capacity
    order = np.argsort(-shares, kind="stable")
    most = min(_POINTS, len(order))
    at = np.linspace(0, len(order) - 1, most).round().astype(np.int64)
    chosen = order[at]
    return {
        "brokers": len(order),
        "rank": (at + 1).tolist(),
        "broker": chosen.tolist(),
        "type": [plan.fleet.broker_types[t].name for t in brokers.type[chosen]],
        "capacity": brokers.capacity[chosen].tolist(),
        "load": brokers.load[chosen].tolist(),
        "share": shares[chosen].tolist(),
        "mean": float(shares.mean()) if len(shares) else 0.0,
    }


def load_plot(loads: Result, remark: str = "") -> Plot:
    """Load of brokers as a share of capacity, the fullest first."""
    last = loads["brokers"]
    series = [
        Series(
            "load",
            loads["rank"],
            [100 * share for share in loads["share"]],
            _texts(loads),
            bars_or_line(last),
            0,
        ),
        capacity_line(0.5, last + 0.5),
    ]
    return Plot(
        "Load of the brokers",
        f"Each broker's load as a share of its capacity, the fullest first.{remark}",
        Axis("brokers", False),
        Axis("load, % of capacity", False),
        series if last else [],
        [load_table("Brokers", loads)],
    )


def capacity_line(first: float, last: float) -> Series:
    return level("capacity", 100, (first, last), "capacity", 1)


def level(
    name: str,
    value: float,
    ends: Sequence[float],
    text: str,
    colour: int,
    *,
    dashed: bool = True,
) -> Series:
    """A level line from the first of two places to the second: a limit or a mean."""
    return Series(name, ends, [value] * 2, [text] * 2, "line", colour, dashed)


def bars_or_line(count: int) -> Literal["bar", "line"]:
    """How so many values beside each other are drawn."""
    return "bar" if count <= BARS else "line"


def load_table(name: str, loads: Result) -> Table:
    shown = len(loads["rank"])
    of = "" if shown == loads["brokers"] else f", {shown:,} of {loads['brokers']:,}"
    keys = ("broker", "type", "capacity", "load", "share")
    return Table(
        f"{name}: brokers, the fullest first{of}",
        ("broker", "type", "capacity", "load", "share"),
        [
            (f"{broker}", kind, f"{capacity:,}", f"{load:,}", percent(share))
            for broker, kind, capacity, load, share in zip(
                *(loads[key] for key in keys), strict=True
            )
        ],
    )


def _texts(loads: Result) -> list[str]:
    """What each of the brokers carries."""
    keys = ("broker", "type", "load", "capacity", "share")
    return [
        f"broker {broker} ({kind}) carries {load:,} of {capacity:,}, {percent(share)}"
        for broker, kind, load, capacity, share in zip(
            *(loads[key] for key in keys), strict=True
        )
    ]
