"""The plots of an overlay plan, from a result with its details."""

from typing import Literal, TypeAlias

from brokerwise.report.html import Table
from brokerwise.report.loads import BARS, capacity_line
from brokerwise.report.numbers import percent, significant
from brokerwise.report.overlay_map import link_text, overlay_map
from brokerwise.report.overlay_sentences import COMPARED, Result
from brokerwise.report.plots import Axis, Plot, Series

_Row: TypeAlias = tuple[str, float | None, float | None, float]
"""A name, access, core, and what both come to."""


def plots(result: Result) -> list[Plot]:
    """The map, what it costs beside others, how full brokers are, busy links."""
    return [overlay_map(result), _costs(result), _loads(result), _links(result)]


def _costs(result: Result) -> Plot:
    """Access and core of the plan and the bound; of the others what they cost."""
    tried = [n for n in ("random", *COMPARED) if n != result["algorithm"]]
    rows: list[_Row] = [
        (name, None, None, result[name]) for name in tried if result[name] is not None
    ]
    rows.append(("this plan", result["access"], result["core"], result["cost"]))
    split = result["bound_access"], result["bound_core"]
    if result["algorithm"] == "ilp":  # it is proven as a whole
        split = None, None
    rows.append(("bound", *split, result["bound"]))
    names = [row[0] for row in rows]
    series = [
        _bars("access", [row[1] for row in rows], names, 0),
        _bars("core", [row[2] for row in rows], names, 1),
        _bars(
            "access and core",
            [row[3] if row[1] is None else None for row in rows],
            names,
            2,
        ),
    ]
    return Plot(
        "What it costs, and what others would",
        "Access and core in the unit of the links' costs, times messages a period. "
        "No wiring can cost less than the bound.",
        Axis("", False, names),
        Axis("cost", False),
        [each for each in series if len(each.x)] if result["cost"] else [],
        [_cost_table(rows)],
        stacked=True,
    )


def _bars(
    name: str, values: list[float | None], labels: list[str], colour: int
) -> Series:
    shown = [(at, v) for at, v in enumerate(values) if v is not None]
    return Series(
        name,
        [at for at, _ in shown],
        [value for _, value in shown],
        [f"{labels[at]}, {name}: {significant(value)}" for at, value in shown],
        "bar",
        colour,
    )


def _cost_table(rows: list[_Row]) -> Table:
    return Table(
        "Costs",
        ("", "access", "core", "in all"),
        [
            (name, *("" if v is None else significant(v) for v in numbers))
            for name, *numbers in rows
        ],
    )


def _loads(result: Result) -> Plot:
    brokers = result["details"]["brokers"]
    rows = [
        (load / capacity if capacity else 0.0, name, load, capacity, users)
        for name, load, capacity, users in zip(
            *(brokers[key] for key in ("name", "load", "capacity", "users")),
            strict=True,
        )
    ]
    rows.sort(key=lambda row: -row[0])
    texts = [
        f"broker {name} carries {load:,} of {capacity:,}, {percent(share)}"
        for share, name, load, capacity, _ in rows
    ]
    shares = [100 * row[0] for row in rows]
    last = len(rows)
    style: Literal["bar", "line"] = "bar" if last <= BARS else "line"
    return Plot(
        "Load of the brokers",
        "What the users of each broker send and receive, as a share of its capacity, "
        "the fullest first.",
        Axis("brokers", False),
        Axis("load, % of capacity", False),
        [
            Series("load", range(1, last + 1), shares, texts, style, 0),
            capacity_line(0.5, last + 0.5),
        ]
        if rows
        else [],
        [
            Table(
                "Brokers, the fullest first",
                ("broker", "users", "load", "capacity", "share"),
                [
                    (name, f"{users:,}", f"{load:,}", f"{capacity:,}", percent(share))
                    for share, name, load, capacity, users in rows
                ],
            )
        ],
    )


def _links(result: Result) -> Plot:
    details = result["details"]
    links, names = details["links"], details["brokers"]["name"]
    shown = len(links["a"])
    of = "" if shown == links["total"] else f", {shown:,} of {links['total']:,}"
    ends = list(zip(links["a"], links["b"], strict=True))
    return Plot(
        "Traffic on the links between brokers",
        f"What crosses each link that is used, the busiest first{of}.",
        Axis("links", False),
        Axis("messages a period", False),
        [
            Series(
                "traffic",
                range(1, shown + 1),
                links["traffic"],
                [link_text(details, number) for number in range(shown)],
                "bar" if shown <= BARS else "line",
                0,
            )
        ],
        [
            Table(
                f"Links, the busiest first{of}",
                ("link", "traffic", "share", "cost of one"),
                [
                    (
                        f"{names[a]} \N{EN DASH} {names[b]}",
                        f"{traffic:,}",
                        percent(traffic / links["traffic_total"]),
                        significant(cost),
                    )
                    for (a, b), traffic, cost in zip(
                        ends, links["traffic"], links["cost"], strict=True
                    )
                ],
            )
        ],
    )
