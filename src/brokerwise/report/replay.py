"""The report of a replay, from what `brokerwise replay --json` prints."""

from collections.abc import Iterator, Mapping
from typing import Any

from brokerwise.report.html import Fact, Table
from brokerwise.report.numbers import counted
from brokerwise.report.page import Page
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.repeating import how_to_repeat

Result = Mapping[str, Any]


def page_of(result: Result) -> Page:
    return Page(
        title=f"Replay of {result['plan']}",
        question="Does the running fleet carry what was planned?",
        answer=answer(result),
        facts=list(_facts(result)),
        tables=list(_tables(result)),
        plots=[_loads(result)],
        inputs=[
            Fact("Plan", result["plan"], f"kind {result['plan_kind']}"),
            Fact("Its digest", result["digest"]),
            *how_to_repeat(result),
        ],
        data=result,
    )


def answer(result: Result) -> str:
    brokers = counted(result["brokers"], "broker")
    if result["status"] == "equal":
        return (
            f"Yes: over one period the load of {brokers} is the planned one, message "
            "for message; nothing was lost and nothing came twice."
        )
    return (
        f"No: {counted(result['differences'], 'count')} of what {brokers} carried "
        f"differ from the plan; {result['lost']:,} messages were lost, "
        f"{result['twice']:,} came twice, {result['out_of_order']:,} out of order."
    )


def _facts(result: Result) -> Iterator[Fact]:
    yield Fact("Messages published", f"{result['messages']:,}")
    yield Fact(
        "Deliveries", f"{result['deliveries']:,}", f"to {result['sessions']:,} sessions"
    )
    planned = f"planned {result['load_planned']:,}"
    yield Fact("Load of all brokers", f"{result['load']:,}", planned)
    if "cost" in result:
        planned = f"planned {result['cost_planned']:,.3f}"
        yield Fact("Cost of all links", f"{result['cost']:,.3f}", planned)
    p50, p99 = result["p50_ms"], result["p99_ms"]
    yield Fact(
        "Latency, p90",
        f"{result['p90_ms']:.1f} ms",
        f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, from publisher to subscriber",
    )
    yield Fact("Lost", f"{result['lost']:,}")
    yield Fact("Twice", f"{result['twice']:,}")
    yield Fact("Out of order", f"{result['out_of_order']:,}")
    yield Fact("Replayed in", f"{result['seconds']['replay']:.1f} s")


def _loads(result: Result) -> Plot:
    """Planned and seen, side by side for each broker."""
    loads = result["loads"]
    places = list(range(len(loads)))
    series = [
        Series(
            what,
            places,
            [load[what] for load in loads.values()],
            [f"{broker}: {load[what]:,} {what}" for broker, load in loads.items()],
            "bar",
        )
        for what in ("planned", "seen")
    ]
    table = Table(
        "Load of each broker, in messages a period",
        ("broker", "planned", "seen"),
        [
            (broker, f"{load['planned']:,}", f"{load['seen']:,}")
            for broker, load in loads.items()
        ],
    )
    return Plot(
        "Load of the brokers, planned and seen",
        "Messages taken in and given out in one period, as the plan states them and "
        "as the brokers counted them.",
        Axis("", False, list(loads)),
        Axis("messages a period", False),
        series if loads else [],
        [table],
        wide=True,
    )


def _tables(result: Result) -> Iterator[Table]:
    if result["different"]:
        shown, total = len(result["different"]), result["differences"]
        of = "" if shown == total else f", the first {shown:,} of {total:,}"
        yield Table(
            f"Counts that are not as planned{of}",
            ("what", "of", "planned", "seen"),
            [
                (one["what"], one["of"], f"{one['planned']:,}", f"{one['seen']:,}")
                for one in result["different"]
            ],
        )
