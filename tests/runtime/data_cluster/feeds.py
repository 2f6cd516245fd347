"""Two small datasets, a feeder that runs, and what the state holds, read without it."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq

from brokerwise.runtime.data_cluster.datasets import all_datasets, create_dataset
from brokerwise.runtime.data_cluster.feeds import Feeder
from brokerwise.runtime.data_cluster.segments import (
    KeyedState,
)
from brokerwise.runtime.data_cluster.store import SEGMENTS, DataStore
from brokerwise.runtime.protocol.data import Column, ColumnType, Dataset, DatasetKind

REPORTS = Dataset(
    "reports",
    DatasetKind.APPEND,
    (Column("id", ColumnType.LONG), Column("type", ColumnType.STRING)),
)
LOCATIONS = Dataset(
    "locations",
    DatasetKind.KEYED,
    (Column("user", ColumnType.STRING), Column("x", ColumnType.DOUBLE)),
    "user",
)
T = TypeVar("T")
Record = Mapping[str, object]


@dataclass
class Fixture:
    """An open state with both datasets, its feeder under way."""

    store: DataStore
    keyed: KeyedState
    feeder: Feeder
    running: asyncio.Task[None]
    now: float = 1_000.0


@asynccontextmanager
async def feeding(
    directory: Path, *, roll_seconds: float = 0.0, roll_bytes: int = 8 << 20
) -> AsyncIterator[Fixture]:
    with DataStore(directory) as store:
        store.remove_leftovers()
        make_datasets(store)
        keyed = KeyedState(store)
        feeder = Feeder(
            store,
            keyed,
            lambda: fixture.now,
            roll_seconds=roll_seconds,
            roll_bytes=roll_bytes,
        )
        running = asyncio.create_task(feeder.run())
        fixture = Fixture(store, keyed, feeder, running)
        try:
            yield fixture
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def make_datasets(store: DataStore) -> None:
    there = all_datasets(store.sql)
    with store.change() as sql:
        for dataset in (REPORTS, LOCATIONS):
            if dataset.name not in there:
                create_dataset(sql, dataset, 1.0)


def run(work: Coroutine[Any, Any, T]) -> T:
    async def in_time() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(in_time())


def lines(records: Iterable[Record]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def reports(*ids: int) -> bytes:
    return lines({"id": each, "type": "fire"} for each in ids)


def at(user: str, x: float) -> bytes:
    return lines([{"user": user, "x": x}])


def contents(store: DataStore, dataset: str) -> list[dict[str, Any]]:
    """The records of a dataset in the order of the feeds."""
    files = store.sql.execute(
        "SELECT file, rows, bytes FROM segments WHERE dataset = ? ORDER BY number",
        (dataset,),
    ).fetchall()
    records: list[dict[str, Any]] = []
    for file, rows, size in files:
        path = store.directory / SEGMENTS / file
        assert path.stat().st_size == size
        table = pq.ParquetFile(path).read()
        assert table.num_rows == rows
        records += table.to_pylist()
    return records


def latest(records: Iterable[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """The last record of each key, in the order of the records."""
    last: dict[object, dict[str, Any]] = {}
    for record in records:
        last.pop(record[key], None)
        last[record[key]] = record
    return list(last.values())


def files(store: DataStore) -> set[str]:
    return {path.name for path in (store.directory / SEGMENTS).iterdir()}


def numbers(store: DataStore) -> list[int]:
    """Of the segments, in order."""
    rows = store.sql.execute("SELECT number FROM segments ORDER BY number")
    return [number for (number,) in rows]


def named_files(store: DataStore) -> set[str]:
    return {file for (file,) in store.sql.execute("SELECT file FROM segments")}
