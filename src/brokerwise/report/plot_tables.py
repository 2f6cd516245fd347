"""What a plot shows as a table, for plots that bring none."""

from collections.abc import Sequence

from brokerwise.report.html import Table
from brokerwise.report.numbers import significant
from brokerwise.report.plots import Plot, Series

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
