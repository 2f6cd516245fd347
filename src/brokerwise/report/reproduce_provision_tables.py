"""The tables of `reproduce provision`: what was measured beside what is published."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from brokerwise.report.html import Table
from brokerwise.report.numbers import percent, significant

Result = Mapping[str, Any]

STEPS = ("naive", "(a)", "(b)", "(c)", "(d)", "(e)", "ours")
TIMED = {"first-fit": "(a)", "custom": "(e)", "tight": "greedy, tight"}
"""Packings of the greedy selection whose seconds are shown, and their rows."""
_NONE = "-"


def tables(trace: Result) -> list[Table]:
    return [
        *compared(trace),
        ladder_table(trace),
        *([facts_table(trace)] if trace["name"] == "twitter" else []),
    ]


def compared(trace: Result) -> list[Table]:
    """Ours beside theirs."""
    return [
        savings_table(trace),
        steps_table(trace, "cost"),
        steps_table(trace, "load"),
        whole_table(trace),
        proof_table(trace),
        stage1_table(trace),
        stage2_table(trace),
    ]


def savings_table(trace: Result) -> Table:
    theirs = trace["published"]

    def paper(cell: Result) -> str:
        if not theirs:
            return _NONE
        saved = theirs["savings"][cell["type"]].get(str(cell["threshold"]))
        return _NONE if saved is None else f"{saved:g}"

    return Table(
        "Saved by greedy over random selection, both packed first-fit, %",
        ("threshold, VM", "VMs", "bandwidth", "cost", "paper: cost"),
        [
            (
                label(cell),
                *(
                    pct(saved(cell, "naive", "(a)", of))
                    for of in ("vms", "load", "cost")
                ),
                paper(cell),
            )
            for cell in planned(trace)
        ],
    )


def steps_table(trace: Result, of: str) -> Table:
    """What each step takes off the `cost`, or the bandwidth (`load`)."""
    what = {"cost": "cost", "load": "bandwidth"}[of]
    steps = STEPS[1:]
    rows = [
        [label(cell), *(pct(saved(cell, a, b, of)) for a, b in pairwise(steps))]
        for cell in planned(trace)
    ]
    theirs = (trace["published"] or {}).get("steps", {}).get(what)
    if theirs:
        rows.append(["paper", *(theirs.get(name, _NONE) for name in STEPS[2:])])
    return Table(
        f"Each step takes so much off the {what} of the one before, %",
        ("threshold, VM", *STEPS[2:]),
        rows,
    )


def whole_table(trace: Result) -> Table:
    def cells(cell: Result) -> list[str]:
        paper, ours = row_of(cell, "(e)"), row_of(cell, "ours")
        return [
            *(pct(saved(cell, "naive", name)) for name in ("(e)", "ours")),
            *(pct(row["gap_paper"]) for row in (paper, ours)),
            *(pct(row["gap"]) for row in (paper, ours)),
        ]

    rows = [[label(cell), *cells(cell)] for cell in planned(trace)]
    theirs = trace["published"]
    if theirs:
        whole = f"up to {theirs['whole']:g}"
        above = theirs["above_bound"] / 100
        gap = f"often {pct(above / (1 + above))}"
        rows.append(["paper", whole, _NONE, gap, _NONE, _NONE, _NONE])
    return Table(
        "The whole solution: saved over the naive plan, and gaps to both bounds, %",
        (
            "threshold, VM",
            *("(e) saves", "ours saves"),
            *("(e): gap to paper's bound", "ours: gap to paper's"),
            *("(e): gap to certified", "ours: gap to certified"),
        ),
        rows,
    )


def proof_table(trace: Result) -> Table:
    """Ours against L, below which no plan's bandwidth can be."""
    aim = trace["aim"]

    def cells(cell: Result) -> list[str]:
        vms, limit = row_of(cell, "ours")["vms"], cell["vms_limit"]
        within = aim is None or cell["over_load_bound"] <= aim
        return [
            f"{vms:,}",
            f"{limit:,}",
            f"{cell['over_load_bound']:.5f}",
            _NONE if aim is None else f"{aim:g}",
            "yes" if vms <= limit and within else "no",
            f"{cell['rounds']}",
            _checked(cell),
        ]

    return Table(
        "Ours against the certified bound L on bandwidth",
        (
            *("threshold, VM", "VMs", "ceil(L/BC)+1", "bandwidth / L", "aim"),
            *("both met", "rounds of ascent", "plan"),
        ),
        [[label(cell), *cells(cell)] for cell in planned(trace)],
    )


