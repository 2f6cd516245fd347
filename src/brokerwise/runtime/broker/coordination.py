"""What a broker and the coordinator say to each other: leases, joins, routes."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TypeVar

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.hub import Hub
from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.peers import Peers
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.tasks import Backoff
from brokerwise.runtime.protocol.control import (
    BrokerConfiguration,
    BrokerRegistration,
    Heartbeat,
    HeartbeatAnswer,
    JoinAnswer,
    JoinRequest,
    Route,
)
from brokerwise.runtime.protocol.limits import HEARTBEAT_SECONDS, LEASE_SECONDS

T = TypeVar("T")
_log = logging.getLogger(__name__)

JOIN_PAUSE = 0.005  # seconds: who subscribes in the meantime joins in the same request
LEAVE_PAUSE = 1.0  # a topic that nobody wanted for so long is left
TOPICS_AT_ONCE = 2_000  # in a request, so that it is answered in time


@dataclass(frozen=True)
class RoutesAsked:
    topics: tuple[str, ...]


@dataclass(frozen=True)
class RoutesKnown:
    routes: tuple[Route, ...]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Health:
    """What a broker answers to GET /health. `renewed` is how many seconds ago the
    coordinator answered it last."""

    status: str
    broker: str
    epoch: int
    renewed: float


class Lease(Enum):
    """How a broker's lease stands."""

    KEPT = "kept"
    LOST = "lost"
    UNKNOWN = "unknown"


