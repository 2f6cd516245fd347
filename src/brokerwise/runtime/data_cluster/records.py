"""Records: what the columns of a dataset are in JSON, Arrow and Spark. Pure.

Decided here: whether a line that was fed is a record of its dataset, and if not, why.
Each line is an object with all columns of the dataset and nothing else. Null stands for
no value, but not in the key of a keyed dataset. A long takes no 1.0 and a double takes
1; NaN is no JSON. If a field is there twice, the last value counts. Empty lines are
passed over.
"""

import io
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import msgspec
import pyarrow as pa

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.definitions import EXPECTED_VALUE, microseconds
from brokerwise.runtime.protocol.data import Column, ColumnType, Dataset
from brokerwise.runtime.protocol.limits import MAX_RECORD_BYTES


class _Types(NamedTuple):
    """What a type of column is in JSON, as msgspec checks it, in Arrow and in Spark."""

    json: Any
    arrow: pa.DataType
    spark: str


_LONG = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_TIMESTAMP = pa.timestamp("us", tz="UTC")
_TYPES = {
    ColumnType.STRING: _Types(str, pa.string(), "STRING"),
    ColumnType.LONG: _Types(_LONG, pa.int64(), "BIGINT"),
    ColumnType.DOUBLE: _Types(float, pa.float64(), "DOUBLE"),
    ColumnType.BOOLEAN: _Types(bool, pa.bool_(), "BOOLEAN"),
    ColumnType.TIMESTAMP: _Types(str | int | float, _TIMESTAMP, "TIMESTAMP"),
}


def arrow_type(type_: ColumnType) -> pa.DataType:
    return _TYPES[type_].arrow


def spark_type(type_: ColumnType) -> str:
    """As Spark's SQL spells it."""
    return _TYPES[type_].spark


def arrow_schema(dataset: Dataset) -> pa.Schema:
    """Every column may be null but the key of a keyed dataset."""
    return pa.schema(
        [
            pa.field(c.name, arrow_type(c.type), nullable=c.name != dataset.key)
            for c in dataset.columns
        ]
    )


def spark_schema(dataset: Dataset) -> str:
    """What `DataFrameReader.schema` takes. Names are quoted: some are words of SQL."""
    return ", ".join(f"`{c.name}` {spark_type(c.type)}" for c in dataset.columns)


TEXT_BYTES = 1_000  # of a record that is kept aside
KEPT_ASIDE = 1_000  # records of one feed; more are only counted
MAX_REJECTED = 100_000  # records of one feed; one with more is refused
_FOUND_LENGTH = 60  # characters of a value that a reason shows
_NAMES_SHOWN = 12  # columns that a reason names


