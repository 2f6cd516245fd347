"""The report of a co-location plan, from what `brokerwise colocate --json` prints and
the details of the plan."""

from collections.abc import Iterator

from brokerwise.report.colocate_plots import plots
from brokerwise.report.colocate_sentences import (
    Result,
    answer,
    bound_line,
    cut_short,
    disagreed,
    effort,
    feedback,
    limit,
    others,
    outside,
    splits,
)
from brokerwise.report.html import Fact, Table
from brokerwise.report.numbers import counted, percent, significant
from brokerwise.report.page import Page
from brokerwise.report.provision_sentences import gap_text
from brokerwise.report.repeating import how_to_repeat


def page_of(result: Result) -> Page:
    return Page(
        title=f"Co-location for {result['source']}",
        question="Which topics should share a broker?",
        answer=answer(result),
        facts=[*_facts(result), *_remarks(result)],
        tables=[_moves(result)] if result["moves"] else [],
        plots=plots(result),
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    loads = result["details"]["loads"]
    yield Fact("Brokers", f"{result['brokers']:,}", next(limit(result), ""))
    bound, gap = f"{result['bound']:,}", gap_text(result["gap"])
    yield Fact("Certified bound", bound, f"gap {gap}")
    pieces = f", as {result['replicas']:,} replicas" if result["split"] else ""
    most = f"at most {result['k']} on a broker"
    yield Fact("Topics", f"{result['topics']:,}", f"{most}{pieces}")
    span = f"{significant(loads['least'])} to {significant(loads['most'])} on a broker"
    yield Fact("Load", f"{significant(result['load'])} cores", span)
    shares = result["details"]["topics"]["share"]
    if shares:
        note = (
            f"of its target is the nearest; the margin is {percent(result['margin'])}"
        )
        yield Fact("Predicted p90", percent(max(shares)), note)
    yield Fact("Outside the model", f"{result['outside']:,}", outside(result))
    yield Fact("Contradictions", f"{result['contradicted']:,}", disagreed(result))


def _remarks(result: Result) -> Iterator[Fact]:
    """What it is compared with, and what was seen of the plan before."""
    if compared := others(result):
        yield Fact("Beside the others", f"{result['brokers']:,}", compared)
    for said in splits(result):
        yield Fact("Topics that are split", f"{result['split']:,}", said)
    if result["observed"] is not None:
        yield Fact(
            "Topics that move", f"{len(result['moves']):,}", next(feedback(result))
        )


def _moves(result: Result) -> Table:
    return Table(
        "Topics that move",
        ("topic", "from", "to", "why"),
        [
            (
                _replica(move),
                f"{move['from']:,}",
                f"{move['to']:,}",
                move["why"],
            )
            for move in result["moves"]
        ],
    )


def _replica(move: Result) -> str:
    return f"{move['topic']} ({move['replica']})" if move["replica"] else move["topic"]


def _inputs(result: Result) -> list[Fact]:
    found = "; ".join([effort(result), bound_line(result), *cut_short(result)])
    facts = [
        Fact("Topics", result["source"], counted(result["topics"], "topic")),
        Fact("Digest of the topics", result["source_digest"]),
        Fact("Model", result["model"], f"trained on what was {result['model_source']}"),
        Fact("Digest of the model", result["model_digest"]),
    ]
    if result["observed"] is not None:
        seen = result["observed"]
        facts.append(Fact("Made from", seen["plan"], f"observed: {seen['data']}"))
    return [
        *facts,
        Fact("Plan", result["out"], result["digest"]),
        Fact("Algorithm", f"{result['algorithm']}, seed {result['seed']}", found),
        *how_to_repeat(result),
    ]
