"""The workload that a plan is judged against: it must be the plan's own, unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import INT64_MAX
from brokerwise.model.errors import InputError
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import (
    LISTS,
    PartDigests,
    open_parquet,
    part_digests,
)
from brokerwise.storage.tables import check_columns, read_columns, readable
from brokerwise.storage.workload import WorkloadHeader, verify_digests

TOPICS = pa.schema([("topic", pa.int32()), ("name", pa.string()), ("rate", pa.int64())])
INTERESTS = pa.schema([("subscriber", pa.int64()), ("topics", LISTS)])
SUBSCRIBERS = pa.schema([("subscriber", pa.int64()), ("name", pa.string())])
THRESHOLD = pa.schema([("threshold", pa.int64())])
_IDS = pa.schema([("subscriber", pa.int64())])


@dataclass(frozen=True)
class WorkloadPart:
    """What a pass over one part of a workload says; its first subscriber is `first`."""

    name: str
    first: int
    rows: int
    thresholds: bool
    digests: PartDigests


def inspect_workload(workload: Place, name: str) -> WorkloadPart:
    """Digest one part, and make sure that its rows carry the ids they stand for.

    A digest goes by position; the ids are what tables are joined by.
    """
    interests = workload / "interests" / name
    subscribers = workload / "subscribers" / name
    _columns(interests, INTERESTS)
    thresholds = "threshold" in _columns(subscribers, SUBSCRIBERS)
    lists, people = _ids(interests), _ids(subscribers)
    if lists != people:
        raise InputError(
            f"{interests} has the subscribers {_span(lists)}, "
            f"subscribers/{name} has {_span(people)}"
        )
    digests = readable(interests, lambda: part_digests(workload, name))
    return WorkloadPart(name, lists[0], lists[1], thresholds, digests)


def check_workload(
    place: Place, header: WorkloadHeader, parts: Sequence[WorkloadPart]
) -> int:
    """Refuse a workload whose files are not those its header was written for.

    Returns how many topics have a rate above zero; they come first.
    """
    expected = 0
    for part in parts:
        if part.first != expected:
            raise InputError(
                f"{place}/interests/{part.name}: found subscriber {part.first:,} "
                f"first, expected {expected:,}"
            )
        expected += part.rows
    _check_count(place, "subscribers", expected, header.subscribers)
    useful = _check_topics(place, header)
    verify_digests(place, header, [part.digests for part in parts])
    return useful


def _check_topics(place: Place, header: WorkloadHeader) -> int:
    expected, useful, least = 0, 0, INT64_MAX
    for name in header.files["topics"]:
        file = place / "topics" / name
        table = read_columns(file, TOPICS, exact=False)
        topics, rates = table["topic"].to_numpy(), table["rate"].to_numpy()
        if not np.array_equal(topics, np.arange(expected, expected + len(topics))):
            raise InputError(f"{file}: topics must be numbered from {expected:,}")
        if (np.diff(rates, prepend=least) > 0).any():
            raise InputError(f"{file}: topics must go by descending rate")
        least = int(rates[-1]) if len(rates) else least
        expected += len(topics)
        useful += int(np.count_nonzero(rates > 0))
    _check_count(place, "topics", expected, header.topics)
    return useful


def _check_count(place: Place, what: str, found: int, stated: int) -> None:
    if found != stated:
        raise InputError(f"{place} has {found:,} {what}, workload.json says {stated:,}")


def _columns(file: Place, expected: pa.Schema) -> list[str]:
    def names() -> list[str]:
        with open_parquet(file) as parquet:
            found = parquet.schema_arrow
            check_columns(file, found, expected, optional=THRESHOLD)
            return list(found.names)

    return readable(file, names)


def _ids(file: Place) -> tuple[int, int]:
    """The first id and the number of rows of a file whose ids have no gap."""
    ids = read_columns(file, _IDS, exact=False)["subscriber"].to_numpy()
    first = int(ids[0]) if len(ids) else 0
    if not np.array_equal(ids, np.arange(first, first + len(ids))):
        raise InputError(f"{file}: subscribers must be numbered without a gap")
    return first, len(ids)


def _span(ids: tuple[int, int]) -> str:
    return f"{ids[0]:,} to {ids[0] + ids[1] - 1:,}"
