"""How long what was fed is kept.

Append datasets: until every channel that reads them has covered it, and an hour at
least. Keyed ones: the latest of each key; their segments are merged now and then.
Static ones: for ever. Batch ids: a day. Records kept aside: the newest of each dataset.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable

from brokerwise.runtime.data_cluster.datasets import (
    all_datasets,
    is_current,
    registered,
)
from brokerwise.runtime.data_cluster.definitions import DatasetKind
from brokerwise.runtime.data_cluster.fed_batches import forget_answers, forget_aside
from brokerwise.runtime.data_cluster.keyed import KeyedState
from brokerwise.runtime.data_cluster.segments import (
    ANY,
    Segment,
    add_segment,
    new_file,
    remove_files,
    segments_of,
    write_files,
)
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.protocol.limits import KEPT_SECONDS

_log = logging.getLogger(__name__)
TIDY_SECONDS = 60.0
MOST_SEGMENTS = 1_000  # of a keyed dataset, before they are merged
BATCH_SECONDS = 86_400.0  # a batch id is known so long
MOST_ASIDE = 10_000  # records kept aside, of each dataset

_COVERED = """
DELETE FROM segments
WHERE dataset IN (SELECT name FROM datasets WHERE kind = 'append') AND at < ?
AND number <= coalesce((
    SELECT min(segment) FROM channels JOIN channel_datasets ON channel = name
    WHERE channel_datasets.dataset = segments.dataset), ?)
RETURNING file
"""


class KeptSegments:
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
                _log.warning("old segments could not be tidied up: %s", cause)

    async def tidy(self) -> None:
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
        remove_files(self._store, [file for (file,) in files])

    async def merge(self, name: str, most: int = MOST_SEGMENTS) -> None:
        """If a keyed dataset has more than `most` segments: one with the latest of
        each key takes their place, under the number of the last."""
        sql = self._store.sql
        found, segments = registered(sql, name), segments_of(sql, name)
        if len(segments) <= most:
            return
        table, file = self._keyed.table(name), new_file(name)
        sizes = await asyncio.to_thread(write_files, self._store, [(file, table)])
        if not is_current(sql, found):  # dropped meanwhile
            remove_files(self._store, [file])
            return
        last = segments[-1]
        with self._store.change():
            sql.execute(
                "DELETE FROM segments WHERE dataset = ? AND number <= ?",
                (name, last.number),
            )
            merged = Segment(last.number, name, file, table.num_rows, sizes[0], last.at)
            add_segment(sql, merged)
        remove_files(self._store, [segment.file for segment in segments])
