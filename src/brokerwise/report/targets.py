"""The report of a co-location plan that was run: which topics met their targets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brokerwise.report.html import Fact, Table
from brokerwise.report.numbers import counted, percent, significant
from brokerwise.report.page import Page
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.repeating import how_to_repeat

Result = Mapping[str, Any]


def page_of(result: Result) -> Page:
    topics = sorted(result["topics"], key=_lateness, reverse=True)
    return Page(
        title=f"Targets of {result['plan']}",
        question="Do the topics of the running fleet meet their targets?",
        answer=answer(result),
        facts=list(_facts(result)),
        tables=[],
        plots=[_latencies(topics), _predictions(topics)],
        inputs=[
            Fact("Plan", result["plan"], f"kind {result['plan_kind']}"),
            Fact("Its digest", result["digest"]),
            *how_to_repeat(result),
        ],
        data=result,
    )


def answer(result: Result) -> str:
    topics = result["topics"]
    missed = sum(not topic["met"] for topic in topics)
    where = f"on {counted(result['brokers'], 'broker')}"
    if not missed:
        return (
            f"Yes: {counted(len(topics), 'topic')} {where}, and the 90th percentile of "
            "each is within its target."
        )
    return (
        f"No: {missed:,} of {counted(len(topics), 'topic')} {where} missed "
        f"({percent(result['topics_over_share'])})."
    )


def _facts(result: Result) -> Iterator[Fact]:
    yield Fact("Topics over their target", percent(result["topics_over_share"]))
    yield Fact(
        "Messages over their topic's target",
        percent(result["messages_over_share"]),
        f"of {result['messages']:,}",
    )
    yield Fact("Took", f"{result['seconds']['total']:.0f} s", "all in all")
    if result["late"]:
        yield Fact("Sent late", f"{result['late']:,}", "by more than 5 ms")
    if result["censored"]:
        yield Fact("Not delivered", "some", "latencies are lower bounds")


def _lateness(topic: Mapping[str, Any]) -> float:
    return float(topic["measured_p90_ms"] / topic["target_ms"])


def _latencies(topics: Sequence[Mapping[str, Any]]) -> Plot:
    """Measured, predicted and target, topic by topic."""
    places = list(range(1, len(topics) + 1))
    kinds = {
        "measured": ("measured_p90_ms", "points"),
        "predicted": ("predicted_p90_ms", "points"),
        "target": ("target_ms", "step"),
    }
    series = [
        Series(
            name,
            places,
            [topic[key] for topic in topics],
            [f"{t['topic']}: {name} {significant(t[key])} ms" for t in topics],
            style,  # type: ignore[arg-type]
            dashed=name == "target",
        )
        for name, (key, style) in kinds.items()
    ]
    return Plot(
        "90th percentile of each topic, the latest first",
        "What subscribers saw, what the model had predicted, and the target.",
        Axis("topics", False),
        Axis("p90, ms"),
        series,
        [_table(topics)],
        wide=True,
    )


def _predictions(topics: Sequence[Mapping[str, Any]]) -> Plot:
    every = [t[key] for t in topics for key in ("measured_p90_ms", "predicted_p90_ms")]
    ends = [min(every), max(every)]
    return Plot(
        "Predicted and measured",
        "Above the line topics were later than the model said.",
        Axis("predicted p90, ms"),
        Axis("measured p90, ms"),
        [
            Series(
                "topics",
                [topic["predicted_p90_ms"] for topic in topics],
                [topic["measured_p90_ms"] for topic in topics],
                [topic["topic"] for topic in topics],
            ),
            Series("equal", ends, ends, ["", ""], "line", dashed=True),
        ],
        [_table(topics)],
    )


def _table(topics: Sequence[Mapping[str, Any]]) -> Table:
    keys = ("target_ms", "predicted_p90_ms", "measured_p90_ms")
    return Table(
        "Topics, the latest for its target first; milliseconds",
        ("topic", "replica", "broker", "target", "predicted", "measured", ""),
        [
            (
                str(topic["topic"]),
                str(topic["replica"]),
                str(topic["broker"]),
                *(significant(topic[key]) for key in keys),
                "met" if topic["met"] else "missed",
            )
            for topic in topics
        ],
    )
