"""Which brokers a publisher sends a topic to, by which route. No I/O, no clock."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from brokerwise.runtime.protocol.control import Address, Route

UNKNOWN_GENERATION = 0  # older than any: whoever gets the message passes it on


@dataclass(frozen=True)
class Choice:
    """Send the next message to these brokers, as of this generation. There may be
    none: because none can be reached or, if not `is_routed`, because nobody is to
    get it."""

    urls: tuple[str, ...]
    generation: int
    is_routed: bool = True


@dataclass
class _Known:
    """The newest route, and the one that was complete when it was last used."""

    newest: Route
    in_use: Route | None = None


class Routes:
    """The routes of the topics that a client publishes.

    A new route is used once all its brokers can be reached. Until then the old one
    goes on, under its own generation, and its brokers pass on what the new ones miss.
    When a broker of that is gone too, whoever can be reached gets the message under a
    generation so old that it is passed on to all others.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def learn(self, route: Route) -> bool:
        """Take a route; False if it is no newer than what was known."""
        known = self._known.get(route.topic)
        if known is None:
            self._known[route.topic] = _Known(route)
            return True
        if route.generation <= known.newest.generation:
            return False
        known.newest = route
        return True

    def __len__(self) -> int:
        return len(self._known)

    def knows(self, topic: str) -> bool:
        return topic in self._known

    def choose(self, topic: str, reachable: Callable[[str], bool]) -> Choice:
        """Where to send the next message of a topic that is known."""
        known = self._known[topic]
        if not known.newest.brokers:
            return Choice((), known.newest.generation, is_routed=False)
        if _complete(known.newest, reachable):
            known.in_use = known.newest
        route = known.in_use
        if route is not None and _complete(route, reachable):
            return Choice(_urls(route), route.generation)
        for candidate in (known.newest, known.in_use):
            urls = tuple(u for u in _urls(candidate) if reachable(u))
            if urls:
                return Choice(urls, UNKNOWN_GENERATION)
        return Choice((), UNKNOWN_GENERATION)

    def lacking(self, reachable: Callable[[str], bool]) -> dict[str, Address]:
        """The brokers of the newest routes that cannot be reached, by their URL."""
        return {
            address.url: address
            for known in self._known.values()
            for address in known.newest.brokers
            if not reachable(address.url)
        }

    def topics_at(self, urls: Iterable[str]) -> list[str]:
        """The topics whose newest route has one of these brokers."""
        wanted = set(urls)
        return [
            topic
            for topic, known in self._known.items()
            if not wanted.isdisjoint(_urls(known.newest))
        ]

    def needed(self, reachable: Callable[[str], bool]) -> set[str]:
        """The brokers of the newest routes and, of those that cannot be used yet, of
        the ones that go on meanwhile."""
        found: set[str] = set()
        for known in self._known.values():
            found.update(_urls(known.newest))
            if known.in_use is not known.newest and not _complete(
                known.newest, reachable
            ):
                found.update(_urls(known.in_use))
        return found


def _urls(route: Route | None) -> tuple[str, ...]:
    return tuple(address.url for address in route.brokers) if route else ()


def _complete(route: Route, reachable: Callable[[str], bool]) -> bool:
    return all(reachable(address.url) for address in route.brokers)
