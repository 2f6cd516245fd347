"""The plots of `reproduce provision`: figures 2 to 7."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brokerwise.report.html import Table
from brokerwise.report.numbers import percent, significant
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.reproduce_provision_tables import (
    STEPS,
    TIMED,
    ladder_table,
    planned,
    row_of,
    stage1_table,
    stage2_table,
)

Result = Mapping[str, Any]


def plots(trace: Result) -> Iterator[Plot]:
    kinds = list(dict.fromkeys(cell["type"] for cell in planned(trace)))
    for kind in kinds:
        yield _ladder_plot(trace, kind)
    ways = ("random", "greedy", "shared")
    stage1 = {
        way: [(r["threshold"], r["seconds"][way]) for r in trace["stage1"]]
        for way in ways
    }
    yield _seconds_plot(trace, "stage 1", stage1, stage1_table(trace))
    stage2 = {
        packing: [
            (cell["threshold"], row_of(cell, name)["seconds"])
            for cell in planned(trace)
            if cell["type"] == kinds[0]
        ]
        for packing, name in TIMED.items()
    }
    yield _seconds_plot(trace, "stage 2, c3.large", stage2, stage2_table(trace))


def _ladder_plot(trace: Result, kind: str) -> Plot:
    """Figure 2 or 3: the steps from left to right, a bar for each threshold."""
    cells = [cell for cell in planned(trace) if cell["type"] == kind]
    names = (*STEPS, "certified", "paper's")

    def series(cell: Result) -> Series:
        naive, ours = row_of(cell, "naive")["cost"], row_of(cell, "ours")
        costs = [row_of(cell, name)["cost"] for name in STEPS]
        costs += [ours["bound"], ours["bound_paper"]]
        shares = [cost / naive if naive else 0.0 for cost in costs]
        hover = [
            f"threshold {cell['threshold']:,}, {name}: ${cost:,.2f}, "
            f"{percent(share)} of the naive plan"
            for name, cost, share in zip(names, costs, shares, strict=True)
        ]
        return Series(
            f"threshold {cell['threshold']:,}",
            range(len(names)),
            [100 * share for share in shares],
            hover,
            "bar",
        )

    return Plot(
        f"{trace['title']}, {kind}: cost of each step",
        "In percent of the naive plan's cost: the paper's optimisations (a) to (e), "
        "ours, and what every plan costs at least by the certified bound and by the "
        "paper's.",
        Axis("", log=False, labels=names),
        Axis("cost, % of naive", log=False),
        [series(cell) for cell in cells],
        [ladder_table({**trace, "cells": cells})],
    )


def _seconds_plot(
    trace: Result,
    stage: str,
    points: Mapping[str, Sequence[tuple[int, float]]],
    table: Table,
) -> Plot:
    return Plot(
        f"{trace['title']}: seconds of {stage}",
        "In one process, on the workload in memory.",
        Axis("threshold"),
        Axis("seconds"),
        [
            Series(
                name,
                [x for x, _ in found],
                [y for _, y in found],
                [f"{name} at threshold {x:,}: {significant(y)} s" for x, y in found],
                "path",
            )
            for name, found in points.items()
        ],
        [table],
    )
