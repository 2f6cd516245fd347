"""A plan directory as it lies there, and whether it is the one that was approved."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from brokerwise.auditing.claims import Claims, claims_on_disk
from brokerwise.auditing.findings import SHOWN, Violation, named
from brokerwise.auditing.recount import Step, Tally
from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.storage.digest import BLOCK, table_digest
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    KINDS,
    PLACEMENT,
    PlacementBlock,
    PlanHeader,
    plan_table,
    read_fleet,
    read_plan_header,
)
from brokerwise.storage.subscribers import lists_of
from brokerwise.storage.tables import read_columns, small_table_digest
from brokerwise.storage.weights import TABLES

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
        **{name: small_table_digest(table) for name, table in plan.weights.items()},
    }
    messages = [
        f"{table} has digest {digest[:12]}, plan.json says {header.digests[table][:12]}"
        for table, digest in found.items()
        if digest != header.digests[table]
    ]
    if header.digest != header.content_digest():
        messages.append(
            f"the plan has digest {header.content_digest()[:12]}, "
            f"plan.json says {header.digest[:12]}"
        )
    return named("digest", messages)


def _digest(table: pa.Table) -> bytes:
    offsets, topics = lists_of(table["topics"])
    _, brokers = lists_of(table["brokers"])
    return PlacementBlock(0, offsets, topics, brokers).digest()


def _disordered(ids: Int64s) -> Tally[Step]:
    at = np.flatnonzero(np.diff(ids) <= 0)
    steps = (Step(int(ids[i + 1]), int(ids[i])) for i in at[:SHOWN])
    return Tally(len(at), tuple(steps))