@dataclass(frozen=True)
class Reject:
    """A line (from 1) that cannot be used: the beginning of its text, and why."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True)
class ParsedFeed:
    """`table` has the good records in order; `rejected` counts the others, of which
    `rejects` has the first KEPT_ASIDE."""

    table: pa.Table
    rejected: int
    rejects: tuple[Reject, ...]


def parse_records(dataset: Dataset, body: bytes) -> ParsedFeed:
    """About 0.1 s for 8 MB of good records of 300 bytes. Raises InputError if more than
    MAX_REJECTED cannot be used: that takes long, and is no feed of this dataset."""
    reader = _reader(dataset)
    records: list[Any] = []
    rejects: list[Reject] = []
    rejected = 0
    for number, line in enumerate(io.BytesIO(body), 1):
        if line.isspace():
            continue
        try:
            records.append(reader.read(line))
        except (ValueError, RecursionError, OverflowError):
            rejected += 1
            if rejected > MAX_REJECTED:
                raise _unusable(dataset, rejects) from None
            if rejected <= KEPT_ASIDE:
                text = line.rstrip(b"\r\n")[:TEXT_BYTES].decode(errors="replace")
                rejects.append(Reject(number, text, reader.reason(line)))
    return ParsedFeed(reader.table(records), rejected, tuple(rejects))


class _Reader:
    """Of one dataset's records: `read` says whether a line is good, `reason` why it
    is not."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        fields = [f"f{place}" for place in range(len(dataset.columns))]
        pairs = list(zip(fields, dataset.columns, strict=True))
        # Columns may have names that are words of Python: the fields have their own.
        record = msgspec.defstruct(
            "Record",
            [(field, self._type(column)) for field, column in pairs],
            rename={field: column.name for field, column in pairs},
            forbid_unknown_fields=True,
            gc=False,
        )
        self._decode = msgspec.json.Decoder(record).decode
        self._columns = [(attrgetter(f), arrow_type(c.type)) for f, c in pairs]
        self._timestamps = [f for f, c in pairs if c.type is ColumnType.TIMESTAMP]

    def read(self, line: bytes) -> Any:
        if len(line) > MAX_RECORD_BYTES and _length(line) > MAX_RECORD_BYTES:
            raise ValueError
        record = self._decode(line)
        for field in self._timestamps:
            value = getattr(record, field)
            if value is not None:
                setattr(record, field, microseconds(value))
        return record

    def table(self, records: list[Any]) -> pa.Table:
        return pa.Table.from_arrays(
            [pa.array(map(get, records), type_) for get, type_ in self._columns],
            schema=arrow_schema(self._dataset),
        )

    def reason(self, line: bytes) -> str:
        if _length(line) > MAX_RECORD_BYTES:
            return (
                f"found {_length(line):,} bytes, expected at most "
                f"{MAX_RECORD_BYTES:,} in one record"
            )
        try:
            line.decode()
            fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        except UnicodeDecodeError as cause:
            return f"byte {cause.start + 1} is not UTF-8"
        except RecursionError:
            return "found too many brackets within brackets"
        except msgspec.ValidationError:
            return f"found {_shown(line)}, expected an object"
        except msgspec.DecodeError as cause:
            return f"not JSON: {str(cause).removeprefix('JSON is malformed: ')}"
        return self._reason(fields)

    def _reason(self, fields: dict[str, msgspec.Raw]) -> str:
        names = [column.name for column in self._dataset.columns]
        for name in fields:
            if name not in names:
                return f"unknown field {name[:80]!r}, expected {_listed(names)}"
        for column in self._dataset.columns:
            if column.name not in fields:
                return f"column {column.name!r} is missing"
        for column in self._dataset.columns:
            if not self._fits(column, fields[column.name]):
                found = _shown(bytes(fields[column.name]))
                return (
                    f"column {column.name!r}: found {found}, expected "
                    f"{EXPECTED_VALUE[column.type]}"
                )
        return "a field is there twice, with values that do not both fit"

    def _fits(self, column: Column, value: msgspec.Raw) -> bool:
        try:
            found = msgspec.json.decode(value, type=self._type(column))
            if column.type is ColumnType.TIMESTAMP and found is not None:
                microseconds(found)
        except (ValueError, RecursionError, OverflowError):
            return False
        return True

    def _type(self, column: Column) -> Any:
        type_ = _TYPES[column.type].json
        return type_ if column.name == self._dataset.key else type_ | None


@lru_cache(maxsize=256)
def _reader(dataset: Dataset) -> _Reader:
    return _Reader(dataset)


def _unusable(dataset: Dataset, rejects: list[Reject]) -> InputError:
    return InputError(
        f"dataset {dataset.name!r}: more than {MAX_REJECTED:,} records of one feed "
        "cannot be used; nothing of it was taken",
        details=[f"line {reject.line:,}: {reject.reason}" for reject in rejects[:3]],
    )


def _length(line: bytes) -> int:
    return len(line.rstrip(b"\r\n"))


def _shown(text: bytes) -> str:
    shown = text.decode(errors="replace").strip()
    return shown if len(shown) <= _FOUND_LENGTH else shown[:_FOUND_LENGTH] + "..."


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    listed = ", ".join(names[:_NAMES_SHOWN])
    return f"{listed} and {more} more" if more > 0 else listed
