"""Sessions: which broker serves which user, as it is stored.

Decided here: the broker of a session, when a user asks (`request_broker`), when its
broker has gone (`relocate`), and when it is drained (`drains.py`); all three choose
with `broker_chooser`, unless the plan says where a session is at home. The policies
themselves are in `runtime/balancing/placement.py`. A move that is done changes it too
(`moves.take_answer`). All calls belong into a transaction.

Without a plan a user has one session, which takes any topic. With one it has those
that the plan gave it, each with its topics and its home, the broker that the plan
chose; away from home it is on the broker that had most room. A co-location plan gives
each topic a home, and a user has a session at the home of each topic that it asks for.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import msgspec

from brokerwise.runtime.balancing.placement import (
    POLICIES,
    PlannedLoad,
    Point,
    most_room,
)
from brokerwise.runtime.coordinator.brokers import (
    GONE,
    all_brokers,
    candidates,
    find_broker,
    the_broker,
)
from brokerwise.runtime.coordinator.routes import home_of
from brokerwise.runtime.coordinator.store import (
    is_colocated,
    is_overlay,
    is_planned,
    setting,
)
from brokerwise.runtime.net.errors import UnavailableError
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.fleet import BrokerAnswer, BrokerState, SessionPlace


@dataclass(frozen=True)
class Session:
    """A user's session: on `broker` now, at `home` by the plan ('' without one);
    `topics` are None if it takes any."""

    user: str
    home: str
    broker: str
    topics: tuple[str, ...] | None


BrokerChooser = Callable[[str, list[Session]], str]


def sessions_on(sql: Sql, broker: str) -> dict[str, list[Session]]:
    """The sessions on a broker, by user."""
    rows = sql.execute(
        "SELECT user, home, broker, topics FROM sessions WHERE broker = ?"
        " ORDER BY user, home",
        (broker,),
    )
    found: dict[str, list[Session]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(_session(*row))
    return found


def sessions_of(sql: Sql, user: str) -> list[Session]:
    rows = sql.execute(
        "SELECT user, home, broker, topics FROM sessions WHERE user = ? ORDER BY home",
        (user,),
    )
    return [_session(*row) for row in rows]


def topics_of(sql: Sql, user: str, home: str) -> tuple[str, ...] | None:
    """The topics that a session is for; None: any that the user asks for."""
    return next((s.topics for s in sessions_of(sql, user) if s.home == home), ())


def put_session(sql: Sql, session: Session, broker: str) -> Session:
    """The session is on this broker now."""
    sql.execute(
        "UPDATE sessions SET broker = ? WHERE user = ? AND home = ?",
        (broker, session.user, session.home),
    )
    return replace(session, broker=broker)


def register_user(sql: Sql, user: str, point: Point | None) -> None:
    """Remember a user, and where it is if that is said."""
    x, y = point or (None, None)
    sql.execute(
        "INSERT INTO users VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE"
        " SET x = coalesce(?2, x), y = coalesce(?3, y)",
        (user, x, y),
    )


def request_broker(sql: Sql, user: str, topics: Iterable[str] | None) -> BrokerAnswer:
    """Where the user is served, now that it asks.

    Raises UnavailableError while it cannot be: no broker is up, or not the one that
    alone can serve it.
    """
    if not is_planned(sql):
        broker = _only_session(sql, user).broker
        place = SessionPlace(broker, the_broker(sql, broker).url, None)
        return BrokerAnswer((place,))
    if topics is not None and is_colocated(sql):
        topics = list(topics)
        _give_sessions(sql, user, topics)
    sessions = [_servable(sql, session) for session in sessions_of(sql, user)]
    return _answer(sql, sessions, topics)


def relocate(sql: Sql, broker: str) -> int:
    """Give the sessions of a broker that has gone to others; returns how many.

    They stay if no other broker is up. An overlay's stay too: only their own broker
    is reached by what they want.
    """
    if is_overlay(sql) or not candidates(sql):
        return 0
    choose = broker_chooser(sql)
    count = 0
    for sessions in sessions_on(sql, broker).values():
        for session in sessions:
            put_session(sql, session, choose(broker, [session]))
            count += 1
    return count


def relocate_all(sql: Sql) -> int:
    """Give the sessions of all brokers that have gone to others; returns how many."""
    gone = [broker for broker in all_brokers(sql) if broker.state in GONE]
    return sum(relocate(sql, broker.name) for broker in gone)


def broker_chooser(sql: Sql) -> BrokerChooser:
    """How to choose a broker for the sessions of one user on one broker, if another
    than that one is up; it takes into account what it chose before."""
    return _by_plan(sql) if is_planned(sql) else _by_policy(sql)


def _by_policy(sql: Sql) -> BrokerChooser:
    policy = POLICIES[setting(sql, "placement")]

    def choose(source: str, sessions: list[Session]) -> str:
        place = _point(sql, sessions[0].user)
        return policy(candidates(sql, but=source), place, count_up(sql, "turn"))

    return choose


def _by_plan(sql: Sql) -> BrokerChooser:
    """Home if it is up; else, with a co-location plan, where others of that home are;
    else where there is most room."""
    planned, colocated = _planned_load(sql), is_colocated(sql)

    def choose(source: str, sessions: list[Session]) -> str:
        free = candidates(sql, but=source)
        homes = {session.home for session in sessions}
        topics = [topic for session in sessions for topic in session.topics or ()]
        if len(homes) == 1 and homes <= {c.name for c in free}:
            chosen = homes.pop()
        elif colocated and (shared := _substitute(sql, min(homes))):
            chosen = shared
        else:
            elsewhere = {s.broker for s in sessions_of(sql, sessions[0].user)}
            chosen = most_room(planned, free, topics, elsewhere)
        planned.add(chosen, topics)
        return chosen

    return choose


def _planned_load(sql: Sql) -> PlannedLoad:
    capacities = {b.name: b.capacity for b in all_brokers(sql)}
    rates = dict(sql.execute("SELECT name, rate FROM topics").fetchall())
    planned = PlannedLoad(capacities, rates)
    for broker, topics in sql.execute("SELECT broker, topics FROM sessions"):
        planned.add(broker, _topics(topics) or ())
    return planned


def _substitute(sql: Sql, home: str) -> str | None:
    """The broker that most sessions of a home that is not up have gone to, if any
    have: users of the same topics should meet."""
    names = {c.name for c in candidates(sql, but=home)}
    rows = sql.execute(
        "SELECT broker FROM sessions WHERE home = ?1 AND broker <> ?1"
        " GROUP BY broker ORDER BY count(*) DESC, broker",
        (home,),
    )
    return next((broker for (broker,) in rows if broker in names), None)


def _only_session(sql: Sql, user: str) -> Session:
    """The session of a user without a plan; it is given a new one if it has none, or
    one on a broker that does not serve any more."""
    sessions = sessions_of(sql, user)
    if sessions and the_broker(sql, sessions[0].broker).serving:
        return sessions[0]
    if not candidates(sql):
        raise UnavailableError("no broker is up")
    session = Session(user, "", "", None)
    broker = broker_chooser(sql)("", [session])
    sql.execute(
        "INSERT OR REPLACE INTO sessions VALUES (?, '', ?, NULL)", (user, broker)
    )
    return replace(session, broker=broker)


def _servable(sql: Sql, session: Session) -> Session:
    """A planned session as it can be served now.

    One that shares a broker with another of its user could not go home by a move,
    which would take both; when the user asks, it connects anew and may.
    """
    broker = the_broker(sql, session.broker)
    home = find_broker(sql, session.home)
    away = broker.name != session.home
    if away and home is not None and home.state is BrokerState.UP:
        all_of_user = sessions_of(sql, session.user)
        shared = [s for s in all_of_user if s.broker == session.broker]
        if len(shared) > 1 or not broker.serving:
            return put_session(sql, session, session.home)
    if broker.serving:
        return session
    if broker.state is BrokerState.EXPECTED or is_overlay(sql):
        raise UnavailableError(f"broker {broker.name!r}, which serves you, is not up")
    if not candidates(sql):
        raise UnavailableError("no broker is up")
    return put_session(sql, session, broker_chooser(sql)(broker.name, [session]))


def _give_sessions(sql: Sql, user: str, topics: Iterable[str]) -> None:
    """Give a user sessions at the homes of these topics, where it has none yet."""
    by_home: dict[str, set[str]] = {}
    for topic in topics:
        by_home.setdefault(home_of(sql, topic), set()).add(topic)
    by_home.pop("", None)  # topics that the plan does not have
    for home, wanted in by_home.items():
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


def _answer(
    sql: Sql, sessions: list[Session], topics: Iterable[str] | None
) -> BrokerAnswer:
    """The topics of each broker: those that were asked for, or all of them."""
    asked = None if topics is None else dict.fromkeys(topics)
    by_broker: dict[str, list[str]] = {}
    for session in sessions:
        found = [t for t in session.topics or () if asked is None or t in asked]
        if found or asked is None:
            by_broker.setdefault(session.broker, []).extend(found)
    served = {topic for found in by_broker.values() for topic in found}
    places = [
        SessionPlace(broker, the_broker(sql, broker).url, tuple(sorted(found)))
        for broker, found in sorted(by_broker.items())
    ]
    unserved = [topic for topic in asked or () if topic not in served]
    return BrokerAnswer(tuple(places), tuple(unserved))


def _point(sql: Sql, user: str) -> Point | None:
    row = sql.execute("SELECT x, y FROM users WHERE name = ?", (user,)).fetchone()
    return None if row is None or None in row else (row[0], row[1])


def _topics(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else msgspec.json.decode(text, type=tuple[str, ...])


def _session(user: str, home: str, broker: str, topics: str | None) -> Session:
    return Session(user, home, broker, _topics(topics))