class Coordination:
    """Keeps a broker's lease, and its routes in step with its sessions.

    While the coordinator cannot be reached the broker goes on with what it has;
    subscriptions to topics that it does not carry wait.
    """

    def __init__(
        self,
        url: str,
        token: str,
        registration: Callable[[], BrokerRegistration],
        hub: Hub,
        passage: Passage,
        peers: Peers,
        tls: ssl.SSLContext | None,
    ) -> None:
        self.epoch = 0
        self.renewed_at = 0.0
        self._url = url
        self._token = token
        self._registration = registration
        self._hub = hub
        self._passage = passage
        self._peers = peers
        self._tls = tls
        # A lease must not depend on whether one more connection can be opened: the
        # one that it was got by is kept, and is for nothing else.
        self._line = HttpClient(keeps=True, repeatable=True)
        self._http = HttpClient(keeps=True, repeatable=True)
        self._loop = asyncio.get_running_loop()
        self._leaving: dict[str, None] = {}
        self._looking_up: dict[str, None] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def register(self) -> BrokerConfiguration:
        """Take a new epoch, trying until the coordinator answers."""
        backoff, said = Backoff(), ""
        while True:
            try:
                found = await self._ask(
                    "/registerbroker",
                    self._registration(),
                    BrokerConfiguration,
                    self._line,
                )
            except RefusedError:
                raise
            except BrokerwiseError as problem:
                if problem.message != said:
                    said = problem.message
                    _log.warning("cannot register yet: %s", said)
                await asyncio.sleep(backoff.pause())
                continue
            self.epoch = found.epoch
            self.renewed_at = self._loop.time()
            self._peers.learn(found.brokers)
            self._passage.routes_changed(found.routes)
            return found

    async def renew(self, heartbeat: Heartbeat) -> Lease:
        """Report once, and see how the lease stands.

        Without an answer it stands if the coordinator is down, for then nobody can
        have taken over; not if another broker has renewed its own just now, and we
        still cannot.
        """
        answer = await self._report(heartbeat)
        if answer is Lease.UNKNOWN and self._is_late() and await self._others_renew():
            answer = await self._report(heartbeat)
            return Lease.LOST if answer is Lease.UNKNOWN else answer
        return Lease.KEPT if answer is Lease.UNKNOWN else answer

    async def _report(self, heartbeat: Heartbeat) -> Lease:
        try:
            answer = await self._ask(
                "/heartbeat", heartbeat, HeartbeatAnswer, self._line
            )
        except BrokerwiseError:
            return Lease.UNKNOWN
        if answer.lost:
            return Lease.LOST
        self.renewed_at = self._loop.time()
        self._peers.learn(answer.brokers)
        return Lease.KEPT

    def _is_late(self) -> bool:
        return self._loop.time() - self.renewed_at > LEASE_SECONDS

    async def _others_renew(self) -> bool:
        asked = [self._renewed(url) for url in self._peers.addresses().values()]
        just_now = 2 * HEARTBEAT_SECONDS
        return any([found < just_now for found in await asyncio.gather(*asked)])

    async def leave_fleet(self) -> None:
        """Say that this broker ends, so that nobody waits for its lease to lapse."""
        content = {"broker": self._passage.name, "epoch": self.epoch}
        try:
            await self._ask("/leaving", content, dict[str, object])
        except BrokerwiseError:
            return

    def join(self) -> None:
        """Ask for the topics that subscriptions wait for, very soon."""
        self._start("routes", self._settle_routes)

    def leave(self, topic: str) -> None:
        """Leave a topic if nobody wants it here for a while."""
        self._leaving[topic] = None
        self._loop.call_later(LEAVE_PAUSE, self._start, "routes", self._settle_routes)

    def look_up(self, topic: str) -> None:
        self._looking_up[topic] = None
        self._start("look-ups", self._look_up)

    async def knows(self, topic: str) -> bool:
        """Whether there is such a topic; its route is known then."""
        if self._passage.overlay is not None:
            return self._passage.overlay.knows(topic)
        if self._passage.has_route(topic):
            return True
        found = await self._ask("/routes", RoutesAsked((topic,)), RoutesKnown)
        self._learn_routes(found)
        return bool(found.routes)

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._line.close()
        await self._http.close()

    def _start(
        self, name: str, work: Callable[[], Coroutine[None, None, None]]
    ) -> None:
        running = self._tasks.get(name)
        if running is None or running.done():
            self._tasks[name] = self._loop.create_task(work())

    async def _settle_routes(self) -> None:
        """Joins and leaves go one request after the other: the answers come in the
        order of the changes."""
        backoff = Backoff()
        await asyncio.sleep(JOIN_PAUSE)
        while self._hub.is_waiting() or self._leaving:
            leaving = _taken(self._leaving, TOPICS_AT_ONCE)
            request = JoinRequest(
                self._passage.name,
                self.epoch,
                self._hub.wanted(TOPICS_AT_ONCE),
                self._hub.unwanted(leaving),
            )
            if not request.topics and not request.leave:
                continue
            try:
                answer = await self._ask("/join", request, JoinAnswer)
            except BrokerwiseError:
                self._leaving |= dict.fromkeys(leaving)
                await asyncio.sleep(backoff.pause())
                continue
            if request.epoch == self.epoch:
                self._take(answer)
                self._hub.left(request.leave)

    def _take(self, answer: JoinAnswer) -> None:
        for route in answer.routes:
            self._peers.learn(route.brokers)
        self._hub.joined(answer)
        self._passage.routes_changed(answer.routes)

    async def _look_up(self) -> None:
        backoff = Backoff()
        while self._looking_up:
            topics = tuple(islice(self._looking_up, TOPICS_AT_ONCE))
            try:
                found = await self._ask("/routes", RoutesAsked(topics), RoutesKnown)
            except BrokerwiseError:
                await asyncio.sleep(backoff.pause())
                continue
            for topic in topics:
                del self._looking_up[topic]
            self._learn_routes(found)

    def _learn_routes(self, found: RoutesKnown) -> None:
        for route in found.routes:
            self._peers.learn(route.brokers)
            self._passage.routed(route.topic, route)
        for topic in found.unknown:
            self._passage.routed(topic, None)

    async def _renewed(self, url: str) -> float:
        try:
            health = await self._http.ask(
                f"{_http(url)}/health", None, Health, method="GET", ssl=self._tls
            )
        except BrokerwiseError:
            return float("inf")
        return health.renewed

    async def _ask(
        self, path: str, content: object, kind: type[T], line: HttpClient | None = None
    ) -> T:
        return await (line or self._http).ask(
            f"{self._url}{path}", content, kind, token=self._token, ssl=self._tls
        )


def _taken(waiting: dict[str, None], most: int) -> tuple[str, ...]:
    """Those that have waited longest, who wait no more."""
    found = tuple(islice(waiting, most))
    for name in found:
        del waiting[name]
    return found


def _http(url: str) -> str:
    """The address of a broker's pages: the same port as its sessions."""
    return "http" + url.removeprefix("ws")
