"""The datasets that there are, in SQL. Callers hold the transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from brokerwise.runtime.data_cluster.definitions import (
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)
from brokerwise.runtime.data_cluster.records import Reject
from brokerwise.runtime.net.refusals import ConflictError, NotFoundError
from brokerwise.runtime.process.state_file import Sql

SHOWN = 20  # of the records kept aside, by `describe`


@dataclass(frozen=True)
class Registered:
    """A dataset, and since when (seconds since 1970): one that was dropped and made
    again under its name is another one."""

    dataset: Dataset
    created: float


@dataclass(frozen=True)
class KeptAside:
    """A record that could not be used: in which line (from 1) of which batch ('' if it
    had no id), how it begins, why."""

    batch: str
    line: int
    text: str
    reason: str
    at: float


@dataclass(frozen=True)
class Description:
    """`rows`, `segments` and `bytes` are what is kept now; `fed` and `rejected` count
    since the dataset was made; `last_fed` is when something was fed last;
    `last_rejected` has the newest first."""

    dataset: Dataset
    created: float
    rows: int
    segments: int
    bytes: int
    fed: int
    rejected: int
    last_fed: float | None
    last_rejected: tuple[KeptAside, ...]


def create_dataset(sql: Sql, dataset: Dataset, at: float) -> None:
    """Raises ConflictError if there is one of that name, in whatever case: SQL makes
    no difference."""
    taken = sql.execute(
        "SELECT name FROM datasets WHERE lower(name) = lower(?)", (dataset.name,)
    ).fetchone()
    if taken is not None:
        raise ConflictError(f"there is a dataset {taken[0]!r} already")
    columns = [(column.name, column.type.value) for column in dataset.columns]
    sql.execute(
        "INSERT INTO datasets VALUES (?, ?, ?, ?, ?)",
        (
            dataset.name,
            dataset.kind.value,
            msgspec.json.encode(columns).decode(),
            dataset.key,
            at,
        ),
    )


def drop_dataset(sql: Sql, name: str) -> tuple[str, ...]:
    """Forget it with everything that was fed. Returns the files of its segments:
    remove them after the commit (segments.remove_files). Raises ConflictError, which
    names them, if channels read it."""
    find_dataset(sql, name)
    readers = [channel for (channel,) in _readers(sql, name)]
    if readers:
        raise ConflictError(
            f"dataset {name!r} is read by {', '.join(map(repr, readers))}: drop "
            f"{'that channel' if len(readers) == 1 else 'those channels'} first"
        )
    files = sql.execute("SELECT file FROM segments WHERE dataset = ?", (name,))
    names = tuple(file for (file,) in files)
    for table in ("segments", "batches", "rejected"):
        sql.execute(f"DELETE FROM {table} WHERE dataset = ?", (name,))
    sql.execute("DELETE FROM datasets WHERE name = ?", (name,))
    sql.execute("DELETE FROM counters WHERE name IN (?, ?, ?)", _counters(name))
    return names


def find_dataset(sql: Sql, name: str) -> Dataset:
    """Raises NotFoundError if there is none."""
    return registered(sql, name).dataset


def registered(sql: Sql, name: str) -> Registered:
    """Raises NotFoundError if there is none."""
    row = sql.execute("SELECT * FROM datasets WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no dataset {name[:80]!r}")
    return _registered(row)


def is_current(sql: Sql, found: Registered) -> bool:
    """Whether it has been neither dropped nor made anew since."""
    try:
        return registered(sql, found.dataset.name) == found
    except NotFoundError:
        return False


def all_datasets(sql: Sql) -> dict[str, Dataset]:
    """By name, in the order of names."""
    rows = sql.execute("SELECT * FROM datasets ORDER BY name").fetchall()
    return {row[0]: _registered(row).dataset for row in rows}


def describe(sql: Sql, name: str) -> Description:
    """Raises NotFoundError if there is none."""
    found = registered(sql, name)
    rows, segments, size = sql.execute(
        "SELECT coalesce(sum(rows), 0), count(*), coalesce(sum(bytes), 0) "
        "FROM segments WHERE dataset = ?",
        (name,),
    ).fetchone()
    fed, rejected, fed_ms = (_count(sql, counter) for counter in _counters(name))
    aside = sql.execute(
        "SELECT batch, line, text, reason, at FROM rejected WHERE dataset = ? "
        "ORDER BY id DESC LIMIT ?",
        (name, SHOWN),
    ).fetchall()
    return Description(
        found.dataset,
        found.created,
        rows,
        segments,
        size,
        fed,
        rejected,
        fed_ms / 1000 if fed_ms else None,
        tuple(KeptAside(*row) for row in aside),
    )


def count_fed(sql: Sql, name: str, rows: int, rejected: int, at: float) -> None:
    """So many more records have been fed, and kept aside, now."""
    fed, aside, last = _counters(name)
    sql.executemany(
        "INSERT INTO counters VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        [(fed, rows), (aside, rejected)],
    )
    sql.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", (last, int(at * 1000)))


def _counters(name: str) -> tuple[str, str, str]:
    """Records fed, records kept aside, and the millisecond of the last feed. No name
    of another counter has a space."""
    return f"fed {name}", f"rejected {name}", f"last {name}"


def _count(sql: Sql, counter: str) -> int:
    row = sql.execute(
        "SELECT value FROM counters WHERE name = ?", (counter,)
    ).fetchone()
    return row[0] if row else 0


def _readers(sql: Sql, name: str) -> list[tuple[str]]:
    return sql.execute(
        "SELECT channel FROM channel_datasets WHERE dataset = ? ORDER BY channel",
        (name,),
    ).fetchall()


def _registered(row: tuple[Any, ...]) -> Registered:
    name, kind, columns, key, created = row
    pairs = msgspec.json.decode(columns, type=list[tuple[str, ColumnType]])
    return Registered(
        Dataset(
            name,
            DatasetKind(kind),
            tuple(Column(*pair) for pair in pairs),
            key,
        ),
        created,
    )


REASONS = 10  # in one answer


@dataclass(frozen=True)
class Reason:
    """Why a line (from 1) of a feed was rejected."""

    line: int
    reason: str


@dataclass(frozen=True)
class Fed:
    """The answer to a feed. `repeated`: the batch had been fed before, and nothing was
    fed now; the numbers are those of the first time. `reasons` are the first few."""

    rows: int
    rejected: int
    repeated: bool = False
    reasons: tuple[Reason, ...] = ()


def answered_before(sql: Sql, dataset: str, batch: str) -> Fed | None:
    row = sql.execute(
        "SELECT rows, rejected FROM batches WHERE dataset = ? AND batch = ?",
        (dataset, batch),
    ).fetchone()
    if row is None:
        return None
    rows, rejected = row
    reasons = sql.execute(
        "SELECT line, reason FROM rejected WHERE dataset = ? AND batch = ? "
        "ORDER BY line LIMIT ?",
        (dataset, batch, REASONS if rejected else 0),
    ).fetchall()
    return Fed(rows, rejected, True, tuple(Reason(*each) for each in reasons))


def note_answer(sql: Sql, dataset: str, batch: str, fed: Fed, at: float) -> None:
    sql.execute(
        "INSERT INTO batches VALUES (?, ?, ?, ?, ?)",
        (dataset, batch, fed.rows, fed.rejected, at),
    )


def keep_aside(
    sql: Sql, dataset: str, batch: str, rejects: Sequence[Reject], at: float
) -> None:
    sql.executemany(
        "INSERT INTO rejected (dataset, batch, line, text, reason, at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (dataset, batch, reject.line, reject.text, reject.reason, at)
            for reject in rejects
        ],
    )


def forget_answers(sql: Sql, before: float) -> None:
    """Of batches that were fed before this time: they would be fed again."""
    sql.execute("DELETE FROM batches WHERE at < ?", (before,))


def forget_aside(sql: Sql, dataset: str, kept: int) -> None:
    """All but the newest."""
    sql.execute(
        "DELETE FROM rejected WHERE dataset = ? AND id <= "
        "(SELECT id FROM rejected WHERE dataset = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
        (dataset, dataset, kept),
    )
