"""A plan directory of kind colocate: read it, write it, its digest."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

import pyarrow as pa

from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.plan import Status
from brokerwise.storage.colocation_observed import (
    OBSERVED,
    ObservedSet,
    observed_of_table,
    observed_table,
)
from brokerwise.storage.colocation_tables import (
    SCHEMAS,
    colocation_tables,
    replicas_of_table,
    topics_of_table,
)
from brokerwise.storage.digest import json_digest
from brokerwise.storage.header import parse_header
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.plan_kind import FORMAT as FORMAT
from brokerwise.storage.plan_kind import HEADER as HEADER
from brokerwise.storage.plan_kind import refuse_other_kinds
from brokerwise.storage.tables import (
    check_numbered,
    read_columns,
    small_table_digest,
    write_table,
)

KIND = "colocate"
TABLES = tuple(SCHEMAS)
_OBSERVED = "observed"


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
class ColocationHeader:
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

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", self.content_digest())

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
    output = Output.begin(place, HEADER, force=force)
    try:
        header = stage_colocation_plan(output, plan, topics, background)
        output.commit(header.as_json())
    except BaseException:
        output.abort()
        raise
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
    files = {name: output.file(name) for name in tables}
    for name, table in tables.items():
        write_table(output.root / files[name], table)
    return ColocationHeader(
        kind=plan.kind,
        status=plan.status.value,
        objective=plan.objective,
        bound=plan.bound,
        gap=_finite(plan.gap),
        algorithm=plan.algorithm,
        k=plan.k,
        margin=plan.margin,
        seed=plan.seed,
        source=background.source,
        model=background.model,
        figures={name: _finite(value) for name, value in plan.figures.items()},
        options=plan.options,
        seconds=plan.seconds,
        digests={name: small_table_digest(table) for name, table in tables.items()},
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
    verify_colocation_digests(place, header, tables)
    for name in ("topics", "brokers"):
        check_numbered(place / header.tables[name], tables[name].column(0))
    plan = ColocationPlan(
        algorithm=header.algorithm,
        status=_status(place, header),
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


def verify_colocation_digests(
    place: Place, header: ColocationHeader, tables: Mapping[str, pa.Table]
) -> None:
    """Refuse a plan that is not the one that was approved."""
    for name, table in tables.items():
        digest = small_table_digest(table)
        if digest != header.digests[name]:
            file = place / header.tables[name]
            raise DigestMismatchError(str(file), digest, header.digests[name])
    if header.content_digest() != header.digest:
        raise DigestMismatchError(
            f"{place / HEADER}", header.content_digest(), header.digest
        )


def _finite(figure: Any) -> Any:
    """JSON has no infinity: a share of nothing is null."""
    return None if isinstance(figure, float) and not isfinite(figure) else figure


def _status(place: Place, header: ColocationHeader) -> Status:
    try:
        return Status(header.status)
    except ValueError as cause:
        raise InputError(
            f"{place / HEADER}: found status {header.status!r}, "
            f"expected {', '.join(Status)}"
        ) from cause
