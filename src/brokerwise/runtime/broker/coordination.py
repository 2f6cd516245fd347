"""The broker's calls to the coordinator: registration, lease, routes.

A lost lease is noticed in `Coordination.renew`, once every HEARTBEAT_SECONDS;
`process` then fences the broker (and does so by itself after it was frozen). Joins and
leaves of topics go out from `_settle_routes`, look-ups of routes from `_look_up`.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Coroutine
from enum import Enum
from itertools import islice
from typing import TypeVar

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.peers import Peers
from brokerwise.runtime.broker.router import LookUpRoute, MessageRouter
from brokerwise.runtime.broker.subscriptions import (
    CoordinatorCommand,
    JoinTopics,
    LeaveTopic,
    SessionHandler,
)
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.tasks import Backoff
from brokerwise.runtime.protocol.fields import Empty
from brokerwise.runtime.protocol.fleet import (
    BrokerConfiguration,
    BrokerHealth,
    BrokerRegistration,
    Departure,
    Heartbeat,
    HeartbeatAnswer,
    JoinAnswer,
    JoinRequest,
    RoutesAnswer,
    RoutesRequest,
)
from brokerwise.runtime.protocol.limits import HEARTBEAT_SECONDS, LEASE_SECONDS

T = TypeVar("T")
log = logging.getLogger(__name__)

JOIN_PAUSE = 0.005  # seconds: subscriptions of that time go in one request
LEAVE_PAUSE = 1.0  # seconds without a session, after which a topic is left
TOPICS_AT_ONCE = 2_000  # in a request, so that it is answered in time


class LeaseState(Enum):
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
        tls: ssl.SSLContext | None,
        *,
        registration: Callable[[], BrokerRegistration],
        handler: SessionHandler,
        router: MessageRouter,
        peers: Peers,
    ) -> None:
        self.epoch = 0
        self.renewed_at = 0.0
        self._url = url
        self._token = token
        self._registration = registration
        self._handler = handler
        self._router = router
        self._peers = peers
        self._tls = tls
        # A lease must not depend on whether one more connection can be opened: the
        # one that it was got by is kept, and is for nothing else.
        self._line = HttpClient(keeps=True, repeatable=True)
        self._http = HttpClient(keeps=True, repeatable=True)
        self._loop = asyncio.get_running_loop()
        self._is_silent = False  # the coordinator, and that was logged
        self._leaving: dict[str, None] = {}
        self._looking_up: dict[str, None] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def register(self) -> BrokerConfiguration:
        """Take a new epoch, trying until the coordinator answers."""
        backoff, logged = Backoff(), ""
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
                if problem.message != logged:
                    logged = problem.message
                    log.warning("cannot register yet: %s", logged)
                await asyncio.sleep(backoff.pause())
                continue
            self.epoch = found.epoch
            self.renewed_at, self._is_silent = self._loop.time(), False
            self._peers.learn(found.brokers)
            self._router.change_routes(found.routes)
            log.info(
                "registered with epoch %d, with %d other brokers",
                *(found.epoch, len(self._peers.addresses())),
            )
            return found

    async def renew(self, heartbeat: Heartbeat) -> LeaseState:
        """Send a heartbeat, and return how the lease stands.

        Without an answer the lease holds if the coordinator is down, for then no other
        broker can have taken over. It is lost if another broker has just renewed its
        own while this one still cannot.
        """
        answer = await self._report(heartbeat)
        if (
            answer is LeaseState.UNKNOWN
            and self._is_late()
            and await self._others_renew()
        ):
            answer = await self._report(heartbeat)
            if answer is not LeaseState.UNKNOWN:
                return answer
            log.warning("lease lost: other brokers renew theirs, this one cannot")
            return LeaseState.LOST
        return LeaseState.KEPT if answer is LeaseState.UNKNOWN else answer

    async def _report(self, heartbeat: Heartbeat) -> LeaseState:
        try:
            answer = await self._ask(
                "/heartbeat", heartbeat, HeartbeatAnswer, self._line
            )
        except BrokerwiseError as problem:
            if not self._is_silent:
                self._is_silent = True
                log.warning("the lease could not be renewed: %s", problem.message)
            return LeaseState.UNKNOWN
        now = self._loop.time()
        if answer.lost:
            log.warning("lease lost: the coordinator has given it up")
            return LeaseState.LOST
        if self._is_silent:
            self._is_silent = False
            log.info("lease renewed, after %.1f s", now - self.renewed_at)
        self.renewed_at = now
        self._peers.learn(answer.brokers)
        return LeaseState.KEPT

    def _is_late(self) -> bool:
        return self._loop.time() - self.renewed_at > LEASE_SECONDS

    async def _others_renew(self) -> bool:
        asked = [self._renewed(url) for url in self._peers.addresses().values()]
        just_now = 2 * HEARTBEAT_SECONDS
        return any([found < just_now for found in await asyncio.gather(*asked)])

    async def leave_fleet(self) -> None:
        """Tell the coordinator that this broker ends, so that it need not wait for the
        lease to lapse."""
        log.info("leaves the fleet")
        content = Departure(self._router.name, self.epoch)
        try:
            await self._ask("/leaving", content, Empty)
        except BrokerwiseError:
            return

    def carry_out(self, command: CoordinatorCommand) -> None:
        """Ask the coordinator soon, in one request with what else is waiting."""
        match command:
            case JoinTopics():
                self._start("routes", self._settle_routes)
            case LeaveTopic(topic):
                self._leaving[topic] = None
                self._loop.call_later(
                    LEAVE_PAUSE, self._start, "routes", self._settle_routes
                )
            case LookUpRoute(topic):
                self._looking_up[topic] = None
                self._start("look-ups", self._look_up)

    async def knows(self, topic: str) -> bool:
        """True if there is such a topic; its route is known then."""
        if self._router.overlay is not None:
            return self._router.overlay.knows(topic)
        if self._router.has_route(topic):
            return True
        found = await self._ask("/routes", RoutesRequest((topic,)), RoutesAnswer)
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
        while self._handler.is_waiting() or self._leaving:
            leaving = _take_first(self._leaving, TOPICS_AT_ONCE)
            request = JoinRequest(
                self._router.name,
                self.epoch,
                self._handler.topics_to_join(TOPICS_AT_ONCE),
                self._handler.topics_to_leave(leaving),
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
                self._handler.finish_leaving(request.leave)

    def _take(self, answer: JoinAnswer) -> None:
        for route in answer.routes:
            self._peers.learn(route.brokers)
        for command in self._handler.finish_joining(answer):
            self.carry_out(command)
        self._router.change_routes(answer.routes)

    async def _look_up(self) -> None:
        backoff = Backoff()
        while self._looking_up:
            topics = tuple(islice(self._looking_up, TOPICS_AT_ONCE))
            try:
                found = await self._ask("/routes", RoutesRequest(topics), RoutesAnswer)
            except BrokerwiseError:
                await asyncio.sleep(backoff.pause())
                continue
            for topic in topics:
                del self._looking_up[topic]
            self._learn_routes(found)

    def _learn_routes(self, found: RoutesAnswer) -> None:
        for route in found.routes:
            self._peers.learn(route.brokers)
            for command in self._router.take_route(route.topic, route):
                self.carry_out(command)
        for topic in found.unknown:
            self._router.take_route(topic, None)

    async def _renewed(self, url: str) -> float:
        try:
            health = await self._http.ask(
                f"{http_url(url)}/health",
                None,
                BrokerHealth,
                method="GET",
                ssl=self._tls,
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


def _take_first(waiting: dict[str, None], most: int) -> tuple[str, ...]:
    """Remove and return those that have waited longest."""
    found = tuple(islice(waiting, most))
    for name in found:
        del waiting[name]
    return found


def http_url(url: str) -> str:
    """The address of a broker's HTTP API: the same port as its sessions."""
    return "http" + url.removeprefix("ws")
