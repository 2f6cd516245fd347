"""Segments: records that were fed, one Parquet file each, which a row names.

Decided here: when a file may be written and removed, what the latest record of each key
is (`KeyedState`), and how long what was fed is kept (`Retention`).

A file is on the disk, under its name, before its row is committed, and is removed only
after its row is gone. So a row always has its file; a file without a row is what a
crash left, and `remove_leftover_segments` removes it at the start.

Segments of append datasets are kept until every channel that reads them has covered
them, and an hour at least; of keyed ones, the latest of each key: their segments are
merged now and then; static ones for ever. Batch ids are kept for a day, and of the
rejected records the newest of each dataset.
"""

import asyncio
import logging
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerwise.runtime.data_cluster.datasets import (
    StoredDataset,
    all_datasets,
    forget_answers,
    forget_aside,
    is_current,
    stored_dataset,
)
from brokerwise.runtime.data_cluster.records import arrow_schema
from brokerwise.runtime.data_cluster.store import SEGMENTS, Store
from brokerwise.runtime.process.state_file import Sql, StateError, sync
from brokerwise.runtime.protocol.data import Dataset, DatasetKind
from brokerwise.runtime.protocol.limits import KEPT_SECONDS

ANY = (1 << 63) - 1  # later than any segment
TIDY_SECONDS = 60.0
MOST_SEGMENTS = 1_000  # of a keyed dataset, before they are merged
BATCH_SECONDS = 86_400.0  # a batch id is known so long
MOST_ASIDE = 10_000  # rejected records that are kept, of each dataset
_NEWS_ROWS = 10_000  # that may wait to be merged, or as many as there are keys

log = logging.getLogger(__name__)
_COVERED = """
DELETE FROM segments
WHERE dataset IN (SELECT name FROM datasets WHERE kind = 'append') AND at < ?
AND number <= coalesce((
    SELECT min(segment) FROM channels JOIN channel_datasets ON channel = name
    WHERE channel_datasets.dataset = segments.dataset), ?)
RETURNING file
"""


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


def next_segments(
    sql: Sql, datasets: Sequence[str], after: int, most: int
) -> tuple[Segment, ...]:
    """The first of these datasets after a number, at most so many, in order."""
    marks = ", ".join("?" * len(datasets))
    rows = sql.execute(
        "SELECT number, dataset, file, rows, bytes, at FROM segments "
        f"WHERE dataset IN ({marks}) AND number > ? ORDER BY number LIMIT ?",
        (*datasets, after, most),
    )
    return tuple(Segment(*row) for row in rows)


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
        remove_segment_files(store, [file for file, _ in tables])
        raise
    return sizes


def read_segments(
    store: Store, dataset: Dataset, segments: Iterable[Segment]
) -> pa.Table:
    """Their records, in order. Raises StateError if a file cannot be read."""
    schema = arrow_schema(dataset)
    tables = [_read(store.segment_path(segment.file)) for segment in segments]
    return pa.concat_tables([schema.empty_table(), *tables])


def remove_segment_files(store: Store, files: Iterable[str]) -> None:
    """Files that no row names (any more); a missing one is passed over, and so is one
    that cannot be removed now: the next start tries again."""
    for file in files:
        path = store.segment_path(file)
        for name in (path, _draft(path)):
            try:
                name.unlink(missing_ok=True)
            except OSError as cause:
                log.warning("the segment file %r stays: %s", name.name, cause)


def remove_leftover_segments(store: Store) -> int:
    """Remove the files that a crash left; how many there were. At the start only: the
    files of a feed under way look the same."""
    named = {file for (file,) in store.sql.execute("SELECT file FROM segments")}
    found = {path.name for path in (store.directory / SEGMENTS).iterdir()}
    for name in found - named:
        store.segment_path(name).unlink()
    if found - named:
        log.info("segment files that a crash left are removed: %d", len(found - named))
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


@dataclass
class _Latest:
    stored: StoredDataset
    table: pa.Table
    news: list[pa.Table] = field(default_factory=list)


