"""The experiment of `reproduce fill` as tables, a summary and a page.

From its JSON result, which holds what is published beside what was measured.
"""

from brokerwise.report.html import Fact, Table
from brokerwise.report.page import Page
from brokerwise.report.repeating import how_to_repeat
from brokerwise.report.reproduce_fill_cells import Result
from brokerwise.report.reproduce_fill_figures import figure_tables, plots
from brokerwise.report.reproduce_fill_sentences import (
    agreement,
    answer,
    claims_table,
    readings,
    verdict,
)
from brokerwise.report.reproduce_fill_tables import compared, tables
from brokerwise.report.tables import aligned, markdown

_QUESTION = "How much can a fixed fleet deliver, and how much of that is proven?"
_NOTES = (
    '- The experiment of Lambert and Sakellariou, "Allocation of Publisher/Subscriber '
    'Data Links on a Set of Virtual Machines" (IEEE CLOUD 2018). Their machines are '
    "brokers here (M of them, of bandwidth b), their publishers are topics.",
    "- Instances: 100 subscribers with 5 different topics each (500 pairs) of 100 or "
    "1,000; scaled, 1,000 subscribers with 50 each (50,000 pairs) of 1,000 or 10,000. "
    "Topics are drawn uniformly, rates uniformly from 10 (Homogeneous), 8-19 or 8-12 "
    "(LowVariance), 1-19 (HighVariance). An instance is the same for all fleets and "
    "algorithms, and differs between distributions in its rates only. `cells/` has "
    "the seed of each, with which `generate uniform` makes it again.",
    "- `columns` is our solver, beside their ILP; `greedy` is their GS and `mkp` their "
    "MKPBS, both with the errors of the printed algorithms mended. GS as printed does "
    "not end when a publisher fits nowhere; mended, it delivers a bit more than they "
    "report.",
    "- Optimal: value and certified bound are equal. The gap is (bound - value) / "
    "value. `paper: solved` is how often CPLEX ended within an hour on 24 cores, of "
    "50.",
    "- Seconds are wall clock of one process, with as many of them at work as there "
    "are cores; milliseconds those of the compiled kernel alone, the median of "
    "several runs on an instance. Topics that nobody wants are left out before. The "
    "paper's are of C on a laptop of 2013.",
    "- The paper prints no numbers for its figures but those that Tables III and IV "
    "quote: the figures here are ours. Figures 5 and 6 do not say which distribution "
    "they show; here it is Homogeneous.",
    "- Checks, of every filling, by code that shares nothing with the planners: no "
    "broker over its capacity, no more pairs of a topic than want it, value as said.",
)


def text(result: Result) -> str:
    """What the command prints."""
    lines = [answer(result)]
    for table in compared(result):
        lines += ["", *aligned(table)]
    said = [part for part in (agreement(result), readings(result)) if part]
    return "\n".join([*lines, "", *said, verdict(result), *_problems(result)])


def summary(result: Result) -> str:
    """The whole result in Markdown."""
    lines = ["# Reproduced: fill", "", answer(result), ""]
    lines += [f"Made by `{result['command']}`, version {result['version']}.", ""]
    for part in (agreement(result), readings(result)):
        lines += [part, ""] if part else []
    lines += [verdict(result), *_problems(result), ""]
    lines += ["## How it was run", "", *_NOTES, ""]
    lines += _section("## Tables", tables(result))
    lines += _section("## Figures", [*_claims(result), *figure_tables(result)])
    return "\n".join(lines).rstrip() + "\n"


def page_of(result: Result) -> Page:
    return Page(
        title="Reproduced: fill",
        question=_QUESTION,
        answer=answer(result),
        facts=_facts(result),
        tables=[*tables(result), *_claims(result)],
        plots=list(plots(result)),
        inputs=_inputs(result),
        data=result,
    )


def _claims(result: Result) -> list[Table]:
    table = claims_table(result)
    return [table] if table.rows else []


def _section(title: str, found: list[Table]) -> list[str]:
    lines = [title, ""]
    for table in found:
        lines += [*markdown(table), ""]
    return lines if found else []


def _facts(result: Result) -> list[Fact]:
    failed = len(result["problems"])
    checks = f"{failed:,} failed" if failed else "all passed"
    facts = [Fact("Checks", checks, verdict(result))]
    held = [held for c in result["cells"] for held in (c["checks"] or {}).values()]
    if held:
        share = f"{sum(held)} of {len(held)} hold"
        facts.append(Fact("Tables III and IV", share, agreement(result)))
    said = readings(result)
    return [*facts, Fact("LowVariance", "two readings", said)] if said else facts


def _inputs(result: Result) -> list[Fact]:
    return [
        Fact("Seed", str(result["seed"])),
        Fact("Instances of each setting", f"{result['instances']:,}"),
        Fact("Limit of columns", f"{result['limit_seconds']:g} s"),
        Fact("Processes", f"{result['processes']:,}"),
        *how_to_repeat(result),
    ]


def _problems(result: Result) -> list[str]:
    return [f"  failed: {problem}" for problem in result["problems"]]
