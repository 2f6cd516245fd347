"""The moves, as they are stored. All calls belong into a transaction."""

from dataclasses import dataclass, replace

from brokerwise.runtime.coordinator.moving import (
    STEPS,
    MoveState,
    answered,
)
from brokerwise.runtime.process.state_file import Sql

KEPT_MOVES = 10_000  # of those that are over
_COLUMNS = "id, user, source, target, home, state, reason, session, decision"
_UNFINISHED = "state IN ('requested', 'accepted')"


@dataclass(frozen=True)
class Move:
    """A user on its way from one broker to another: with the session of one `home`,
    or (None) with all that it has there.

    `session` says which of the user's sessions it is, wherever that is: by its first
    topic, empty without a plan. `decision` is that of the balancer, if it is one of
    its moves: the session is at home then where it goes.
    """

    id: int
    user: str
    source: str
    target: str
    home: str | None
    state: MoveState
    reason: str
    session: str = ""
    decision: int | None = None

    @property
    def step(self) -> str:
        return STEPS[self.state]


def request_move(
    sql: Sql, user: str, source: str, target: str, home: str | None = None
) -> Move:
    """Write down a move that shall be made."""
    move = insert_move(sql, user, source, target, home)
    forget_moves(sql)
    return move


def insert_move(
    sql: Sql,
    user: str,
    source: str,
    target: str,
    home: str | None = None,
    decision: int | None = None,
) -> Move:
    """As `request_move`, for one of many: forget old ones after the last."""
    row = sql.execute(
        "INSERT INTO moves (user, source, target, home, state, session, decision)"
        " VALUES (?1, ?2, ?3, ?4, ?5, coalesce((SELECT topics ->> 0 FROM sessions"
        " WHERE user = ?1 AND broker = ?2 AND (?4 IS NULL OR home = ?4)"
        f" ORDER BY home LIMIT 1), ''), ?6) RETURNING {_COLUMNS}",
        (user, source, target, home, MoveState.REQUESTED, decision),
    ).fetchone()
    return _move(*row)


def forget_moves(sql: Sql) -> None:
    """Of those that are over, and of no decision that is not, keep the newest."""
    sql.execute(
        f"DELETE FROM moves WHERE id < ? AND NOT {_UNFINISHED} AND (decision IS NULL"
        " OR decision NOT IN (SELECT number FROM decisions WHERE state = 'running'))",
        (last_move(sql) - KEPT_MOVES,),
    )


def find_move(sql: Sql, number: int) -> Move | None:
    row = sql.execute(
        f"SELECT {_COLUMNS} FROM moves WHERE id = ?", (number,)
    ).fetchone()
    return None if row is None else _move(*row)


def newest_moves(sql: Sql, state: MoveState | None, limit: int) -> list[Move]:
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM moves WHERE ?1 IS NULL OR state = ?1"
        " ORDER BY id DESC LIMIT ?2",
        (state, limit),
    )
    return [_move(*row) for row in rows]


def unfinished_moves(
    sql: Sql, limit: int | None = None, *, but_waiting: bool = False
) -> list[Move]:
    """The first of them, in the order that they were asked for; `but_waiting`:
    without those of decisions that nobody has agreed to yet."""
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM moves WHERE {_UNFINISHED}"
        " AND NOT (?1 AND decision IS NOT NULL AND state = 'requested')"
        " ORDER BY id LIMIT ?2",
        (but_waiting, -1 if limit is None else limit),
    )
    return [_move(*row) for row in rows]


def count_unfinished(sql: Sql, *, decided: bool = False) -> int:
    """How many are not over: of all, or of those that belong to decisions."""
    (count,) = sql.execute(
        f"SELECT count(*) FROM moves WHERE {_UNFINISHED}"
        " AND (NOT ? OR decision IS NOT NULL)",
        (decided,),
    ).fetchone()
    return int(count)


def is_carried_out(sql: Sql, decision: int) -> bool:
    """Whether all its moves are over."""
    found = sql.execute(
        f"SELECT 1 FROM moves WHERE decision = ? AND {_UNFINISHED}", (decision,)
    )
    return found.fetchone() is None


def moves_of(sql: Sql, decision: int) -> list[Move]:
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM moves WHERE decision = ? ORDER BY id", (decision,)
    )
    return [_move(*row) for row in rows]


def notice_ended(sql: Sql, now: float) -> list[Move]:
    """Those that are over and were not seen to be; from now on they were."""
    rows = sql.execute(
        "UPDATE moves SET ended = ? WHERE ended IS NULL"
        f" AND NOT {_UNFINISHED} RETURNING {_COLUMNS}",
        (now,),
    ).fetchall()
    return sorted((_move(*row) for row in rows), key=lambda move: move.id)


def ended_since(sql: Sql, since: float) -> list[tuple[float, Move]]:
    """Those that ended not before a time, with when that was seen."""
    rows = sql.execute(
        f"SELECT ended, {_COLUMNS} FROM moves WHERE ended >= ? ORDER BY id", (since,)
    )
    return [(row[0], _move(*row[1:])) for row in rows]


def count_moves(sql: Sql) -> dict[str, int]:
    """How many are in each state, of those that are kept."""
    counts = {state.value: 0 for state in MoveState}
    rows = sql.execute("SELECT state, count(*) FROM moves GROUP BY state")
    return counts | {state: count for state, count in rows}


