"""The tables of a network directory: columns to arrays and back."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.network import Network, Published, Wanted
from brokerwise.storage.network_digests import blocks
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import (
    LISTS,
    list_array,
    lists_of,
    parquet_writer,
)
from brokerwise.storage.tables import check_numbered, read_columns, table_of

RATES = pa.schema(
    [("user", pa.int32()), ("subchannel", pa.int32()), ("rate", pa.int64())]
)
INTERESTS = pa.schema([("user", pa.int32()), ("subchannels", LISTS)])
COSTS = pa.list_(pa.field("element", pa.int64(), nullable=False))
_FIRST_THREE = ("x", "y", "z")


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
