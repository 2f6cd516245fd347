"""The coordinator's state: one SQLite file that only it writes.

Every change is one transaction, so that the file always holds the state before or
after it, wherever the process is killed. What a killed machine (not process) had not
yet on its disk may be missing, but never half there.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator.membership import BrokerState
from brokerwise.runtime.coordinator.schema import SCHEMA, SCHEMA_VERSION
from brokerwise.runtime.seed import Seed

STATE_FILE = "coordinator.sqlite"
Sql = sqlite3.Connection


class StateError(BrokerwiseError):
    """The state file is missing, of another version, or somebody else's."""


def seed_store(path: Path, seed: Seed) -> None:
    """Make a new state file, instead of the one that there may be.

    It appears complete or not at all. Raises StateError while a coordinator uses it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    with _only_user(path):
        _remove(new)
        _write(new, seed)
        # A log that a killed coordinator left belongs to the file that goes now.
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        os.replace(new, path)


class Store:
    """An open state file. Leaving the context closes it."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise StateError(f"there is no coordinator state at {path}")
        self._lock = _take(path)
        try:
            self.sql = _open(path)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.sql.close()
        self._lock.close()

    @contextmanager
    def change(self) -> Iterator[Sql]:
        """One transaction: all of it is stored at the end, or none on an error."""
        with transaction(self.sql):
            yield self.sql


@contextmanager
def transaction(sql: Sql) -> Iterator[None]:
    sql.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        sql.execute("ROLLBACK")
        raise
    sql.execute("COMMIT")


def new_state(seed: Seed, path: str = ":memory:") -> Sql:
    """A connection to a new state, seeded."""
    sql = _connect(path)
    sql.executescript(SCHEMA)
    with transaction(sql):
        _fill(sql, seed)
        sql.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return sql


def setting(sql: Sql, name: str) -> str:
    (value,) = sql.execute(
        "SELECT value FROM settings WHERE name = ?", (name,)
    ).fetchone()
    return str(value)


def is_planned(sql: Sql) -> bool:
    """Whether a plan says which topics there are, and who is served where."""
    return setting(sql, "kind") != ""


def is_overlay(sql: Sql) -> bool:
    return setting(sql, "kind") == "overlay"


def count_up(sql: Sql, counter: str) -> int:
    """The counter's value, 1 more each time; it never repeats one that was stored."""
    (value,) = sql.execute(
        "UPDATE counters SET value = value + 1 WHERE name = ? RETURNING value",
        (counter,),
    ).fetchone()
    return int(value)


def _connect(path: str) -> Sql:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def _open(path: Path) -> Sql:
    sql = _connect(str(path))
    try:
        sql.execute("PRAGMA journal_mode = WAL")
        sql.execute("PRAGMA synchronous = NORMAL")
        (version,) = sql.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as cause:
        sql.close()
        raise StateError(f"cannot read the coordinator state {path}: {cause}") from None
    if version != SCHEMA_VERSION:
        sql.close()
        raise StateError(
            f"the coordinator state {path} has version {version}; "
            f"this program reads version {SCHEMA_VERSION}"
        )
    return sql


def _write(path: Path, seed: Seed) -> None:
    sql = new_state(seed, str(path))
    sql.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _fill(sql: Sql, seed: Seed) -> None:
    axes = next((part.axes for part in seed.overlay.values()), ())
    settings = {
        "kind": seed.kind,
        "plan": seed.plan,
        "digest": seed.digest,
        "placement": seed.placement,
        "period_seconds": str(seed.period_seconds),
        "axes": msgspec.json.encode(axes).decode(),
    }
    sql.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
    sql.executemany(
        "INSERT INTO counters VALUES (?, 0)", [("epoch",), ("turn",), ("losses",)]
    )
    sql.executemany(
        "INSERT INTO brokers (name, state, capacity, x, y, overlay)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (b.name, BrokerState.EXPECTED, b.capacity, b.x, b.y, _part(seed, b.name))
            for b in seed.brokers
        ],
    )
    sql.executemany(
        "INSERT INTO sessions VALUES (?, ?, ?, ?)",
        [
            (s.user, s.broker, s.broker, msgspec.json.encode(s.topics).decode())
            for s in seed.sessions
        ],
    )
    sql.executemany("INSERT INTO topics VALUES (?, ?)", seed.rates.items())
    sql.executemany("INSERT INTO steps VALUES (?, ?)", seed.steps.items())


def _part(seed: Seed, broker: str) -> str | None:
    part = seed.overlay.get(broker)
    return None if part is None else msgspec.json.encode(part).decode()


@contextmanager
def _only_user(path: Path) -> Iterator[None]:
    with _take(path):
        yield


def _take(path: Path) -> IO[bytes]:
    """A lock that ends with this process. SQLite has its own locks on its own files,
    which closing any other handle of them would break: this is a file beside it."""
    file = path.with_name(path.name + ".lock").open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StateError(f"another coordinator is using {path}") from None
    return file


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