def _checked(cell: Result) -> str:
    if cell["problems"]:
        return f"{len(cell['problems'])} wrong"
    return "audited" if cell["audited"] else "recounted"


def ladder_table(trace: Result) -> Table:
    rows = [
        (
            f"{label(cell)} {row['name']}",
            f"{row['selection']}+{row['packing']}",
            f"{row['vms']:,}",
            f"{row['load']:,}",
            f"{row['cost_brokers']:,.2f}",
            f"{row['cost_bandwidth']:,.2f}",
            f"{row['cost']:,.2f}",
            pct(row["gap_paper"]),
            pct(row["gap"]),
        )
        for cell in planned(trace)
        for row in cell["rows"]
    ]
    return Table(
        "Every plan (figures 2 and 3); dollars for ten days",
        (
            *("threshold, VM, step", "algorithm", "VMs", "bandwidth, messages"),
            *("VMs, $", "bandwidth, $", "cost, $"),
            *("gap to paper's bound, %", "gap to certified, %"),
        ),
        rows,
    )


def stage1_table(trace: Result) -> Table:
    ways = ("random", "greedy", "exact", "shared")
    return Table(
        "Stage 1, seconds (figures 4 and 5)",
        ("threshold", *ways),
        [
            (f"{row['threshold']:,}", *(_seconds(row["seconds"][way]) for way in ways))
            for row in trace["stage1"]
        ],
    )


def stage2_table(trace: Result) -> Table:
    rows = []
    for cell in planned(trace):
        seconds = [row_of(cell, name)["seconds"] for name in TIMED.values()]
        faster = seconds[0] / seconds[1] if seconds[1] else 0.0
        rows.append([label(cell), *map(_seconds, seconds), f"{faster:,.0f}"])
    if trace["published"]:
        faster = trace["published"]["faster"]
        rows.append(["paper", _NONE, _NONE, _NONE, f"up to {faster:,}"])
    return Table(
        "Stage 2 on the greedy selection, seconds (figures 6 and 7)",
        ("threshold, VM", *TIMED, "custom faster, times"),
        rows,
    )


def facts_table(trace: Result) -> Table:
    theirs = (trace["published"] or {}).get("facts", {})
    return Table(
        "The trace (appendix D), shares",
        ("", "paper", "this trace"),
        [
            (name, percent(theirs[name]) if name in theirs else _NONE, percent(share))
            for name, share in trace["facts"].items()
        ],
    )


def planned(trace: Result) -> list[Result]:
    return [cell for cell in trace["cells"] if cell["status"] == "planned"]


def row_of(cell: Result, name: str) -> Result:
    found: Result = next(row for row in cell["rows"] if row["name"] == name)
    return found


def saved(cell: Result, before: str, after: str, of: str = "cost") -> float:
    """What a step takes off, as a share; negative if it adds."""
    old, new = row_of(cell, before)[of], row_of(cell, after)[of]
    return float(1 - new / old) if old else 0.0


def label(cell: Result) -> str:
    return f"{cell['threshold']:,} {cell['type']}"


def pct(share: float) -> str:
    return f"{round(100 * share, 2) + 0:.2f}"  # + 0: no minus before a zero


def _seconds(seconds: float) -> str:
    return significant(seconds)
