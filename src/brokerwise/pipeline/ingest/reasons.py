"""Rows that cannot be used: why, how many, and where the first of each is."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from brokerwise.kernels import delimited
from brokerwise.model.arrays import INT64_MAX, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import MAX_NAME_BYTES
from brokerwise.pipeline.ingest.sources import Source

# Reasons about a whole row; those about one field are FIELD + the field's status.
WIDTH = delimited.ROW_WIDTH
QUOTE = delimited.ROW_QUOTE
TOO_LONG = delimited.ROW_TOO_LONG
AFTER_QUOTE = delimited.ROW_AFTER_QUOTE
NOT_JSON = 10
CONFLICT = 11
NOT_UTF8 = 12
NOWHERE = 13
BACKWARDS = 14
ENDLESS = 15
FIELD = 100
OUTSIDE = FIELD + 50  # of the range that a field was told to be in
UNKNOWN = FIELD + 51  # a name that is not among those that were told
FAR = FIELD + 52
NO_ZONE = FIELD + 53


@dataclass(frozen=True, eq=False)
class Rejects:
    """Rejected rows of one file: where each is, its reason, and what was found (a
    number of columns, or which of the file's roles)."""

    source: int
    position: Int64s
    reason: Int32s
    found: Int32s


@dataclass
class Tally:
    """What a task, or all of them, saw: rows by kind; `reasons` maps (source,
    reason, found) to the number of rows and the position of the first."""

    rows: dict[str, int] = field(default_factory=dict)
    reasons: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict)
    unknown_pairs: int = 0
    unknown_topics: set[str] = field(default_factory=set)
    first_micros: int | None = None
    last_micros: int | None = None
    problem: str = ""

    def add_rejects(self, rejects: Rejects) -> None:
        keys, firsts, counts = np.unique(
            np.stack([rejects.reason, rejects.found]),
            axis=1,
            return_index=True,
            return_counts=True,
        )
        for key, first, count in zip(keys.T, firsts, counts, strict=True):
            self._add(
                (rejects.source, int(key[0]), int(key[1])),
                int(count),
                int(rejects.position[first]),
            )

    def merge(self, other: "Tally") -> None:
        for kind, rows in other.rows.items():
            self.rows[kind] = self.rows.get(kind, 0) + rows
        for key, (count, first) in other.reasons.items():
            self._add(key, count, first)
        self.unknown_pairs += other.unknown_pairs
        names = self.unknown_topics | other.unknown_topics
        self.unknown_topics = set(sorted(names)[:UNKNOWN_SHOWN])
        self.first_micros = _least(self.first_micros, other.first_micros)
        self.last_micros = _most(self.last_micros, other.last_micros)
        self.problem = min(filter(None, [self.problem, other.problem]), default="")

    def period_seconds(self, what: str, told: int | None, otherwise: int = 1) -> int:
        """The period as told, or what the times of the rows span in whole seconds;
        `what` they are. Raises InputError if they span more than was told."""
        if self.first_micros is None or self.last_micros is None:
            return told or otherwise
        span = max(1, -((self.first_micros - self.last_micros) // 1_000_000))
        if told is not None and told < span:
            raise InputError(
                f"--period: found {told:,} s, but the {what} span {span:,} s; "
                "nothing was written"
            )
        return told or span

    def _add(self, key: tuple[int, int, int], count: int, first: int) -> None:
        before, at = self.reasons.get(key, (0, first))
        self.reasons[key] = (before + count, min(at, first))


UNKNOWN_SHOWN = 5


def merged(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.merge(tally)
    return total


def conflicts(source: Int32s, position: Int64s) -> list[Rejects]:
    """Rows that say something else than a row that was kept, file by file."""
    found = []
    for index in np.unique(source):
        where = position[source == index]
        reason = np.full(len(where), CONFLICT, np.int32)
        found.append(Rejects(int(index), where, reason, np.zeros_like(reason)))
    return found


def reason_text(source: Source, reason: int, found: int) -> str:
    """A reason in words."""
    if reason == WIDTH:
        columns = f"{found} column" + ("" if found == 1 else "s")
        roles = ",".join(source.roles)
        shown = f" ({roles})" if source.width == len(source.roles) else ""
        return f"{columns}, expected {source.width}{shown}"
    if reason < FIELD:
        return _ROW_REASONS[reason]
    return _FIELD_REASONS[reason - FIELD].format(role=source.roles[found])


_ROW_REASONS = {
    QUOTE: "quote not closed",
    AFTER_QUOTE: "text after a closing quote",
    TOO_LONG: f"line over {delimited.MAX_LINE_BYTES:,} bytes",
    NOT_JSON: "not a JSON object",
    NOT_UTF8: "not valid UTF-8",
    CONFLICT: "differs from another row with the same name, which was kept",
    NOWHERE: "begins or ends at longitude 0, latitude 0",
    BACKWARDS: "does not end after it begins",
    ENDLESS: "takes longer than a trip may",
}
_FIELD_REASONS = {
    delimited.FIELD_EMPTY: "empty {role}",
    delimited.FIELD_TOO_LONG: f"{{role}} over {MAX_NAME_BYTES:,} bytes",
    delimited.FIELD_NOT_UTF8: "{role} is not valid UTF-8",
    delimited.FIELD_NOT_A_NUMBER: "{role} is not a whole number",
    delimited.FIELD_NEGATIVE: "negative {role}",
    delimited.FIELD_OVERFLOW: f"{{role}} over {INT64_MAX:,}",
    delimited.FIELD_NOT_A_TIME: "{role} is neither Unix seconds nor ISO 8601",
    delimited.FIELD_NOT_TEXT: "{role} is neither text nor a number",
    delimited.FIELD_NOT_DECIMAL: "{role} is not a number",
    OUTSIDE - FIELD: "{role} is outside the space",
    UNKNOWN - FIELD: "{role} is not one of the users",
    FAR - FIELD: "{role} is outside the area",
    NO_ZONE - FIELD: "{role} is not one of the zones",
}


def _least(one: int | None, other: int | None) -> int | None:
    return min((v for v in (one, other) if v is not None), default=None)


def _most(one: int | None, other: int | None) -> int | None:
    return max((v for v in (one, other) if v is not None), default=None)