def is_moving(sql: Sql, source: str, user: str | None = None) -> bool:
    """Whether a session (of this user) is on its way from a broker."""
    found = sql.execute(
        f"SELECT 1 FROM moves WHERE source = ?1 AND {_UNFINISHED}"
        " AND (?2 IS NULL OR user = ?2)",
        (source, user),
    )
    return found.fetchone() is not None


def moves_under_way(sql: Sql, user: str, source: str) -> list[Move]:
    """Those of a user's sessions on a broker that are not over."""
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM moves WHERE user = ? AND source = ?"
        f" AND {_UNFINISHED} ORDER BY id",
        (user, source),
    )
    return [_move(*row) for row in rows]


def last_done(sql: Sql, user: str, session: str, *, decided: bool) -> Move | None:
    """The last move that one of a user's sessions has made: of all, or of those that
    belong to decisions."""
    row = sql.execute(
        f"SELECT {_COLUMNS} FROM moves WHERE user = ? AND session = ?"
        " AND state = 'done' AND (NOT ? OR decision IS NOT NULL)"
        " ORDER BY id DESC LIMIT 1",
        (user, session, decided),
    ).fetchone()
    return None if row is None else _move(*row)


def is_awaited(sql: Sql, target: str) -> bool:
    """Whether a session is on its way to a broker."""
    found = sql.execute(
        f"SELECT 1 FROM moves WHERE target = ? AND {_UNFINISHED}", (target,)
    )
    return found.fetchone() is not None


def attempts(
    sql: Sql, user: str, source: str, after: int, target: str | None = None
) -> int:
    """How many moves of this session there were after move number `after`."""
    (count,) = sql.execute(
        "SELECT count(*) FROM moves WHERE user = ?1 AND source = ?2 AND id > ?3"
        " AND (?4 IS NULL OR target = ?4)",
        (user, source, after, target),
    ).fetchone()
    return int(count)


def last_move(sql: Sql) -> int:
    """The highest number that a move has had."""
    row = sql.execute("SELECT seq FROM sqlite_sequence WHERE name = 'moves'").fetchone()
    return 0 if row is None else int(row[0])


def take_answer(sql: Sql, move: Move, answer: str, reason: str = "") -> Move | None:
    """What a broker answered to the step that `move` is at: store what comes of it.

    If the move has gone on since the order was sent, or has ended because one of its
    brokers has gone, the answer is too late and changes nothing. Returns the move as
    it is now.
    """
    now = find_move(sql, move.id)
    if now is None or now.state is not move.state:
        return now
    progress = answered(move.state, move.step, answer, reason)
    if progress.state is MoveState.DONE:
        sql.execute(
            "UPDATE sessions SET broker = ?1 WHERE user = ?2 AND broker = ?3"
            " AND (?4 IS NULL OR home = ?4)",
            (move.target, move.user, move.source, move.home),
        )
        if move.decision is not None:  # or it would be asked to come back
            sql.execute(
                "UPDATE OR IGNORE sessions SET home = broker"
                " WHERE user = ? AND broker = ? AND home <> ''",
                (move.user, move.target),
            )
    return _set(sql, move, progress.state, progress.reason)


def end_moves_of(sql: Sql, broker: str, reason: str) -> None:
    """The broker is gone: no move from it or to it can be finished."""
    sql.execute(
        "UPDATE moves SET state = ?, reason = ? WHERE (source = ? OR target = ?)"
        f" AND {_UNFINISHED}",
        (MoveState.FAILED, reason, broker, broker),
    )


def end_requests_from(sql: Sql, broker: str, reason: str) -> None:
    """Moves away from the broker that nobody has agreed to yet are not wanted now."""
    sql.execute(
        "UPDATE moves SET state = ?, reason = ? WHERE source = ? AND state = ?",
        (MoveState.FAILED, reason, broker, MoveState.REQUESTED),
    )


def end_decided_from(sql: Sql, broker: str, reason: str) -> None:
    """Moves of decisions away from the broker that nobody has agreed to yet are not
    wanted now: another reason to leave has come."""
    sql.execute(
        "UPDATE moves SET state = ?, reason = ? WHERE source = ? AND state = ?"
        " AND decision IS NOT NULL",
        (MoveState.FAILED, reason, broker, MoveState.REQUESTED),
    )


def end_requests_to(sql: Sql, broker: str, reason: str) -> None:
    """Moves to the broker that nobody has agreed to yet are not wanted now."""
    sql.execute(
        "UPDATE moves SET state = ?, reason = ? WHERE target = ? AND state = ?",
        (MoveState.FAILED, reason, broker, MoveState.REQUESTED),
    )


def _set(sql: Sql, move: Move, state: MoveState, reason: str) -> Move:
    sql.execute(
        "UPDATE moves SET state = ?, reason = ? WHERE id = ?", (state, reason, move.id)
    )
    return replace(move, state=state, reason=reason)


def _move(
    number: int,
    user: str,
    source: str,
    target: str,
    home: str | None,
    state: str,
    reason: str,
    session: str,
    decision: int | None,
) -> Move:
    return Move(
        *(number, user, source, target, home, MoveState(state), reason),
        *(session, decision),
    )
