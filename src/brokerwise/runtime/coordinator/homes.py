"""Topics at home: a co-location plan gives each topic a broker, and whoever wants the
topic has a session there. All calls belong into a transaction."""

from collections.abc import Iterable

import msgspec

from brokerwise.runtime.coordinator.brokers import candidates
from brokerwise.runtime.process.state_file import Sql


def home_of(sql: Sql, topic: str) -> str:
    """The broker that the plan chose for a topic; empty if there is none."""
    row = sql.execute("SELECT home FROM topics WHERE name = ?", (topic,)).fetchone()
    return "" if row is None else str(row[0])


def carrier_for(sql: Sql, topic: str) -> str:
    """Who carries a topic that nobody does: its home if that is up, else the first
    by name that is. Some broker must be up."""
    names = [c.name for c in candidates(sql)]
    home = home_of(sql, topic)
    return home if home in names else names[0]


def strays(sql: Sql, broker: str) -> list[str]:
    """Topics at home at a broker that others carry, and for nobody's sake: all who
    have a session at home are there."""
    away = sql.execute(
        "SELECT 1 FROM sessions WHERE home = ?1 AND broker <> ?1", (broker,)
    )
    if away.fetchone() is not None:
        return []
    rows = sql.execute(
        "SELECT name FROM topics JOIN carriers ON topic = name"
        " WHERE home = ?1 GROUP BY name HAVING sum(broker = ?1) = 0 ORDER BY name",
        (broker,),
    )
    return [topic for (topic,) in rows]


def give_sessions(sql: Sql, user: str, topics: Iterable[str]) -> None:
    """Give a user sessions at the homes of these topics, where it has none yet."""
    for home, wanted in _by_home(sql, topics).items():
        row = sql.execute(
            "SELECT topics FROM sessions WHERE user = ? AND home = ?", (user, home)
        ).fetchone()
        had = set() if row is None else set(msgspec.json.decode(row[0]))
        if wanted <= had:
            continue
        text = msgspec.json.encode(sorted(had | wanted)).decode()
        sql.execute(
            "INSERT INTO sessions VALUES (?1, ?2, ?2, ?3) ON CONFLICT (user, home)"
            " DO UPDATE SET topics = ?3",
            (user, home, text),
        )


def refuge(sql: Sql, home: str) -> str | None:
    """Where the sessions of a broker that is not up have gone, if any have: those who
    want the same topics should meet."""
    names = {c.name for c in candidates(sql, but=home)}
    rows = sql.execute(
        "SELECT broker FROM sessions WHERE home = ?1 AND broker <> ?1"
        " GROUP BY broker ORDER BY count(*) DESC, broker",
        (home,),
    )
    return next((broker for (broker,) in rows if broker in names), None)


def _by_home(sql: Sql, topics: Iterable[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for topic in topics:
        home = home_of(sql, topic)
        if home:
            found.setdefault(home, set()).add(topic)
    return found
