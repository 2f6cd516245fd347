"""Figures 3 and 4 of `reproduce colocate`, drawn: the six measures."""

from collections.abc import Iterator, Sequence

from brokerwise.report.html import Table
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.reproduce_colocate_cells import (
    ALGORITHMS,
    KINDS,
    OPENINGS_TOPICS,
    UNIFIED,
    Result,
    openings,
    rows_of,
)
from brokerwise.report.reproduce_colocate_tables import openings_table, plans_table

_MEASURES = (
    ("a", "brokers", "brokers", 1.0, "brokers used"),
    ("b", "seconds", "planning time, ms", 1000.0, "planning time"),
    ("c", "cpu", "CPU, % of the cores", 100.0, "average processor use"),
    ("d", "p90_ms", "mean p90, ms", 1.0, "average p90"),
    ("e", "messages_over", "messages, %", 100.0, "messages over the target"),
    ("f", "topics_over", "topics, %", 100.0, "topics whose p90 is over the target"),
)
_CAPTION = (
    "Means over requests. Solid: planned with the paper's recipe; dashed: with our "
    "model. All but brokers and time is what simulated brokers then do, with times of "
    "sending that no model has seen."
)


def plan_plots(result: Result) -> Iterator[Plot]:
    """What there is of Figures 3 and 4."""
    if result["plans"]:
        table = plans_table(result)
        for part, key, axis, scale, title in _MEASURES:
            yield Plot(
                f"Figure 3{part}: {title}, by the number of topics",
                _caption(result, "3", part),
                Axis("topics", log=False),
                Axis(axis, log=part == "b"),
                [
                    *_lines(result, key, scale),
                    *(_bound(result) if part == "a" else ()),
                ],
                [table],
                wide=True,
            )
    if len(openings(result, UNIFIED)) > 1:
        yield from _by_opening(result, openings_table(result))


def _by_opening(result: Result, table: Table) -> Iterator[Plot]:
    for part, key, axis, scale, title in _MEASURES:
        series = []
        for colour, (kind, name) in enumerate(KINDS.items()):
            found = openings(result, kind)
            series.append(
                _path(
                    name,
                    [opening for opening, _ in found],
                    [scale * row[key] for _, row in found],
                    "k' =",
                    colour,
                    kind == UNIFIED,
                )
            )
        yield Plot(
            f"Figure 4{part}: {title}, by k' ({OPENINGS_TOPICS} topics)",
            _caption(result, "4", part),
            Axis("k'", log=False),
            Axis(axis, log=part == "b"),
            series,
            [table],
        )


def _caption(result: Result, figure: str, part: str) -> str:
    messages, topics = result["published"]["missed"][figure]
    if part == "e":
        return f"{_CAPTION} Published: up to {100 * messages:g} %."
    if part == "f":
        return f"{_CAPTION} Published: up to {100 * topics:g} %."
    return f"{_CAPTION} The paper prints no values of this figure."


def _lines(result: Result, key: str, scale: float) -> Iterator[Series]:
    for kind in KINDS:
        for colour, (label, name) in enumerate(ALGORITHMS.items()):
            found = rows_of(result, kind, label)
            if found:
                yield _path(
                    f"{name}, {KINDS[kind]}",
                    [row["topics"] for row in found],
                    [scale * row[key] for row in found],
                    "topics:",
                    colour,
                    kind == UNIFIED,
                )


def _bound(result: Result) -> Iterator[Series]:
    """The best that is proven, with our model."""
    best: dict[int, float] = {}
    for row in result["plans"]:
        if row["kind"] == UNIFIED:
            best[row["topics"]] = max(best.get(row["topics"], 0), row["bound"])
    if best:
        topics = sorted(best)
        values = [best[t] for t in topics]
        yield _path(
            "bound, our model", topics, values, "topics:", len(ALGORITHMS), True
        )


def _path(
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    unit: str,
    colour: int,
    dashed: bool,
) -> Series:
    said = [
        f"{name}, {unit} {at:g}: {value:,.4g}" for at, value in zip(x, y, strict=True)
    ]
    return Series(name, x, y, said, "path", colour, dashed)
