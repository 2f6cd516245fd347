"""Reports of plans that were run: whether brokers carried what was planned, and whether
topics met their targets."""

from collections.abc import Iterator, Sequence

from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.page import Page
from brokerwise.show.plots import Axis, Plot, Series
from brokerwise.show.results import Result, how_to_repeat
from brokerwise.show.tables import Fact, Table


def page_of(result: Result) -> Page:
    return Page(
        title=f"Replay of {result['plan']}",
        question="Does the running fleet carry what was planned?",
        answer=answer(result),
        facts=list(_facts(result)),
        tables=list(_tables(result)),
        plots=[_loads(result)],
        inputs=list(_inputs(result)),
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


def _inputs(result: Result) -> Iterator[Fact]:
    yield Fact("Plan", result["plan"], f"kind {result['plan_kind']}")
    yield Fact("Its digest", result["digest"])
    yield from how_to_repeat(result)


def targets_page(result: Result) -> Page:
    topics = sorted(result["topics"], key=_lateness, reverse=True)
    return Page(
        title=f"Targets of {result['plan']}",
        question="Do the topics of the running fleet meet their targets?",
        answer=targets_answer(result),
        facts=list(_target_facts(result)),
        tables=[],
        plots=[_latencies(topics), _predictions(topics)],
        inputs=list(_inputs(result)),
        data=result,
    )


def targets_answer(result: Result) -> str:
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


def _target_facts(result: Result) -> Iterator[Fact]:
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


def _lateness(topic: Result) -> float:
    return float(topic["measured_p90_ms"] / topic["target_ms"])


def _latencies(topics: Sequence[Result]) -> Plot:
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
        [_target_table(topics)],
        wide=True,
    )


def _predictions(topics: Sequence[Result]) -> Plot:
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
        [_target_table(topics)],
    )


def _target_table(topics: Sequence[Result]) -> Table:
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
