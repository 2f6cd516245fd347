"""Parquet files of one table: write them, digest them, and read those whose columns
are known beforehand, or refuse them by name.

A table's digest is SHA-256 over the digests of its canonical blocks of 65,536
ids, so blocks can be hashed where they are written and in any order.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.names import Names
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place

COMPRESSION = "zstd"
LISTS = pa.list_(pa.field("element", pa.int32(), nullable=False))
Result = TypeVar("Result")
NO_COLUMNS = pa.schema([])


def block_digest(*columns: npt.NDArray[Any] | Names | None) -> bytes:
    """The digest of one block: each column's length and little-endian values.

    Equal numbers of one type have equal digests: there is one zero and one NaN.
    """
    digest = hashlib.sha256()
    for column in columns:
        for values in _values(column):
            little = values.astype(values.dtype.newbyteorder("<"), copy=False)
            digest.update(len(values).to_bytes(8, "little"))
            digest.update(np.ascontiguousarray(little).data)
    return digest.digest()


def table_digest(blocks: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(blocks)).hexdigest()


def json_digest(content: Any) -> str:
    """The digest of a small JSON value, whatever the order of its keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _values(column: npt.NDArray[Any] | Names | None) -> list[npt.NDArray[Any]]:
    if column is None:
        return [np.zeros(0, np.uint8)]
    if isinstance(column, Names):
        start, end = column.offsets[0], column.offsets[-1]
        return [np.diff(column.offsets), column.data[start:end]]
    if column.dtype.kind == "f":
        column = column + 0.0  # -0.0 becomes 0.0
        column[np.isnan(column)] = np.nan
    return [column]


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


def write_tables(output: Output, tables: Mapping[str, pa.Table]) -> dict[str, str]:
    """Write the tables of an output; returns the name of each one's file."""
    files = {name: output.file(name) for name in tables}
    for name, table in tables.items():
        write_table(output.root / files[name], table)
    return files


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


def table_digests(tables: Mapping[str, pa.Table]) -> dict[str, str]:
    return {name: small_table_digest(table) for name, table in tables.items()}


def verify_tables(
    place: Place,
    files: Mapping[str, str],
    tables: Mapping[str, pa.Table],
    digests: Mapping[str, str],
) -> None:
    """Refuse tables of a directory whose digests are not these."""
    for name, found in table_digests(tables).items():
        if found != digests[name]:
            raise DigestMismatchError(str(place / files[name]), found, digests[name])


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


def lists_of(column: pa.ChunkedArray) -> tuple[Int64s, Int32s]:
    """Offsets from zero, and values, of a column of lists."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values.to_numpy()[offsets[0] : offsets[-1]]
    return offsets - offsets[0], values


def list_array(offsets: Int64s, values: Int32s) -> pa.Array:
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(values), type=LISTS
    )


def parquet_writer(place: Place, schema: pa.Schema) -> pq.ParquetWriter:
    filesystem, path = place.open()
    return pq.ParquetWriter(
        path,
        schema,
        filesystem=filesystem,
        compression=COMPRESSION,
        use_dictionary=False,
        write_statistics=["subscriber"],
    )


def open_parquet(place: Place) -> pq.ParquetFile:
    """A Parquet file that a header names; one that is not there is refused."""
    filesystem, path = place.open()
    try:
        return pq.ParquetFile(filesystem.open_input_file(path))
    except FileNotFoundError as cause:
        raise InputError(
            f"{place} is missing: the directory is not complete"
        ) from cause
    except pa.ArrowInvalid as cause:
        raise InputError(f"{place} cannot be read: {cause}") from cause
