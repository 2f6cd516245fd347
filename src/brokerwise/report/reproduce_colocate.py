"""The experiment of `reproduce colocate` as tables, a summary and a page.

From its JSON result, which holds what is published beside what was found.
"""

from brokerwise.report.html import Fact
from brokerwise.report.numbers import counted
from brokerwise.report.page import Page
from brokerwise.report.repeating import how_to_repeat
from brokerwise.report.reproduce_colocate_cells import Result
from brokerwise.report.reproduce_colocate_figures import model_plots
from brokerwise.report.reproduce_colocate_plans import plan_plots
from brokerwise.report.reproduce_colocate_sentences import (
    answer,
    claims,
    measured,
    planned,
    unfinished,
    verdict,
)
from brokerwise.report.reproduce_colocate_tables import compared, tables
from brokerwise.report.tables import aligned, markdown

_QUESTION = (
    "How many topics can share a broker, and how well is that known before they do?"
)
_NOTES = (
    '- The experiments of Khare et al., "Scalable Edge Computing for Low Latency Data '
    'Dissemination in Topic-based Publish/Subscribe" (SEC 2018). FFD, LFS and the '
    "hybrid are theirs, as are a polynomial for one topic and a network for each "
    "larger number (the recipe); search and the one model for all numbers are ours.",
    "- Their latencies took 11 days on 13 machines and are not public. Here a broker "
    "is simulated: four cores, a worker for each topic, messages of a topic one after "
    "the other, cores shared equally; 120 messages of each publisher, 1 a second on "
    "average with exponential gaps, the first fifth not counted. Processing takes 1.27 "
    "times what it is meant to, so that the largest rates of a topic alone come out "
    "about as theirs. Everything else follows.",
    "- Truth in Figures 3 and 4 is the same simulation of each broker's topics, with "
    "times of sending that no model has seen. So models are tested on the broker that "
    "they learned: what a real one does otherwise is not in these figures.",
    "- Requests: processing times of 10 to 40 ms at random, rates uniform from 1 to "
    "the largest that both kinds of model predict to meet the target less the margin, "
    "so that both plan the same topics, and each fits alone.",
    "- Splits are the paper's: 60/40 for a topic alone, 95/5 by configuration for the "
    "others, and further configurations for validation. One split each, as there: on "
    "50 configurations R^2 varies by a few hundredths with the seed.",
    "- The paper does not say how long its networks were trained. Plans are made with "
    "those of at most 5,000 iterations of L-BFGS; Table I also has those of 200, "
    "scikit-learn's default, which overfit less. What the paper says of its models "
    "counts as so if it is so of either.",
    "- A set of topics counts as feasible if the model says so of it and of all its "
    "subsets. The time of FFD, LFS and the hybrid is the median of three, without the "
    "bound, which they do not have; that of search is of all it does, once. All cores "
    "are busy meanwhile, with a plan each.",
    "- The paper prints few numbers of its figures; what its text says of them is "
    "judged with the paper's recipe.",
)


def text(result: Result) -> str:
    """What the command prints."""
    lines = [answer(result)]
    for table in compared(result):
        lines += ["", *aligned(table)]
    said = [*_findings(result), *claims(result)]
    return "\n".join([*lines, "", *said, verdict(result), *_problems(result)])


def summary(result: Result) -> str:
    """The whole result in Markdown."""
    lines = ["# Reproduced: colocate", "", answer(result), ""]
    lines += [f"Made by `{result['command']}`, version {result['version']}.", ""]
    lines += [f"- {sentence}" for sentence in _findings(result)]
    lines += ["", verdict(result), *_problems(result), ""]
    lines += ["## How it was run", "", *_NOTES, ""]
    lines += ["## Tables", ""]
    for table in tables(result):
        lines += [*markdown(table), ""]
    return "\n".join(lines).rstrip() + "\n"


def page_of(result: Result) -> Page:
    return Page(
        title="Reproduced: colocate",
        question=_QUESTION,
        answer=answer(result),
        facts=_facts(result),
        tables=tables(result),
        plots=[*model_plots(result), *plan_plots(result)],
        inputs=_inputs(result),
        data=result,
    )


def _findings(result: Result) -> list[str]:
    return [*planned(result), *measured(result), *unfinished(result)]


def _facts(result: Result) -> list[Fact]:
    failed = len(result["problems"])
    checks = f"{failed:,} failed" if failed else "all passed"
    facts = [Fact("Checks", checks, verdict(result))]
    known = [claim for claim in result["claims"] if claim["holds"] is not None]
    if known:
        held = sum(claim["holds"] for claim in known)
        facts.append(
            Fact(
                "Statements",
                f"{held} of {len(known)} hold",
                "What the paper says of its figures; the table below has each.",
            )
        )
    facts += [Fact("Plans", "by model", said) for said in planned(result)[:2]]
    facts.append(Fact("Measured", "our own broker", measured(result)[0]))
    return facts


def _inputs(result: Result) -> list[Fact]:
    setting = result["setting"]
    return [
        Fact("Seed", str(result["seed"])),
        Fact("Cells", counted(result["cells"], "cell")),
        Fact(
            "Simulated broker",
            f"{setting['cores']} cores, factor {setting['factor']:g}, "
            f"{setting['messages']} messages of each publisher",
        ),
        Fact("Processes", f"{result['processes']:,}"),
        *how_to_repeat(result),
    ]


def _problems(result: Result) -> list[str]:
    return [f"  failed: {problem}" for problem in result["problems"]]
