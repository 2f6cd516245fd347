"""Figures 9 and 10 of `reproduce overlay`, and the gap, drawn."""

from collections.abc import Iterator, Sequence

from brokerwise.report.html import Table
from brokerwise.report.numbers import percent
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.reproduce_overlay_cells import (
    ALGORITHMS,
    LITERAL,
    OURS,
    PAPER_NAMES,
    Result,
    by_ratio,
    by_users,
    generated,
    mean_of,
    reduction,
)
from brokerwise.report.reproduce_overlay_tables import (
    certified_table,
    ratio_table,
    users_table,
)

_COLOURS = {OURS: 0, "greedy": 1, "clustering": 2, "steiner": 3, LITERAL: 4}
_USERS = Axis("users", log=False)
_RATIO = Axis("access-to-core link cost ratio")
_CRR = Axis("cost reduction ratio")


def plots(result: Result) -> Iterator[Plot]:
    """What there is of: Figure 9 by regime, Figure 10 by regime, the gap."""
    for regime in generated(result):
        cells = by_users(result, regime)
        title = f"Figure 9: {regime['title']}, ratio {regime['ratio']:g}"
        yield _plot(title, _USERS, "users", cells, users_table(result, regime))
    for regime in generated(result):
        cells = by_ratio(result, regime)
        if cells:
            title = f"Figure 10: {regime['title']}, {cells[0]['users']:,} users"
            yield _plot(title, _RATIO, "ratio", cells, ratio_table(result, regime))
    yield _gaps(result)


def _plot(
    title: str, axis: Axis, along: str, cells: Sequence[Result], table: Table
) -> Plot:
    samples = max((cell["samples"] for cell in cells), default=0)
    ours = [cell["local"]["samples"] for cell in cells if cell["local"]]
    local = f", of local {min(ours):,}" if ours and min(ours) < samples else ""
    return Plot(
        title,
        "What random wiring costs over what each algorithm's does: mean of "
        f"{samples:,} samples{local}. No wiring can do better than the dashed line "
        "(random over the certified bound). The paper's figure has no numbers.",
        axis,
        _CRR,
        [*_lines(along, cells), *_limit(along, cells)],
        [table],
    )


def _lines(along: str, cells: Sequence[Result]) -> Iterator[Series]:
    for name in ALGORITHMS:
        known = [(cell[along], mean_of(cell, name)) for cell in cells]
        points = [(x, y) for x, y in known if y is not None]
        called = PAPER_NAMES.get(name, name)
        label = name if called == name else f"{name} ({called})"
        if points:
            yield _path(label, along, points, _COLOURS[name])


def _limit(along: str, cells: Sequence[Result]) -> Iterator[Series]:
    points = [(c[along], c["local"]["possible"]) for c in cells if c["local"]]
    if points:
        yield _path("possible", along, points, _COLOURS[OURS], dashed=True)


def _path(
    name: str,
    along: str,
    points: Sequence[tuple[float, float]],
    colour: int,
    dashed: bool = False,
) -> Series:
    return Series(
        name,
        [x for x, _ in points],
        [y for _, y in points],
        [f"{name}, {x:,g} {along}: {reduction(y)}" for x, y in points]
        if along == "users"
        else [f"{name}, ratio {x:g}: {reduction(y)}" for x, y in points],
        "path",
        colour=colour,
        dashed=dashed,
    )


def _gaps(result: Result) -> Plot:
    lines = []
    for number, regime in enumerate(generated(result)):
        cells = [cell for cell in by_users(result, regime) if cell["local"]]
        gaps = [(c["users"], c["local"]["worst_gap"]) for c in cells]
        lines.append(
            Series(
                regime["key"],
                [users for users, _ in gaps],
                [100 * gap for _, gap in gaps],
                [f"{regime['key']}, {u:,} users: {percent(g)}" for u, g in gaps],
                "path",
                colour=number,
            )
        )
    return Plot(
        "Certified gap of local",
        "By what share of its cost local could be undercut at most, in the worst of "
        "its samples. Where the core is most of the cost, the bound is weak and little "
        "is proven.",
        _USERS,
        Axis("worst gap, %"),
        lines,
        [certified_table(result)],
    )
