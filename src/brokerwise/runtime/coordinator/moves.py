"""Moves of sessions from one broker to another: their states, as they are stored, and
how they are carried out.

A coordinator that starts again resumes them (`MoveRunner.start`): moves that are not
over are found in the stored state, each at its step. Decided here, too: what an answer
makes of a move (`TRANSITIONS`), and when a session counts as moved (`take_answer`). All
calls with `sql` that change something belong into a transaction.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator.brokers import the_broker
from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.coordinator.sessions import topics_of
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import MoveAnswer, MoveOrder, MoveState

MOVES_AT_ONCE = 32
RETRY_SECONDS = 0.25
KEPT_MOVES = 10_000  # of those that are over
_COLUMNS = "id, user, source, target, home, state, reason, session, decision"
_UNFINISHED = "state IN ('requested', 'accepted')"

log = logging.getLogger(__name__)


STEPS = {
    MoveState.REQUESTED: "request_to_move",
    MoveState.ACCEPTED: "connect",
}
UNFINISHED = tuple(STEPS)

# An order may reach a broker a second time, after the client has gone further than
# we remember: that it has moved, or is no longer there, ends the move at any step.
TRANSITIONS = {
    (MoveState.REQUESTED, "accepted"): MoveState.ACCEPTED,
    (MoveState.REQUESTED, "declined"): MoveState.DECLINED,
    (MoveState.REQUESTED, "moved"): MoveState.DONE,
    (MoveState.REQUESTED, "absent"): MoveState.DONE,
    (MoveState.REQUESTED, "timeout"): MoveState.FAILED,
    (MoveState.ACCEPTED, "declined"): MoveState.DECLINED,
    (MoveState.ACCEPTED, "moved"): MoveState.DONE,
    (MoveState.ACCEPTED, "absent"): MoveState.DONE,
    (MoveState.ACCEPTED, "timeout"): MoveState.FAILED,
}
REASONS = {
    "absent": "the user was not connected: assigned without asking",
    "timeout": "the client did not answer in time",
}


@dataclass(frozen=True)
class Progress:
    """Where a move stands, and why if that needs a word."""

    state: MoveState
    reason: str = ""


def apply_answer(
    state: MoveState, step: str, answer: str, reason: str = ""
) -> Progress:
    """What an answer to a step makes of a move. Pure.

    An answer to a step that the move is not at (any more) changes nothing; one that
    the step does not have ends the move.
    """
    if STEPS.get(state) != step:
        return Progress(state, reason)
    following = TRANSITIONS.get((state, answer))
    if following is None:
        return Progress(MoveState.FAILED, reason or f"the broker answered {answer!r}")
    return Progress(following, reason or REASONS.get(answer, ""))


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
    """The first moves that are not over, by number; `but_waiting`: without those
    of decisions that nobody has agreed to yet."""
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM moves WHERE {_UNFINISHED}"
        " AND NOT (?1 AND decision IS NOT NULL AND state = 'requested')"
        " ORDER BY id LIMIT ?2",
        (but_waiting, -1 if limit is None else limit),
    )
    return [_move(*row) for row in rows]


def count_unfinished(sql: Sql, *, decided: bool = False) -> int:
    """The number of moves that are not over; `decided`: of those of decisions."""
    (count,) = sql.execute(
        f"SELECT count(*) FROM moves WHERE {_UNFINISHED}"
        " AND (NOT ? OR decision IS NOT NULL)",
        (decided,),
    ).fetchone()
    return int(count)


def is_carried_out(sql: Sql, decision: int) -> bool:
    """True if all moves of the decision are over."""
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
    """The moves that are over and were not noticed before; from now on they are."""
    rows = sql.execute(
        "UPDATE moves SET ended = ? WHERE ended IS NULL"
        f" AND NOT {_UNFINISHED} RETURNING {_COLUMNS}",
        (now,),
    ).fetchall()
    return sorted((_move(*row) for row in rows), key=lambda move: move.id)


def ended_since(sql: Sql, since: float) -> list[tuple[float, Move]]:
    """The moves that ended at a time or later, each with when that was noticed."""
    rows = sql.execute(
        f"SELECT ended, {_COLUMNS} FROM moves WHERE ended >= ? ORDER BY id", (since,)
    )
    return [(row[0], _move(*row[1:])) for row in rows]


def count_moves(sql: Sql) -> dict[str, int]:
    """The number of moves in each state, of those that are kept."""
    counts = {state.value: 0 for state in MoveState}
    rows = sql.execute("SELECT state, count(*) FROM moves GROUP BY state")
    return counts | {state: count for state, count in rows}


def is_moving(sql: Sql, source: str, user: str | None = None) -> bool:
    """True if a session (of this user) is on its way from a broker."""
    found = sql.execute(
        f"SELECT 1 FROM moves WHERE source = ?1 AND {_UNFINISHED}"
        " AND (?2 IS NULL OR user = ?2)",
        (source, user),
    )
    return found.fetchone() is not None


def moves_under_way(sql: Sql, user: str, source: str) -> list[Move]:
    """The moves of a user's sessions on a broker that are not over."""
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
    """True if a session is on its way to a broker."""
    found = sql.execute(
        f"SELECT 1 FROM moves WHERE target = ? AND {_UNFINISHED}", (target,)
    )
    return found.fetchone() is not None


