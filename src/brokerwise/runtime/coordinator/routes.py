"""Routes: which brokers carry which topic, as it is stored.

Decided here: how a route changes when a broker joins or leaves a topic, goes away,
is drained or comes back, and who gets a topic that no broker carries
(`assign_brokers`). Every change is one generation up. All calls that change something
belong into a transaction.

The brokers that must hear of a change are stored with it (`untold`), and crossed out
when they have heard: what a crash interrupts is told afterwards, by `orders.py`.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from brokerwise.runtime.balancing.placement import round_robin
from brokerwise.runtime.coordinator.brokers import all_brokers, candidates
from brokerwise.runtime.coordinator.store import is_colocated, is_planned
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.fleet import Address, Route
from brokerwise.runtime.protocol.limits import MAX_TOPICS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredRoute:
    """The brokers, by name and without repetition, that carry a topic; brokers and
    clients are sent a `Route`, with addresses. `feeder` is the one of them that feeds
    the messages to a dataset, if they go into one."""

    topic: str
    generation: int = 0
    brokers: tuple[str, ...] = ()
    feeder: str = ""


# Pure: a route and what happened give the next route, or the same if nothing changes.


def add_broker(route: StoredRoute, broker: str) -> StoredRoute:
    if broker in route.brokers:
        return route
    return _next(route, (*route.brokers, broker))


def remove_broker(route: StoredRoute, broker: str) -> StoredRoute:
    """Without the broker, even if no other is left."""
    if broker not in route.brokers:
        return route
    return _next(route, tuple(b for b in route.brokers if b != broker))


def remove_unless_last(route: StoredRoute, broker: str) -> StoredRoute:
    """Without the broker, unless no other carries the topic."""
    return route if route.brokers == (broker,) else remove_broker(route, broker)


def hand_to_heir(route: StoredRoute, broker: str, heir: str) -> StoredRoute:
    """Without the broker; what it carried alone goes to the heir, if there is one."""
    if route.brokers == (broker,) and heir:
        return _next(route, (heir,))
    return remove_broker(route, broker)


def _next(route: StoredRoute, brokers: tuple[str, ...]) -> StoredRoute:
    """The feeder stays, as long as it carries the topic: two would feed messages
    twice while the one hears before the other that it is the one."""
    names = tuple(sorted(brokers))
    feeder = route.feeder if route.feeder in names else next(iter(names), "")
    return StoredRoute(route.topic, route.generation + 1, names, feeder)


# What is stored.


def stored_route(sql: Sql, topic: str) -> StoredRoute:
    """The route of a topic; empty, and of generation 0, if it never had one."""
    row = sql.execute(
        "SELECT generation, feeder FROM routes WHERE topic = ?", (topic,)
    ).fetchone()
    if row is None:
        return StoredRoute(topic)
    names = sql.execute(
        "SELECT broker FROM carriers WHERE topic = ? ORDER BY broker", (topic,)
    )
    return StoredRoute(topic, row[0], tuple(name for (name,) in names), row[1])


def routes_of(sql: Sql, topics: Iterable[str]) -> list[Route]:
    addresses = _addresses(sql)
    return [_with_addresses(stored_route(sql, topic), addresses) for topic in topics]


def all_routes(sql: Sql) -> tuple[Route, ...]:
    """The routes of all topics that a broker carries."""
    addresses = _addresses(sql)
    found: dict[str, StoredRoute] = {}
    for topic, generation, feeder, broker in sql.execute(
        "SELECT topic, generation, feeder, broker FROM routes"
        " JOIN carriers USING (topic)"
        " ORDER BY topic, broker"
    ):
        before = found.get(topic, StoredRoute(topic, generation))
        found[topic] = StoredRoute(topic, generation, (*before.brokers, broker), feeder)
    return tuple(_with_addresses(route, addresses) for route in found.values())


def split_known(sql: Sql, topics: Iterable[str]) -> tuple[list[str], list[str]]:
    """The topics that there are, and those that there are not, each once, in order."""
    asked = list(dict.fromkeys(topics))
    if is_planned(sql):
        found = {t for t in asked if _has(sql, "topics", "name", t)}
    else:
        new = [t for t in asked if not _has(sql, "routes", "topic", t)]
        found = set(asked) - set(new[_room_for_topics(sql) :] if new else ())
    return [t for t in asked if t in found], [t for t in asked if t not in found]


def home_of(sql: Sql, topic: str) -> str:
    """The broker that a co-location plan chose for a topic; empty if there is none."""
    row = sql.execute("SELECT home FROM topics WHERE name = ?", (topic,)).fetchone()
    return "" if row is None else str(row[0])


def join(sql: Sql, broker: str, topic: str) -> int:
    """The broker carries the topic from now on; the others do not know yet. The new
    generation of the route, 0 if it did before."""
    before = stored_route(sql, topic)
    return _change(sql, before, add_broker(before, broker), but=broker)


def leave(sql: Sql, broker: str, topic: str) -> int:
    """The broker carries the topic no more, unless it is the only one. The new
    generation of the route, 0 if nothing changes."""
    before = stored_route(sql, topic)
    return _change(sql, before, remove_unless_last(before, broker))


def drop_broker(sql: Sql, broker: str) -> int:
    """The broker carries nothing any more, and cannot be told. The number of topics
    that it carried."""
    topics = _topics_of(sql, broker)
    for topic in topics:
        before = stored_route(sql, topic)
        _change(sql, before, remove_broker(before, broker), but=broker)
    sql.execute("DELETE FROM untold WHERE broker = ?", (broker,))
    return len(topics)


def hand_over(sql: Sql, broker: str) -> None:
    """The broker carries nothing any more, and is told so.

    Without a plan what it carried alone goes to others, by turns, so that publishers
    have somewhere to send to. With one, nobody listens to it, and nobody gets it,
    unless topics have homes: what comes out of their steps may go elsewhere.
    """
    heirs = candidates(sql, but=broker) if _always_carried(sql) else []
    for topic in _topics_of(sql, broker):
        heir = round_robin(heirs, None, count_up(sql, "turn")) if heirs else ""
        before = stored_route(sql, topic)
        _change(sql, before, hand_to_heir(before, broker, heir))


def bring_home(sql: Sql, broker: str) -> None:
    """Topics that others have carried while their home was away go back to it."""
    for topic in _strays(sql, broker):
        before = stored_route(sql, topic)
        after = add_broker(before, broker)
        for other in before.brokers:
            after = remove_broker(after, other)
        _change(sql, before, after)


def unrouted(sql: Sql, topics: Iterable[str]) -> list[str]:
    """The topics that no broker carries, though one could: while no broker is up, or
    with a plan for pairs, there are none."""
    if not _always_carried(sql) or not candidates(sql):
        return []
    return [topic for topic in topics if not stored_route(sql, topic).brokers]


def assign_brokers(sql: Sql, topics: Iterable[str]) -> dict[str, int]:
    """Give each topic that no broker carries to its home if that is up, else to the
    first that is; without homes by turns. The broker, which did not ask, does not know
    yet. The generations of the routes that changed, by topic."""
    free, at_home = candidates(sql), is_colocated(sql)
    names = [candidate.name for candidate in free]
    changed = {}
    for topic in unrouted(sql, topics):
        if at_home:
            home = home_of(sql, topic)
            broker = home if home in names else names[0]
        else:
            broker = round_robin(free, None, count_up(sql, "turn"))
        before = stored_route(sql, topic)
        changed[topic] = _change(sql, before, add_broker(before, broker))
    return changed


def untold(sql: Sql) -> dict[str, list[str]]:
    """The topics whose route brokers do not know yet, by broker."""
    found: dict[str, list[str]] = {}
    for broker, topic in sql.execute(
        "SELECT broker, topic FROM untold ORDER BY broker, topic"
    ):
        found.setdefault(broker, []).append(topic)
    return found


def mark_told(sql: Sql, broker: str, routes: Iterable[Route]) -> None:
    """The broker knows these routes now (but not those that have changed since)."""
    sql.executemany(
        "DELETE FROM untold WHERE broker = ? AND topic = ? AND generation <= ?",
        [(broker, route.topic, route.generation) for route in routes],
    )


def _addresses(sql: Sql) -> Mapping[str, Address]:
    return {broker.name: broker.address for broker in all_brokers(sql)}


def _with_addresses(route: StoredRoute, addresses: Mapping[str, Address]) -> Route:
    brokers = tuple(addresses[name] for name in route.brokers)
    return Route(route.topic, route.generation, brokers, route.feeder)


def _strays(sql: Sql, broker: str) -> list[str]:
    """Topics at home at a broker that only others carry, though all sessions that are
    at home there are there."""
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


def _always_carried(sql: Sql) -> bool:
    """True if topics are carried that nobody listens to."""
    return not is_planned(sql) or is_colocated(sql)


def _room_for_topics(sql: Sql) -> int:
    (count,) = sql.execute("SELECT count(*) FROM routes").fetchone()
    return max(0, MAX_TOPICS - int(count))


def _topics_of(sql: Sql, broker: str) -> list[str]:
    rows = sql.execute(
        "SELECT topic FROM carriers WHERE broker = ? ORDER BY topic", (broker,)
    )
    return [topic for (topic,) in rows]


def _has(sql: Sql, table: str, column: str, value: str) -> bool:
    found = sql.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (value,))
    return found.fetchone() is not None


def _first_generation(sql: Sql) -> int:
    """The last one of the fleet before: those of this one are higher."""
    (value,) = sql.execute(
        "SELECT coalesce(max(value), 0) FROM counters WHERE name = 'generation'"
    ).fetchone()
    return int(value)


def _change(sql: Sql, before: StoredRoute, after: StoredRoute, but: str = "") -> int:
    """Store a route, and that all whom it concerns (`but` one) have not heard. Its
    generation, 0 if it is the same as before."""
    if after == before:
        return 0
    topic, generation = after.topic, after.generation
    if not before.generation:
        generation += _first_generation(sql)
    sql.execute(
        "INSERT OR REPLACE INTO routes VALUES (?, ?, ?)",
        (topic, generation, after.feeder),
    )
    sql.executemany(
        "DELETE FROM carriers WHERE topic = ? AND broker = ?",
        [(topic, b) for b in before.brokers if b not in after.brokers],
    )
    sql.executemany(
        "INSERT INTO carriers VALUES (?, ?)",
        [(topic, b) for b in after.brokers if b not in before.brokers],
    )
    concerned = sorted({*before.brokers, *after.brokers} - {but})
    sql.executemany(
        "INSERT OR REPLACE INTO untold VALUES (?, ?, ?)",
        [(b, topic, generation) for b in concerned],
    )
    log.debug(
        "route of %r changed: generation %d, brokers %s",
        *(topic, generation, after.brokers),
    )
    return generation
