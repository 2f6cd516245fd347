"""The routes, as they are stored. All calls belong into a transaction.

Whoever must hear of a change is written down with it (`untold`), and crossed out
when it has heard: what a crash interrupts is told afterwards.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from brokerwise.runtime.balancing.placement import round_robin
from brokerwise.runtime.coordinator.brokers import all_brokers, candidates
from brokerwise.runtime.coordinator.homes import carrier_for, strays
from brokerwise.runtime.coordinator.routing import (
    Carried,
    handed_over,
    joined,
    left,
    without,
)
from brokerwise.runtime.coordinator.store import is_colocated, is_planned
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.control import Address, Route

MAX_TOPICS = 100_000  # that there may be without a plan; more are unknown


def carried(sql: Sql, topic: str) -> Carried:
    """The route of a topic; empty, and of generation 0, if it never had one."""
    row = sql.execute(
        "SELECT generation, feeder FROM routes WHERE topic = ?", (topic,)
    ).fetchone()
    if row is None:
        return Carried(topic)
    names = sql.execute(
        "SELECT broker FROM carriers WHERE topic = ? ORDER BY broker", (topic,)
    )
    return Carried(topic, row[0], tuple(name for (name,) in names), row[1])


def known(sql: Sql, topics: Iterable[str]) -> tuple[list[str], list[str]]:
    """Which of the topics there are, and which there are not, each once, in order."""
    asked = list(dict.fromkeys(topics))
    if is_planned(sql):
        found = {t for t in asked if _has(sql, "topics", "name", t)}
    else:
        new = [t for t in asked if not _has(sql, "routes", "topic", t)]
        found = set(asked) - set(new[_room_for_topics(sql) :] if new else ())
    return [t for t in asked if t in found], [t for t in asked if t not in found]


def join(sql: Sql, broker: str, topic: str) -> None:
    """The broker carries the topic from now on; the others do not know yet."""
    before = carried(sql, topic)
    _change(sql, before, joined(before, broker), but=broker)


def leave(sql: Sql, broker: str, topic: str) -> None:
    """The broker carries it no more, unless it is the only one."""
    before = carried(sql, topic)
    _change(sql, before, left(before, broker))


def take_out(sql: Sql, broker: str) -> None:
    """The broker carries nothing any more, and cannot be told."""
    for topic in _topics_of(sql, broker):
        before = carried(sql, topic)
        _change(sql, before, without(before, broker), but=broker)
    sql.execute("DELETE FROM untold WHERE broker = ?", (broker,))


def hand_over(sql: Sql, broker: str) -> None:
    """The broker carries nothing any more, and is told so.

    Without a plan what it carried alone goes to others, by turns, so that publishers
    have somewhere to send to. With one, nobody listens to it, and nobody gets it,
    unless topics have homes: what comes out of their steps may go elsewhere.
    """
    heirs = candidates(sql, but=broker) if _always_carried(sql) else []
    for topic in _topics_of(sql, broker):
        heir = round_robin(heirs, None, count_up(sql, "turn")) if heirs else ""
        before = carried(sql, topic)
        _change(sql, before, handed_over(before, broker, heir))


def bring_home(sql: Sql, broker: str) -> None:
    """Topics that others have carried while their home was away go back to it."""
    for topic in strays(sql, broker):
        before = carried(sql, topic)
        after = joined(before, broker)
        for other in before.brokers:
            after = without(after, other)
        _change(sql, before, after)


def without_carrier(sql: Sql, topics: Iterable[str]) -> list[str]:
    """The topics that nobody carries, though somebody could: while no broker is up, or
    with a plan for pairs, there are none."""
    if not _always_carried(sql) or not candidates(sql):
        return []
    return [topic for topic in topics if not carried(sql, topic).brokers]


def give_carriers(sql: Sql, topics: Iterable[str]) -> None:
    """Give each topic that nobody carries to a broker that is up, by turns, or to its
    home. The broker, which did not ask, does not know yet."""
    heirs, at_home = candidates(sql), is_colocated(sql)
    for topic in without_carrier(sql, topics):
        if at_home:
            broker = carrier_for(sql, topic)
        else:
            broker = round_robin(heirs, None, count_up(sql, "turn"))
        before = carried(sql, topic)
        _change(sql, before, joined(before, broker))


@dataclass(frozen=True)
class Directory:
    """Where the brokers are, to make routes of names."""

    addresses: Mapping[str, Address]

    @classmethod
    def of(cls, sql: Sql) -> "Directory":
        return cls({b.name: b.address for b in all_brokers(sql)})

    def route(self, found: Carried) -> Route:
        return Route(
            found.topic,
            found.generation,
            tuple(self.addresses[name] for name in found.brokers),
            found.feeder,
        )


def routes_of(sql: Sql, topics: Iterable[str]) -> list[Route]:
    directory = Directory.of(sql)
    return [directory.route(carried(sql, topic)) for topic in topics]


def all_routes(sql: Sql) -> tuple[Route, ...]:
    """Those that somebody carries."""
    directory = Directory.of(sql)
    found: dict[str, Carried] = {}
    for topic, generation, feeder, broker in sql.execute(
        "SELECT topic, generation, feeder, broker FROM routes"
        " JOIN carriers USING (topic)"
        " ORDER BY topic, broker"
    ):
        before = found.get(topic, Carried(topic, generation))
        found[topic] = Carried(topic, generation, (*before.brokers, broker), feeder)
    return tuple(directory.route(route) for route in found.values())


def untold(sql: Sql) -> dict[str, list[str]]:
    """The topics whose route brokers do not know yet, by broker."""
    found: dict[str, list[str]] = {}
    for broker, topic in sql.execute(
        "SELECT broker, topic FROM untold ORDER BY broker, topic"
    ):
        found.setdefault(broker, []).append(topic)
    return found


def told(sql: Sql, broker: str, routes: Iterable[Route]) -> None:
    """The broker knows these routes now (but not those that have changed since)."""
    sql.executemany(
        "DELETE FROM untold WHERE broker = ? AND topic = ? AND generation <= ?",
        [(broker, route.topic, route.generation) for route in routes],
    )


def _always_carried(sql: Sql) -> bool:
    """Whether topics are carried that nobody listens to."""
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


def _change(sql: Sql, before: Carried, after: Carried, but: str = "") -> None:
    """Store a route, and that all whom it concerns (`but` one) have not heard."""
    if after == before:
        return
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
