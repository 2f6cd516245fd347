"""Latency data in words: what was measured, of drawn configurations or of a plan, and
what was simulated."""

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.results import Result
from brokerwise.show.tables import in_columns

if TYPE_CHECKING:
    from brokerwise.model.latency import LatencyRows
    from brokerwise.runtime.load.series import PlannedSeries


def measure_text(result: Result) -> str:
    settings = result["settings"]
    of_plan = "plan" in settings
    lines = plan_lines(result) if of_plan else _drawn_lines(result)
    shares = [percent(share) for share in settings["others_share"]]
    lines.append(
        f"  other processes took {shares[0]} of the broker's cores at the median, "
        f"{shares[1]} at most"
    )
    lines += _doubts(settings)
    if result["missing"]:
        lines.append(
            f"  {counted(result['missing'], 'configuration')} still to come: the same "
            "command goes on"
        )
    out = result["out"]
    lines.append(f"Data: {out} (digest {result['digest'][:12]})")
    if not of_plan:
        next_ = shlex.join(["brokerwise", "latency", "train", out])
        lines.append(f"Next: {next_} --out DIR")
    return "\n".join(lines)


def _drawn_lines(result: Result) -> list[str]:
    settings, counts = result["settings"], result["configurations"]
    by_k = ", ".join(f"{count:,} of {k}" for k, count in counts.items())
    most = ", ".join(
        f"{count * settings['rate_each']:g}/s at {processing} ms"
        for processing, count in settings["most_publishers"].items()
    )
    lines = [
        f"{counted(sum(counts.values()), 'configuration')} measured on "
        f"{counted(settings['cores'], 'core')}: {by_k} topics, "
        f"{counted(result['rows'], 'row')}"
    ]
    if most:
        target = f"{settings['target_ms']:g} ms"
        lines.append(f"  largest rates of a topic alone for p90 <= {target}: {most}")
    return lines


def _doubts(settings: Result) -> list[str]:
    lines = []
    if settings["censored"]:
        lines.append(
            f"  {counted(len(settings['censored']), 'configuration')} ended after "
            f"{settings['longest_seconds']:g} s with messages on their way: their p90s "
            "are lower bounds"
        )
    if settings["late"]:
        lines.append(
            f"  {counted(len(settings['late']), 'configuration')} got messages late: "
            "the process that sends did not keep up"
        )
    return lines


MOST_LINES = 40
Over = Mapping[tuple[int, int], int]


def targets_of(series: "PlannedSeries") -> dict[tuple[int, int], float]:
    """By broker and position of the topic on it."""
    return {(t.broker, t.position): t.target_ms for t in series.topics}


def plan_result(
    series: "PlannedSeries", rows: "LatencyRows", over: Over
) -> dict[str, Any]:
    """Each topic of the brokers that were measured, beside its target."""
    there = set(rows.configuration.tolist())
    topics = [topic for topic in series.topics if topic.broker in there]
    found: list[dict[str, Any]] = [
        {
            "topic": topic.name,
            "replica": topic.replica,
            "broker": topic.broker,
            "target_ms": topic.target_ms,
            "predicted_p90_ms": topic.predicted_p90_ms,
            "measured_p90_ms": float(rows.p90_ms[row]),
            "messages": int(rows.messages[row]),
            "messages_over": over[topic.broker, topic.position],
            "met": bool(rows.p90_ms[row] <= topic.target_ms),
        }
        for row, topic in enumerate(topics)
    ]
    messages = sum(one["messages"] for one in found)
    return {
        "topics": found,
        "topics_over_share": sum(not one["met"] for one in found) / len(found),
        "messages_over_share": sum(one["messages_over"] for one in found) / messages,
    }


def plan_lines(result: Result) -> list[str]:
    topics = result["topics"]
    missed = [one for one in topics if not one["met"]]
    brokers = len({one["broker"] for one in topics})
    targets = "its target" if len(missed) == 1 else "their targets"
    lines = [
        f"{len(missed):,} of {counted(len(topics), 'topic')} on "
        f"{counted(brokers, 'broker')} missed {targets} "
        f"({percent(result['topics_over_share'])}); of all messages "
        f"{percent(result['messages_over_share'])} were later than their topic's target"
    ]
    shown = sorted(topics, key=lambda one: one["met"])[:MOST_LINES]
    head = ["topic", "broker", "target", "predicted p90", "measured p90", ""]
    lines += in_columns([head, *map(_cells, shown)], between="  ")
    if len(topics) > len(shown):
        lines.append(f"  and {len(topics) - len(shown):,} more: --json has them all")
    return lines


def _cells(one: Result) -> list[str]:
    name = one["topic"] + (f" ({one['replica']})" if one["replica"] else "")
    figures = ("target_ms", "predicted_p90_ms", "measured_p90_ms")
    return [
        name,
        str(one["broker"]),
        *(f"{significant(one[figure])} ms" for figure in figures),
        "" if one["met"] else "missed",
    ]


def simulation_text(result: Result) -> str:
    """One sentence, the numbers that carry it, and what is next."""
    lines = [_answer(result), *(f"  {said}" for said in _numbers(result))]
    out = result["out"].rstrip("/")
    command = ["brokerwise", "latency", "train", out, "--out", f"{out}-model"]
    return "\n".join([*lines, f"Next: {shlex.join(command)}"])


def _answer(result: Result) -> str:
    counts = result["configurations"]
    ks = sorted(map(int, counts))
    topics = f"{ks[0]} to {ks[-1]} topics" if len(ks) > 1 else _topics(ks[0])
    return (
        f"Latency data in {result['out']}: {sum(counts.values()):,} configurations of "
        f"{topics}, {result['rows']:,} rows, simulated in "
        f"{result['simulating_seconds']:.1f} s."
    )


def _topics(k: int) -> str:
    return f"{k} topic" if k == 1 else f"{k} topics"


def _numbers(result: Result) -> Iterator[str]:
    settings = result["settings"]
    most = ", ".join(
        f"{n * settings['rate_each']:g} at {p} ms"
        for p, n in settings["most_publishers"].items()
    )
    yield (
        f"largest rates (messages/s) of a topic alone for p90 <= "
        f"{settings['target_ms']:g} ms: {most}"
    )
    parts = ", ".join(f"{name}={v:.3g}" for name, v in settings["overhead"].items())
    yield f"overhead: {parts}"
    calibrated = settings["calibrated"]
    if calibrated is None:
        yield "not calibrated (--calibrate): how near a real broker it is is not known"
    else:
        yield from _calibration(calibrated)


def _calibration(found: Result) -> Iterator[str]:
    yield f"calibrated on a part of {found['path']}; on the others"
    yield f"  all: {_agreement(found['checked'])}"
    for k, of in found["by_topics"].items():
        yield f"  {_topics(int(k))}: {_agreement(of)}"
    for name, words in (("below", "below saturation"), ("above", "saturated")):
        if found[name] is not None:
            yield f"  {words}: {_agreement(found[name])}"


def _agreement(of: Result) -> str:
    r2 = "" if of["r2"] is None else f", R^2 of log {of['r2']:.3f}"
    return (
        f"p90 off by {of['median']:.1%} (median), {of['p90']:.1%} (9 of 10 less)"
        f"{r2}, {of['rows']:,} rows"
    )
