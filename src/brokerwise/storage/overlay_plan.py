"""A plan directory of kind overlay: read it, write it, its digest."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

import pyarrow as pa

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Status
from brokerwise.storage.digest import json_digest
from brokerwise.storage.header import parse_header
from brokerwise.storage.network import network_digest as digest_of
from brokerwise.storage.output import Output
from brokerwise.storage.overlay_tables import (
    BROKERS,
    TREES,
    USERS,
    overlay_tables,
    subchannels_schema,
)
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

KIND = "overlay"
TABLES = ("users", "brokers", "trees", "subchannels")


@dataclass(frozen=True)
class OverlayHeader:
    """What `plan.json` says; `digest` is over everything that runs later.

    `objective` and `bound` are whole thousandths of the network's cost unit.
    `attributes` are those whose bounds the table of sub-channels has.
    """

    kind: str
    status: str
    objective: int | None
    bound: int | None
    gap: float | None
    algorithm: str
    tree: bool
    seed: int
    network: Mapping[str, str]
    attributes: tuple[str, ...]
    figures: Mapping[str, Any]
    options: Mapping[str, Any]
    seconds: Mapping[str, float]
    digests: Mapping[str, str]
    tables: Mapping[str, str] = field(
        default_factory=lambda: {name: f"{name}.parquet" for name in TABLES}
    )
    reason: str = ""
    format: int = FORMAT
    digest: str = ""

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", self.content_digest())

    def content_digest(self) -> str:
        return json_digest(
            [self.kind, self.tree, self.network["digest"], dict(self.digests)]
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class OverlayTables:
    """The tables of a plan directory as they lie there, their columns checked."""

    users: pa.Table
    brokers: pa.Table
    trees: pa.Table
    subchannels: pa.Table

    def digests(self) -> dict[str, str]:
        return {name: small_table_digest(getattr(self, name)) for name in TABLES}


def write_overlay_plan(
    plan: OverlayPlan,
    network: Network,
    place: Place,
    *,
    network_place: Place,
    force: bool = False,
) -> OverlayHeader:
    """Write a plan from memory; it appears when it is complete.

    `network_place` is where the network is, or will be, on disk.
    """
    output = Output.begin(place, HEADER, force=force)
    try:
        digest = digest_of(network)
        header = stage_overlay_plan(output, plan, network, network_place, digest)
        output.commit(header.as_json())
    except BaseException:
        output.abort()
        raise
    return header


def stage_overlay_plan(
    output: Output,
    plan: OverlayPlan,
    network: Network,
    network_place: Place,
    network_digest: str,
) -> OverlayHeader:
    """Write all but the header of a plan from memory."""
    tables = overlay_tables(plan, network)
    files = {name: output.file(name) for name in tables}
    for name, table in tables.items():
        write_table(output.root / files[name], table)
    return OverlayHeader(
        kind=plan.kind,
        status=plan.status.value,
        objective=plan.objective,
        bound=plan.bound,
        gap=_finite(plan.gap),
        algorithm=plan.algorithm,
        tree=plan.tree,
        seed=plan.seed,
        network={
            "path": network_place.absolute().without_credentials().uri,
            "digest": network_digest,
        },
        attributes=tuple(axis.attribute for axis in network.subchannels.axes),
        figures={name: _finite(value) for name, value in plan.figures.items()},
        options=plan.options,
        seconds=plan.seconds,
        digests={name: small_table_digest(table) for name, table in tables.items()},
        tables=files,
        reason=plan.reason,
    )


def read_overlay_header(place: Place) -> OverlayHeader:
    refuse_other_kinds(place, KIND)
    return parse_header(
        place,
        HEADER,
        OverlayHeader,
        format=FORMAT,
        keys={"network": ("path", "digest"), "digests": TABLES, "tables": TABLES},
    )


def read_overlay_tables(place: Place, header: OverlayHeader) -> OverlayTables:
    """The tables that a header names; only their columns are checked."""
    schemas = {
        "users": USERS,
        "brokers": BROKERS,
        "trees": TREES,
        "subchannels": subchannels_schema(header.attributes),
    }
    return OverlayTables(
        **{
            name: read_columns(place / header.tables[name], schema, exact=True)
            for name, schema in schemas.items()
        }
    )


def read_overlay_plan(place: Place) -> OverlayPlan:
    """The whole plan in memory.

    Raises InputError, which names the file, for what cannot be used, and
    DigestMismatchError for a table that is not the one that was approved.
    """
    header = read_overlay_header(place)
    tables = read_overlay_tables(place, header)
    verify_overlay_digests(place, header, tables)
    for name in ("users", "brokers"):
        ids = getattr(tables, name).column(0)
        check_numbered(place / header.tables[name], ids)
    return OverlayPlan(
        algorithm=header.algorithm,
        status=_status(place, header),
        objective=header.objective,
        bound=header.bound,
        broker=tables.users["broker"].to_numpy(),
        load=tables.brokers["load"].to_numpy(),
        trees=trees_of_table(tables.trees),
        tree=header.tree,
        figures=header.figures,
        options=header.options,
        seed=header.seed,
        seconds=header.seconds,
        reason=header.reason,
    )


def verify_overlay_digests(
    place: Place, header: OverlayHeader, tables: OverlayTables
) -> None:
    """Refuse a plan that is not the one that was approved."""
    for name, digest in tables.digests().items():
        if digest != header.digests[name]:
            file = place / header.tables[name]
            raise DigestMismatchError(str(file), digest, header.digests[name])
    if header.content_digest() != header.digest:
        raise DigestMismatchError(
            f"{place / HEADER}", header.content_digest(), header.digest
        )


def trees_of_table(table: pa.Table) -> Trees:
    return Trees(*(table[name].to_numpy() for name in TREES.names))


def _finite(figure: Any) -> Any:
    """JSON has no infinity: a share of nothing is null."""
    return None if isinstance(figure, float) and not isfinite(figure) else figure


def _status(place: Place, header: OverlayHeader) -> Status:
    try:
        return Status(header.status)
    except ValueError as cause:
        raise InputError(
            f"{place / HEADER}: found status {header.status!r}, "
            f"expected {', '.join(Status)}"
        ) from cause
