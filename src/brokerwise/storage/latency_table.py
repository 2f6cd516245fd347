"""Others' latency data: a CSV or Parquet file, one row a measured topic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from brokerwise.model.arrays import Bools, Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.storage.place import Place
from brokerwise.storage.tables import open_parquet, readable, small_table_digest


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are called that are used."""

    group: str
    p90: str
    features: tuple[str, ...]

    def __post_init__(self) -> None:
        used = [self.group, self.p90, *self.features]
        if not self.features or len(set(used)) < len(used):
            raise InputError(
                f"columns: found {', '.join(used)}; expected a group, a p90 and at "
                "least one feature, each another column"
            )


@dataclass(frozen=True, eq=False)
class LatencyTable:
    """Rows of a file.

    Attributes
    ----------
    group
        The configuration of each row, numbered from 0 in order of appearance.
    inputs
        The features, of shape (rows, features).
    topics
        The most rows that a configuration has.
    """

    place: Place
    columns: Columns
    group: Int64s
    p90_ms: Float64s
    inputs: Float64s
    digest: str

    @property
    def topics(self) -> int:
        return int(np.bincount(self.group).max())

    def __len__(self) -> int:
        return len(self.group)


def read_latency_table(place: Place, columns: Columns) -> LatencyTable:
    """The columns of a file, checked.

    Raises InputError, which names the file, the row and the column: p90 must be above
    0, features must be numbers.
    """
    table = _read(place)
    names = [columns.group, columns.p90, *columns.features]
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise InputError(
            f"{place} has no column {', '.join(map(repr, missing))}",
            details=[f"it has {', '.join(table.column_names)}"],
        )
    if not len(table):
        raise InputError(f"{place} has no rows")
    p90 = _numbers(place, columns.p90, table[columns.p90])
    _refuse(place, columns.p90, p90, ~(p90 > 0), "a number above 0")
    inputs = [_numbers(place, name, table[name]) for name in columns.features]
    groups = _groups(place, columns.group, table[columns.group])
    return LatencyTable(
        place, columns, groups, p90, np.stack(inputs, 1), _digest(groups, p90, inputs)
    )


def _read(place: Place) -> pa.Table:
    if not place.exists():
        raise InputError(f"{place} does not exist")
    if place.uri.partition("?")[0].endswith(".parquet"):

        def read() -> pa.Table:
            with open_parquet(place) as file:
                return file.read()

        return readable(place, read)
    return readable(place, lambda: _read_csv(place))


def _read_csv(place: Place) -> pa.Table:
    """All columns as text: what is no number is found later, and named."""
    filesystem, path = place.open()
    with filesystem.open_input_stream(path) as stream:
        names = pacsv.open_csv(stream).schema.names
    kinds = dict.fromkeys(names, pa.string())
    with filesystem.open_input_stream(path) as stream:
        options = pacsv.ConvertOptions(column_types=kinds)
        return pacsv.read_csv(stream, convert_options=options)


def _numbers(place: Place, name: str, column: pa.ChunkedArray) -> Float64s:
    column = column.combine_chunks()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        values = np.array([_number(text) for text in column.to_pylist()], np.float64)
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = pc.cast(column, pa.float64(), safe=False).to_numpy(
            zero_copy_only=False
        )
    else:
        raise InputError(f"{place}: column {name!r} is {column.type}, expected numbers")
    _refuse(place, name, column, ~np.isfinite(values), "a number")
    return values


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return float("nan")


def _refuse(place: Place, name: str, values: Any, wrong: Bools, expected: str) -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        found = str(values[at])
        others = int(wrong.sum()) - 1
        rows = "row" if others == 1 else "rows"
        more = f" (and {others:,} more {rows})" if others else ""
        raise InputError(
            f"{place}: {name} of row {at + 1:,}: found {found!r}, "
            f"expected {expected}{more}"
        )


def _groups(place: Place, name: str, column: pa.ChunkedArray) -> Int64s:
    if column.null_count:
        raise InputError(
            f"{place}: column {name!r} has missing values ({column.null_count:,})"
        )
    codes = column.combine_chunks().dictionary_encode().indices
    return np.array(codes.to_numpy(), np.int64)


def _digest(group: Int64s, p90: Float64s, inputs: Sequence[Float64s]) -> str:
    columns = [group, p90, *inputs]
    names = ["group", "p90", *(f"feature {at}" for at in range(len(inputs)))]
    return small_table_digest(pa.table([pa.array(each) for each in columns], names))
