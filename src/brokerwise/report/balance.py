"""The report of a simulated run, from what `brokerwise simulate balance --json` prints
and what happened over time."""

from collections.abc import Iterator

from brokerwise.report.balance_plots import plots
from brokerwise.report.balance_sentences import (
    Result,
    answer,
    bound,
    byte_rate,
    moves,
    time_of,
)
from brokerwise.report.html import Fact, Table
from brokerwise.report.page import Page
from brokerwise.report.provision_sentences import gap_text
from brokerwise.report.repeating import how_to_repeat


def page_of(result: Result) -> Page:
    return Page(
        title=f"Balancing by {result['policy']}, simulated",
        question="How even do loads stay, and for how many moves?",
        answer=answer(result),
        facts=list(_facts(result)),
        tables=list(tables(result)),
        plots=plots(result),
        inputs=list(_inputs(result)),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    without = result["without"]
    beside = f"without balancing {without['cov']:.3f}" if without else ""
    yield Fact("cov, on average", f"{result['cov']:.3f}", beside)
    yield Fact("cov at the end", f"{result['cov_end']:.3f}")
    beside = f"without balancing {byte_rate(without['max_load'])}" if without else ""
    yield Fact("Max load, on average", byte_rate(result["max_load"]), beside)
    yield Fact(
        "Max load at the end",
        byte_rate(result["max_load_end"]),
        f"with a mean of {byte_rate(result['mean_load_end'])}",
    )
    said = moves(result) if result["moves"] else ""
    yield Fact("Moves", f"{result['moves']:,}", said)
    yield Fact("Gap to the bound", gap_text(result["gap"]), bound(result))
    yield Fact("Brokers", f"{result['brokers']:,}")
    yield Fact(
        "Subscribers",
        f"{result['subscribers']:,}",
        f"with {result['pairs']:,} subscriptions to {result['topics']:,} topics at the "
        "end",
    )


def tables(result: Result) -> Iterator[Table]:
    """Brokers at both ends of the run, and what the balancer thought."""
    details = result["details"]
    yield Table(
        "Sessions and loads of the brokers",
        ("broker", "sessions at the start", "sessions at the end", "load at the end"),
        [
            (f"{broker}", f"{begin:,}", f"{end:,}", byte_rate(load[-1]))
            for broker, (begin, end, load) in enumerate(
                zip(
                    details["sessions_begin"],
                    details["sessions_end"],
                    details["loads"],
                    strict=True,
                )
            )
        ],
    )
    if details["decisions"]:
        yield Table(
            "What the balancer decided and why",
            ("reason", "time", "moves"),
            [
                (told["reason"], time_of(told["at"]), f"{told['moves']:,}")
                for told in details["decisions"]
            ],
        )


def _inputs(result: Result) -> Iterator[Fact]:
    options = result["options"]
    yield Fact("World", result["world"], f"seed {result['seed']}")
    yield Fact("Placement", result["placement"])
    settings = ", ".join(f"{k} {v}" for k, v in options.items() if v is not None)
    yield Fact("Policy", result["policy"], settings)
    yield from how_to_repeat(result)
