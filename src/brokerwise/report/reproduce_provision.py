"""The experiment of `reproduce provision` as tables, a summary and a page.

From its JSON result, which holds what is published beside what was measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brokerwise.report.html import Fact, Table
from brokerwise.report.numbers import counted, significant
from brokerwise.report.page import Page
from brokerwise.report.provision_sentences import no_cheaper
from brokerwise.report.repeating import how_to_repeat
from brokerwise.report.reproduce_provision_plots import plots
from brokerwise.report.reproduce_provision_tables import (
    compared,
    pct,
    planned,
    row_of,
    saved,
    tables,
)
from brokerwise.report.tables import aligned, markdown

Result = Mapping[str, Any]

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


def text(result: Result) -> str:
    """What the command prints."""
    lines = [answer(result)]
    for trace in result["traces"]:
        lines += ["", f"{trace['title']}: {_size(trace)}", f"  {_capacity(trace)}"]
        for table in compared(trace):
            lines += aligned(table)
    said = [*times(result), _verdict(result), *_problems(result)]
    return "\n".join([*lines, "", *said])


def summary(result: Result) -> str:
    """The whole result in Markdown."""
    lines = ["# Reproduced: provision", "", answer(result), ""]
    lines += [f"Made by `{result['command']}`, version {result['version']}.", ""]
    lines += [_verdict(result), *_problems(result), ""]
    said = times(result)
    if said:
        lines += ["## Run times beside the paper's", ""]
        lines += [*(f"- {sentence}" for sentence in said), ""]
    lines += ["## How it was run", "", *_NOTES, ""]
    for trace in result["traces"]:
        lines += [f"## {trace['title']}", "", f"{_size(trace)}. {_capacity(trace)}"]
        lines += [trace["rates"].capitalize() + "." if trace["rates"] else "", ""]
        for table in tables(trace):
            lines += [*markdown(table), ""]
        if trace["published"]:
            lines += [f"Paper, run times: {trace['published']['seconds']}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def page_of(result: Result) -> Page:
    traces = result["traces"]
    return Page(
        title="Reproduced: provision",
        question=_QUESTION,
        answer=answer(result),
        facts=_facts(result),
        tables=[_titled(t, table) for t in traces for table in tables(t)],
        plots=[plot for t in traces for plot in plots(t)],
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> list[Fact]:
    failed = len(result["problems"])
    checks = f"{failed:,} failed" if failed else "all passed"
    return [
        Fact("Checks", checks, _verdict(result)),
        *(Fact(t["title"], _size(t), _capacity(t)) for t in result["traces"]),
    ]


def _inputs(result: Result) -> list[Fact]:
    facts = [Fact("Seed", str(result["seed"]))]
    for trace in result["traces"]:
        facts.append(Fact(trace["title"], trace["digest"], trace["rates"]))
        facts.append(Fact("Its profile (figures 8 to 12)", trace["profile"]))
    return [*facts, *how_to_repeat(result)]


def _verdict(result: Result) -> str:
    cells = [cell for trace in result["traces"] for cell in trace["cells"]]
    rows = sum(len(cell["rows"]) for cell in cells)
    infeasible = sum(cell["status"] == "infeasible" for cell in cells)
    found = len(result["problems"])
    checks = "all checks passed" if not found else f"{counted(found, 'check')} failed"
    verdict = (
        f"{counted(rows, 'plan')} recomputed pair by pair: {checks} (capacities, "
        "needs, tight at most custom, bounds at most costs)."
    )
    if infeasible:
        verdict += f" {counted(infeasible, 'case')} infeasible."
    if result["cells_of_other_code"]:
        verdict += (
            f" {counted(result['cells_of_other_code'], 'result')} kept from earlier "
            "code; --force computes all again."
        )
    return verdict


def _problems(result: Result) -> list[str]:
    return [f"  failed: {problem}" for problem in result["problems"]]


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
