"""How a client's messages get to all brokers of a route.

`Routes` is pure: which brokers a publisher sends a topic to, by which route.
`Publisher` learns routes, connects to their brokers, and sends.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from brokerwise.runtime.client.context import ClientContext, wait_at_most
from brokerwise.runtime.client.errors import (
    LinkLostError,
    MessageTooLargeError,
    UnknownTopicError,
)
from brokerwise.runtime.client.links import Link
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.net.tasks import Backoff, Signal
from brokerwise.runtime.protocol.fleet import Address, Route
from brokerwise.runtime.protocol.frames import Publish, StaleRoute, encode
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES

UNKNOWN_GENERATION = 0  # older than any: a broker that gets the message passes it on


@dataclass(frozen=True)
class Choice:
    """Send the next message to these brokers, as of this generation. There may be
    none: because none can be reached or, if not `is_routed`, because the topic has no
    subscribers."""

    urls: tuple[str, ...]
    generation: int
    is_routed: bool = True


@dataclass
class _TopicRoutes:
    """The newest route, and the one that was complete when it was last used."""

    newest: Route
    in_use: Route | None = None


class Routes:
    """The routes of the topics that a client publishes.

    A new route is used once all its brokers can be reached. Until then the old one
    goes on, under its own generation, and its brokers pass on what the new ones miss.
    When a broker of that is gone too, those that can be reached get the message under
    a generation so old that it is passed on to all others.
    """

    def __init__(self) -> None:
        self._known: dict[str, _TopicRoutes] = {}

    def learn(self, route: Route) -> bool:
        """Take a route; False if it is no newer than what was known."""
        known = self._known.get(route.topic)
        if known is None:
            self._known[route.topic] = _TopicRoutes(route)
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
        """The brokers of the newest routes and, where those cannot be used yet, of the
        routes in use."""
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


ASK_AGAIN_SECONDS = 1.0  # about a topic without subscribers, or without brokers
BUFFERED_BYTES = 1 << 20  # that wait to be sent, then a publisher waits

_Targets = tuple[tuple[Link, ...], int]  # where to send, under which generation


class Publisher:
    """Sends each message to every broker of its topic's route.

    `unrouted` counts messages of topics without subscribers, `unconfirmed` those that
    a broker had not confirmed when its connection ended.
    """

    def __init__(self, context: ClientContext, clock: Callable[[], float]) -> None:
        self.unrouted = 0
        self.unconfirmed = 0
        self._context = context
        self._clock = clock
        self._epoch = context.options.epoch or int(time.time() * 1000)
        self._last: dict[str, int] = {}
        self._routes = Routes()
        self._targets: dict[str, _Targets] = {}
        self._needed: set[str] | None = None
        self._asked_at: dict[str, float] = {}
        self._mending: asyncio.Task[None] | None = None
        self._progressed = Signal()

    # What the application asks for

    async def publish(self, topic: str, data: Any) -> None:
        content = msgspec.Raw(msgspec.json.encode(data))
        targets = await self._room(topic)
        if targets is None:
            self.unrouted += 1
            return
        self._send(topic, content, targets)
        for link in targets[0]:
            if link.buffered() > BUFFERED_BYTES:
                await link.drained()

    async def publish_at(
        self, find: Callable[[], Awaitable[Link]], topic: str, data: Any
    ) -> None:
        """Send to one broker, which passes it on."""
        content = msgspec.Raw(msgspec.json.encode(data))
        link = await find()
        while not link.has_room:
            self._context.check()
            await self._progressed.wait()
            link = await find()
        self._send(topic, content, ((link,), 0))

    async def prepare(self, topics: Iterable[str]) -> None:
        unknown = [topic for topic in topics if not self.knows(topic)]
        if unknown:
            await self._learn(unknown)
        while self._routes.lacking(self._context.links.is_usable):
            self._mend()
            self._context.check()
            await self._progressed.wait()
        self._choose_again()  # a connection may be usable before `links_changed`

    async def flush(self) -> None:
        await self._context.wait_until(self._is_confirmed, self._progressed)

    def _is_confirmed(self) -> bool:
        return all(link.sent <= link.confirmed for link in self._context.links)

    def knows(self, topic: str) -> bool:
        """True if the route of a topic is known, so that it exists."""
        return self._routes.knows(topic)

    # What brokers say

    def confirmed(self, link: Link, count: int) -> None:
        link.confirmed = max(link.confirmed, count)
        self._progressed.notify()

    def stale(self, frame: StaleRoute) -> None:
        brokers = tuple(Address(broker, url) for broker, url in frame.brokers)
        if self._routes.learn(Route(frame.topic, frame.generation, brokers)):
            self._targets.pop(frame.topic, None)
            self._needed = None
            self._mend()

    def closed(self, link: Link) -> None:
        self.unconfirmed += link.sent - link.confirmed
        self.links_changed()

    def links_changed(self) -> None:
        """Connections or routes have changed."""
        self._choose_again()
        self._mend()

    def needed(self) -> set[str]:
        """The brokers that routes have."""
        if self._needed is None:
            self._needed = self._routes.needed(self._context.links.is_usable)
        return self._needed

    # Where messages go

    async def _room(self, topic: str) -> _Targets | None:
        """Where to send a message now, once there is room; None: nowhere."""
        while True:
            self._context.check()
            targets = self._targets.get(topic) or self._choose(topic)
            if targets is not None and all(link.has_room for link in targets[0]):
                return targets
            if targets is not None:
                await self._progressed.wait()
            elif not self._routes.knows(topic):
                await self._learn((topic,))
            elif self._choice(topic).is_routed:
                self._mend()
                await self._progressed.wait()
            elif self._may_ask_again(topic):
                await self._learn((topic,))
            else:
                return None

    def _choose_again(self) -> None:
        self._targets.clear()
        self._needed = None
        self._progressed.notify()

    def _choice(self, topic: str) -> Choice:
        return self._routes.choose(topic, self._context.links.is_usable)

    def _choose(self, topic: str) -> _Targets | None:
        if not self._routes.knows(topic):
            return None
        choice = self._choice(topic)
        found = [self._context.links.usable(url) for url in choice.urls]
        links = tuple(link for link in found if link is not None)
        if not links:
            return None
        self._targets[topic] = targets = (links, choice.generation)
        return targets

    def _send(self, topic: str, content: msgspec.Raw, targets: _Targets) -> None:
        """In one go: the order of numbers is the order on every connection."""
        links, generation = targets
        seq = self._last.get(topic, 0) + 1
        now = self._clock() * 1000
        text = encode(Publish(topic, self._epoch, seq, content, generation, now))
        if len(text) > MAX_FRAME_BYTES:
            raise MessageTooLargeError(topic, len(text), MAX_FRAME_BYTES)
        self._last[topic] = seq
        for link in links:
            link.sent += 1
            link.send_text(text)

    # How routes are learned

    def _may_ask_again(self, topic: str) -> bool:
        asked_at = self._asked_at.get(topic)
        return asked_at is None or self._clock() - asked_at >= ASK_AGAIN_SECONDS

    async def _learn(self, topics: Iterable[str]) -> None:
        """Ask the coordinator, until it answers. Raises UnknownTopicError."""
        names = list(topics)
        unknown = await self._context.retry(lambda: self._ask(names))
        if unknown:
            raise UnknownTopicError(unknown)

    async def _ask(self, topics: list[str]) -> tuple[str, ...]:
        answer = await self._context.coordinator.routes(topics)
        for topic in topics:
            self._asked_at[topic] = self._clock()
        learned = [self._routes.learn(route) for route in answer.routes]
        if any(learned):
            self.links_changed()
        return answer.unknown

    def _mend(self) -> None:
        """Connect to the brokers of new routes; ask again about those that are gone."""
        self._progressed.notify()
        idle = self._mending is None or self._mending.done()
        if idle and self._routes and not self._context.failure:
            self._mending = self._context.start(self._mend_routes())

    async def _mend_routes(self) -> None:
        links, backoff = self._context.links, Backoff()
        while lacking := self._routes.lacking(links.is_usable):
            for address in lacking.values():
                if not links.is_dialling(address.url):
                    self._context.start(self._reach(address))
            await self._wait_for_brokers()
            gone = self._routes.lacking(links.is_usable)
            if gone:
                await self._ask_about(gone)
            if gone and gone == self._routes.lacking(links.is_usable):
                await asyncio.sleep(backoff.pause())
        self._choose_again()

    async def _wait_for_brokers(self) -> None:
        """Wait until no connection is being opened; a broker may be slow, or frozen."""
        await asyncio.sleep(0)  # for them to begin
        await wait_at_most(
            ASK_AGAIN_SECONDS, lambda: not self._is_dialling(), self._progressed
        )

    def _is_dialling(self) -> bool:
        links = self._context.links
        return any(map(links.is_dialling, self._routes.lacking(links.is_usable)))

    async def _reach(self, address: Address) -> None:
        gone = (UnreachableError, RefusedError, LinkLostError)
        with suppress(*gone):  # so its route is asked for again
            await self._context.links.reach(address)
        self.links_changed()

    async def _ask_about(self, urls: Iterable[str]) -> None:
        with suppress(UnreachableError, RefusedError):  # the brokers left go on
            await self._ask(self._routes.topics_at(urls))
