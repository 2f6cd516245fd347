"""The plots of plans beside each other, from results with their details."""

from collections.abc import Sequence

from brokerwise.report.html import Table
from brokerwise.report.loads import capacity_line, load_table
from brokerwise.report.numbers import dollars, percent
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.provision_plots import (
    STEPS_IN_WORDS,
    USD,
    step_table,
    step_text,
)
from brokerwise.report.provision_sentences import Result, fleet_label, title


def plots_of_several(results: Sequence[Result]) -> list[Plot]:
    """The same for plans beside each other, and cost against threshold."""
    named = [(title(r), r["details"]) for r in results]
    plots = [cost_against_threshold(results), _split(results)]
    if all(details["steps"] for _, details in named):
        plots.append(_ladders([(name, d["steps"]) for name, d in named]))
    return [*plots, _fullness(results)]


def _ladders(named: Sequence[tuple[str, Sequence[Result]]]) -> Plot:
    """Steps of several plans, each as a share of its naive one."""
    series, tables = [], []
    for number, (name, steps) in enumerate(named):
        tables.append(step_table(name, steps))
        naive = steps[0]["cost"]
        known = [(i, s) for i, s in enumerate(steps) if naive and s["cost"] is not None]
        series.append(
            Series(
                name,
                [i for i, _ in known],
                [100 * s["cost"] / naive for _, s in known],
                [f"{name}: {step_text(s)}: {dollars(s['cost'])}" for _, s in known],
                "path",
                number,
            )
        )
    return Plot(
        "What each step takes off the cost",
        "The naive plan (random selection, first fit) is 100 %; then "
        f"{STEPS_IN_WORDS}, and ours.",
        Axis("", False, [s["name"] for s in named[0][1]]),
        Axis("cost, % of the naive plan", False),
        series,
        tables,
    )


def _split(results: Sequence[Result]) -> Plot:
    """Brokers and bandwidth on each other, a bar for each plan."""
    titles = [title(result) for result in results]
    parts = (("brokers", "cost_brokers"), ("bandwidth", "cost_bandwidth"))
    return Plot(
        "Where the money goes",
        "Rent of the brokers and price of their traffic.",
        _by_plan(results),
        USD,
        [
            Series(
                name,
                range(len(results)),
                [result[key] for result in results],
                [
                    f"{t}: {name} {dollars(result[key])}"
                    for t, result in zip(titles, results, strict=True)
                ],
                "bar",
                number,
            )
            for number, (name, key) in enumerate(parts)
        ],
        [
            Table(
                "Cost of a period",
                ("", *(name for name, _ in parts)),
                [
                    (t, *(dollars(result[key]) for _, key in parts))
                    for t, result in zip(titles, results, strict=True)
                ],
            )
        ],
        stacked=True,
    )


def cost_against_threshold(results: Sequence[Result]) -> Plot:
    """Cost and bound against threshold, two lines for each fleet."""
    fleets = list(dict.fromkeys(fleet_label(result) for result in results))
    series = []
    for number, label in enumerate(fleets):
        own = sorted(
            (r for r in results if fleet_label(r) == label),
            key=lambda r: int(r["threshold"]),
        )
        for what, key in (("cost", "cost"), ("bound", "bound")):
            series.append(
                Series(
                    f"{label}: {what}",
                    [r["threshold"] for r in own],
                    [r[key] for r in own],
                    [f"{title(r)}: {what} {dollars(r[key])}" for r in own],
                    "path",
                    number,
                    what == "bound",
                )
            )
    return Plot(
        "Cost against threshold",
        "What the cheapest plan found costs, and below it (dashed) what no plan can "
        "cost less than.",
        Axis("threshold", all(result["threshold"] for result in results)),
        USD,
        series,
        [
            Table(
                "Cost of a period",
                ("", "cost", "bound"),
                [(title(r), dollars(r["cost"]), dollars(r["bound"])) for r in results],
            )
        ],
    )


def _fullness(results: Sequence[Result]) -> Plot:
    """The fullest broker, the mean and the emptiest of each plan."""
    named = [(title(r), r["details"]["spending"]["loads"]) for r in results]
    titles = [name for name, _ in named]
    spreads = [
        (loads["share"][0], loads["mean"], loads["share"][-1])
        if loads["brokers"]
        else (0.0, 0.0, 0.0)
        for _, loads in named
    ]
    series = [
        Series(
            what,
            range(len(named)),
            [100 * spread[number] for spread in spreads],
            [
                f"{t}: {what} {percent(s[number])}"
                for t, s in zip(titles, spreads, strict=True)
            ],
            "bar",
            (0, 2, 3)[number],
        )
        for number, what in enumerate(("fullest", "mean", "emptiest"))
    ]
    return Plot(
        "Load of the brokers",
        "Load as a share of capacity: of the fullest broker of each plan, on average, "
        "and of the emptiest.",
        _by_plan(results),
        Axis("load, % of capacity", False),
        [*series, capacity_line(-0.5, len(named) - 0.5)],
        [load_table(name, loads) for name, loads in named],
    )


def _by_plan(results: Sequence[Result]) -> Axis:
    """A place for each plan, with labels as short as they can be."""
    labels = [f"{r['threshold']:,} {fleet_label(r)}" for r in results]
    return Axis("threshold and brokers", False, labels)
