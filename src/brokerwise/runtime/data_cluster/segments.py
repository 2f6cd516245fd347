"""Segments: records that were fed, one Parquet file each, which a row names.

Decided here: what the latest record of each key is (`KeyedState`), and how long what
was fed is kept (`Retention`).

Segments of append datasets are kept until every channel that reads them has covered
them, and an hour at least; of keyed ones, the latest of each key: their segments are
merged now and then; static ones for ever. Batch ids are kept for a day, and of the
rejected records the newest of each dataset.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

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
from brokerwise.runtime.data_cluster.store import DataStore, StoredFile
from brokerwise.runtime.process.state_file import Sql, StateError
from brokerwise.runtime.protocol.data import Dataset, DatasetKind
from brokerwise.runtime.protocol.limits import KEPT_SECONDS

ANY = (1 << 63) - 1  # later than any segment
MOST_SEGMENTS = 1_000  # of a keyed dataset, before they are merged
BATCH_SECONDS = 86_400.0  # a batch id is known for that long
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


class Segment(NamedTuple):
    """A row of `segments`. `number` orders all that was ever fed; `at`: seconds since
    1970."""

    number: int
    dataset: str
    file: str
    rows: int
    bytes: int
    at: float


def segments_of(sql: Sql, dataset: str) -> tuple[Segment, ...]:
    """Those of a dataset, in order."""
    rows = sql.execute(
        "SELECT * FROM segments WHERE dataset = ? ORDER BY number", (dataset,)
    )
    return tuple(Segment(*row) for row in rows)


def next_segments(
    sql: Sql, datasets: Sequence[str], after: int, most: int
) -> tuple[Segment, ...]:
    """The first segments of these datasets after a number, at most `most`, in order."""
    marks = ", ".join("?" * len(datasets))
    rows = sql.execute(
        "SELECT * FROM segments "
        f"WHERE dataset IN ({marks}) AND number > ? ORDER BY number LIMIT ?",
        (*datasets, after, most),
    )
    return tuple(Segment(*row) for row in rows)


def add_segment(sql: Sql, segment: Segment) -> None:
    sql.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", segment)


def write_segments(
    store: DataStore, tables: Iterable[tuple[str, pa.Table]]
) -> list[StoredFile]:
    """A file for each table, under the name of its dataset, on the disk when this
    returns; on an error there are none. For any thread."""
    return store.segments.write(
        [(name, partial(pq.write_table, table)) for name, table in tables]
    )


def read_segments(
    store: DataStore, dataset: Dataset, segments: Iterable[Segment]
) -> pa.Table:
    """Their records, in order. Raises StateError if a file cannot be read."""
    schema = arrow_schema(dataset)
    tables = [_read(store.segments.path(segment.file)) for segment in segments]
    return pa.concat_tables([schema.empty_table(), *tables])


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

    def __init__(self, store: DataStore) -> None:
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
        after news, else free. Raises NotFoundError."""
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


def stored_latest(store: DataStore, dataset: Dataset) -> pa.Table:
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
        self, store: DataStore, keyed: KeyedState, clock: Callable[[], float]
    ) -> None:
        self._store, self._keyed, self._clock = store, keyed, clock

    async def tidy(self) -> None:
        """Forget what is old, and merge the segments of keyed datasets. Cancelling it
        leaves nothing half done."""
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
        self._store.segments.remove([file for (file,) in files])
        if files:
            log.info("segments that every channel has covered expired: %d", len(files))

    async def merge(self, name: str, most: int = MOST_SEGMENTS) -> None:
        """If a keyed dataset has more than `most` segments: one with the latest of
        each key takes their place, under the number of the last."""
        sql = self._store.sql
        found, segments = stored_dataset(sql, name), segments_of(sql, name)
        if len(segments) <= most:
            return
        table = self._keyed.table(name)
        (file,) = await asyncio.to_thread(write_segments, self._store, [(name, table)])
        if not is_current(sql, found):  # dropped meanwhile
            self._store.segments.remove([file.name])
            return
        last = segments[-1]
        with self._store.change():
            sql.execute(
                "DELETE FROM segments WHERE dataset = ? AND number <= ?",
                (name, last.number),
            )
            merged = last._replace(
                file=file.name, rows=table.num_rows, bytes=file.bytes
            )
            add_segment(sql, merged)
        self._store.segments.remove([segment.file for segment in segments])
        log.info(
            "dataset %r: %d segments are merged into one of %d rows",
            name,
            len(segments),
            table.num_rows,
        )
