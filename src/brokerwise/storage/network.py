"""A network directory: its tables, its digest; read it, write it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.interests import BLOCK
from brokerwise.model.names import Names
from brokerwise.model.network import (
    Network,
    Published,
    Wanted,
    distances,
    shortest_paths,
)
from brokerwise.model.subchannels import Axis, Subchannels
from brokerwise.storage.header import DigestedHeader, parse_header
from brokerwise.storage.output import Output, new_output
from brokerwise.storage.place import Place
from brokerwise.storage.tables import (
    LISTS,
    block_digest,
    check_numbered,
    json_digest,
    list_array,
    lists_of,
    parquet_writer,
    read_columns,
    table_digest,
    table_of,
    write_tables,
)

RATES = pa.schema(
    [("user", pa.int32()), ("subchannel", pa.int32()), ("rate", pa.int64())]
)
INTERESTS = pa.schema([("user", pa.int32()), ("subchannels", LISTS)])
COSTS = pa.list_(pa.field("element", pa.int64(), nullable=False))
_FIRST_THREE = ("x", "y", "z")
HEADER = "network.json"
FORMAT = 1
_DIGESTS = ("brokers", "users", "rates", "interests", "access", "core")
_TABLES = ("brokers", "users", "rates", "interests")
Costs = Literal["points", "table"]
"""Where costs come from: the distance of points, or a table of their own."""


def network_digests(network: Network) -> dict[str, str]:
    """Of each table; those of costs are there though points may stand for them."""
    users, brokers = network.users, network.brokers
    published, wanted = network.published, network.wanted

    def user(ids: slice) -> bytes:
        points = network.user_points
        names = _part(network.user_names, ids)
        return block_digest(names, None if points is None else points[ids])

    def broker(ids: slice) -> bytes:
        points = network.broker_points
        names, capacity = _part(network.broker_names, ids), network.capacity[ids]
        return block_digest(capacity, names, None if points is None else points[ids])

    def rates(ids: slice) -> bytes:
        lengths, at = _lists(published.offsets, ids)
        return block_digest(lengths, published.subchannels[at], published.rates[at])

    def interests(ids: slice) -> bytes:
        lengths, at = _lists(wanted.offsets, ids)
        return block_digest(lengths, wanted.subchannels[at])

    return {
        "brokers": _table(brokers, broker),
        "users": _table(users, user),
        "rates": _table(users, rates),
        "interests": _table(users, interests),
        "access": _table(users, lambda ids: block_digest(network.access[ids])),
        "core": _table(brokers, lambda ids: block_digest(network.core[ids])),
    }


def blocks(count: int) -> Iterator[slice]:
    """The ids from 0 to `count`, block by block."""
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))


def _table(count: int, digest: Callable[[slice], bytes]) -> str:
    return table_digest(digest(ids) for ids in blocks(count))


def _part(names: Names, ids: slice) -> Names:
    return Names(names.data, names.offsets[ids.start : ids.stop + 1])


def _lists(offsets: Int64s, ids: slice) -> tuple[Int64s, slice]:
    """How long the lists of these owners are, and where their entries are."""
    ends = offsets[ids.start : ids.stop + 1]
    return np.diff(ends), slice(ends[0], ends[-1])


def coordinate_names(network: Network) -> tuple[str, ...]:
    """What the columns of points are called: x, y, z, or x1, x2, ... if more."""
    points = network.broker_points
    dimensions = 0 if points is None else points.shape[1]
    if dimensions <= len(_FIRST_THREE):
        return _FIRST_THREE[:dimensions]
    return tuple(f"x{number}" for number in range(1, dimensions + 1))


def brokers_schema(coordinates: Sequence[str]) -> pa.Schema:
    columns = [("broker", pa.int32()), ("name", pa.string()), ("capacity", pa.int64())]
    return pa.schema([*columns, *((name, pa.float64()) for name in coordinates)])


def users_schema(coordinates: Sequence[str]) -> pa.Schema:
    columns = [("user", pa.int32()), ("name", pa.string())]
    return pa.schema([*columns, *((name, pa.float64()) for name in coordinates)])


def costs_schema(owner: str) -> pa.Schema:
    return pa.schema([(owner, pa.int32()), ("costs", COSTS)])


def written_tables(network: Network) -> dict[str, pa.Table]:
    """All tables but those of costs."""
    coordinates = coordinate_names(network)
    published, wanted = network.published, network.wanted
    brokers = [_ids(network.brokers), network.broker_names.to_arrow(), network.capacity]
    users = [_ids(network.users), network.user_names.to_arrow()]
    for columns, points in (
        (brokers, network.broker_points),
        (users, network.user_points),
    ):
        columns += [] if points is None else list(points.T)
    rates = [published.owners(), published.subchannels, published.rates]
    lists = [_ids(network.users), list_array(wanted.offsets, wanted.subchannels)]
    return {
        "brokers": table_of(brokers, brokers_schema(coordinates)),
        "users": table_of(users, users_schema(coordinates)),
        "rates": table_of(rates, RATES),
        "interests": table_of(lists, INTERESTS),
    }


def write_costs(place: Place, owner: str, costs: Int64s) -> None:
    """A row of costs for each owner, to all brokers; block by block."""
    schema = costs_schema(owner)
    with parquet_writer(place, schema) as writer:
        for ids in blocks(len(costs)):
            rows = costs[ids]
            ends = pa.array(np.arange(len(rows) + 1) * rows.shape[1], pa.int32())
            lists = pa.ListArray.from_arrays(ends, pa.array(rows.ravel()), type=COSTS)
            numbers = pa.array(np.arange(ids.start, ids.stop), pa.int32())
            writer.write_table(pa.table([numbers, lists], schema=schema))


def read_brokers(
    place: Place, coordinates: Sequence[str]
) -> tuple[Names, Int64s, Float64s]:
    """Names, capacities and points of all brokers."""
    table = read_columns(place, brokers_schema(coordinates), exact=True)
    check_numbered(place, table["broker"])
    names = Names.from_arrow(table["name"])
    return names, table["capacity"].to_numpy(), _points(table, coordinates)


def read_users(place: Place, coordinates: Sequence[str]) -> tuple[Names, Float64s]:
    """Names and points of all users."""
    table = read_columns(place, users_schema(coordinates), exact=True)
    check_numbered(place, table["user"])
    return Names.from_arrow(table["name"]), _points(table, coordinates)


def read_rates(place: Place, users: int) -> Published:
    table = read_columns(place, RATES, exact=True)
    user = table["user"].to_numpy()
    if len(user) and (user[0] < 0 or user[-1] >= users or (np.diff(user) < 0).any()):
        raise InputError(
            f"{place}: column 'user' must ascend, from 0 to below {users:,}"
        )
    offsets = np.searchsorted(user, np.arange(users + 1))
    subchannels, rates = table["subchannel"].to_numpy(), table["rate"].to_numpy()
    return Published(offsets, subchannels, rates)


def read_wanted(place: Place, users: int) -> Wanted:
    table = read_columns(place, INTERESTS, exact=True)
    check_numbered(place, table["user"], users)
    if users == 0:
        return Wanted(np.zeros(1, np.int64), np.zeros(0, np.int32))
    return Wanted(*lists_of(table["subchannels"]))


def read_costs(place: Place, owner: str, rows: int, brokers: int) -> Int64s:
    """A matrix of costs, in thousandths."""
    table = read_columns(place, costs_schema(owner), exact=True)
    check_numbered(place, table[owner], rows)
    parts = [np.zeros((0, brokers), np.int64)]
    for chunk in table["costs"].chunks:
        lengths = np.diff(chunk.offsets.to_numpy())
        if (lengths != brokers).any():
            wrong = int(lengths[np.argmax(lengths != brokers)])
            raise InputError(
                f"{place}: column 'costs' has a list of {wrong:,}, expected a cost to "
                f"each of {brokers:,} brokers"
            )
        parts.append(chunk.flatten().to_numpy().reshape(len(chunk), brokers))
    return np.concatenate(parts)


def _ids(count: int) -> pa.Array:
    return pa.array(np.arange(count), pa.int32())


def _points(table: pa.Table, coordinates: Sequence[str]) -> Float64s:
    columns = [table[name].to_numpy() for name in coordinates]
    return np.column_stack(columns) if columns else np.zeros((len(table), 0))


@dataclass(frozen=True)
class NetworkHeader(DigestedHeader):
    """What `network.json` says.

    `rates` and `interests` count their entries. `coordinates` are the columns of
    points in the tables of brokers and users; `figures` is what was measured when the
    network was made.
    """

    users: int
    brokers: int
    subchannels: int
    rates: int
    interests: int
    period_seconds: int
    axes: tuple[Axis, ...]
    coordinates: tuple[str, ...]
    access: Costs
    core: Costs
    digests: Mapping[str, str]
    tables: Mapping[str, str]
    figures: Mapping[str, Any] = field(default_factory=dict)
    made_from: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT
    digest: str = ""

    def content_digest(self) -> str:
        """The digest of everything that a plan depends on."""
        return _content_digest(self.period_seconds, self.axes, self.digests)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def network_digest(network: Network) -> str:
    """The digest that a network in memory has, or would have, on disk."""
    axes = network.subchannels.axes
    return _content_digest(network.period_seconds, axes, network_digests(network))


def _content_digest(
    period_seconds: int, axes: tuple[Axis, ...], digests: Mapping[str, str]
) -> str:
    cuts = [[axis.attribute, list(axis.edges)] for axis in axes]
    return json_digest([period_seconds, cuts, dict(digests)])


def write_network(
    network: Network,
    place: Place,
    *,
    force: bool = False,
    made_from: Mapping[str, Any] | None = None,
    figures: Mapping[str, Any] | None = None,
) -> NetworkHeader:
    """Write a network from memory; it appears when it is complete."""
    with new_output(place, HEADER, force=force) as output:
        header = stage_network(output, network, made_from=made_from, figures=figures)
        output.commit(header.as_json())
    return header


def stage_network(
    output: Output,
    network: Network,
    *,
    made_from: Mapping[str, Any] | None = None,
    figures: Mapping[str, Any] | None = None,
) -> NetworkHeader:
    """Write all but the header of a network.

    Costs that are the distances of its points, and no less, are not written.
    """
    tables = written_tables(network)
    files = write_tables(output, tables)
    access, core = _access_source(network), _core_source(network)
    for name, owner, source in (("access", "user", access), ("core", "broker", core)):
        if source == "table":
            files[name] = output.file(name)
            costs = getattr(network, name)
            write_costs(output.root / files[name], owner, costs)
    return NetworkHeader(
        users=network.users,
        brokers=network.brokers,
        subchannels=len(network.subchannels),
        rates=len(network.published.rates),
        interests=len(network.wanted.subchannels),
        period_seconds=network.period_seconds,
        axes=network.subchannels.axes,
        coordinates=coordinate_names(network),
        access=access,
        core=core,
        digests=network_digests(network),
        tables=files,
        figures=dict(figures or {}),
        made_from=dict(made_from or {}),
    )


def read_network_header(place: Place) -> NetworkHeader:
    header = parse_header(
        place,
        HEADER,
        NetworkHeader,
        format=FORMAT,
        keys={"digests": _DIGESTS, "tables": _TABLES},
        hint="Make one with: brokerwise summarize ... or brokerwise generate network",
    )
    for name in ("access", "core"):
        if getattr(header, name) == "points":
            if not header.coordinates:
                raise InputError(
                    f"{place / HEADER}: {name} is by points, but there are no "
                    "coordinates"
                )
        elif name not in header.tables:
            raise InputError(f"{place / HEADER}: tables has no {name!r}")
    return header


def read_network(place: Place) -> Network:
    """The whole network in memory.

    Raises InputError, which names the file, for what cannot be used, and
    DigestMismatchError for a table that is not the one that was written.
    """
    header = read_network_header(place)
    try:
        network = _read(place, header)
    except InputError as cause:
        if cause.message.startswith(str(place)):
            raise
        raise InputError(f"{place}: {cause.message}", hint=cause.hint) from cause
    _verify(place, header, network)
    return network


def _read(place: Place, header: NetworkHeader) -> Network:
    files = {name: place / file for name, file in header.tables.items()}
    coordinates = header.coordinates
    broker_names, capacity, broker_points = read_brokers(files["brokers"], coordinates)
    user_names, user_points = read_users(files["users"], coordinates)
    users, brokers = len(user_names), len(broker_names)
    if header.access == "table":
        access = read_costs(files["access"], "user", users, brokers)
    else:
        access = distances(user_points, broker_points)
    if header.core == "table":
        core = read_costs(files["core"], "broker", brokers, brokers)
    else:
        core = shortest_paths(distances(broker_points, broker_points))
    return Network(
        capacity,
        access,
        core,
        read_rates(files["rates"], users),
        read_wanted(files["interests"], users),
        Subchannels(header.axes),
        user_names,
        broker_names,
        header.period_seconds,
        user_points if coordinates else None,
        broker_points if coordinates else None,
    )


def _verify(place: Place, header: NetworkHeader, network: Network) -> None:
    """Refuse files that are not those the header was written for."""
    counts = {
        "users": network.users,
        "brokers": network.brokers,
        "subchannels": len(network.subchannels),
        "rates": len(network.published.rates),
        "interests": len(network.wanted.subchannels),
    }
    for what, found in counts.items():
        stated = getattr(header, what)
        if found != stated:
            raise InputError(
                f"{place}: its files hold {found:,} {what}, {HEADER} says {stated:,}"
            )
    for name, digest in network_digests(network).items():
        if digest != header.digests[name]:
            file = place / header.tables.get(name, name)
            raise DigestMismatchError(str(file), digest, header.digests[name])
    header.verify(place / HEADER)


def _access_source(network: Network) -> Costs:
    users, brokers = network.user_points, network.broker_points
    if users is None or brokers is None:
        return "table"
    same = np.array_equal(network.access, distances(users, brokers))
    return "points" if same else "table"


def _core_source(network: Network) -> Costs:
    points = network.broker_points
    if points is None:
        return "table"
    same = np.array_equal(network.core, shortest_paths(distances(points, points)))
    return "points" if same else "table"
