"""A plan directory of kind provision or fill: read it, write it, its digest."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet
from brokerwise.model.interests import BLOCK, Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.workload import Weights
from brokerwise.storage.header import DigestedHeader, header_content, parse_header
from brokerwise.storage.output import Output, new_output
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import blocks_per_part
from brokerwise.storage.tables import (
    LISTS,
    block_digest,
    json_digest,
    list_array,
    lists_of,
    open_parquet,
    parquet_writer,
    read_small_table,
    table_digest,
    table_digests,
    write_tables,
)
from brokerwise.storage.weights import (
    check_weighted,
    weight_tables,
    weighted,
    weights_of,
)

HEADER = "plan.json"
FORMAT = 1
KINDS = ("provision", "fill")
_KEYS = {
    "workload": ("path", "digest"),
    "digests": ("brokers", "assignment", "placement"),
    "files": ("placement",),
    "tables": ("brokers", "assignment"),
}
PLACEMENT = pa.schema(
    [
        ("subscriber", pa.int64()),
        ("topics", LISTS),
        ("brokers", LISTS),
    ]
)


def plan_kind(place: Place) -> str:
    """The kind that plan.json states; nothing else of the plan is looked at."""
    content = header_content(place, HEADER, format=FORMAT)
    kind = content.get("kind")
    if not isinstance(kind, str):
        raise InputError(f"{place / HEADER}: found kind {kind!r}, expected a name")
    return kind


def refuse_other_kinds(place: Place, *kinds: str) -> None:
    """Refuse a plan that is not of one of these kinds."""
    kind = plan_kind(place)
    if kind not in kinds:
        raise InputError(
            f"{place} is a plan of kind {kind!r}, expected {' or '.join(kinds)}"
        )


def stated_status(place: Place, status: str) -> Status:
    """The status that plan.json states; another word is refused."""
    try:
        return Status(status)
    except ValueError as cause:
        raise InputError(
            f"{place / HEADER}: found status {status!r}, expected {', '.join(Status)}"
        ) from cause


def finite(figure: Any) -> Any:
    """JSON has no infinity: a share of nothing is null."""
    return None if isinstance(figure, float) and not isfinite(figure) else figure


@dataclass(frozen=True)
class PlanHeader(DigestedHeader):
    """What `plan.json` says; `digest` is over everything that runs later.

    `weighted` is there for plans with weights only: how many topics or subscribers
    each table of weights is for.
    """

    kind: str
    status: str
    objective: float | None
    bound: float | None
    gap: float | None
    algorithm: str
    seed: int
    threshold: int | None
    fleet: Mapping[str, Any]
    workload: Mapping[str, str]
    figures: Mapping[str, int | float]  # whole numbers stay whole: loads pass 2^53
    options: Mapping[str, Any]
    seconds: Mapping[str, float]
    digests: Mapping[str, str]
    files: Mapping[str, list[str]]
    tables: Mapping[str, str] = field(
        default_factory=lambda: {
            "brokers": "brokers.parquet",
            "assignment": "assignment.parquet",
        }
    )
    weighted: Mapping[str, int] = field(default_factory=dict)
    format: int = FORMAT
    digest: str = ""

    def content_digest(self) -> str:
        return json_digest(
            [self.kind, self.threshold, self.workload["digest"], dict(self.digests)]
        )

    def as_json(self) -> dict[str, Any]:
        content = asdict(self)
        if not self.weighted:
            del content["weighted"]
        return content


@dataclass(frozen=True, eq=False)
class PlacementBlock:
    """Where the pairs of up to 65,536 subscribers go; the first has id `first`."""

    first: int
    offsets: Int64s
    topics: Int32s
    brokers: Int32s

    def digest(self) -> bytes:
        return block_digest(np.diff(self.offsets), self.topics, self.brokers)


def write_plan(
    plan: Plan,
    place: Place,
    *,
    workload: Place,
    workload_digest: str,
    force: bool = False,
) -> PlanHeader:
    """Write a plan from memory; it appears when it is complete."""
    with new_output(place, HEADER, force=force) as output:
        header = stage_plan(output, plan, workload, workload_digest)
        output.commit(header.as_json())
    return header


def stage_plan(
    output: Output, plan: Plan, workload: Place, workload_digest: str
) -> PlanHeader:
    """Write all but the header of a plan from memory."""
    (output.root / "placement").make()
    blocks = list(_placement_blocks(plan))
    per_part = blocks_per_part(plan.selected.subscribers, plan.selected.pairs)
    parts: dict[str, list[bytes]] = {}
    for number, start in enumerate(range(0, len(blocks), per_part)):
        name = output.part(number)
        parts[name] = write_placement_part(
            output.root, name, blocks[start : start + per_part]
        )
    return finish_plan_header(output, plan, parts, workload, workload_digest)


def finish_plan_header(
    output: Output,
    plan: Plan,
    parts: Mapping[str, list[bytes]],
    workload: Place,
    workload_digest: str,
) -> PlanHeader:
    """Write the small tables of an output whose placement is written, and sum up."""
    tables = {
        "brokers": _brokers_table(plan),
        "assignment": _assignment_table(plan.placement),
        **weight_tables(plan.weights),
    }
    files = write_tables(output, tables)
    return PlanHeader(
        kind=plan.kind,
        status=plan.status.value,
        objective=plan.objective,
        bound=plan.bound,
        gap=finite(plan.gap),
        algorithm=plan.algorithm,
        seed=plan.seed,
        threshold=plan.threshold,
        fleet=asdict(plan.fleet),
        workload={
            "path": workload.absolute().without_credentials().uri,
            "digest": workload_digest,
        },
        figures={
            "brokers": len(plan.brokers),
            "load": plan.load,
            "pairs": int(plan.placement.pairs.sum()),
            **plan.figures,
        },
        options=plan.options,
        seconds=plan.seconds,
        digests={
            **table_digests(tables),
            "placement": table_digest(d for part in parts.values() for d in part),
        },
        files={"placement": list(parts)},
        tables=files,
        weighted=weighted(plan.weights),
    )


def read_plan_header(place: Place) -> PlanHeader:
    refuse_other_kinds(place, *KINDS)
    header = parse_header(place, HEADER, PlanHeader, format=FORMAT, keys=_KEYS)
    check_weighted(
        place / HEADER,
        tables=header.tables,
        digests=header.digests,
        weighted=header.weighted,
    )
    return header


def plan_table(place: Place, header: PlanHeader, table: str) -> Place:
    """Where a plan has a table such as `brokers` or `assignment`."""
    return place / header.tables[table]


def read_plan(place: Place) -> Plan:
    """The whole plan in memory."""
    header = read_plan_header(place)
    selection, broker_of_pair = _read_placement(place, header)
    plan = replace(
        read_plan_runs(place, header),
        selection=selection,
        weights=_read_weights(place, header, selection.subscribers),
    )
    if np.array_equal(plan.placement.brokers_of(selection), broker_of_pair):
        return plan
    placement = replace(plan.placement, pair_broker=broker_of_pair)
    try:
        placement.brokers_of(selection)
    except InputError as cause:
        raise InputError(
            f"{place}: the placement puts pairs on other brokers than the assignment "
            "says; find out which with brokerwise audit"
        ) from cause
    return replace(plan, placement=placement)


def read_plan_runs(place: Place, header: PlanHeader) -> Plan:
    """The plan without its weights, whose pairs stay on disk; O(topics + brokers)."""
    fleet = read_fleet(header)
    brokers = read_small_table(plan_table(place, header, "brokers"))
    assignment = read_small_table(plan_table(place, header, "assignment"))
    return Plan(
        kind=header.kind,
        algorithm=header.algorithm,
        status=Status(header.status),
        objective=header.objective,
        bound=header.bound,
        fleet=fleet,
        brokers=Brokers(
            _type_numbers(place, fleet, brokers["type"].to_pylist()),
            brokers["capacity"].to_numpy(),
            brokers["load"].to_numpy(),
        ),
        selection=None,
        placement=Placement(
            assignment["topic"].to_numpy(),
            assignment["broker"].to_numpy(),
            assignment["pairs"].to_numpy(),
        ),
        threshold=header.threshold,
        figures=header.figures,
        options=header.options,
        seed=header.seed,
        seconds=header.seconds,
    )


def _read_weights(place: Place, header: PlanHeader, subscribers: int) -> Weights:
    stated = header.weighted.get("subscriber_weights", subscribers)
    if stated != subscribers:
        raise InputError(
            f"{place / HEADER}: weighted has subscriber_weights {stated:,}, "
            f"the placement has {subscribers:,} subscribers"
        )
    files = {name: plan_table(place, header, name) for name in header.weighted}
    tables = {name: read_small_table(file) for name, file in files.items()}
    return weights_of(files, tables, header.weighted)


def _type_numbers(place: Place, fleet: Fleet, names: Iterable[str]) -> Int32s:
    numbers = {t.name: number for number, t in enumerate(fleet)}
    try:
        return np.array([numbers[name] for name in names], np.int32)
    except KeyError as cause:
        raise InputError(f"{place}: the fleet has no broker type {cause}") from cause


def read_fleet(header: PlanHeader) -> Fleet:
    try:
        return msgspec.convert(header.fleet, Fleet)
    except msgspec.ValidationError as cause:
        raise InputError(f"{HEADER}: fleet: {cause}") from cause


def write_placement_part(
    root: Place, name: str, blocks: Iterable[PlacementBlock]
) -> list[bytes]:
    """Write `placement/name`, a row group for each block; returns their digests."""
    digests = []
    with parquet_writer(root / "placement" / name, PLACEMENT) as writer:
        for block in blocks:
            writer.write_table(_placement_table(block), row_group_size=BLOCK)
            digests.append(block.digest())
    return digests


def read_placement_part(root: Place, name: str) -> Iterator[PlacementBlock]:
    """The blocks of a part of the placement, one in memory at a time."""
    with open_parquet(root / "placement" / name) as parquet:
        for group in range(parquet.num_row_groups):
            table = parquet.read_row_group(group)
            offsets, topics = lists_of(table["topics"])
            ends, brokers = lists_of(table["brokers"])
            if not np.array_equal(offsets, ends):
                raise InputError(
                    f"{root / 'placement' / name}: every list of topics needs a list "
                    "of brokers of the same length"
                )
            first = int(table["subscriber"][0].as_py())
            yield PlacementBlock(first, offsets, topics, brokers)


def _placement_blocks(plan: Plan) -> Iterator[PlacementBlock]:
    brokers = plan.placement.brokers_of(plan.selected)
    offsets = plan.selected.offsets
    for start in range(0, plan.selected.subscribers, BLOCK):
        ends = offsets[start : start + BLOCK + 1]
        pairs = slice(ends[0], ends[-1])
        yield PlacementBlock(
            start, ends - ends[0], plan.selected.topics[pairs], brokers[pairs]
        )


def _placement_table(block: PlacementBlock) -> pa.Table:
    last = block.first + len(block.offsets) - 1
    return pa.table(
        {
            "subscriber": np.arange(block.first, last, dtype=np.int64),
            "topics": list_array(block.offsets, block.topics),
            "brokers": list_array(block.offsets, block.brokers),
        },
        schema=PLACEMENT,
    )


def _read_placement(place: Place, header: PlanHeader) -> tuple[Interests, Int32s]:
    """The selected pairs, and the broker of each."""
    blocks = [
        block
        for name in header.files["placement"]
        for block in read_placement_part(place, name)
    ]
    lengths = [np.zeros(1, np.int64), *(np.diff(b.offsets) for b in blocks)]
    topics = [np.zeros(0, np.int32), *(b.topics for b in blocks)]
    brokers = [np.zeros(0, np.int32), *(b.brokers for b in blocks)]
    selection = Interests(np.cumsum(np.concatenate(lengths)), np.concatenate(topics))
    return selection, np.concatenate(brokers)


def _brokers_table(plan: Plan) -> pa.Table:
    count = len(plan.brokers)
    placement = plan.placement
    names = [t.name for t in plan.fleet]
    pairs = np.zeros(count, np.int64)
    np.add.at(pairs, placement.broker, placement.pairs)
    return pa.table(
        {
            "broker": np.arange(count, dtype=np.int32),
            "type": pa.array([names[t] for t in plan.brokers.type], pa.string()),
            "capacity": plan.brokers.capacity,
            "load": plan.brokers.load,
            "topics": np.bincount(placement.broker, minlength=count),
            "pairs": pairs,
        }
    )


def _assignment_table(placement: Placement) -> pa.Table:
    return pa.table(
        {
            "topic": placement.topic,
            "broker": placement.broker,
            "pairs": placement.pairs,
        }
    )
