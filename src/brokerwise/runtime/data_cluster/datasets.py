"""The datasets that there are, and what was answered to feeds, in SQL.

Decided here: whether a dataset may be made or dropped, and whether a batch was fed
before. Calls that change something are part of the caller's transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brokerwise.runtime.data_cluster.records import Reject
from brokerwise.runtime.data_cluster.store import (
    counter,
    decode_columns,
    encode_columns,
)
from brokerwise.runtime.net.errors import ConflictError, NotFoundError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import (
    Dataset,
    DatasetKind,
    FeedAnswer,
    Rejection,
)

REASONS = 10  # in one answer


@dataclass(frozen=True)
class StoredDataset:
    """A dataset, and since when (seconds since 1970): one that was dropped and made
    again under its name is another one."""

    dataset: Dataset
    created: float


def create_dataset(sql: Sql, dataset: Dataset, at: float) -> None:
    """Raises ConflictError if there is one of that name, in upper or lower case: to SQL
    they are the same."""
    taken = sql.execute(
        "SELECT name FROM datasets WHERE lower(name) = lower(?)", (dataset.name,)
    ).fetchone()
    if taken is not None:
        raise ConflictError(f"there is a dataset {taken[0]!r} already")
    columns = encode_columns(dataset.columns)
    sql.execute(
        "INSERT INTO datasets VALUES (?, ?, ?, ?, ?)",
        (dataset.name, dataset.kind, columns, dataset.key, at),
    )


def drop_dataset(sql: Sql, name: str) -> tuple[str, ...]:
    """Forget it with everything that was fed. Returns the files of its segments: the
    caller removes them after the commit (DataStore.segments). Raises
    ConflictError, which names them, if channels read it."""
    find_dataset(sql, name)
    rows = sql.execute(
        "SELECT channel FROM channel_datasets WHERE dataset = ? ORDER BY channel",
        (name,),
    )
    readers = [channel for (channel,) in rows]
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
    return stored_dataset(sql, name).dataset


def stored_dataset(sql: Sql, name: str) -> StoredDataset:
    """Raises NotFoundError if there is none."""
    row = sql.execute("SELECT * FROM datasets WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no dataset {name[:80]!r}")
    return _stored_dataset(row)


def is_current(sql: Sql, found: StoredDataset) -> bool:
    """True if it has been neither dropped nor made anew since."""
    try:
        return stored_dataset(sql, found.dataset.name) == found
    except NotFoundError:
        return False


def all_datasets(sql: Sql) -> dict[str, Dataset]:
    """By name, in the order of names."""
    rows = sql.execute("SELECT * FROM datasets ORDER BY name").fetchall()
    return {row[0]: _stored_dataset(row).dataset for row in rows}


def fed_counts(sql: Sql, name: str) -> tuple[int, int, float | None]:
    """Records fed and rejected since the dataset was made, and when it was fed last."""
    fed, rejected, fed_ms = (counter(sql, which) for which in _counters(name))
    return fed, rejected, fed_ms / 1000 if fed_ms else None


def count_fed(sql: Sql, name: str, rows: int, rejected: int, at: float) -> None:
    """Add to the numbers of records fed and rejected."""
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


def _stored_dataset(row: tuple[Any, ...]) -> StoredDataset:
    name, kind, columns, key, created = row
    dataset = Dataset(name, DatasetKind(kind), decode_columns(columns), key)
    return StoredDataset(dataset, created)


def answered_before(sql: Sql, dataset: str, batch: str) -> FeedAnswer | None:
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
    return FeedAnswer(rows, rejected, True, tuple(Rejection(*each) for each in reasons))


def note_answer(sql: Sql, dataset: str, batch: str, fed: FeedAnswer, at: float) -> None:
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
