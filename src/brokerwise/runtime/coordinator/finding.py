"""Where is this topic, where is this user, and why there: from the stored state."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from brokerwise.runtime.coordinator.carriers import carried
from brokerwise.runtime.coordinator.reasons import Reasons
from brokerwise.runtime.coordinator.seats import Seat, seats_of
from brokerwise.runtime.coordinator.store import is_planned, setting
from brokerwise.runtime.process.state_file import Sql

MOST_FOUND = 20  # topics, and users
MOST_TOPICS = 100  # of a session
SCANNED = 100_000  # names that are looked through for a text inside of them
_LAST_LETTER = chr(0x10FFFF)


@dataclass(frozen=True)
class _Names:
    """Names, best first, of which there may be more."""

    names: list[str]
    more: bool


def find(sql: Sql, text: str) -> dict[str, Any]:
    """What is called so first, then what begins so, then what has it inside; large
    or small letters, where they are of ASCII."""
    tables = ["topics.name"] if is_planned(sql) else ["routes.topic"]
    topics = _search(sql, tables, text)
    users = _search(sql, ["sessions.user", "users.name"], text)
    reasons = Reasons(sql)
    return {
        "topics": [_topic_view(sql, reasons, name) for name in topics.names],
        "users": [_user_view(sql, reasons, name) for name in users.names],
        "more": topics.more or users.more,
    }


def _search(sql: Sql, columns: Iterable[str], text: str) -> _Names:
    found: dict[str, int] = {}
    more = False
    for column in columns:
        table, _, name = column.partition(".")
        for rank, names in enumerate(_ranked(sql, table, name, text)):
            for each in names:
                found[each] = min(rank, found.get(each, rank))
        more = more or _has_more(sql, table)
    best = sorted(found, key=lambda name: (found[name], name))
    return _Names(best[:MOST_FOUND], more or len(best) > MOST_FOUND)


def _ranked(sql: Sql, table: str, column: str, text: str) -> list[list[str]]:
    """Those that are called so, that begin so, and that have it inside; the latter
    with some of the others among them."""
    source = f"SELECT DISTINCT {column} FROM"
    found = (
        sql.execute(f"{source} {table} WHERE {column} = ?", (text,)),
        sql.execute(
            f"{source} {table} WHERE {column} >= ?1 AND {column} < ?1 || ?2"
            f" ORDER BY {column} LIMIT ?3",
            (text, _LAST_LETTER, MOST_FOUND + 1),
        ),
        sql.execute(
            f"{source} (SELECT {column} FROM {table} LIMIT ?2)"
            f" WHERE instr(lower({column}), lower(?1)) ORDER BY {column} LIMIT ?3",
            (text, SCANNED, 2 * MOST_FOUND + 2),
        ),
    )
    return [[name for (name,) in rows] for rows in found]


def _has_more(sql: Sql, table: str) -> bool:
    """Whether there are names that were not looked through."""
    rows = sql.execute(f"SELECT 1 FROM {table} LIMIT 1 OFFSET ?", (SCANNED,))
    return rows.fetchone() is not None


def _topic_view(sql: Sql, reasons: Reasons, topic: str) -> dict[str, Any]:
    """`rate` is the planned one, in messages a second."""
    row = sql.execute(
        "SELECT rate, home, target_ms FROM topics WHERE name = ?", (topic,)
    ).fetchone()
    rate, home, target = row or (None, "", None)
    period = int(setting(sql, "period_seconds"))
    route = carried(sql, topic)
    return {
        "topic": topic,
        "brokers": route.brokers,
        "home": home,
        "rate": rate / period if rate is not None and period else None,
        "target_ms": target,
        "why": reasons.of_topic(route.brokers, home),
    }


def _user_view(sql: Sql, reasons: Reasons, user: str) -> dict[str, Any]:
    seats = seats_of(sql, user)
    return {
        "user": user,
        "sessions": [_session_view(seat) for seat in seats],
        "why": reasons.of_user(user, seats),
    }


def _session_view(seat: Seat) -> dict[str, Any]:
    """Without a plan a session takes whatever topics the user asks its broker for:
    how many these are is not stored."""
    topics = seat.topics or ()
    return {
        "broker": seat.broker,
        "home": seat.home,
        "topics": topics[:MOST_TOPICS],
        "topic_count": None if seat.topics is None else len(topics),
    }
