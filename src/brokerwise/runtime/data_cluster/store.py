"""The data cluster's state: one SQLite file, and the files that it names.

The tables' version is the file's user_version. The bulk is in files beside it, each
named by a row (`Folder`): `segments/` (Parquet: records that were fed) and `results/`
(lines of JSON).
"""

import logging
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from brokerwise.runtime.process.state_file import (
    Sql,
    StateFile,
    connect,
    sync,
    transaction,
)
from brokerwise.runtime.protocol.data import Column, ColumnType

SCHEMA_VERSION = 1

SCHEMA = """
CREATE TABLE settings (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE counters (           -- segment, subscription, version
    name TEXT PRIMARY KEY, value INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE datasets (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,           -- append, keyed, static
    columns TEXT NOT NULL,        -- JSON: [[name, type], ...]
    key TEXT NOT NULL DEFAULT '', -- of a keyed one: the column
    created REAL NOT NULL         -- seconds since 1970, as all times here
) WITHOUT ROWID;
CREATE TABLE segments (           -- records that were fed, in the order of all feeds
    number INTEGER PRIMARY KEY,
    dataset TEXT NOT NULL,
    file TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX segments_of ON segments (dataset, number);
CREATE TABLE batches (            -- what was answered to a feed with a batch id
    dataset TEXT NOT NULL,
    batch TEXT NOT NULL,
    rows INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (dataset, batch)
) WITHOUT ROWID;
CREATE TABLE rejected (           -- records kept aside
    id INTEGER PRIMARY KEY,
    dataset TEXT NOT NULL,
    batch TEXT NOT NULL,
    line INTEGER NOT NULL,        -- in what was fed, from 1
    text TEXT NOT NULL,           -- the beginning of it
    reason TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX rejected_of ON rejected (dataset, id);
CREATE TABLE channels (
    name TEXT PRIMARY KEY,
    sql TEXT NOT NULL,
    parameters TEXT NOT NULL,     -- JSON: [[name, type], ...]
    period REAL NOT NULL,         -- seconds
    created REAL NOT NULL,
    segment INTEGER NOT NULL,     -- the last one that a run has covered
    version INTEGER NOT NULL,     -- of the subscriptions, in the last run
    run INTEGER NOT NULL,         -- the last one
    skipped INTEGER NOT NULL      -- beats
) WITHOUT ROWID;
CREATE TABLE channel_datasets (
    channel TEXT NOT NULL, dataset TEXT NOT NULL,
    PRIMARY KEY (channel, dataset)
) WITHOUT ROWID;
CREATE TABLE runs (               -- those that are kept
    channel TEXT NOT NULL,
    run INTEGER NOT NULL,
    first_segment INTEGER NOT NULL, -- new records: from this one
    last_segment INTEGER NOT NULL,  -- to this one
    state_segment INTEGER NOT NULL, -- keyed and static datasets as of this one
    version INTEGER NOT NULL,       -- of the subscriptions
    subscriptions INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    file TEXT NOT NULL,             -- '' without results
    started REAL NOT NULL,
    committed REAL NOT NULL,
    PRIMARY KEY (channel, run)
) WITHOUT ROWID;
CREATE TABLE results (            -- where the results of a subscription are
    subscription INTEGER NOT NULL,
    first INTEGER NOT NULL,       -- seq
    count INTEGER NOT NULL,
    channel TEXT NOT NULL,
    run INTEGER NOT NULL,
    start INTEGER NOT NULL,       -- byte in the run's file
    length INTEGER NOT NULL,
    PRIMARY KEY (subscription, first)
) WITHOUT ROWID;
CREATE INDEX results_of_run ON results (channel, run);
CREATE TABLE set_aside (          -- segments that a channel cannot process
    channel TEXT NOT NULL,
    segment INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (channel, segment)
) WITHOUT ROWID;
CREATE TABLE attempts (           -- runs under way
    channel TEXT PRIMARY KEY,
    first INTEGER NOT NULL,       -- the first of their segments
    taken INTEGER NOT NULL,       -- how many segments
    deaths INTEGER NOT NULL       -- that the process has died of it, in a row
) WITHOUT ROWID;
CREATE TABLE subscriptions (      -- backend: one for each channel and parameters
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    topic TEXT NOT NULL UNIQUE,
    parameters TEXT NOT NULL,     -- JSON: the values, in the order of the channel's
    version INTEGER NOT NULL,     -- since which it is there
    last INTEGER NOT NULL         -- seq of its last result, 0 without any
);
CREATE INDEX subscriptions_of ON subscriptions (channel);
CREATE TABLE frontends (          -- a user's subscription
    user TEXT NOT NULL,
    subscription INTEGER NOT NULL,
    seq INTEGER NOT NULL,         -- it has had everything up to this one
    broker TEXT NOT NULL,         -- that serves it; '' while it is offline
    seen REAL NOT NULL,           -- when it went offline
    PRIMARY KEY (user, subscription)
) WITHOUT ROWID;
CREATE INDEX frontends_of ON frontends (subscription);
CREATE INDEX frontends_at ON frontends (broker);
CREATE TABLE brokers (
    name TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    heard REAL NOT NULL
) WITHOUT ROWID;
"""


