"""The experiment of `reproduce balance` as tables, a summary and a page.

From its JSON result, which holds what is published beside what was measured.
"""

from brokerwise.report.html import Fact
from brokerwise.report.numbers import counted
from brokerwise.report.page import Page
from brokerwise.report.repeating import how_to_repeat
from brokerwise.report.reproduce_balance_cells import Result
from brokerwise.report.reproduce_balance_figures import plots
from brokerwise.report.reproduce_balance_sentences import (
    answer,
    bounds,
    claims,
    live,
    seeds,
    verdict,
)
from brokerwise.report.reproduce_balance_tables import compared, tables
from brokerwise.report.tables import aligned, markdown

_QUESTION = "How well do policies keep a fleet balanced, and at how many moves?"
_NOTES = (
    '- The experiments of Nguyen et al., "Multistage Adaptive Load Balancing for Big '
    'Active Data Publish Subscribe Systems" (DEBS 2019). LDM, SDM and GSH are theirs; '
    "planned is ours. All run in the balancer that a live fleet has: it acts on what "
    "two reports in a row call for, and lets a session that moved rest for five "
    "minutes.",
    "- The emergency city stands in for the paper's prototype, whose map and "
    "mobility are not published: 5 brokers spread over a city, 400 users who live in "
    "its districts, seven channels. What a subscription brings is computed from the "
    "city's reports, as bytes on the wire in the last minute. The paper gives no "
    "thresholds for its prototype; ours are alpha 0.15, beta 50 kB/s, gamma 0.5.",
    "- The simulation is the paper's: 10 brokers, 10,000 subscribers, 1,000 topics, "
    "about 200,000 subscriptions, 30 minutes. Rates, and how they rise, are ours: "
    "docs/balance.md says which.",
    "- Load of a broker: each topic's bytes a second once for receiving it and once "
    "for each of its sessions. cov: the standard deviation of the brokers' loads over "
    "their mean. Both are looked at each 10 seconds; means are over the whole run, "
    "also its first minutes, in which nothing is moved because the mean load is below "
    "beta.",
    "- The paper prints no numbers in Figures 5 to 14: all in them are ours, and what "
    "its text says of them is compared in direction.",
    "- Lower means lower beyond noise: Figures 5 to 7 are run with ten seeds, each "
    "with and without a policy in the same world; the mean change must exceed two of "
    "its standard errors, and something must have been moved.",
    "- Checks, by code that shares nothing with planners and simulator: loads at the "
    "end pair by pair, cov at every moment, where each moved session came from.",
)


def text(result: Result) -> str:
    """What the command prints."""
    lines = [answer(result)]
    for table in compared(result):
        lines += ["", *aligned(table)]
    said = [*live(result), *seeds(result), *bounds(result), *claims(result)]
    return "\n".join([*lines, "", *said, verdict(result), *_problems(result)])


def summary(result: Result) -> str:
    """The whole result in Markdown."""
    lines = ["# Reproduced: balance", "", answer(result), ""]
    lines += [f"Made by `{result['command']}`, version {result['version']}.", ""]
    for said in (live(result), seeds(result), bounds(result)):
        lines += _listed(said)
    lines += [verdict(result), *_problems(result), ""]
    lines += ["## How it was run", "", *_NOTES, ""]
    lines += ["## Tables", ""]
    for table in tables(result):
        lines += [*markdown(table), ""]
    return "\n".join(lines).rstrip() + "\n"


def page_of(result: Result) -> Page:
    return Page(
        title="Reproduced: balance",
        question=_QUESTION,
        answer=answer(result),
        facts=_facts(result),
        tables=tables(result),
        plots=list(plots(result)),
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> list[Fact]:
    failed = len(result["problems"])
    checks = f"{failed:,} failed" if failed else "all passed"
    facts = [Fact("Checks", checks, verdict(result))]
    for label, said in (("Seeds", seeds(result)), ("Live", live(result)[:1])):
        if said:
            value = _seeds_value(result) if label == "Seeds" else "judged"
            facts.append(Fact(label, value, said[0]))
    facts += [Fact("Bound", "max load at the end", said) for said in bounds(result)]
    return facts


def _seeds_value(result: Result) -> str:
    found = result["seeds"]
    ours = found["compared"][found["ours"][0]]
    return f"cov lower in {ours['lower_cov']} of {len(found['rows'])}"


def _inputs(result: Result) -> list[Fact]:
    return [
        Fact("Seed", str(result["seed"])),
        Fact("Runs", counted(result["runs"], "simulated run")),
        Fact("Processes", f"{result['processes']:,}"),
        *how_to_repeat(result),
    ]


def _listed(said: list[str]) -> list[str]:
    return [*(f"- {sentence}" for sentence in said), ""] if said else []


def _problems(result: Result) -> list[str]:
    return [f"  failed: {problem}" for problem in result["problems"]]
