"""Whether what the paper says of its figures is so in ours.

What it says of its heuristics is judged with its own kind of model; what it says of
models, with its recipe. Statements about Figure 1 and Table I are judged in
`colocate_model_claims`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from brokerwise.experiments.colocate_model_claims import (
    JUDGES,
    Judged,
    MissingError,
    Record,
)
from brokerwise.experiments.colocate_published import (
    CLAIMS,
    MISSED,
    OPENING,
    OPENINGS_TOPICS,
)
from brokerwise.latency.models import PAPER

_HEURISTICS = ("ffd", f"hybrid {OPENING}", "lfs")
_SIMILAR = 0.1  # of the fewest brokers
_LITTLE = 0.05  # of all cores
_NAMES = {"ffd": "FFD", f"hybrid {OPENING}": "hybrid", "lfs": "LFS"}


def judged_claims(result: Mapping[str, Any]) -> list[Record]:
    """Each claim, with whether it holds (None if cells are missing) and our numbers."""
    found: list[Record] = []
    for claim in CLAIMS:
        try:
            holds: bool | None
            holds, ours = _JUDGES[claim.key](result)
        except MissingError:
            holds, ours = None, "not run yet"
        found.append(
            {
                "figures": claim.figures,
                "paper": claim.text,
                "holds": holds,
                "ours": ours,
            }
        )
    return found


class Rows:
    """Means over requests, with the paper's kind of model."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self._rows: dict[tuple[int, str], Record] = {
            (row["topics"], row["label"]): row
            for row in result["plans"]
            if row["kind"] == PAPER
        }
        self.topics = sorted({topics for topics, _ in self._rows})
        if not self.topics:
            raise MissingError("plans")

    def __call__(self, topics: int, label: str) -> Record:
        if (topics, label) not in self._rows:
            raise MissingError(label)
        return self._rows[topics, label]

    def heuristics(self, topics: int) -> dict[str, Record]:
        return {label: self(topics, label) for label in _HEURISTICS}

    def openings(self) -> list[tuple[int, Record]]:
        """Of Figure 4, by k'."""
        found = [
            (int(label.removeprefix("hybrid ")), row)
            for (topics, label), row in self._rows.items()
            if topics == OPENINGS_TOPICS and label.startswith("hybrid ")
        ]
        if len(found) < 2:
            raise MissingError("Figure 4")
        return sorted(found, key=lambda pair: pair[0])


def _similar(result: Record) -> Judged:
    rows, holds, said = Rows(result), True, []
    for topics in rows.topics:
        brokers = [row["brokers"] for row in rows.heuristics(topics).values()]
        holds &= max(brokers) <= (1 + _SIMILAR) * min(brokers)
        low, high = f"{min(brokers):.1f}", f"{max(brokers):.1f}"
        said.append(f"{topics} topics {low if low == high else f'{low} to {high}'}")
    return holds, (
        f"brokers, means of requests: {'; '.join(said)}; up to {100 * _SIMILAR:g} % "
        "apart count as about as many"
    )


def _apart(rows: Rows, topics: int, name: str) -> float:
    """How far the three heuristics lie apart."""
    values = [row[name] for row in rows.heuristics(topics).values()]
    return float(max(values) - min(values))


def _fewest(result: Record) -> Judged:
    rows = Rows(result)
    fewer = level = 0
    for topics in rows.topics:
        found = {
            label: row["brokers"] for label, row in rows.heuristics(topics).items()
        }
        others = min(found["ffd"], found[_HEURISTICS[1]])
        fewer += found["lfs"] < others
        level += found["lfs"] == others
    number = len(rows.topics)
    return fewer > number / 2, (
        f"fewer in {fewer} of {number} numbers of topics, as many as the better of the "
        f"two in {level}; {_proven(result)}"
    )


def _proven(result: Record) -> str:
    """How much there is to gain at all."""
    runs = [
        run
        for record in result["requests"]
        if record["kind"] == PAPER
        for run in record["runs"]
        if run["label"] in _HEURISTICS
    ]
    proven = sum(run["brokers"] == run["bound"] for run in runs)
    return f"{proven} of {len(runs)} plans of the three are proven to have the fewest"


