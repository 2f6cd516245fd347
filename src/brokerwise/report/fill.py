"""The report of a filled fleet, from what `brokerwise fill --json` prints and the
details of the plan."""

from collections.abc import Iterator

from brokerwise.report.fill_plots import plots
from brokerwise.report.fill_sentences import (
    Result,
    answer,
    cut_short,
    fleet_label,
    heuristics,
    limit,
    value_share,
)
from brokerwise.report.html import Fact
from brokerwise.report.numbers import counted, percent
from brokerwise.report.page import Page
from brokerwise.report.provision_sentences import gap_text
from brokerwise.report.repeating import how_to_repeat


def page_of(result: Result) -> Page:
    return Page(
        title=f"Fill for {result['workload']}",
        question="What is the most that this fleet can deliver?",
        answer=answer(result),
        facts=[*_facts(result), *_remarks(result)],
        tables=[],
        plots=plots(result),
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    yield Fact(
        "Data delivered", f"{result['delivered']:,}", f"of {result['wanted']:,} wanted"
    )
    if result["weighted_wanted"] is not None:
        value = f"{int(result['objective']):,}"
        whole = f"of {result['weighted_wanted']:,}, all that is wanted"
        yield Fact("Weighted value", value, whole)
    if result["options"]["bound"] == "certified":
        bound, gap = f"{int(result['bound']):,}", gap_text(result["gap"])
        yield Fact("Certified bound", bound, f"gap {gap}")
    paper, gap = f"{int(result['bound_paper']):,}", gap_text(result["gap_paper"])
    yield Fact("The paper's bound", paper, f"gap {gap}")
    yield Fact(
        "Brokers",
        f"{result['brokers']:,}",
        f"carry something, of {result['fleet']:,}: {fleet_label(result)}",
    )
    yield Fact(
        "Load",
        f"{result['load']:,}",
        f"{percent(result['load'] / result['bandwidth'])} of the bandwidth; "
        f"{result['incoming']:,} in, {result['outgoing']:,} out",
    )
    yield Fact(
        "Pairs served",
        f"{result['pairs']:,}",
        f"of {result['pairs_wanted']:,} that are wanted",
    )
    yield _topics(result["details"]["topics"])


def _topics(topics: Result) -> Fact:
    return Fact(
        "Topics served whole",
        f"{topics['whole']:,}",
        f"of {topics['wanted']:,} that are wanted; {topics['part']:,} in part; "
        f"{topics['cut']:,} on several brokers",
    )


def _remarks(result: Result) -> Iterator[Fact]:
    """What limits the plan, what it is compared with, and warnings."""
    for said in limit(result):
        full = f"{result['full']:,} of {result['fleet']:,}"
        yield Fact("Brokers without room for any more pair", full, said)
    if compared := heuristics(result):
        yield Fact(
            "Beside the heuristics", value_share(result, result["objective"]), compared
        )
    for warning in result["warnings"]:
        yield Fact("Warning", f"{result['left_out']:,}", warning)


def _inputs(result: Result) -> list[Fact]:
    options = result["options"]
    found = "; ".join(
        [f"{options['bound']} bound", *_patterns(result), *cut_short(result)]
    )
    facts = [
        Fact("Workload", result["workload"]),
        Fact("Digest of the workload", result["workload_digest"]),
        Fact("Plan", result["out"], result["digest"]),
        Fact("Brokers", fleet_label(result)),
    ]
    if "total_bandwidth" in options:
        most = f"at most {options['max_broker']:,} on one broker"
        facts.append(Fact("Bandwidth", f"{options['total_bandwidth']:,}", most))
    return [
        *facts,
        Fact("Algorithm", f"{result['algorithm']}, seed {result['seed']}", found),
        *how_to_repeat(result),
    ]


def _patterns(result: Result) -> Iterator[str]:
    if result["patterns"]:
        yield counted(result["patterns"], "pattern")
