"""What was answered to feeds, and what of them was kept aside, in SQL."""

from collections.abc import Sequence
from dataclasses import dataclass

from brokerwise.runtime.data_cluster.records import Reject
from brokerwise.runtime.process.state_file import Sql

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
