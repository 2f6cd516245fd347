"""How routes change. Pure: a route and what happened give the next route.

Every change is one generation up; what changes nothing gives the same route back.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from brokerwise.runtime.protocol.control import CursorRow, Route


@dataclass(frozen=True)
class Carried:
    """The brokers, by name and without repetition, that carry a topic. `feeder` is
    one of them: who feeds its messages to a dataset, if they go into one."""

    topic: str
    generation: int = 0
    brokers: tuple[str, ...] = ()
    feeder: str = ""


def joined(route: Carried, broker: str) -> Carried:
    if broker in route.brokers:
        return route
    return _next(route, (*route.brokers, broker))


def left(route: Carried, broker: str) -> Carried:
    """Without the broker, unless nobody else would carry the topic."""
    return route if route.brokers == (broker,) else without(route, broker)


def without(route: Carried, broker: str) -> Carried:
    """Without the broker, even if nobody is left."""
    if broker not in route.brokers:
        return route
    return _next(route, tuple(b for b in route.brokers if b != broker))


def handed_over(route: Carried, broker: str, heir: str) -> Carried:
    """Without the broker; what it carried alone goes to the heir, if there is one."""
    if route.brokers == (broker,) and heir:
        return _next(route, (heir,))
    return without(route, broker)


def highest(cursors: Iterable[CursorRow]) -> tuple[CursorRow, ...]:
    """Of several brokers' positions of a topic and source, the last one."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for topic, source, epoch, seq in cursors:
        key = (topic, source)
        found[key] = max(found.get(key, (epoch, seq)), (epoch, seq))
    return tuple((*key, *position) for key, position in found.items())


def batches(routes: Iterable[Route], most_bytes: int) -> Iterator[tuple[Route, ...]]:
    """Routes in groups that are at most so long as JSON (a longer one goes alone)."""
    batch: list[Route] = []
    size = 0
    for route in routes:
        length = len(msgspec.json.encode(route)) + 1
        if batch and size + length > most_bytes:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(route)
        size += length
    if batch:
        yield tuple(batch)


def _next(route: Carried, brokers: tuple[str, ...]) -> Carried:
    """The feeder stays, as long as it carries the topic: two would feed messages
    twice while the one hears before the other that it is the one."""
    names = tuple(sorted(brokers))
    feeder = route.feeder if route.feeder in names else next(iter(names), "")
    return Carried(route.topic, route.generation + 1, names, feeder)