STATE_FILE = "data.sqlite"
SEGMENTS = "segments"
RESULTS = "results"

log = logging.getLogger(__name__)


Writer = Callable[[IO[bytes]], object]


class StoredFile(NamedTuple):
    """A file of a folder, and its size."""

    name: str
    bytes: int


class Folder:
    """Files that rows of one table name. Any thread may use it.

    A file is on the disk, under its name, before its row is committed, and is removed
    only after its row is gone. So a row always has its file; a file without a row is
    what a crash left, and `DataStore.remove_leftovers` removes it at the next start.
    """

    def __init__(self, root: Path, suffix: str) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root, self._suffix = root, suffix

    def path(self, file: str) -> Path:
        return self.root / file

    def write(self, contents: Sequence[tuple[str, Writer]]) -> list[StoredFile]:
        """A new file for each content, whose name begins with the given text. They are
        on the disk when this returns; on an error there are none of them."""
        files = [self._new_name(stem) for stem, _ in contents]
        try:
            sizes = [
                self._write(file, write)
                for file, (_, write) in zip(files, contents, strict=True)
            ]
            if files:
                sync(self.root)
        except BaseException:
            self.remove(files)
            raise
        return list(map(StoredFile, files, sizes))

    def remove(self, files: Iterable[str]) -> None:
        """Files that no row names (any more); a missing one is passed over, and so is
        one that cannot be removed now: the next start tries again."""
        for file in files:
            for path in (self.path(file), self._draft(file)):
                try:
                    path.unlink(missing_ok=True)
                except OSError as cause:
                    log.warning("the file %r stays: %s", str(path), cause)

    def _new_name(self, stem: str) -> str:
        """One that no file has had: what a failed commit left is not written over."""
        return f"{stem}-{secrets.token_hex(8)}{self._suffix}"

    def _write(self, file: str, write: Writer) -> int:
        draft = self._draft(file)
        with draft.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
            size = stream.tell()
        os.replace(draft, self.path(file))
        return size

    def _draft(self, file: str) -> Path:
        return self.path(f"{file}.new")


class DataStore(StateFile):
    """The state of a data cluster, in a directory that is made if there is none. Only
    the thread that opened it uses `sql`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.segments = Folder(directory / SEGMENTS, ".parquet")
        self.results = Folder(directory / RESULTS, ".ndjson")
        path = directory / STATE_FILE
        super().__init__(path, SCHEMA_VERSION, synchronous="FULL", make=_make)

    def remove_leftovers(self) -> int:
        """Remove the files that a crash left; how many there were. At the start only:
        a file that is being written looks the same."""
        count = 0
        for folder, table in ((self.segments, "segments"), (self.results, "runs")):
            named = {file for (file,) in self.sql.execute(f"SELECT file FROM {table}")}
            left = {path.name for path in folder.root.iterdir()} - named
            folder.remove(left)
            if left:
                log.info("%s: files that a crash left: %d, removed", table, len(left))
            count += len(left)
        return count


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
    """The last value that was given out; 0 before the first."""
    row = sql.execute("SELECT value FROM counters WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def encode_columns(columns: Iterable[Column]) -> str:
    """Columns of a dataset, or parameters of a channel, as a row has them."""
    pairs = [(column.name, column.type) for column in columns]
    return msgspec.json.encode(pairs).decode()


def decode_columns(text: str) -> tuple[Column, ...]:
    pairs = msgspec.json.decode(text, type=list[tuple[str, ColumnType]])
    return tuple(Column(*pair) for pair in pairs)


def _make(path: Path) -> None:
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    new_state(str(new)).close()
    sync(new)
    os.replace(new, path)
    sync(path.parent)
