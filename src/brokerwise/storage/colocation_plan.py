"""A plan directory of kind colocate: its tables, its digest; read it, write it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.storage.header import DigestedHeader, parse_header
from brokerwise.storage.output import Output, new_output
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    FORMAT,
    HEADER,
    finite,
    refuse_other_kinds,
    stated_status,
)
from brokerwise.storage.tables import (
    check_numbered,
    json_digest,
    read_columns,
    table_digests,
    table_of,
    verify_tables,
    write_tables,
)

TOPICS = pa.schema(
    [
        ("topic", pa.int32()),
        ("name", pa.string()),
        ("processing_ms", pa.float64()),
        ("rate_per_second", pa.float64()),
        ("target_ms", pa.float64()),
    ]
)
ASSIGNMENT = pa.schema(
    [
        ("topic", pa.int32()),
        ("replica", pa.int32()),
        ("broker", pa.int32()),
        ("rate_per_second", pa.float64()),
        ("predicted_p90_ms", pa.float64()),
        ("target_ms", pa.float64()),
    ]
)
BROKERS = pa.schema(
    [("broker", pa.int32()), ("topics", pa.int32()), ("load", pa.float64())]
)
SCHEMAS = {"topics": TOPICS, "assignment": ASSIGNMENT, "brokers": BROKERS}
_MS_PER_SECOND = 1000
OBSERVED = pa.schema(
    [
        ("set", pa.int32()),
        ("topic", pa.int32()),
        ("rate_per_second", pa.float64()),
        ("met", pa.int8()),  # 0 or 1
    ]
)
KIND = "colocate"
TABLES = tuple(SCHEMAS)
_OBSERVED = "observed"


def colocation_tables(plan: ColocationPlan, topics: TopicTable) -> dict[str, pa.Table]:
    """All of a plan's tables; without a plan no topic has a broker."""
    replicas = plan.replicas
    if len(replicas) and int(replicas.topic.max()) >= len(topics):
        raise InputError(
            f"topic of replicas: found {int(replicas.topic.max()):,}, the plan is "
            f"for {len(topics):,} topics"
        )
    return {
        "topics": topics_table(topics),
        "assignment": table_of(
            [
                replicas.topic,
                replicas.number,
                replicas.broker,
                replicas.rate_per_second,
                replicas.predicted_p90_ms,
                topics.target_ms[replicas.topic],
            ],
            ASSIGNMENT,
        ),
        "brokers": _brokers(replicas, topics),
    }


def topics_table(topics: TopicTable) -> pa.Table:
    columns = [
        np.arange(len(topics)),
        topics.names.to_arrow().cast(pa.string()),
        topics.processing_ms,
        topics.rate_per_second,
        topics.target_ms,
    ]
    return table_of(columns, TOPICS)


def topics_of_table(table: pa.Table) -> TopicTable:
    figures = ("processing_ms", "rate_per_second", "target_ms")
    return TopicTable(
        Names.from_arrow(table["name"]), *(table[name].to_numpy() for name in figures)
    )


def replicas_of_table(table: pa.Table) -> Replicas:
    columns = ("topic", "replica", "broker", "rate_per_second", "predicted_p90_ms")
    return Replicas(*(table[name].to_numpy() for name in columns))


def _brokers(replicas: Replicas, topics: TopicTable) -> pa.Table:
    count = replicas.brokers
    spent = topics.processing_ms[replicas.topic] * replicas.rate_per_second
    load = np.bincount(replicas.broker, spent / _MS_PER_SECOND, minlength=count)
    number = np.bincount(replicas.broker, minlength=count)
    return table_of([np.arange(count), number, load], BROKERS)


@dataclass(frozen=True)
class ObservedSet:
    """Topics, ascending, that shared a broker at these rates; whether all of them met
    their targets."""

    topics: tuple[int, ...]
    rates: tuple[float, ...]
    met: bool


def observed_table(observed: Sequence[ObservedSet]) -> pa.Table:
    sizes = [len(one.topics) for one in observed]
    columns = [
        np.repeat(np.arange(len(observed)), sizes),
        [topic for one in observed for topic in one.topics],
        [rate for one in observed for rate in one.rates],
        np.repeat(np.array([one.met for one in observed], np.int8), sizes),
    ]
    return table_of(columns, OBSERVED)


def observed_of_table(table: pa.Table) -> tuple[ObservedSet, ...]:
    """The sets that a table holds, one after the other."""
    numbers = table["set"].to_numpy()
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    if not np.array_equal(numbers[starts], np.arange(len(starts))):
        raise InputError("observed: sets must be numbered from 0, in order")
    ends = np.append(starts[1:], len(numbers))
    columns = [table[name].to_pylist() for name in ("topic", "rate_per_second", "met")]
    return tuple(
        ObservedSet(
            tuple(columns[0][start:end]),
            tuple(columns[1][start:end]),
            bool(columns[2][start]),
        )
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    )


@dataclass(frozen=True)
class Origin:
    """Where something that a plan depends on is, and its digest."""

    path: str
    digest: str

    @classmethod
    def at(cls, place: Place, digest: str) -> "Origin":
        return cls(place.absolute().without_credentials().uri, digest)


