"""The report of a skew and its repair on a running fleet."""

from collections.abc import Iterator

from brokerwise.report.balance_plots import cov_plot, loads_plot
from brokerwise.report.balance_sentences import Result, byte_rate
from brokerwise.report.decision import changes_table
from brokerwise.report.html import Fact
from brokerwise.report.numbers import counted
from brokerwise.report.page import Page
from brokerwise.report.repeating import how_to_repeat


def page_of(result: Result) -> Page:
    return Page(
        title="A skew, and its repair",
        question="Does the balancer make loads even, without losing a message?",
        answer=answer(result),
        facts=list(_facts(result)),
        tables=[changes_table("What was approved", result["changes"])],
        plots=[loads_plot(result), cov_plot(result)],
        inputs=[
            Fact("Approved", result["digest"], result["reason"]),
            Fact("Seed", f"{result['seed']}"),
            *how_to_repeat(result),
        ],
        data=result,
    )


def answer(result: Result) -> str:
    """What happened, in a sentence."""
    moved = (
        f"cov {result['cov']:.2f} -> {result['cov_after']:.2f} with "
        f"{counted(result['moves'], 'move')}, lost {result['lost']:,}, "
        f"twice {result['twice']:,}"
    )
    return f"{counted(result['brokers'], 'broker')}: {moved}."


def _facts(result: Result) -> Iterator[Fact]:
    yield Fact(
        "Max load",
        byte_rate(result["max_load_after"]),
        f"before {byte_rate(result['max_load'])}; best possible at least "
        f"{byte_rate(result['bound'])}",
    )
    yield Fact("cov", f"{result['cov_after']:.3f}", f"before {result['cov']:.3f}")
    yield Fact(
        "Moves", f"{result['moves']:,}", f"made in {result['move_seconds']:.1f} s"
    )
    yield Fact(
        "Deliveries",
        f"{result['delivered']:,}",
        f"of {counted(result['published'], 'message')}; lost {result['lost']:,}, twice "
        f"{result['twice']:,}",
    )