class KeyedState:
    """The state of each keyed dataset as of the last committed segment.

    Rebuilt from the segments when it is made. Used by the thread that owns the store;
    the tables never change, and may go to other threads. A dataset that was dropped
    and made again starts anew by itself.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._latest: dict[str, _Latest] = {}
        for dataset in all_datasets(store.sql).values():
            if dataset.kind is DatasetKind.KEYED:
                self._current(dataset.name).table = stored_latest(store, dataset)

    def add(self, name: str, table: pa.Table) -> None:
        """Records of a segment that has been committed. O(rows) over time."""
        latest = self._current(name)
        latest.news.append(table)
        waiting = sum(news.num_rows for news in latest.news)
        if waiting > max(_NEWS_ROWS, latest.table.num_rows):
            _merge(latest)

    def table(self, name: str) -> pa.Table:
        """One row for each key, in the order in which they were last fed. O(keys)
        after news, else free. Raises NotFoundError for a dataset that there is not."""
        latest = self._current(name)
        if latest.news:
            _merge(latest)
        return latest.table

    def _current(self, name: str) -> _Latest:
        found = stored_dataset(self._store.sql, name)
        latest = self._latest.get(name)
        if latest is None or latest.stored != found:
            latest = _Latest(found, arrow_schema(found.dataset).empty_table())
            self._latest[name] = latest
        return latest


def stored_latest(store: Store, dataset: Dataset) -> pa.Table:
    """The state of a keyed dataset by its segments alone."""
    segments = segments_of(store.sql, dataset.name)
    return latest_of(read_segments(store, dataset, segments), dataset.key)


def latest_of(records: pa.Table, key: str) -> pa.Table:
    """The last record of each key, in the order of the records. O(records)."""
    keys = records[key]
    if pa.types.is_floating(keys.type):
        keys = pc.add(keys, 0.0)  # -0.0 is the same key as 0.0
    places = pa.array(np.arange(records.num_rows))
    last = (
        pa.table({"key": keys, "place": places})
        .group_by("key", use_threads=False)
        .aggregate([("place", "max")])["place_max"]
    )
    return records.take(last.sort()).combine_chunks()


def _merge(latest: _Latest) -> None:
    records = pa.concat_tables([latest.table, *latest.news])
    latest.table = latest_of(records, latest.stored.dataset.key)
    latest.news.clear()


class Retention:
    """Removes what need not be kept any more. One thread, the store's, calls it."""

    def __init__(
        self, store: Store, keyed: KeyedState, clock: Callable[[], float]
    ) -> None:
        self._store, self._keyed, self._clock = store, keyed, clock

    async def run(self) -> None:
        """Tidy each minute until cancelled, which leaves nothing half done. A disk
        error is tried again the next minute, for nothing depends on it."""
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            try:
                await self.tidy()
            except (OSError, sqlite3.Error) as cause:
                log.warning("old segments could not be tidied up: %s", cause)

    async def tidy(self) -> None:
        """Once."""
        self.forget()
        for dataset in all_datasets(self._store.sql).values():
            if dataset.kind is DatasetKind.KEYED:
                await self.merge(dataset.name)

    def forget(self) -> None:
        """Segments of append datasets, batch ids and records kept aside."""
        now = self._clock()
        with self._store.change() as sql:
            files = sql.execute(_COVERED, (now - KEPT_SECONDS, ANY)).fetchall()
            forget_answers(sql, now - BATCH_SECONDS)
            for name in all_datasets(sql):
                forget_aside(sql, name, MOST_ASIDE)
        remove_segment_files(self._store, [file for (file,) in files])
        if files:
            log.info("segments that every channel has covered expired: %d", len(files))

    async def merge(self, name: str, most: int = MOST_SEGMENTS) -> None:
        """If a keyed dataset has more than `most` segments: one with the latest of
        each key takes their place, under the number of the last."""
        sql = self._store.sql
        found, segments = stored_dataset(sql, name), segments_of(sql, name)
        if len(segments) <= most:
            return
        table, file = self._keyed.table(name), new_file(name)
        sizes = await asyncio.to_thread(write_files, self._store, [(file, table)])
        if not is_current(sql, found):  # dropped meanwhile
            remove_segment_files(self._store, [file])
            return
        last = segments[-1]
        with self._store.change():
            sql.execute(
                "DELETE FROM segments WHERE dataset = ? AND number <= ?",
                (name, last.number),
            )
            merged = Segment(last.number, name, file, table.num_rows, sizes[0], last.at)
            add_segment(sql, merged)
        remove_segment_files(self._store, [segment.file for segment in segments])
        log.info(
            "dataset %r: %d segments are merged into one of %d rows",
            name,
            len(segments),
            table.num_rows,
        )