@dataclass(frozen=True)
class Follows:
    """The plan that one was made from, and the latency data of its brokers."""

    plan: Origin
    data: Origin


@dataclass(frozen=True)
class ColocationHeader(DigestedHeader):
    """What `plan.json` says; `digest` is over everything that runs later.

    `source` is what the topics were read from, `model` what predicted; `follows` is
    there if the plan was made from one that had been observed.
    """

    kind: str
    status: str
    objective: int | None
    bound: int | None
    gap: float | None
    algorithm: str
    k: int
    margin: float
    seed: int
    source: Origin
    model: Origin
    figures: Mapping[str, Any]
    options: Mapping[str, Any]
    seconds: Mapping[str, float]
    digests: Mapping[str, str]
    tables: Mapping[str, str] = field(
        default_factory=lambda: {name: f"{name}.parquet" for name in TABLES}
    )
    follows: Follows | None = None
    reason: str = ""
    format: int = FORMAT
    digest: str = ""

    def content_digest(self) -> str:
        parts = [self.kind, self.k, self.margin]
        origins = [self.source.digest, self.model.digest]
        return json_digest([*parts, *origins, dict(self.digests)])

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class StoredColocation:
    """A plan as it is on disk, with its topics and what it knows was observed."""

    header: ColocationHeader
    plan: ColocationPlan
    topics: TopicTable
    observed: tuple[ObservedSet, ...] = ()


@dataclass(frozen=True)
class Background:
    """What a plan rests on besides its topics; the latter two of one that was made
    from a plan whose brokers had been observed."""

    source: Origin
    model: Origin
    follows: Follows | None = None
    observed: Sequence[ObservedSet] = ()


def write_colocation_plan(
    plan: ColocationPlan,
    topics: TopicTable,
    place: Place,
    *,
    source: Origin,
    model: Origin,
    follows: Follows | None = None,
    observed: Sequence[ObservedSet] = (),
    force: bool = False,
) -> ColocationHeader:
    """Write a plan from memory; it appears when it is complete."""
    background = Background(source, model, follows, observed)
    with new_output(place, HEADER, force=force) as output:
        header = stage_colocation_plan(output, plan, topics, background)
        output.commit(header.as_json())
    return header


def stage_colocation_plan(
    output: Output,
    plan: ColocationPlan,
    topics: TopicTable,
    background: Background,
) -> ColocationHeader:
    """Write all but the header of a plan from memory."""
    tables = colocation_tables(plan, topics)
    if background.observed:
        tables[_OBSERVED] = observed_table(background.observed)
    files = write_tables(output, tables)
    return ColocationHeader(
        kind=plan.kind,
        status=plan.status.value,
        objective=plan.objective,
        bound=plan.bound,
        gap=finite(plan.gap),
        algorithm=plan.algorithm,
        k=plan.k,
        margin=plan.margin,
        seed=plan.seed,
        source=background.source,
        model=background.model,
        figures={name: finite(value) for name, value in plan.figures.items()},
        options=plan.options,
        seconds=plan.seconds,
        digests=table_digests(tables),
        tables=files,
        follows=background.follows,
        reason=plan.reason,
    )


def read_colocation_header(place: Place) -> ColocationHeader:
    refuse_other_kinds(place, KIND)
    header = parse_header(
        place,
        HEADER,
        ColocationHeader,
        format=FORMAT,
        keys={"digests": TABLES, "tables": TABLES},
    )
    if (_OBSERVED in header.tables) != (_OBSERVED in header.digests):
        raise InputError(
            f"{place / HEADER}: digests and tables differ in what they have"
        )
    return header


def read_colocation_tables(
    place: Place, header: ColocationHeader
) -> dict[str, pa.Table]:
    """The tables that a header names; only their columns are checked."""
    schemas = SCHEMAS | ({_OBSERVED: OBSERVED} if _OBSERVED in header.tables else {})
    return {
        name: read_columns(place / header.tables[name], schema, exact=True)
        for name, schema in schemas.items()
    }


def read_colocation_plan(place: Place) -> StoredColocation:
    """The whole plan in memory, with its topics.

    Raises InputError, which names the file, for what cannot be used, and
    DigestMismatchError for a table that is not the one that was approved.
    """
    header = read_colocation_header(place)
    tables = read_colocation_tables(place, header)
    verify_tables(place, header.tables, tables, header.digests)
    header.verify(place / HEADER)
    for name in ("topics", "brokers"):
        check_numbered(place / header.tables[name], tables[name].column(0))
    plan = ColocationPlan(
        algorithm=header.algorithm,
        status=stated_status(place, header.status),
        objective=header.objective,
        bound=header.bound,
        replicas=replicas_of_table(tables["assignment"]),
        k=header.k,
        margin=header.margin,
        figures=header.figures,
        options=header.options,
        seed=header.seed,
        seconds=header.seconds,
        reason=header.reason,
    )
    topics = topics_of_table(tables["topics"])
    return StoredColocation(header, plan, topics, observed_in(tables))


def observed_in(tables: Mapping[str, pa.Table]) -> tuple[ObservedSet, ...]:
    """What the tables of a plan say was observed."""
    if _OBSERVED not in tables:
        return ()
    return observed_of_table(tables[_OBSERVED])