def attempts(
    sql: Sql, user: str, source: str, after: int, target: str | None = None
) -> int:
    """The number of moves of this session after move number `after`."""
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
    progress = apply_answer(move.state, move.step, answer, reason)
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


def end_moves_of(sql: Sql, broker: str, reason: str) -> int:
    """The broker is gone: no move from it or to it can be finished."""
    return _fail(sql, f"(source = ?3 OR target = ?3) AND {_UNFINISHED}", broker, reason)


def end_requests_from(sql: Sql, broker: str, reason: str) -> int:
    """Moves away from the broker that nobody has agreed to yet are not wanted now."""
    return _fail(sql, "source = ?3 AND state = 'requested'", broker, reason)


def end_decided_from(sql: Sql, broker: str, reason: str) -> int:
    """Moves of decisions away from the broker that nobody has agreed to yet are not
    wanted now: another reason to leave has come."""
    which = "source = ?3 AND state = 'requested' AND decision IS NOT NULL"
    return _fail(sql, which, broker, reason)


def end_requests_to(sql: Sql, broker: str, reason: str) -> int:
    """Moves to the broker that nobody has agreed to yet are not wanted now."""
    return _fail(sql, "target = ?3 AND state = 'requested'", broker, reason)


class MoveRunner:
    """Carries out the moves that are stored and not over, at most 32 at a time.

    Each step is ordered from the broker that the session is on, and its answer stored
    before the next one. `wake` is called when a move has ended: there is room for
    another.
    """

    def __init__(
        self, store: Store, client: BrokerClient, wake: Callable[[], None]
    ) -> None:
        self._store = store
        self._client = client
        self._wake = wake
        self._running: dict[int, asyncio.Task[None]] = {}
        self._last_before = last_move(store.sql)
        found = count_unfinished(store.sql)
        if found:
            log.info("%d moves of the coordinator before are resumed", found)

    def start(self, group: asyncio.TaskGroup, *, paused: bool) -> None:
        """Begin moves, or resume those that the coordinator before left, while there
        is room. `paused`: those of decisions wait, unless their user has agreed."""
        for move in unfinished_moves(
            self._store.sql, 2 * MOVES_AT_ONCE, but_waiting=paused
        ):
            if len(self._running) >= MOVES_AT_ONCE:
                return
            if move.id not in self._running:
                self._running[move.id] = group.create_task(self._carry_out(move))

    async def _carry_out(self, move: Move) -> None:
        """Order one step after the other, until the move is over.

        A broker that cannot be reached is asked again: it comes back, or is found to
        be lost, which ends the move.
        """
        resumed = move.id <= self._last_before
        log.info(
            "%s %s at %r", _shown(move), "resumed" if resumed else "begun", move.step
        )
        now = find_move(self._store.sql, move.id)
        try:
            while now is not None and now.state in UNFINISHED:
                answer = await self._order(now)
                if answer is None:
                    await asyncio.sleep(RETRY_SECONDS)
                    now = find_move(self._store.sql, move.id)
                    continue
                with self._store.change() as sql:
                    now = take_answer(sql, now, answer.answer, answer.reason)
        finally:
            del self._running[move.id]
            self._wake()
        if now is not None:
            failed = now.state is MoveState.FAILED
            level = logging.WARNING if failed else logging.INFO
            log.log(level, "%s %s%s", _shown(now), now.state, _because(now.reason))

    async def _order(self, move: Move) -> MoveAnswer | None:
        """The answer to the move's next step; None if the broker cannot be reached."""
        sql = self._store.sql
        source, target = the_broker(sql, move.source), the_broker(sql, move.target)
        topics = None if move.home is None else topics_of(sql, move.user, move.home)
        order = MoveOrder(move.id, move.step, move.user, target.address, topics)
        try:
            return await self._client.move(source.address, order)
        except RefusedError as refused:
            return MoveAnswer("refused", str(refused))
        except BrokerwiseError:
            return None


def _shown(move: Move) -> str:
    decided = "" if move.decision is None else f" (decision {move.decision})"
    return (
        f"move {move.id} of user {move.user!r} from {move.source!r} to "
        f"{move.target!r}{decided}"
    )


def _because(reason: str) -> str:
    return f": {reason!r}" if reason else ""


def _fail(sql: Sql, which: str, broker: str, reason: str) -> int:
    """End moves of a broker, ?3 in `which`; how many."""
    return sql.execute(
        f"UPDATE moves SET state = ?1, reason = ?2 WHERE {which}",
        (MoveState.FAILED, reason, broker),
    ).rowcount


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
