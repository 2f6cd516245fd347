"""Means over requests: what Figures 3 and 4 show."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

Record = Mapping[str, Any]

MEASURES = ("brokers", "seconds", "cpu", "p90_ms", "messages_over", "topics_over")


def averaged(records: Sequence[Record]) -> list[dict[str, Any]]:
    """For each kind of model, number of topics and algorithm: the six measures and the
    bound, and how many plans were proven or stopped."""
    kinds = dict.fromkeys((r["kind"], r["topics"]) for r in records)
    return [
        _row(kind, topics, label, _runs(records, kind, topics, label))
        for kind, topics in kinds
        for label in _labels(records, kind, topics)
    ]


def _row(kind: str, topics: int, label: str, runs: Sequence[Record]) -> dict[str, Any]:
    means = {name: round(fmean(r[name] for r in runs), 6) for name in MEASURES}
    return {
        "kind": kind,
        "topics": topics,
        "label": label,
        **means,
        "bound": round(fmean(r["bound"] for r in runs), 6),
        "requests": len(runs),
        "proven": sum(r["brokers"] == r["bound"] for r in runs),
        "stopped": sum(bool(r["stopped"]) for r in runs),
        "contradicted": sum(r["contradicted"] for r in runs),
        "brokers_over": sum(r["brokers_over"] for r in runs),
    }


def alone(records: Sequence[Record]) -> dict[str, float]:
    """What misses the target if every topic has a broker of its own: shares of the
    messages and of the topics, means over requests."""
    found = {(r["topics"], r["request"]): r["alone"] for r in records}
    if not found:
        return {}
    return {
        name: round(fmean(one[name] for one in found.values()), 6)
        for name in ("messages_over", "topics_over")
    }


def _runs(
    records: Iterable[Record], kind: str, topics: int, label: str
) -> list[Record]:
    return [
        run
        for record in records
        if (record["kind"], record["topics"]) == (kind, topics)
        for run in record["runs"]
        if run["label"] == label
    ]


def _labels(records: Iterable[Record], kind: str, topics: int) -> list[str]:
    found = [
        run["label"]
        for record in records
        if (record["kind"], record["topics"]) == (kind, topics)
        for run in record["runs"]
    ]
    return list(dict.fromkeys(found))
