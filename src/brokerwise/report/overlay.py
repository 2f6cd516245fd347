"""The report of an overlay, from what `brokerwise overlay --json` prints and the
details of the plan."""

from collections.abc import Iterator

from brokerwise.report.html import Fact
from brokerwise.report.numbers import counted, duration, percent, significant
from brokerwise.report.overlay_plots import plots
from brokerwise.report.overlay_sentences import (
    Result,
    answer,
    bound_line,
    cut_short,
    effort,
    limit,
    others,
)
from brokerwise.report.page import Page
from brokerwise.report.provision_sentences import gap_text
from brokerwise.report.repeating import how_to_repeat


def page_of(result: Result) -> Page:
    return Page(
        title=f"Overlay for {result['network']}",
        question="Which broker should each user connect to?",
        answer=answer(result),
        facts=[*_facts(result), *_remarks(result)],
        tables=[],
        plots=plots(result),
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    yield Fact("Cost", significant(result["cost"]), "access and core")
    yield Fact("Access", significant(result["access"]), _share(result, "access"))
    yield Fact("Core", significant(result["core"]), _share(result, "core"))
    bound, gap = significant(result["bound"]), gap_text(result["gap"])
    yield Fact("Certified bound", bound, f"gap {gap}")
    if result["crr"] is not None:
        crr = significant(result["crr"])
        yield Fact("Cost reduction ratio", crr, "what random wiring costs, over this")
    yield Fact(
        "Users",
        f"{result['users']:,}",
        f"on {result['brokers']:,} of {counted(result['fleet'], 'broker')}",
    )
    load, capacity = result["load"], result["capacity"]
    of = f"{percent(load / capacity)} of the capacity; " if capacity else ""
    most = f"{result['most_load']:,} on the fullest broker"
    yield Fact("Load", f"{load:,}", f"{of}{most}")
    links = result["details"]["links"]
    yield Fact(
        "Links between brokers",
        f"{links['total']:,}",
        f"are used; {links['traffic_total']:,} messages cross them in a period",
    )


def _share(result: Result, part: str) -> str:
    if not result["cost"]:
        return ""
    return f"{percent(result[part] / result['cost'])} of the cost"


def _remarks(result: Result) -> Iterator[Fact]:
    """What limits the plan, and what it is compared with."""
    for said in limit(result):
        yield Fact("Brokers that are too full", f"{result['full']:,}", said)
    if compared := others(result):
        yield Fact("Beside the others", significant(result["cost"]), compared)


def _inputs(result: Result) -> list[Fact]:
    found = "; ".join([effort(result), bound_line(result), *cut_short(result)])
    return [
        Fact("Network", result["network"], _sizes(result)),
        Fact("Digest of the network", result["network_digest"]),
        Fact("Plan", result["out"], result["digest"]),
        Fact("Algorithm", f"{result['algorithm']}, seed {result['seed']}", found),
        *how_to_repeat(result),
    ]


def _sizes(result: Result) -> str:
    return (
        f"{counted(result['users'], 'user')}, {counted(result['fleet'], 'broker')}, "
        f"{counted(result['subchannels'], 'sub-channel')}, "
        f"period of {duration(result['period_seconds'])}"
    )
