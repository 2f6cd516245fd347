"""The latest record of each key, of every keyed dataset, in memory."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.runtime.data_cluster.datasets import (
    Registered,
    all_datasets,
    registered,
)
from brokerwise.runtime.data_cluster.definitions import Dataset, DatasetKind
from brokerwise.runtime.data_cluster.segments import read_segments, segments_of
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.data_cluster.types import arrow_schema

_NEWS_ROWS = 10_000  # that may wait to be merged, or as many as there are keys


@dataclass
class _Latest:
    registered: Registered
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
        found = registered(self._store.sql, name)
        latest = self._latest.get(name)
        if latest is None or latest.registered != found:
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
    latest.table = latest_of(records, latest.registered.dataset.key)
    latest.news.clear()
