"""The data cluster's state: one SQLite file, and the files that it names."""

import os
from pathlib import Path

from brokerwise.runtime.data_cluster.schema import SCHEMA, SCHEMA_VERSION
from brokerwise.runtime.process.state_file import (
    Sql,
    StateFile,
    connect,
    sync,
    transaction,
)

STATE_FILE = "data.sqlite"
SEGMENTS = "segments"
RESULTS = "results"


class Store(StateFile):
    """The state of a data cluster, in a directory that is made if there is none. Only
    the thread that opened it uses `sql`."""

    def __init__(self, directory: Path) -> None:
        for name in (SEGMENTS, RESULTS):
            (directory / name).mkdir(parents=True, exist_ok=True)
        self.directory = directory
        path = directory / STATE_FILE
        super().__init__(path, SCHEMA_VERSION, synchronous="FULL", make=_make)

    def segment_path(self, file: str) -> Path:
        return self.directory / SEGMENTS / file

    def result_path(self, file: str) -> Path:
        return self.directory / RESULTS / file


def new_state(path: str = ":memory:") -> Sql:
    """What it wrote to a file need not be on the disk yet."""
    sql = connect(path)
    sql.execute("PRAGMA synchronous = OFF")
    sql.executescript(SCHEMA)
    with transaction(sql):
        sql.executemany(
            "INSERT INTO counters VALUES (?, 0)",
            [("segment",), ("subscription",), ("version",)],
        )
        sql.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return sql


def counter(sql: Sql, name: str) -> int:
    """The last value that was given out."""
    (value,) = sql.execute(
        "SELECT value FROM counters WHERE name = ?", (name,)
    ).fetchone()
    return int(value)


def _make(path: Path) -> None:
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    new_state(str(new)).close()
    sync(new)
    os.replace(new, path)
    sync(path.parent)
