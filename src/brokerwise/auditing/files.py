"""A plan directory and the workload that it is judged against, as they lie there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from brokerwise.auditing.claims import Claims, claims_on_disk
from brokerwise.auditing.findings import SHOWN, Violation, named
from brokerwise.auditing.recount import Step, Tally
from brokerwise.model.arrays import INT64_MAX, Int64s
from brokerwise.model.errors import DigestMismatchError, InputError, MissingBasisError
from brokerwise.model.interests import BLOCK
from brokerwise.model.workload import Weights
from brokerwise.storage.colocation_plan import ColocationHeader
from brokerwise.storage.overlay_plan import OverlayHeader
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    HEADER,
    KINDS,
    PLACEMENT,
    PlacementBlock,
    PlanHeader,
    plan_table,
    read_fleet,
    read_plan_header,
)
from brokerwise.storage.subscribers import PartDigests, part_digests
from brokerwise.storage.tables import (
    LISTS,
    check_columns,
    lists_of,
    open_parquet,
    read_columns,
    readable,
    small_table_digest,
    table_digest,
    table_digests,
)
from brokerwise.storage.weights import TABLES, weights_of
from brokerwise.storage.workload import WorkloadHeader, read_header, verify_digests

BROKERS = pa.schema(
    [
        ("broker", pa.int32()),
        ("type", pa.string()),
        ("capacity", pa.int64()),
        ("load", pa.int64()),
        ("topics", pa.int64()),
        ("pairs", pa.int64()),
    ]
)
ASSIGNMENT = pa.schema(
    [("topic", pa.int32()), ("broker", pa.int32()), ("pairs", pa.int64())]
)
TOPICS = pa.schema([("topic", pa.int32()), ("name", pa.string()), ("rate", pa.int64())])
INTERESTS = pa.schema([("subscriber", pa.int64()), ("topics", LISTS)])
SUBSCRIBERS = pa.schema([("subscriber", pa.int64()), ("name", pa.string())])
THRESHOLD = pa.schema([("threshold", pa.int64())])
_IDS = pa.schema([("subscriber", pa.int64())])


@dataclass(frozen=True, eq=False)
class PlanFiles:
    """The header and the small tables of a plan directory; `weights` those it has."""

    place: Place
    header: PlanHeader
    claims: Claims
    brokers: pa.Table
    assignment: pa.Table
    weights: Mapping[str, pa.Table]

    @property
    def parts(self) -> Sequence[str]:
        return self.header.files["placement"]


@dataclass(frozen=True)
class PlacementPart:
    """What a pass over one file of the placement says.

    `digests` are those of its blocks; `first` and `last` are the subscribers of its
    first and last row, equal to -1 if it has none.
    """

    rows: int
    first: int
    last: int
    digests: tuple[bytes, ...]
    disordered: Tally[Step]


def open_plan(place: Place) -> PlanFiles:
    """Read all but the placement; refuse what is not a plan that we can audit."""
    return staged_plan(place, read_plan_header(place))


def staged_plan(place: Place, header: PlanHeader) -> PlanFiles:
    """The same for a plan that is written except for its plan.json, `header`."""
    if header.kind not in KINDS:
        raise InputError(
            f"{place} is a plan of kind {header.kind!r}, expected {' or '.join(KINDS)}"
        )

    def table(name: str, columns: pa.Schema) -> pa.Table:
        return read_columns(plan_table(place, header, name), columns, exact=True)

    brokers, assignment = table("brokers", BROKERS), table("assignment", ASSIGNMENT)
    weights = {n: table(n, TABLES[n]) for n in TABLES if n in header.weighted}
    claims = claims_on_disk(header, read_fleet(header), brokers)
    return PlanFiles(place, header, claims, brokers, assignment, weights)


def read_placement(plan: Place, name: str) -> pa.Table:
    """One file of the placement, its columns checked."""
    return read_columns(plan / "placement" / name, PLACEMENT, exact=True)


def inspect_placement(plan: Place, name: str) -> PlacementPart:
    """Digest one file of the placement, and see whether its rows are in order."""
    table = read_placement(plan, name)
    ids = table["subscriber"].to_numpy()
    if len(ids) == 0:
        return PlacementPart(0, -1, -1, (), Tally())
    cuts = [0, *(np.flatnonzero(np.diff(ids // BLOCK)) + 1), len(ids)]
    digests = [
        _digest(table.slice(start, end - start)) for start, end in pairwise(cuts)
    ]
    return PlacementPart(
        len(ids), int(ids[0]), int(ids[-1]), tuple(digests), _disordered(ids)
    )


def disordered(parts: Sequence[PlacementPart]) -> Tally[Step]:
    """Where the rows of the whole placement do not ascend, within files or between.

    None means that no subscriber has two rows.
    """
    steps: list[Step] = []
    total, last = 0, -1
    for part in (p for p in parts if p.rows):
        if part.first <= last:
            steps.append(Step(part.first, last))
            total += 1
        steps += part.disordered.examples
        total += part.disordered.total
        last = part.last
    return Tally(total, tuple(steps[:SHOWN]))


def block_digests(parts: Sequence[PlacementPart]) -> list[bytes]:
    """Those of all blocks, in order."""
    return [digest for part in parts for digest in part.digests]


def digest_violations(plan: PlanFiles, blocks: Iterable[bytes]) -> list[Violation]:
    """Tables that are not those that plan.json was written for.

    `blocks` are the digests of the placement's blocks, in order.
    """
    header = plan.header
    found = {
        "brokers": small_table_digest(plan.brokers),
        "assignment": small_table_digest(plan.assignment),
        "placement": table_digest(blocks),
        **table_digests(plan.weights),
    }
    return named("digest", changed_tables(header, found))


def changed_tables(
    header: PlanHeader | OverlayHeader | ColocationHeader, found: Mapping[str, str]
) -> Iterator[str]:
    """Tables, by the digests that were found, that plan.json was not written for."""
    for table, digest in found.items():
        stated = header.digests[table]
        if digest != stated:
            yield f"{table} has digest {digest[:12]}, plan.json says {stated[:12]}"
    if header.content_digest() != header.digest:
        yield (
            f"the plan has digest {header.content_digest()[:12]}, "
            f"plan.json says {header.digest[:12]}"
        )


def _digest(table: pa.Table) -> bytes:
    offsets, topics = lists_of(table["topics"])
    _, brokers = lists_of(table["brokers"])
    return PlacementBlock(0, offsets, topics, brokers).digest()


def _disordered(ids: Int64s) -> Tally[Step]:
    at = np.flatnonzero(np.diff(ids) <= 0)
    steps = (Step(int(ids[i + 1]), int(ids[i])) for i in at[:SHOWN])
    return Tally(len(at), tuple(steps))


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


@dataclass(frozen=True, eq=False)
class Case:
    """What an audit needs to know before it reads any pair."""

    plan: PlanFiles
    workload: Place
    header: WorkloadHeader
    weights: Weights


def open_case(plan: Place, workload: Place | None = None) -> Case:
    """A plan and its workload, which is where the plan says unless given.

    Raises InputError for a directory or a small file that cannot be used, and
    DigestMismatchError for a workload that is not the plan's. Reads no pair.
    """
    files = open_plan(plan.absolute())
    if workload is not None:
        return _matched(files, workload.absolute(), read_header(workload))
    place = Place(files.header.workload["path"]).absolute()
    try:
        header = read_header(place)
    except InputError as cause:
        raise MissingBasisError(
            str(plan), "workload", str(place), cause.message
        ) from cause
    return _matched(files, place, header)


def staged_case(
    plan: Place, header: PlanHeader, workload: Place, workload_header: WorkloadHeader
) -> Case:
    """A plan that is written but for its plan.json, which will hold `header`.

    So a plan can be audited before it appears. Raises what `open_case` does.
    """
    files = staged_plan(plan.absolute(), header)
    return _matched(files, workload.absolute(), workload_header)


def _matched(plan: PlanFiles, workload: Place, header: WorkloadHeader) -> Case:
    stated = plan.header.workload["digest"]
    if header.digest != stated:
        raise DigestMismatchError(f"workload {workload}", header.digest, stated)
    return Case(plan, workload, header, _weights(plan, header))


def _weights(plan: PlanFiles, workload: WorkloadHeader) -> Weights:
    """The plan's weights, one for each topic or subscriber of the workload."""
    numbers = {
        "topic_weights": workload.topics,
        "subscriber_weights": workload.subscribers,
    }
    for table, number in plan.header.weighted.items():
        if number != numbers[table]:
            raise InputError(
                f"{plan.place / HEADER}: {table} are for {number:,}, "
                f"the workload has {numbers[table]:,}"
            )
    files = {name: plan_table(plan.place, plan.header, name) for name in plan.weights}
    return weights_of(files, plan.weights, numbers)
