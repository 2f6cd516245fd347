"""Who is served where. All calls belong into a transaction.

Without a plan a user has one session, which takes any topic. With one it has those
that the plan gave it, each with its topics and its home, the broker that the plan
chose; away from home it is on whatever broker had most room. A plan that places topics
gives a user a session at the home of each topic that it asks for.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from brokerwise.runtime.balancing.placement import (
    POLICIES,
    PlannedLoad,
    Point,
    most_room,
)
from brokerwise.runtime.coordinator.brokers import (
    all_brokers,
    candidates,
    find_broker,
    the_broker,
)
from brokerwise.runtime.coordinator.homes import give_sessions, refuge
from brokerwise.runtime.coordinator.membership import GONE, BrokerState
from brokerwise.runtime.coordinator.store import (
    is_colocated,
    is_overlay,
    is_planned,
    setting,
)
from brokerwise.runtime.net.refusals import UnavailableError
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.control import BrokerAnswer, SessionPlace


@dataclass(frozen=True)
class Seat:
    """A session: on `broker` now, at `home` by the plan ('' without one)."""

    user: str
    home: str
    broker: str
    topics: tuple[str, ...] | None


Chooser = Callable[[str, list[Seat]], str]


def seats_on(sql: Sql, broker: str) -> dict[str, list[Seat]]:
    """The sessions on a broker, by user."""
    rows = sql.execute(
        "SELECT user, home, broker, topics FROM sessions WHERE broker = ?"
        " ORDER BY user, home",
        (broker,),
    )
    found: dict[str, list[Seat]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(_seat(*row))
    return found


def seats_of(sql: Sql, user: str) -> list[Seat]:
    rows = sql.execute(
        "SELECT user, home, broker, topics FROM sessions WHERE user = ? ORDER BY home",
        (user,),
    )
    return [_seat(*row) for row in rows]


def topics_of(sql: Sql, user: str, home: str) -> tuple[str, ...] | None:
    """What a session is for; None: whatever the user asks for."""
    return next((s.topics for s in seats_of(sql, user) if s.home == home), ())


def sit(sql: Sql, seat: Seat, broker: str) -> None:
    sql.execute(
        "UPDATE sessions SET broker = ? WHERE user = ? AND home = ?",
        (broker, seat.user, seat.home),
    )


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
        return BrokerAnswer((_place(sql, _own_seat(sql, user), None),))
    if topics is not None and is_colocated(sql):
        topics = list(topics)
        give_sessions(sql, user, topics)
    seats = [_present(sql, seat) for seat in seats_of(sql, user)]
    return _answer(sql, seats, topics)


def reseat(sql: Sql, broker: str) -> None:
    """Give the sessions of a broker that has gone to others, if there are others. An
    overlay's stay: only their own broker is reached by what they want."""
    if is_overlay(sql) or not candidates(sql):
        return
    choose = chooser(sql)
    for seats in seats_on(sql, broker).values():
        for seat in seats:
            sit(sql, seat, choose(broker, [seat]))


def reseat_all(sql: Sql) -> None:
    """Give the sessions of all brokers that have gone to others."""
    for broker in all_brokers(sql):
        if broker.state in GONE:
            reseat(sql, broker.name)


def chooser(sql: Sql) -> Chooser:
    """How to choose a broker for the sessions of one user on one broker, if another
    than that one is up; it takes into account what it chose before."""
    return _by_plan(sql) if is_planned(sql) else _by_policy(sql)


def _by_policy(sql: Sql) -> Chooser:
    policy = POLICIES[setting(sql, "placement")]

    def choose(source: str, seats: list[Seat]) -> str:
        place = _point(sql, seats[0].user)
        return policy(candidates(sql, but=source), place, count_up(sql, "turn"))

    return choose


