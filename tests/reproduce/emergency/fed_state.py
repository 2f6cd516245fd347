"""A data cluster's state as a test wants it: files of segments, and rows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.reproduce.emergency.city import DATASETS
from brokerwise.runtime.data_cluster.records import arrow_schema
from brokerwise.runtime.data_cluster.store import DataStore

Record = Mapping[str, Any]


class FedState:
    """Writes what the data cluster would."""

    def __init__(self, directory: Path) -> None:
        self.store = DataStore(directory)
        self.store.sql.execute("PRAGMA synchronous = OFF")  # nothing crashes here

    def feed(self, number: int, dataset: str, records: Sequence[Record]) -> Path:
        schema = next(arrow_schema(d) for d in DATASETS if d.name == dataset)
        path = self.store.segments.path(f"{dataset}-{number}.parquet")
        pq.write_table(pa.Table.from_pylist(list(records), schema), path)
        with self.store.change() as sql:
            sql.execute("DELETE FROM segments WHERE number = ?", (number,))
            sql.execute(
                "INSERT INTO segments VALUES (?, ?, ?, ?, 0, 0)",
                (number, dataset, path.name, len(records)),
            )
        return path

    def channel(self, name: str, segment: int, skipped: int = 0) -> None:
        with self.store.change() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO channels VALUES (?, '', '', 1, 0, ?, 0, 0, ?)",
                (name, segment, skipped),
            )

    def run(
        self, channel: str, number: int, segments: tuple[int, int], version: int
    ) -> None:
        """One of these segments, first and last, with the state as of the last."""
        first, last = segments
        with self.store.change() as sql:
            sql.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, '', ?, ?)",
                (channel, number, first, last, last, version, number, number + 0.5),
            )

    def subscribe(
        self, number: int, channel: str, values: Sequence[str], version: int
    ) -> None:
        with self.store.change() as sql:
            sql.execute(
                "INSERT INTO subscriptions VALUES (?, ?, ?, ?, ?, 0)",
                (number, channel, f"topic-{number}", json.dumps(list(values)), version),
            )
