"""A plan directory of kind overlay: its tables, its digest; read it, write it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.subchannels import Subchannels
from brokerwise.storage.header import DigestedHeader, parse_header
from brokerwise.storage.network import network_digest as digest_of
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

USERS = pa.schema([("user", pa.int32()), ("broker", pa.int32())])
BROKERS = pa.schema(
    [
        ("broker", pa.int32()),
        ("name", pa.string()),
        ("capacity", pa.int64()),
        ("load", pa.int64()),
        ("users", pa.int64()),
    ]
)
TREES = pa.schema(
    [
        ("source", pa.int32()),
        ("subchannel", pa.int32()),
        ("from", pa.int32()),
        ("to", pa.int32()),
    ]
)
KIND = "overlay"
TABLES = ("users", "brokers", "trees", "subchannels")


def subchannels_schema(attributes: Sequence[str]) -> pa.Schema:
    ends = [f"{name}_{end}" for name in attributes for end in ("low", "high")]
    columns = [("subchannel", pa.int32()), *((end, pa.float64()) for end in ends)]
    return pa.schema(columns)


def overlay_tables(plan: OverlayPlan, network: Network) -> dict[str, pa.Table]:
    """All of a plan's tables; without a plan no user has a broker."""
    _check_fits(plan, network)
    return {
        "users": table_of([np.arange(len(plan.broker)), plan.broker], USERS),
        "brokers": _brokers(plan, network),
        "trees": table_of(
            [
                plan.trees.source,
                plan.trees.subchannel,
                plan.trees.parent,
                plan.trees.child,
            ],
            TREES,
        ),
        "subchannels": _subchannels(network.subchannels),
    }


def _check_fits(plan: OverlayPlan, network: Network) -> None:
    """Refuse a plan that was made for another network."""
    homes, users, brokers = plan.broker, network.users, network.brokers
    if plan.objective is not None and len(homes) != users:
        raise InputError(
            f"overlay plan: found {len(homes):,} users, expected {users:,}"
        )
    if len(homes) and not 0 <= homes.min() <= homes.max() < brokers:
        wrong = homes.min() if homes.min() < 0 else homes.max()
        raise InputError(
            f"overlay plan: found broker {wrong:,}, expected from 0 to {brokers - 1:,}"
        )
    if len(plan.load) not in (0, brokers):
        raise InputError(
            f"overlay plan: found loads of {len(plan.load):,} brokers, "
            f"expected {brokers:,}"
        )


def bounds_of(subchannels: Subchannels) -> list[Float64s]:
    """For each attribute the lower, then the upper bound of each sub-channel."""
    cells = np.unravel_index(np.arange(len(subchannels)), subchannels.shape)
    bounds = []
    for axis, interval in zip(subchannels.axes, cells, strict=True):
        edges = np.asarray(axis.edges)
        bounds += [edges[interval], edges[interval + 1]]
    return bounds


def _brokers(plan: OverlayPlan, network: Network) -> pa.Table:
    load = plan.load if len(plan.load) else np.zeros(network.brokers, np.int64)
    return table_of(
        [
            np.arange(network.brokers),
            network.broker_names.to_arrow(),
            network.capacity,
            load,
            np.bincount(plan.broker, minlength=network.brokers),
        ],
        BROKERS,
    )


def _subchannels(subchannels: Subchannels) -> pa.Table:
    attributes = [axis.attribute for axis in subchannels.axes]
    columns = [np.arange(len(subchannels)), *bounds_of(subchannels)]
    return table_of(columns, subchannels_schema(attributes))


@dataclass(frozen=True)
class OverlayHeader(DigestedHeader):
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
        return table_digests(vars(self))


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
    with new_output(place, HEADER, force=force) as output:
        digest = digest_of(network)
        header = stage_overlay_plan(output, plan, network, network_place, digest)
        output.commit(header.as_json())
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
    files = write_tables(output, tables)
    return OverlayHeader(
        kind=plan.kind,
        status=plan.status.value,
        objective=plan.objective,
        bound=plan.bound,
        gap=finite(plan.gap),
        algorithm=plan.algorithm,
        tree=plan.tree,
        seed=plan.seed,
        network={
            "path": network_place.absolute().without_credentials().uri,
            "digest": network_digest,
        },
        attributes=tuple(axis.attribute for axis in network.subchannels.axes),
        figures={name: finite(value) for name, value in plan.figures.items()},
        options=plan.options,
        seconds=plan.seconds,
        digests=table_digests(tables),
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
    verify_tables(place, header.tables, vars(tables), header.digests)
    header.verify(place / HEADER)
    for name in ("users", "brokers"):
        ids = getattr(tables, name).column(0)
        check_numbered(place / header.tables[name], ids)
    return OverlayPlan(
        algorithm=header.algorithm,
        status=stated_status(place, header.status),
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


def trees_of_table(table: pa.Table) -> Trees:
    return Trees(*(table[name].to_numpy() for name in TREES.names))
