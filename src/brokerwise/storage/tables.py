"""Parquet files of one table: write them, digest them, and read those whose columns
are known beforehand, or refuse them by name."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerwise.model.errors import InputError
from brokerwise.storage.digest import block_digest, json_digest
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import COMPRESSION, open_parquet

Result = TypeVar("Result")

NO_COLUMNS = pa.schema([])


def table_of(columns: Sequence[Any], schema: pa.Schema) -> pa.Table:
    """A table of arrays, numpy's or Arrow's, in the order of a schema."""
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def write_table(place: Place, table: pa.Table) -> None:
    filesystem, path = place.open()
    pq.write_table(table, path, filesystem=filesystem, compression=COMPRESSION)


def read_small_table(place: Place) -> pa.Table:
    with open_parquet(place) as file:
        return file.read()


def small_table_digest(table: pa.Table) -> str:
    """The digest of a table that fits in memory, column by column."""
    columns = []
    for column in table.columns:
        values = column.combine_chunks()
        if pa.types.is_string(values.type):
            columns.append(json_digest(values.to_pylist()))
        else:
            columns.append(block_digest(values.to_numpy()).hex())
    return json_digest([table.column_names, columns])


def read_columns(place: Place, expected: pa.Schema, *, exact: bool) -> pa.Table:
    """The expected columns of a file, without missing values.

    With `exact`, a column that is not expected is refused like one of another type.
    """

    def read() -> pa.Table:
        with open_parquet(place) as parquet:
            check_columns(place, parquet.schema_arrow, expected, exact=exact)
            return parquet.read(columns=expected.names)

    table = readable(place, read)
    for name in expected.names:
        refuse_missing_values(place, name, table[name])
    return table.select(expected.names)


def readable(place: Place, read: Callable[[], Result]) -> Result:
    """What `read` returns; a file that is damaged is refused by name."""
    try:
        return read()
    except (pa.ArrowException, OSError) as cause:
        reason = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
        raise InputError(f"{place} cannot be read: {reason}") from cause


def check_columns(
    place: Place,
    found: pa.Schema,
    expected: pa.Schema,
    *,
    optional: pa.Schema = NO_COLUMNS,
    exact: bool = False,
) -> None:
    """Refuse a file that lacks an expected column or holds another type in one."""
    for column in [*expected, *optional]:
        if column.name in found.names:
            kind = found.field(column.name).type
            if not _same(kind, column.type):
                raise InputError(
                    f"{place}: column {column.name!r} is {kind}, expected {column.type}"
                )
        elif column.name in expected.names:
            raise InputError(f"{place} has no column {column.name!r}")
    for name in found.names:
        if exact and name not in expected.names:
            raise InputError(f"{place}: found a column {name!r} too many")


def refuse_missing_values(place: Place, name: str, column: pa.ChunkedArray) -> None:
    missing = column.null_count
    if pa.types.is_list(column.type):
        missing += pc.list_flatten(column).null_count
    if missing:
        raise InputError(f"{place}: column {name!r} has missing values ({missing:,})")


def check_numbered(
    place: Place, column: pa.ChunkedArray, count: int | None = None
) -> None:
    """Refuse ids that are not the numbers from 0, `count` of them if that is known."""
    count = len(column) if count is None else count
    if not np.array_equal(column.to_numpy(), np.arange(count)):
        raise InputError(
            f"{place}: expected a row for each number from 0 to {count - 1:,}, in order"
        )


def _same(found: pa.DataType, expected: pa.DataType) -> bool:
    """Equal, however the elements of a list are called and strings are measured."""
    if pa.types.is_list(found) and pa.types.is_list(expected):
        return bool(found.value_type == expected.value_type)
    if pa.types.is_large_string(found):
        return bool(pa.types.is_string(expected))
    return bool(found == expected)
