"""The topics of a fleet in words: do they meet their targets, and which are late?"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from brokerwise.cli.printable import printable
from brokerwise.cli.table import many, table

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.operator import TopicStatus

_SHOWN = 20  # topics; --json has all
_HEADS = ("topic", "broker", "messages/s", "p50", "p90", "target", "")


def topics_text(topics: Sequence["TopicStatus"]) -> str:
    """One sentence, and the topics that are latest for their targets."""
    lines = [_sentence(topics)]
    if topics:
        shown = [_row(topic) for topic in topics[:_SHOWN]]
        lines += table([_HEADS, *shown])
        if topics[_SHOWN:]:
            lines.append(f"  and {len(topics) - _SHOWN:,} more: --json has all")
        lines.append(
            "Latencies are from arrival at the broker to its sessions, since its start."
        )
    return printable("\n".join(lines))


def _sentence(topics: Sequence["TopicStatus"]) -> str:
    if not topics:
        return "No topic has had a message or a session yet."
    judged = [topic for topic in topics if topic.met is not None]
    if not judged:
        names = {topic.topic for topic in topics}
        return f"{many(len(names), 'topic')}; none has a target."
    met = sum(topic.met is True for topic in judged)
    silent = len(topics) - len(judged)
    verb = "meets its target" if met == 1 else "meet their targets"
    parts = [f"{met:,} of {many(len(judged), 'topic')} {verb}"]
    parts += list(_strays(topics))
    if silent:
        parts.append(f"{silent:,} without a target or without deliveries")
    return "; ".join(parts) + "."


def _strays(topics: Sequence["TopicStatus"]) -> Iterator[str]:
    away = [t for t in topics if t.home and t.broker != t.home]
    if away:
        first = f"{away[0].topic} is on {away[0].broker}, planned on {away[0].home}"
        more = f", and {len(away) - 1:,} more are away" if away[1:] else ""
        yield first + more


def _row(topic: "TopicStatus") -> tuple[str, ...]:
    return (
        topic.topic,
        topic.broker,
        f"{topic.received_per_second:,.1f}",
        _ms(topic.p50_ms),
        _ms(topic.p90_ms),
        _ms(topic.target_ms),
        {True: "met", False: "missed", None: ""}[topic.met],
    )


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f} ms"
