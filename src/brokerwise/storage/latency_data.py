"""A directory of latency data: p90 rows, what they were made with, and (if they were
measured) the raw logs."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.header import parse_header
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.tables import (
    COMPRESSION,
    check_columns,
    open_parquet,
    read_columns,
    readable,
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
FOLDER = "logs"
LATE_MS = 5.0  # a message that is sent so much after its time is late
LATE_SHARE = 0.01  # of all, from which on a configuration was not what it should be
WARM_UP = 5  # the first fifth of each publisher's messages does not count
_FACTS = b"brokerwise.configuration"
_NAME = re.compile(r"configuration-(\d{5,})\.parquet")


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


@dataclass(frozen=True)
class LoggedTopic:
    """A topic of a configuration. Each publisher has `messages` to send, `rate_each`
    of them a second on average."""

    processing_ms: float
    publishers: int
    rate_each: float
    messages: int

    @property
    def rate_per_second(self) -> float:
        return self.publishers * self.rate_each

    @property
    def total(self) -> int:
        """Messages of all its publishers."""
        return self.publishers * self.messages

    @property
    def warm_up(self) -> int:
        """How many of each publisher's first messages do not count."""
        return self.messages // WARM_UP


@dataclass(frozen=True)
class LogFacts:
    """What a log says besides its messages.

    Attributes
    ----------
    seconds
        From the first message to the last delivery, or to the end of waiting.
    cpu_share
        How busy the broker and its workers kept their cores; `others_share` is what
        all other processes took of these cores, `generator_share` how busy the process
        was that sent and received.
    late, worst_late_ms
        Messages that were sent more than LATE_MS after their time, and the most.
    undelivered
        By topic, messages that had not come when waiting ended. Their latencies are
        the time that they had waited until then, so less than what it would have been.
    unsent
        Messages whose time had not come by then. They are not in the log.
    began_at
        Seconds since 1970.
    nice
        Of the broker: below 0 it went before other processes.
    """

    configuration: int
    topics: tuple[LoggedTopic, ...]
    seconds: float
    cpu_share: float
    others_share: float
    generator_share: float
    late: int
    worst_late_ms: float
    undelivered: tuple[int, ...]
    unsent: int
    began_at: float
    nice: int = 0

    @property
    def is_censored(self) -> bool:
        """Whether latencies are lower bounds: not everything came to its end."""
        return self.unsent > 0 or any(self.undelivered)

    @property
    def is_late(self) -> bool:
        """Whether messages did not come at the rate that they should have."""
        return self.late > LATE_SHARE * sum(topic.total for topic in self.topics)


def log_name(configuration: int) -> str:
    return f"configuration-{configuration:05d}.parquet"


def logged(folder: Path) -> dict[int, Path]:
    """The complete logs of a folder, by configuration, ascending."""
    found = {}
    for path in folder.glob("*.parquet") if folder.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match:
            found[int(match[1])] = path
    return dict(sorted(found.items()))


def write_log(path: Path, table: pa.Table, facts: LogFacts) -> None:
    """The file appears when it is complete."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    content = msgspec.json.encode(asdict(facts))
    try:
        pq.write_table(
            table.cast(LOGS).replace_schema_metadata({_FACTS: content}),
            draft,
            compression=COMPRESSION,
        )
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_facts(path: Path) -> LogFacts:
    """Raises InputError, which names the file, for one that is none of ours."""
    place = Place(str(path))

    def read() -> pa.Schema:
        with open_parquet(place) as parquet:
            return parquet.schema_arrow

    schema = readable(place, read)
    check_columns(place, schema, LOGS, exact=True)
    try:
        return msgspec.json.decode((schema.metadata or {})[_FACTS], type=LogFacts)
    except (KeyError, msgspec.DecodeError) as cause:
        raise InputError(f"{path} does not say which configuration it is of") from cause


def all_facts(folder: Path) -> Iterator[LogFacts]:
    """Of the complete logs of a folder, by configuration, ascending."""
    for path in logged(folder).values():
        yield read_facts(path)
