"""Where the money of plans of kind provision goes: plain data, tables and plots of one
plan, and of several beside each other."""

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.fleet import Prices
from brokerwise.model.plan import Plan
from brokerwise.show.numbers import counted, dollars, percent
from brokerwise.show.plots import (
    BARS,
    Axis,
    Plot,
    Series,
    brokers_by_type,
    capacity_line,
    level,
    load_plot,
    load_table,
    loads_of,
)
from brokerwise.show.results import Result
from brokerwise.show.tables import Table

LISTED = 10  # topics that are named
_POINTS = 200  # of a curve


def spending(
    plan: Plan,
    rates: Int64s,
    names: Sequence[str],
    period_seconds: int,
    message_bytes: int,
) -> dict[str, Any]:
    """What brokers, traffic and topics cost in a period; O(runs + topics log topics).

    A topic costs its traffic, and of the rent of each broker that carries it the
    share it has in that broker's load: so topics add up to the whole cost.
    """
    prices = Prices.of(plan.fleet, period_seconds, message_bytes)
    runs = plan.placement
    brokers = np.bincount(runs.topic, minlength=len(rates))
    pairs = np.bincount(runs.topic, runs.pairs, len(rates)).astype(np.int64)
    usd = _topic_costs(plan, rates, prices)
    dearest = np.argsort(-usd, kind="stable")[:LISTED]

    def topic(number: int) -> dict[str, Any]:
        return {
            "name": names[number],
            "rate": int(rates[number]),
            "pairs": int(pairs[number]),
            "brokers": int(brokers[number]),
            "usd": float(usd[number]),
        }

    return {
        "rent": _rents(plan, prices),
        "incoming_usd": float(rates @ brokers * prices.incoming),
        "outgoing_usd": float(rates @ pairs * prices.outgoing),
        "carried": int(np.count_nonzero(brokers)),
        "topics": [topic(int(t)) for t in dearest if usd[t] > 0],
        "curve": _curve(usd),
        "cut": {
            "topics": int(np.count_nonzero(brokers > 1)),
            "usd": float(rates @ np.maximum(brokers - 1, 0) * prices.incoming),
            "most": [topic(t) for t in _most_cut(brokers)],
        },
        "loads": loads_of(plan),
    }


def _topic_costs(plan: Plan, rates: Int64s, prices: Prices) -> Float64s:
    runs, brokers = plan.placement, plan.brokers
    rate = rates[runs.topic]
    rent = np.array(prices.brokers)[brokers.type] / np.maximum(brokers.load, 1)
    usd = rate * (prices.incoming + prices.outgoing * runs.pairs)
    usd = usd + rent[runs.broker] * (rate * (1 + runs.pairs))
    return np.bincount(runs.topic, usd, len(rates)).astype(np.float64)


def _rents(plan: Plan, prices: Prices) -> list[dict[str, Any]]:
    return [
        {"type": kind.name, "brokers": int(n), "usd": float(n * usd)}
        for kind, n, usd in zip(
            plan.fleet, brokers_by_type(plan), prices.brokers, strict=True
        )
    ]


def _curve(usd: Float64s) -> dict[str, Any]:
    """The share of the cost that the dearest 1, 2, ... topics have."""
    summed = np.cumsum(np.sort(usd[usd > 0])[::-1])
    if not len(summed):
        return {"topics": [], "shares": []}
    ranks = np.unique(np.geomspace(1, len(summed), _POINTS).round().astype(np.int64))
    shares = summed[ranks - 1] / summed[-1]
    return {"topics": ranks.tolist(), "shares": shares.tolist()}


def _most_cut(brokers: Int64s) -> list[int]:
    order = np.argsort(-brokers, kind="stable")[:LISTED]
    return [int(t) for t in order if brokers[t] > 1]


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
        level(name, usd, (-0.5, len(steps) - 0.5), f"{name}: {dollars(usd)}", colour)
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


_BY_CAPACITY = re.compile(r"broker-[0-9]+")


def title(result: Result) -> str:
    """What tells a plan from others of the same run."""
    return f"threshold {result['threshold']:,}, {fleet_label(result)}"


def fleet_label(result: Result) -> str:
    return " + ".join(type_label(kind) for kind in result["types"])


def type_label(kind: Result) -> str:
    """A type by its name, or by its capacity if that is all there is."""
    if has_no_name(kind):
        return f"capacity {kind['capacity']:,}"
    return str(kind["type"])


def has_no_name(kind: Result) -> bool:
    """True of a type that was given by its capacity alone."""
    return _BY_CAPACITY.fullmatch(kind["type"]) is not None
