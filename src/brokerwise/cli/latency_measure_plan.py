"""What a measured plan comes to: which topics met their targets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from brokerwise.cli.table import table
from brokerwise.report.numbers import counted, percent, significant

if TYPE_CHECKING:
    from brokerwise.model.latency import LatencyRows
    from brokerwise.runtime.load.series import PlannedSeries

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


def plan_text(result: Mapping[str, Any]) -> list[str]:
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
    lines += table([head, *map(_cells, shown)], names=1)
    if len(topics) > len(shown):
        lines.append(f"  and {len(topics) - len(shown):,} more: --json has them all")
    return lines


def _cells(one: Mapping[str, Any]) -> list[str]:
    name = one["topic"] + (f" ({one['replica']})" if one["replica"] else "")
    figures = ("target_ms", "predicted_p90_ms", "measured_p90_ms")
    return [
        name,
        str(one["broker"]),
        *(f"{significant(one[figure])} ms" for figure in figures),
        "" if one["met"] else "missed",
    ]
