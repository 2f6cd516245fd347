"""A state file: one SQLite database that only one process uses.

Every change is one transaction, so that the file always holds the state before or
after it, wherever the process is killed.
"""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from brokerwise.model.errors import BrokerwiseError

Sql = sqlite3.Connection


class StateError(BrokerwiseError):
    """The state file is missing, of another version, or used by another process."""


class StateVersionError(StateError):
    """Another version of the program wrote the state file."""

    def __init__(self, path: Path, found: int, expected: int) -> None:
        self.path, self.found, self.expected = path, found, expected
        super().__init__(
            f"the state {path} has version {found}; this program reads version "
            f"{expected}",
            hint="Use the version of brokerwise that wrote it. To begin without what "
            f"it holds: end the fleet, move {path} away, and start the fleet again.",
        )


@contextmanager
def transaction(sql: Sql) -> Iterator[None]:
    sql.execute("BEGIN IMMEDIATE")
    try:
        yield
        sql.execute("COMMIT")
    except BaseException:
        if sql.in_transaction:  # on a full disk SQLite has ended it already
            sql.execute("ROLLBACK")
        raise


def connect(path: str) -> Sql:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def open_state(path: Path, version: int, *, synchronous: str) -> Sql:
    """An existing state of this version. `synchronous` is SQLite's: with NORMAL a
    machine (not process) that is killed may lose the last changes, but never half of
    one; with FULL what was committed stays."""
    sql = connect(str(path))
    try:
        sql.execute("PRAGMA journal_mode = WAL")
        sql.execute(f"PRAGMA synchronous = {synchronous}")
        (found,) = sql.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as cause:
        sql.close()
        raise StateError(f"cannot read the state {path}: {cause}") from None
    if found != version:
        sql.close()
        raise StateVersionError(path, found, version)
    return sql


def lock_state(path: Path) -> IO[bytes]:
    """A lock that ends with this process. SQLite has its own locks on its own files,
    which closing any other handle of them would break: this is a file beside it."""
    file = path.with_name(path.name + ".lock").open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StateError(f"another process is using {path}") from None
    return file


class StateFile:
    """An open state file. Leaving the context closes it.

    `make` makes one where there is none, while the place is locked.
    """

    def __init__(
        self,
        path: Path,
        version: int,
        *,
        synchronous: str,
        make: Callable[[Path], None] | None = None,
    ) -> None:
        self._lock = lock_state(path)
        try:
            if make is not None and not path.exists():
                make(path)
            self.sql = open_state(path, version, synchronous=synchronous)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Self:
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


def count_up(sql: Sql, counter: str) -> int:
    """The counter's value, 1 more each time; it never repeats one that was stored."""
    (value,) = sql.execute(
        "UPDATE counters SET value = value + 1 WHERE name = ? RETURNING value",
        (counter,),
    ).fetchone()
    return int(value)


def sync(path: Path) -> None:
    """Flush a file or a directory to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
