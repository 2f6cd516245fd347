"""A directory of latency data: p90 rows, what they were made with, and (if they were
measured) the raw logs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.header import parse_header
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.tables import (
    read_columns,
    small_table_digest,
    table_of,
    write_table,
)

HEADER = "latency.json"
FORMAT = 1
ROWS = pa.schema(
    [
        ("configuration", pa.int64()),
        ("processing_ms", pa.float64()),
        ("rate_per_second", pa.float64()),
        ("messages", pa.int64()),
        ("mean_ms", pa.float64()),
        ("p90_ms", pa.float64()),
        ("cpu_share", pa.float64()),
    ]
)
LOGS = pa.schema(
    [
        ("configuration", pa.int64()),
        ("topic", pa.int32()),  # its position in the configuration
        ("publisher", pa.int32()),
        ("seq", pa.int32()),
        ("sent_ns", pa.int64()),
        ("latency_ns", pa.int64()),
    ]
)


@dataclass(frozen=True)
class LatencyHeader:
    """What `latency.json` says.

    Attributes
    ----------
    source
        measured or simulated.
    settings
        What the rows were made with: cores of the broker, bytes of a message,
        messages of a publisher, seed, and whatever its source adds.
    machine
        What they were measured on; empty if simulated.
    """

    source: str
    configurations: Mapping[str, int]
    rows: int
    settings: Mapping[str, Any]
    machine: Mapping[str, Any]
    seconds: float
    digest: str
    tables: Mapping[str, str] = field(default_factory=lambda: {"rows": "rows.parquet"})
    format: int = FORMAT

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class LatencyData:
    """Rows, and what is known about where they come from."""

    header: LatencyHeader
    rows: LatencyRows


def stage_latency_data(
    output: Output,
    rows: LatencyRows,
    *,
    source: str,
    settings: Mapping[str, Any],
    machine: Mapping[str, Any] | None = None,
    seconds: float = 0.0,
) -> LatencyHeader:
    """Write all but the header; `configurations` are counted by number of topics."""
    file = output.file("rows")
    write_table(output.root / file, rows_table(rows))
    return latency_header(
        rows,
        file,
        source=source,
        settings=settings,
        machine=machine,
        seconds=seconds,
    )


def latency_header(
    rows: LatencyRows,
    file: str,
    *,
    source: str,
    settings: Mapping[str, Any],
    machine: Mapping[str, Any] | None = None,
    seconds: float = 0.0,
) -> LatencyHeader:
    """The header of rows that are in `file`."""
    counts = {str(k): len(configurations) for k, configurations in rows.sets()}
    return LatencyHeader(
        source=source,
        configurations=counts,
        rows=len(rows),
        settings=settings,
        machine=machine or {},
        seconds=seconds,
        digest=small_table_digest(rows_table(rows)),
        tables={"rows": file},
    )


def read_latency_data(place: Place) -> LatencyData:
    """Rows and header of a directory.

    Raises InputError, which names the file and the row, for what cannot be used, and
    DigestMismatchError for rows that are not those that were written.
    """
    header = parse_header(
        place, HEADER, LatencyHeader, format=FORMAT, keys={"tables": ("rows",)}
    )
    file = place / header.tables["rows"]
    table = read_columns(file, ROWS, exact=True)
    try:
        rows = rows_of_table(table)
    except InputError as cause:
        raise InputError(f"{file}: {cause.message}") from cause
    digest = small_table_digest(table)
    if digest != header.digest:
        raise DigestMismatchError(str(file), digest, header.digest)
    return LatencyData(header, rows)


def rows_table(rows: LatencyRows) -> pa.Table:
    return table_of([getattr(rows, name) for name in ROWS.names], ROWS)


def rows_of_table(table: pa.Table) -> LatencyRows:
    return LatencyRows(**{name: table[name].to_numpy() for name in ROWS.names})
