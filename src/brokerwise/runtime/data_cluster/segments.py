"""Segments: records that were fed, one Parquet file each, which a row names.

A file is on the disk, under its name, before its row is committed, and is removed only
after its row is gone. So a row always has its file; a file without a row is what a
crash left, and `remove_leftovers` removes it at the start.
"""

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.runtime.data_cluster.definitions import Dataset
from brokerwise.runtime.data_cluster.store import SEGMENTS, Store
from brokerwise.runtime.data_cluster.types import arrow_schema
from brokerwise.runtime.process.state_file import Sql, StateError, sync

ANY = (1 << 63) - 1  # later than any segment


@dataclass(frozen=True)
class Segment:
    """`number` orders all that was ever fed; `at`: seconds since 1970."""

    number: int
    dataset: str
    file: str
    rows: int
    bytes: int
    at: float


def segments_of(
    sql: Sql, dataset: str, after: int = 0, upto: int = ANY
) -> tuple[Segment, ...]:
    """Those of a dataset after one number, up to and with another, in order."""
    rows = sql.execute(
        "SELECT number, dataset, file, rows, bytes, at FROM segments "
        "WHERE dataset = ? AND number > ? AND number <= ? ORDER BY number",
        (dataset, after, upto),
    )
    return tuple(Segment(*row) for row in rows.fetchall())


def add_segment(sql: Sql, segment: Segment) -> None:
    sql.execute(
        "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)",
        (
            segment.number,
            segment.dataset,
            segment.file,
            segment.rows,
            segment.bytes,
            segment.at,
        ),
    )


def new_file(dataset: str) -> str:
    """A name that no file has had: what a failed commit left is never written over."""
    return f"{dataset}-{secrets.token_hex(8)}.parquet"


def write_files(store: Store, tables: Sequence[tuple[str, pa.Table]]) -> list[int]:
    """Each table to its file, on the disk when this returns; the sizes in bytes. On an
    error there are none of them. For any thread."""
    try:
        sizes = [_write(store.segment_path(file), table) for file, table in tables]
        if tables:
            sync(store.directory / SEGMENTS)
    except BaseException:
        remove_files(store, [file for file, _ in tables])
        raise
    return sizes


def read_segments(
    store: Store, dataset: Dataset, segments: Iterable[Segment]
) -> pa.Table:
    """Their records, in order. Raises StateError if a file cannot be read."""
    schema = arrow_schema(dataset)
    tables = [_read(store.segment_path(segment.file)) for segment in segments]
    return pa.concat_tables([schema.empty_table(), *tables])


def remove_files(store: Store, files: Iterable[str]) -> None:
    """Files that no row names (any more); a missing one is passed over, and so is one
    that cannot be removed now: the next start tries again."""
    for file in files:
        path = store.segment_path(file)
        for name in (path, _draft(path)):
            try:
                name.unlink(missing_ok=True)
            except OSError:
                continue


def remove_leftovers(store: Store) -> int:
    """Remove the files that a crash left; how many there were. At the start only: the
    files of a feed under way look the same."""
    named = {file for (file,) in store.sql.execute("SELECT file FROM segments")}
    found = {path.name for path in (store.directory / SEGMENTS).iterdir()}
    for name in found - named:
        store.segment_path(name).unlink()
    return len(found - named)


def _write(path: Path, table: pa.Table) -> int:
    draft = _draft(path)
    with draft.open("wb") as file:
        pq.write_table(table, file)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    os.replace(draft, path)
    return size


def _draft(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def _read(path: Path) -> pa.Table:
    try:
        with pq.ParquetFile(path) as file:  # read_table would load pandas
            return file.read()
    except (OSError, pa.ArrowException) as cause:
        raise StateError(f"cannot read the segment {path}: {cause}") from cause