def _by_plan(sql: Sql) -> Chooser:
    planned, colocated = _planned_load(sql), is_colocated(sql)

    def choose(source: str, seats: list[Seat]) -> str:
        free = candidates(sql, but=source)
        homes = {seat.home for seat in seats}
        topics = [topic for seat in seats for topic in seat.topics or ()]
        if len(homes) == 1 and homes <= {c.name for c in free}:
            chosen = homes.pop()
        elif colocated and (met := refuge(sql, min(homes))):
            chosen = met
        else:
            elsewhere = {s.broker for s in seats_of(sql, seats[0].user)}
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


def _own_seat(sql: Sql, user: str) -> Seat:
    """The session of a user without a plan; it is given a new one if it has none, or
    one on a broker that does not serve any more."""
    seats = seats_of(sql, user)
    if seats and the_broker(sql, seats[0].broker).serving:
        return seats[0]
    if not candidates(sql):
        raise UnavailableError("no broker is up")
    seat = Seat(user, "", "", None)
    broker = chooser(sql)("", [seat])
    sql.execute(
        "INSERT OR REPLACE INTO sessions VALUES (?, '', ?, NULL)", (user, broker)
    )
    return Seat(user, "", broker, None)


def _present(sql: Sql, seat: Seat) -> Seat:
    """A planned session as it can be served now.

    One that shares a broker with another of its user could not go home by a move,
    which would take both; when the user asks, it connects anew and may.
    """
    broker = the_broker(sql, seat.broker)
    home = find_broker(sql, seat.home)
    if broker.name != seat.home and home is not None and home.state is BrokerState.UP:
        shared = [s for s in seats_of(sql, seat.user) if s.broker == seat.broker]
        if len(shared) > 1 or not broker.serving:
            return _moved(sql, seat, seat.home)
    if broker.serving:
        return seat
    if broker.state is BrokerState.EXPECTED or is_overlay(sql):
        raise UnavailableError(f"broker {broker.name!r}, which serves you, is not up")
    if not candidates(sql):
        raise UnavailableError("no broker is up")
    return _moved(sql, seat, chooser(sql)(broker.name, [seat]))


def _moved(sql: Sql, seat: Seat, broker: str) -> Seat:
    sit(sql, seat, broker)
    return Seat(seat.user, seat.home, broker, seat.topics)


@dataclass
class _Shares:
    """Which of the topics that were asked for each broker has; all, if None were."""

    asked: set[str] | None
    by_broker: dict[str, list[str]] = field(default_factory=dict)

    def add(self, seat: Seat) -> None:
        wanted = [t for t in seat.topics or () if self.asked is None or t in self.asked]
        if wanted or self.asked is None:
            self.by_broker.setdefault(seat.broker, []).extend(wanted)


def _answer(sql: Sql, seats: list[Seat], topics: Iterable[str] | None) -> BrokerAnswer:
    asked = None if topics is None else list(dict.fromkeys(topics))
    shares = _Shares(None if asked is None else set(asked))
    for seat in seats:
        shares.add(seat)
    served = {topic for found in shares.by_broker.values() for topic in found}
    places = [
        SessionPlace(broker, the_broker(sql, broker).url, tuple(sorted(found)))
        for broker, found in sorted(shares.by_broker.items())
    ]
    unserved = [topic for topic in asked or () if topic not in served]
    return BrokerAnswer(tuple(places), tuple(unserved))


def _place(sql: Sql, seat: Seat, topics: tuple[str, ...] | None) -> SessionPlace:
    return SessionPlace(seat.broker, the_broker(sql, seat.broker).url, topics)


def _point(sql: Sql, user: str) -> Point | None:
    row = sql.execute("SELECT x, y FROM users WHERE name = ?", (user,)).fetchone()
    return None if row is None or None in row else (row[0], row[1])


def _topics(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else msgspec.json.decode(text, type=tuple[str, ...])


def _seat(user: str, home: str, broker: str, topics: str | None) -> Seat:
    return Seat(user, home, broker, _topics(topics))
