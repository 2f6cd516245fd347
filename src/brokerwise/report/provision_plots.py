"""The plots of one plan, from a result with its details."""

from collections.abc import Sequence
from typing import Literal

from brokerwise.report.html import Table
from brokerwise.report.loads import BARS, load_plot
from brokerwise.report.numbers import counted, dollars, percent
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.provision_sentences import Result

USD = Axis("dollars a period", False)


STEPS_IN_WORDS = (
    "the published optimisations one after the other: (a) greedy selection, (b) the "
    "pairs of a topic together, (c) the largest topics first, (d) the roomiest broker "
    "first, (e) spread only where that is cheaper"
)


def plots_of_one(result: Result) -> list[Plot]:
    """What a plan costs and why, and how full its brokers are."""
    details = result["details"]
    return [
        _ladder(result) if details["steps"] else _bounds(result),
        _money(details["spending"]),
        load_plot(details["spending"]["loads"]),
        _topics(details["spending"]),
    ]


def _ladder(result: Result) -> Plot:
    """Costs of the steps as bars, under lines that no plan can go below."""
    steps = [s for s in result["details"]["steps"] if s["cost"] is not None]
    bounds = (
        ("certified bound", result["bound"], 1),
        ("the paper's bound", result["bound_paper"], 2),
    )
    costs = Series(
        "cost",
        range(len(steps)),
        [s["cost"] for s in steps],
        [f"{step_text(s)}: {dollars(s['cost'])}, {_brokers(s)}" for s in steps],
        "bar",
        0,
    )
    lines = [
        Series(
            name,
            [-0.5, len(steps) - 0.5],
            [usd, usd],
            [f"{name}: {dollars(usd)}"] * 2,
            "line",
            colour,
            True,
        )
        for name, usd, colour in bounds
    ]
    return Plot(
        "What each step takes off the cost",
        f"The naive plan (random selection, first fit), then {STEPS_IN_WORDS}, and "
        "ours. No plan can cost less than the bounds.",
        Axis("", False, [s["name"] for s in steps]),
        USD,
        [costs, *lines],
        [step_table("Steps", result["details"]["steps"])],
    )


def _bounds(result: Result) -> Plot:
    bars = [
        ("the paper's bound", result["bound_paper"]),
        ("certified bound", result["bound"]),
        ("this plan", result["cost"]),
    ]
    return _bar_plot(
        "Cost and bounds",
        "No plan can cost less than the bounds.",
        bars,
    )


def _money(spending: Result) -> Plot:
    bars = [
        (f"{kind['type']}: {counted(kind['brokers'], 'broker')}", kind["usd"])
        for kind in spending["rent"]
        if kind["brokers"]
    ]
    bars.append(("traffic in", spending["incoming_usd"]))
    bars.append(("traffic out", spending["outgoing_usd"]))
    return _bar_plot(
        "Where the money goes",
        "Rent by type of broker, and what is paid for traffic to and from them.",
        bars,
    )


def _topics(spending: Result) -> Plot:
    curve = spending["curve"]
    points = list(zip(curve["topics"], curve["shares"], strict=True))
    return Plot(
        "The dearest topics",
        "The share of the cost that the dearest x topics have: their traffic, and of "
        "each broker's rent their share in its load.",
        Axis("topics, the dearest first"),
        Axis("share of the cost, %", False),
        [
            Series(
                "share of the cost",
                curve["topics"],
                [100 * share for share in curve["shares"]],
                [f"{counted(n, 'topic')}: {percent(share)}" for n, share in points],
                _curve_style(len(points)),
                0,
            )
        ],
        [
            Table(
                "Share of the cost",
                ("topics", "share"),
                [(f"{n:,}", percent(share)) for n, share in points],
            )
        ],
    )


def topic_tables(spending: Result, cost: float) -> list[Table]:
    """The topics that cost most, and those cut into most pieces."""
    columns = ("topic", "rate", "pairs", "brokers", "cost", "share")
    tables = []
    for caption, topics in (
        ("The dearest topics", spending["topics"]),
        ("Topics cut across the most brokers", spending["cut"]["most"]),
    ):
        if topics:
            rows = [_topic_row(topic, cost) for topic in topics]
            tables.append(Table(caption, columns, rows))
    return tables


def _topic_row(topic: Result, cost: float) -> tuple[str, ...]:
    return (
        topic["name"],
        *(f"{topic[key]:,}" for key in ("rate", "pairs", "brokers")),
        dollars(topic["usd"]),
        percent(topic["usd"] / cost) if cost else "",
    )


def _bar_plot(name: str, caption: str, bars: Sequence[tuple[str, float]]) -> Plot:
    return Plot(
        name,
        caption,
        Axis("", False, [label for label, _ in bars]),
        USD,
        [
            Series(
                "cost",
                range(len(bars)),
                [usd for _, usd in bars],
                [f"{label}: {dollars(usd)}" for label, usd in bars],
                "bar",
                0,
            )
        ],
        [Table(name, ("", "cost"), [(label, dollars(usd)) for label, usd in bars])],
    )


def _curve_style(points: int) -> Literal["line", "path"]:
    """Points that stand apart are marked."""
    return "path" if points <= BARS else "line"


def step_text(step: Result) -> str:
    return f"{step['name']} {step['selection']} + {step['packing']}"


def _brokers(step: Result) -> str:
    return counted(step["brokers"], "broker")


def step_table(caption: str, steps: Sequence[Result]) -> Table:
    return Table(
        caption,
        ("step", "selection", "packing", "brokers", "load", "cost"),
        [
            (
                step["name"],
                step["selection"],
                step["packing"],
                *(
                    ("", "", "no packing")
                    if step["cost"] is None
                    else (
                        f"{step['brokers']:,}",
                        f"{step['load']:,}",
                        dollars(step["cost"]),
                    )
                ),
            )
            for step in steps
        ],
    )
