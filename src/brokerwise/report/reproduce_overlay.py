"""The experiment of `reproduce overlay` as tables, a summary and a page.

From its JSON result, which holds what is published beside what was measured.
"""

from brokerwise.report.html import Fact
from brokerwise.report.numbers import counted, percent, significant
from brokerwise.report.page import Page
from brokerwise.report.repeating import how_to_repeat
from brokerwise.report.reproduce_overlay_cells import Result, at_sites, by_users
from brokerwise.report.reproduce_overlay_figures import plots
from brokerwise.report.reproduce_overlay_sentences import (
    aims,
    answer,
    explained,
    explanations,
    sweeps,
    verdict,
)
from brokerwise.report.reproduce_overlay_tables import compared, tables
from brokerwise.report.tables import aligned, markdown

_QUESTION = "Which algorithm wires users and brokers at least cost, and how near is it?"
_NOTES = (
    '- The experiment of Zhao and Wu, "On the Construction of the Minimum Cost '
    'Content-Based Publish/Subscribe Overlays" (IEEE SECON 2011). `greedy` is '
    "their greedy packing, `steiner_literal` their mixing: a tree for each publisher "
    "and sub-channel, from which users draw their broker. `steiner` is our variant of "
    "it, with one tree for each sub-channel; `local` is ours.",
    "- steiner_literal takes up to a minute for a network of 10,000 users, "
    "so it wired the first 10 samples up to 3,000 users, and one of the largest "
    "networks of each regime, at the ratio of Figure 9.",
    "- Networks: 100 users for each broker, 100 sub-channels of one content dimension, "
    "random quadratic densities without their negative part, random intervals as "
    "interests, equal capacities that add up to twice what all users send and receive.",
    "- The paper does not say how link costs are drawn. plane: users and brokers are "
    "random points of a square, links cost their length. independent: access costs are "
    "uniform, with the mean of core links in the plane. Core costs are divided by the "
    "access-to-core ratio.",
    "- core: a regime of ours, where the core matters. Points in the plane, interests "
    "of at most 2 % of the content space, core links dear (ratio 0.01).",
    "- Cost reduction ratio (CRR): what random wiring costs over what the algorithm's "
    "does, on the same network. Possible: what random costs over the certified bound, "
    "which no algorithm can exceed. The gap of local is (cost - bound) / cost.",
    "- A sample's network is the same for all algorithms and ratios, and has the same "
    "random numbers in all regimes. `cells/` has the seed of each, with which "
    "`generate network` and `overlay` make it again.",
    "- Why our mixing changes so much with the ratio in the plane: up to ratio 1, a "
    "link straight to a broker of a sub-channel's tree costs no more than the way by "
    "another broker, so the tree has one broker or few, which saves core and wastes "
    "access; from there on the way by the nearest broker is cheaper, and it has nearly "
    "all.",
    "- Seconds in Table I are wall clock of one process with no other of ours at "
    "work, from the network in memory to the wiring, compiled before; those of local "
    "hold the other algorithms and the bound. The paper's are of C++ without "
    "optimisation on a processor of 2008. Other seconds are with as many processes "
    "as cores.",
    "- The paper prints no numbers for Figures 9 and 10: all in them are ours.",
    "- Checks, by code that shares nothing with the planners: reach, loads, capacities "
    "and access costs of every wiring; core costs of every wiring of the first samples "
    "of each setting, with another algorithm for spanning trees.",
)


def text(result: Result) -> str:
    """What the command prints."""
    lines = [answer(result)]
    for table in compared(result):
        lines += ["", *aligned(table)]
    said = [*explanations(result), *sweeps(result), *aims(result)]
    return "\n".join([*lines, "", *said, verdict(result), *_problems(result)])


def summary(result: Result) -> str:
    """The whole result in Markdown."""
    lines = ["# Reproduced: overlay", "", answer(result), ""]
    lines += [f"Made by `{result['command']}`, version {result['version']}.", ""]
    lines += [*_listed(explanations(result)), *_listed(sweeps(result))]
    lines += [part for said in aims(result) for part in (said, "")]
    lines += [verdict(result), *_problems(result), ""]
    lines += ["## How it was run", "", *_NOTES, ""]
    lines += ["## Tables", ""]
    for table in tables(result):
        lines += [*markdown(table), ""]
    return "\n".join(lines).rstrip() + "\n"


def page_of(result: Result) -> Page:
    return Page(
        title="Reproduced: overlay",
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
    for regime, said in zip(explained(result), explanations(result), strict=True):
        share = percent(by_users(result, regime)[-1]["core_share"]["greedy"])
        facts.append(Fact(f"{regime['key']}: core share of greedy", share, said))
    if result["times"]:
        seconds = result["times"]["seconds"]
        theirs = [name for name in seconds if name in result["published"]["seconds"]]
        slowest = max(theirs, key=lambda name: seconds[name])
        local = significant(seconds["local"])
        note = f"the slowest of the paper's, {slowest}; local {local} s"
        facts.append(Fact("Table I", f"{significant(seconds[slowest])} s", note))
    return facts


def _inputs(result: Result) -> list[Fact]:
    files = dict.fromkeys(regime["sites"] for regime in at_sites(result))
    return [
        Fact("Seed", str(result["seed"])),
        Fact("Samples", counted(result["samples"], "network")),
        *(Fact("Latencies", name) for name in files),
        Fact("Processes", f"{result['processes']:,}"),
        *how_to_repeat(result),
    ]


def _listed(said: list[str]) -> list[str]:
    return [*(f"- {sentence}" for sentence in said), ""] if said else []


def _problems(result: Result) -> list[str]:
    return [f"  failed: {problem}" for problem in result["problems"]]