def _times(result: Record) -> Judged:
    rows, agreed, said = Rows(result), 0, []
    for topics in rows.topics:
        ffd, hybrid, lfs = (row["seconds"] for row in rows.heuristics(topics).values())
        agreed += ffd < hybrid < lfs
        said.append(
            f"{topics} topics {1000 * ffd:.0f}, {1000 * hybrid:.0f}, {1000 * lfs:.0f}"
        )
    most = agreed > len(rows.topics) / 2
    return most, f"FFD, hybrid, LFS in ms: {'; '.join(said)}"


def _cpu(result: Record) -> Judged:
    rows = Rows(result)
    apart = {topics: _apart(rows, topics, "cpu") for topics in rows.topics}
    widest = max(apart, key=lambda topics: apart[topics])
    return apart[widest] <= _LITTLE, (
        f"at most {100 * apart[widest]:.1f} points of a broker's cores between them "
        f"({widest} topics); up to {100 * _LITTLE:g} count as little"
    )


def _latency(result: Record) -> Judged:
    rows, lowest, said = Rows(result), 0, []
    for topics in rows.topics:
        found = {label: row["p90_ms"] for label, row in rows.heuristics(topics).items()}
        lowest += found["lfs"] <= min(found.values())
        each = ", ".join(f"{_NAMES[label]} {p90:.0f}" for label, p90 in found.items())
        said.append(f"{topics} topics {each}")
    return lowest == len(rows.topics), f"mean p90 in ms: {'; '.join(said)}"


def _missed(result: Record) -> Judged:
    rows = Rows(result)
    every = [row for topics in rows.topics for row in rows.heuristics(topics).values()]
    return _judged_missed("3", every)


def _judged_missed(figure: str, rows: Sequence[Record]) -> Judged:
    messages = max(row["messages_over"] for row in rows)
    topics = max(row["topics_over"] for row in rows)
    most = MISSED[figure]
    return messages <= most[0] and topics <= most[1], (
        f"at most {100 * messages:.2g} % of the messages and {100 * topics:.2g} % of "
        "the topics, by the paper's recipe on simulated brokers"
    )


def _opening(result: Record) -> Judged:
    found = [row["brokers"] for _, row in Rows(result).openings()]
    falling = all(a >= b for a, b in pairwise(found))
    return falling and found[-1] < found[0], _by_opening(result, "brokers", "{:.1f}")


def _slower(result: Record) -> Judged:
    found = [row["seconds"] for _, row in Rows(result).openings()]
    said = ", ".join(f"{1000 * seconds:.0f}" for seconds in found)
    rising = sum(a < b for a, b in pairwise(found))
    return rising == len(found) - 1, f"k' = 1 on: {said} ms"


def _steady(result: Record) -> Judged:
    found = [row["cpu"] for _, row in Rows(result).openings()]
    return max(found) - min(found) <= _LITTLE, _by_opening(result, "cpu", "{:.3f}")


def _compact(result: Record) -> Judged:
    found = [row["p90_ms"] for _, row in Rows(result).openings()]
    rising = all(a <= b for a, b in pairwise(found))
    return rising, f"{_by_opening(result, 'p90_ms', '{:.0f}')} ms"


def _missed_opening(result: Record) -> Judged:
    return _judged_missed("4", [row for _, row in Rows(result).openings()])


def _by_opening(result: Record, name: str, form: str) -> str:
    found = [form.format(row[name]) for _, row in Rows(result).openings()]
    return f"k' = 1 on: {', '.join(found)}"


_JUDGES: Mapping[str, Callable[[Record], Judged]] = {
    **JUDGES,
    "similar": _similar,
    "fewest": _fewest,
    "times": _times,
    "cpu": _cpu,
    "latency": _latency,
    "missed": _missed,
    "opening": _opening,
    "slower": _slower,
    "steady": _steady,
    "compact": _compact,
    "missed4": _missed_opening,
}
