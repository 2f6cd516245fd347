"""Tables I to IV of `reproduce fill`: what was measured beside what is published."""

from collections.abc import Iterator, Sequence
from typing import Any

from brokerwise.report.html import Table
from brokerwise.report.numbers import significant
from brokerwise.report.reproduce_fill_cells import (
    HOMOGENEOUS,
    PAPER_INSTANCES,
    PAPER_NAMES,
    SMALL_TOPICS,
    Result,
    cells_of,
    certified,
    distributions,
)

_NONE = "-"
_NOT_TRIED = "not tried"
_CHECKS = {"columns": "ilp", "greedy": "gs", "mkp": "mkpbs"}
_WANTED = {
    "columns": "within 2 errors",
    "greedy": "within 0.3",
    "mkp": "within 0.3",
}
_RECEIVED = {100: "Table III", 1000: "Table IV"}


def compared(result: Result) -> list[Table]:
    """Tables III and IV, and Tables I and II in short."""
    received = [received_table(result, topics) for topics in SMALL_TOPICS]
    return [table for table in (*received, overview_table(result)) if table.rows]


def tables(result: Result) -> list[Table]:
    """All of them, but for figures."""
    solved = [solved_table(result, topics) for topics in SMALL_TOPICS]
    found = (*compared(result), *solved, readings_table(result), scaled_table(result))
    return [table for table in found if table.rows]


def received_table(result: Result, topics: int) -> Table:
    """Table III or IV: what is delivered, by algorithm."""
    rows = []
    for cell in cells_of(result, small=True, topics=topics, distribution=HOMOGENEOUS):
        if cell["published"]["received"] is not None:
            rows += list(_received_rows(cell))
    return Table(
        f"{_RECEIVED[topics]}: {HOMOGENEOUS}, {topics:,} topics, b = 500; data "
        f"received, % (mean of {result['instances']:,} instances)",
        (
            *("M, algorithm", "paper", "ours", "standard error", "ours - paper"),
            *("wanted", "holds"),
        ),
        rows,
    )


def _received_rows(cell: Result) -> Iterator[Sequence[str]]:
    theirs, checks = cell["published"]["received"], cell["checks"]
    for ours, key in _CHECKS.items():
        if cell[ours] is None:
            continue
        paper, found = theirs[key], cell[ours]["percent"]
        yield (
            f"M = {cell['brokers']}, {PAPER_NAMES[ours]}; {ours}",
            f"{paper:.2f}",
            f"{found:.2f}",
            f"{cell[ours]['error']:.2f}",
            f"{found - paper:+.2f}",
            _WANTED[ours],
            "yes" if checks[key] else "no",
        )


def overview_table(result: Result) -> Table:
    """Tables I and II, a row for all numbers of brokers."""
    rows = []
    for topics, table in SMALL_TOPICS.items():
        for title in distributions(result):
            for capacity in _capacities(result, topics):
                cells = list(
                    certified(
                        result,
                        small=True,
                        topics=topics,
                        distribution=title,
                        capacity=capacity,
                    )
                )
                if cells:
                    name = f"{table}, {title}, b = {capacity}"
                    rows.append((name, *_overview(cells)))
    return Table(
        "Tables I and II in short: instances with a certificate, over all M",
        (
            *("table, distribution, b", "paper: solved in an hour", "ours: optimal"),
            *("within 0.1 % or 2", "worst gap, %", "worst seconds"),
        ),
        rows,
    )


def _overview(cells: Sequence[Result]) -> Iterator[str]:
    tried = [c for c in cells if c["published"]["solved"] is not None]
    solved = sum(c["published"]["solved"] for c in tried)
    ours = [c["columns"] for c in cells]
    number = sum(found["instances"] for found in ours)
    yield f"{solved:,} of {PAPER_INSTANCES * len(tried):,}" if tried else _NOT_TRIED
    yield f"{sum(found['optimal'] for found in ours):,} of {number:,}"
    yield f"{sum(found['within'] for found in ours):,} of {number:,}"
    yield _percent(max(found["worst_gap"] for found in ours))
    yield significant(max(found["worst_seconds"] for found in ours))


def solved_table(result: Result, topics: int) -> Table:
    """Table I or II: how often the best is found and proven."""
    rows = [
        (_label(cell), *_solved(cell))
        for title in distributions(result)
        for capacity in _capacities(result, topics)
        for cell in certified(
            result, small=True, topics=topics, distribution=title, capacity=capacity
        )
    ]
    return Table(
        f"{SMALL_TOPICS[topics]}: {topics:,} topics; instances of "
        f"{result['instances']:,} (paper: of 50) with a certificate, at most "
        f"{result['limit_seconds']:g} s each (paper: an hour on 24 cores)",
        (
            *("distribution, b, M", "paper: solved", "ours: optimal"),
            *("within 0.1 % or 2", "worst gap, %", "median s", "worst s"),
        ),
        rows,
    )


def _solved(cell: Result) -> Iterator[str]:
    theirs, ours = cell["published"]["solved"], cell["columns"]
    yield _NOT_TRIED if theirs is None else f"{theirs:,}"
    yield f"{ours['optimal']:,}"
    yield f"{ours['within']:,}"
    yield _percent(ours["worst_gap"])
    yield significant(ours["seconds"])
    yield significant(ours["worst_seconds"])


def readings_table(result: Result) -> Table:
    """Both readings of LowVariance, beside the other distributions."""
    titles = distributions(result)
    by_brokers: dict[int, dict[str, Result]] = {}
    for cell in cells_of(result, small=True, topics=100, capacity=500):
        by_brokers.setdefault(cell["brokers"], {})[cell["distribution"]] = cell
    rows = [
        (f"{brokers}, {name}", *(_delivered(cells.get(t), name) for t in titles))
        for brokers, cells in by_brokers.items()
        for name in PAPER_NAMES
        if any(c[name] and c[name]["percent"] < 100 for c in cells.values())
    ]
    return Table(
        "Distributions of rates: 100 topics, b = 500; data received, % (where any is "
        "below 100)",
        ("M, algorithm", *titles),
        rows,
    )


def scaled_table(result: Result) -> Table:
    """What is proven of the large instances."""
    rows = []
    for cell in certified(result, small=False):
        ours = cell["columns"]
        rows.append(
            (
                f"{cell['topics']:,} topics, {_label(cell)}",
                f"{ours['instances']:,}",
                *(f"{ours[name]:.3f}" for name in ("greedy", "mkp", "percent")),
                *(f"{ours[name]:.3f}" for name in ("bound", "bound_paper")),
                _percent(ours["worst_gap"]),
                significant(ours["worst_seconds"]),
            )
        )
    return Table(
        "Ten times as large (50,000 pairs): a certificate for some instances; data "
        "received, %",
        (
            *("topics, distribution, b, M", "instances", "greedy", "mkp", "columns"),
            *("certified bound", "paper's bound", "worst gap, %", "worst s"),
        ),
        rows,
    )


def _capacities(result: Result, topics: int) -> list[int]:
    small = cells_of(result, small=True, topics=topics)
    return sorted({cell["capacity"] for cell in small})


def _label(cell: Result) -> str:
    return f"{cell['distribution']}, {cell['capacity']:,}, {cell['brokers']}"


def _delivered(cell: Result | None, algorithm: str) -> str:
    found: Any = cell and cell[algorithm]
    return f"{found['percent']:.2f}" if found else _NONE


def _percent(share: float) -> str:
    return significant(100 * share)
