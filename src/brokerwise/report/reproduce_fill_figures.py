"""Figures 2 to 13 of `reproduce fill`, as tables and as plots.

The paper prints no numbers for them but those of Tables III and IV.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from brokerwise.report.html import Table
from brokerwise.report.numbers import significant
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.reproduce_fill_cells import (
    HOMOGENEOUS,
    PAPER_NAMES,
    Result,
    cells_of,
    distributions,
    percents,
)

_NONE = "-"
_BOTH = ("greedy", "mkp")
_ALL = ("columns", "greedy", "mkp")


@dataclass(frozen=True)
class Figure:
    """One of the paper's: lines over the number of brokers.

    It has a line for each algorithm, and for each capacity or (`spread`) distribution
    of rates; `ms` is time, else it is data received.
    """

    number: int
    topics: int
    subscribers: int
    capacities: tuple[int, ...]
    algorithms: tuple[str, ...]
    spread: bool = False
    ms: bool = False

    @property
    def title(self) -> str:
        what = "milliseconds" if self.ms else "data received, %"
        sizes = f"{self.topics:,} topics, {self.subscribers:,} subscribers"
        fleet = " and ".join(f"{c:,}" for c in self.capacities)
        which = "" if self.spread else f", {HOMOGENEOUS}"
        return f"Figure {self.number}: {what} ({sizes}, b = {fleet}{which})"


FIGURES = (
    Figure(2, 100, 100, (500,), _ALL),
    Figure(3, 1000, 100, (500,), _ALL),
    Figure(4, 100, 100, (500,), _BOTH, spread=True),
    Figure(5, 1000, 100, (200,), _ALL),
    Figure(6, 100, 100, (200,), _ALL),
    Figure(7, 100, 100, (500,), _BOTH, spread=True, ms=True),
    Figure(8, 1000, 100, (500,), _BOTH, spread=True, ms=True),
    Figure(9, 100, 100, (200,), _BOTH, spread=True, ms=True),
    Figure(10, 1000, 1000, (2000, 5000), _BOTH),
    Figure(11, 1000, 1000, (5000,), _BOTH, spread=True, ms=True),
    Figure(12, 10_000, 1000, (5000,), _BOTH, spread=True, ms=True),
    Figure(13, 1000, 1000, (2000,), _BOTH, spread=True, ms=True),
)


@dataclass(frozen=True)
class _Line:
    name: str
    algorithm: str
    colour: int
    points: dict[int, float]


def figure_tables(result: Result) -> list[Table]:
    """A table for each figure of which something was run."""
    found = ((figure, list(_lines(figure, result))) for figure in FIGURES)
    return [_table(figure, lines) for figure, lines in found if lines]


def plots(result: Result) -> Iterator[Plot]:
    """The same figures, drawn."""
    for figure in FIGURES:
        lines = list(_lines(figure, result))
        if lines:
            yield _plot(figure, lines, result)


def _lines(figure: Figure, result: Result) -> Iterator[_Line]:
    titles = distributions(result) if figure.spread else [HOMOGENEOUS]
    settings = [(c, t) for c in figure.capacities for t in titles]
    for group, (capacity, title) in enumerate(settings):
        cells = cells_of(
            result,
            topics=figure.topics,
            subscribers=figure.subscribers,
            capacity=capacity,
            distribution=title,
        )
        for algorithm in figure.algorithms:
            points = _points(figure, cells, algorithm)
            if points:
                name = _name(figure, algorithm, capacity, title)
                # Colours tell settings apart; algorithms, if there is but one.
                colour = group if len(settings) > 1 else _ALL.index(algorithm)
                yield _Line(name, algorithm, colour, points)


def _points(
    figure: Figure, cells: Sequence[Result], algorithm: str
) -> dict[int, float]:
    values = (
        (c["brokers"], c[algorithm]["ms"] if figure.ms else percents(c, algorithm))
        for c in cells
    )
    return {brokers: value for brokers, value in values if value is not None}


def _name(figure: Figure, algorithm: str, capacity: int, title: str) -> str:
    if figure.spread:
        return f"{algorithm}, {title}"
    return f"{algorithm}, b = {capacity:,}" if len(figure.capacities) > 1 else algorithm


def _table(figure: Figure, lines: Sequence[_Line]) -> Table:
    brokers = sorted({number for line in lines for number in line.points})
    return Table(
        figure.title,
        ("M", *(line.name for line in lines)),
        [
            (f"{number}", *(_shown(figure, line.points.get(number)) for line in lines))
            for number in brokers
        ],
    )


def _plot(figure: Figure, lines: Sequence[_Line], result: Result) -> Plot:
    return Plot(
        figure.title,
        _caption(figure, result),
        Axis("brokers", log=False),
        Axis("milliseconds", log=True)
        if figure.ms
        else Axis("data received, %", log=False),
        [*(_series(figure, line) for line in lines), *_published(figure, result)],
        [_table(figure, lines)],
    )


def _series(figure: Figure, line: _Line) -> Series:
    unit = "ms" if figure.ms else "%"
    return Series(
        line.name,
        list(line.points),
        list(line.points.values()),
        [
            f"{line.name}, M = {x}: {_shown(figure, y)} {unit}"
            for x, y in line.points.items()
        ],
        "path",
        colour=line.colour,
        dashed=line.algorithm == "greedy",
    )


def _published(figure: Figure, result: Result) -> Iterator[Series]:
    """What Tables III and IV quote of a figure."""
    if figure.ms or figure.spread:
        return
    known = [
        (cell["brokers"], cell["published"]["received"])
        for cell in cells_of(
            result,
            topics=figure.topics,
            subscribers=figure.subscribers,
            capacity=figure.capacities[0],
            distribution=HOMOGENEOUS,
        )
        if cell["published"]["received"]
    ]
    for name in figure.algorithms if known else ():
        paper = PAPER_NAMES[name]
        values = [(x, received[paper.lower()]) for x, received in known]
        yield Series(
            f"paper: {paper}",
            [x for x, _ in values],
            [y for _, y in values],
            [f"paper: {paper}, M = {x}: {y:.2f} %" for x, y in values],
            colour=_ALL.index(name),
        )


def _caption(figure: Figure, result: Result) -> str:
    text = f"Mean of {result['instances']:,} instances."
    if figure.ms:
        return f"{text} Warm kernels, of which each instance's time is a median."
    if figure.number in (2, 3):
        return f"{text} Of the paper's figure only the values in its tables are known."
    return f"{text} The paper prints no values of this figure."


def _shown(figure: Figure, value: float | None) -> str:
    if value is None:
        return _NONE
    return significant(value) if figure.ms else f"{value:.2f}"
