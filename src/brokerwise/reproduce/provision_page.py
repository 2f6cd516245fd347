"""What is said of `reproduce provision`: figures 2 to 7, trace by trace."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from brokerwise.reproduce.account import (
    NONE,
    Account,
    Block,
    Result,
    Said,
    Section,
    column,
    counted_if,
    series,
    table,
    verdict,
)
from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.plots import Axis, Plot, Series
from brokerwise.show.results import no_cheaper
from brokerwise.show.tables import Fact, Table

STEPS = ("naive", "(a)", "(b)", "(c)", "(d)", "(e)", "ours")
TIMED = {"first-fit": "(a)", "custom": "(e)", "tight": "greedy, tight"}
"""Packings of the greedy selection whose seconds are shown, and their rows."""


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
            return NONE
        saved = theirs["savings"][cell["type"]].get(str(cell["threshold"]))
        return NONE if saved is None else f"{saved:g}"

    return table(
        "Saved by greedy over random selection, both packed first-fit, %",
        [
            ("threshold, VM", label),
            ("VMs", lambda cell: pct(saved(cell, "naive", "(a)", "vms"))),
            ("bandwidth", lambda cell: pct(saved(cell, "naive", "(a)", "load"))),
            ("cost", lambda cell: pct(saved(cell, "naive", "(a)"))),
            ("paper: cost", paper),
        ],
        planned(trace),
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
        rows.append(["paper", *(theirs.get(name, NONE) for name in STEPS[2:])])
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
        rows.append(["paper", whole, NONE, gap, NONE, NONE, NONE])
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

    def vms(cell: Result) -> int:
        return int(row_of(cell, "ours")["vms"])

    def is_met(cell: Result) -> bool:
        within = aim is None or cell["over_load_bound"] <= aim
        return bool(vms(cell) <= cell["vms_limit"] and within)

    return table(
        "Ours against the certified bound L on bandwidth",
        [
            ("threshold, VM", label),
            ("VMs", lambda cell: f"{vms(cell):,}"),
            column("ceil(L/BC)+1", "vms_limit"),
            column("bandwidth / L", "over_load_bound", "{:.5f}".format),
            ("aim", lambda cell: NONE if aim is None else f"{aim:g}"),
            ("both met", lambda cell: "yes" if is_met(cell) else "no"),
            column("rounds of ascent", "rounds", str),
            ("plan", _checked),
        ],
        planned(trace),
    )


def _checked(cell: Result) -> str:
    if cell["problems"]:
        return f"{len(cell['problems'])} wrong"
    return "audited" if cell["audited"] else "recounted"


def ladder_table(trace: Result) -> Table:
    usd = "{:,.2f}".format
    return table(
        "Every plan (figures 2 and 3); dollars for ten days",
        [
            column("threshold, VM, step", "label", str),
            ("algorithm", lambda row: f"{row['selection']}+{row['packing']}"),
            column("VMs", "vms"),
            column("bandwidth, messages", "load"),
            column("VMs, $", "cost_brokers", usd),
            column("bandwidth, $", "cost_bandwidth", usd),
            column("cost, $", "cost", usd),
            column("gap to paper's bound, %", "gap_paper", pct),
            column("gap to certified, %", "gap", pct),
        ],
        [
            {**row, "label": f"{label(cell)} {row['name']}"}
            for cell in planned(trace)
            for row in cell["rows"]
        ],
    )


def stage1_table(trace: Result) -> Table:
    ways = ("random", "greedy", "exact", "shared")
    return Table(
        "Stage 1, seconds (figures 4 and 5)",
        ("threshold", *ways),
        [
            (
                f"{row['threshold']:,}",
                *(significant(row["seconds"][way]) for way in ways),
            )
            for row in trace["stage1"]
        ],
    )


def stage2_table(trace: Result) -> Table:
    rows = []
    for cell in planned(trace):
        seconds = [row_of(cell, name)["seconds"] for name in TIMED.values()]
        faster = seconds[0] / seconds[1] if seconds[1] else 0.0
        rows.append([label(cell), *map(significant, seconds), f"{faster:,.0f}"])
    if trace["published"]:
        faster = trace["published"]["faster"]
        rows.append(["paper", NONE, NONE, NONE, f"up to {faster:,}"])
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
            (name, percent(theirs[name]) if name in theirs else NONE, percent(share))
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


# Plots: figures 2 to 7


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

    def bars(cell: Result) -> Series:
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
        [bars(cell) for cell in cells],
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
            series(name, found, partial(_seconds_at, name))
            for name, found in points.items()
        ],
        [table],
    )


def _seconds_at(name: str, threshold: float, seconds: float) -> str:
    return f"{name} at threshold {threshold:,}: {significant(seconds)} s"


# All of it


_QUESTION = "What does each optimisation save, and how close to the best is it?"
_NOTES = (
    '- The experiment of Setty et al., "Cost-Effective Resource Allocation for '
    'Deploying Pub/Sub on Cloud" (ICDCS 2014); `paper` is what its text says. Its '
    "traces cannot be had: generated ones have their sizes, and for Twitter the "
    "published distributions.",
    "- Capacity: with the paper's 64 Mbit/s one VM would carry such a trace, though it "
    "reports about a hundred. So c3.large gets the capacity, found by a short search, "
    "at which the naive plan (random selection, first-fit packing) needs 100 VMs at "
    "threshold 100, and c3.xlarge twice that.",
    "- Prices stay the paper's: $0.15 and $0.30 a VM and hour, $0.12 a GB in and out, "
    "200-byte messages, ten days. With less capacity to a VM its rent is nearly all of "
    "the cost, so costs go in steps of a VM. In the paper it is much the same: at "
    "threshold 10 on c3.large, greedy selection saves 33 % of VMs, 22.9 % of bandwidth "
    "and 33 % of cost. At any other prices a saving of cost lies between those of VMs "
    "and of bandwidth, which are shown apart.",
    "- Steps: naive; (a) greedy selection, first-fit; (b) pairs grouped by topic; (c) "
    "the largest topics first; (d) the roomiest VM first; (e) spread only where that "
    "is cheaper; ours, `shared` selection and `tight` packing. Rows `greedy, tight` "
    "and `shared, custom` tell the two stages of ours apart. The printed algorithms "
    "are corrected where they break the load law.",
    "- Bounds: `paper` is their Algorithm 5, `certified` is ours, L is the latter "
    "on bandwidth. A gap is (cost - bound) / cost; the paper says that its cost is in "
    "many cases 15 % above its bound, a gap of 13.04 %.",
    "- Seconds: one process, compiled code that is warm, the workload and (for stage "
    "2) the selected pairs in memory.",
    "- Checks, of every plan, by code that shares nothing with the planners: each "
    "subscriber gets what it needs and only what it wants, no VM is over its capacity, "
    "all selected pairs are placed. `audited` plans of ours were also built whole and "
    "audited; larger ones were recounted.",
)


def answer(result: Result) -> str:
    """The result in a sentence or two."""
    cells = [cell for trace in result["traces"] for cell in planned(trace)]
    if not cells:
        return "Nothing could be planned."
    worst = max(row_of(cell, "ours")["gap"] for cell in cells)
    shares = [_most_saved(trace) for trace in result["traces"] if planned(trace)]
    return (
        f"{no_cheaper('plan', {'gap': worst}).capitalize()} than ours, in all of "
        f"{counted(len(cells), 'case')}. Over the naive plan ours saves up to "
        f"{', '.join(shares)}."
    )


def times(result: Result) -> list[str]:
    """Where run times compare otherwise than in the paper: selections, then packings.

    Of traces of which the paper prints times.
    """
    traces = [trace for trace in result["traces"] if trace["published"]]
    said = [*_selection_times(traces), *(_packing_times(trace) for trace in traces)]
    return [sentence for sentence in said if sentence]


def _selection_times(traces: Sequence[Result]) -> Iterator[str]:
    rows = [row["seconds"] for trace in traces for row in trace["stage1"]]
    if not rows:
        return
    slower = sum(row["random"] > row["greedy"] for row in rows)
    ratios = [row["random"] / row["greedy"] for row in rows if row["greedy"]]
    yield (
        "Stage 1: the paper has random selection (RSP) faster than greedy (GSP). Here "
        f"random is slower in {slower} of {counted(len(rows), 'case')} "
        f"({significant(min(ratios))} to {significant(max(ratios))} times as long): "
        "greedy reads each list once, in the order of rates that it is stored in, "
        "random looks about in it."
    )


def _packing_times(trace: Result) -> str:
    rows = [(row_of(c, "(a)"), row_of(c, "(e)")) for c in planned(trace)]
    faster = [a["seconds"] / e["seconds"] for a, e in rows if e["seconds"]]
    if not faster:
        return ""
    theirs = trace["published"]["faster"]
    return (
        f"Stage 2, {trace['title']}: custom packing (CBP) is {min(faster):,.0f} to "
        f"{max(faster):,.0f} times faster than first-fit (FFBP), where the paper has "
        f"up to {theirs:,} times."
    )


def _most_saved(trace: Result) -> str:
    share = max(saved(cell, "naive", "ours") for cell in planned(trace))
    theirs = trace["published"]
    paper = f"; paper: {theirs['whole']:g} %" if theirs else ""
    return f"{pct(share)} % ({trace['name']}{paper})"


def _size(trace: Result) -> str:
    parts = (("topics", "topic"), ("subscribers", "subscriber"), ("pairs", "pair"))
    return ", ".join(counted(trace[key], noun) for key, noun in parts)


def _capacity(trace: Result) -> str:
    found = trace["capacity"]
    text = (
        f"c3.large carries {found['capacity']:,} messages, c3.xlarge twice that: the "
        f"naive plan then needs {found['vms']:,} VMs at threshold 100"
    )
    if found["vms"] < found["target"] and found["capacity"] == found["least"]:
        text += " (less capacity cannot meet every need)"
    return f"{text}."


def _titled(trace: Result, table: Table) -> Table:
    return Table(f"{trace['title']}. {table.caption}", table.columns, table.rows)


def account(result: Result) -> Account:
    """All that is said of a result of `reproduce provision`."""
    traces, said = result["traces"], times(result)
    profiles = "Its profile (figures 8 to 12)"
    return Account(
        result=result,
        question=_QUESTION,
        answer=answer(result),
        verdict=_verdict(result),
        said=[Said(said, "terminal")],
        blocks=[
            Block(compared(t), [f"{t['title']}: {_size(t)}", f"  {_capacity(t)}"])
            for t in traces
        ],
        sections=list(_sections(traces, said)),
        tables=[_titled(t, table) for t in traces for table in tables(t)],
        plots=[plot for t in traces for plot in plots(t)],
        facts=[Fact(t["title"], _size(t), _capacity(t)) for t in traces],
        inputs=[
            fact
            for t in traces
            for fact in (
                Fact(t["title"], t["digest"], t["rates"]),
                Fact(profiles, t["profile"]),
            )
        ],
    )


def _sections(traces: Sequence[Result], said: Sequence[str]) -> Iterator[Section]:
    if said:
        listed = [f"- {sentence}" for sentence in said]
        yield Section("Run times beside the paper's", listed)
    yield Section("How it was run", _NOTES)
    for trace in traces:
        rates, theirs = trace["rates"], trace["published"]
        yield Section(
            trace["title"],
            [
                f"{_size(trace)}. {_capacity(trace)}",
                f"{rates.capitalize()}." if rates else "",
            ],
            tables(trace),
            [f"Paper, run times: {theirs['seconds']}."] if theirs else (),
        )


def _verdict(result: Result) -> str:
    cells = [cell for trace in result["traces"] for cell in trace["cells"]]
    rows = sum(len(cell["rows"]) for cell in cells)
    infeasible = sum(cell["status"] == "infeasible" for cell in cells)
    return verdict(
        result,
        f"{counted(rows, 'plan')} recomputed pair by pair",
        "capacities, needs, tight at most custom, bounds at most costs",
        more=counted_if(infeasible, "case", " infeasible."),
        outdated=counted_if(result["cells_of_other_code"], "result"),
    )
