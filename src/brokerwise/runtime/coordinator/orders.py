"""What the coordinator says to brokers, over HTTP, and what it asks them.

`BrokerClient` sends single requests. `RouteAnnouncer` stores changes of routes, one
after the other, and tells the brokers that they concern in that order; a broker that
could not be told is told later. The orders of a move are given in `moves.py`.
"""

import asyncio
import logging
import ssl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator import routes as stored
from brokerwise.runtime.coordinator.brokers import find_broker, is_current
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.net.errors import ConflictError, UnreachableError
from brokerwise.runtime.net.http import Ask
from brokerwise.runtime.protocol.fields import Empty
from brokerwise.runtime.protocol.fleet import (
    Address,
    BalancePage,
    CursorRow,
    JoinAnswer,
    JoinRequest,
    MoveAnswer,
    MoveOrder,
    Route,
    RouteChange,
    RouteChangeAnswer,
    RoutesAnswer,
    SessionState,
    StopOrder,
    TrafficPage,
)
from brokerwise.runtime.protocol.limits import (
    MAX_FRAME_BYTES,
    MOVE_SECONDS,
    REQUEST_SECONDS,
)

T = TypeVar("T")
# A broker that joins waits for those that are told, and for less than a request lasts.
TELL_SECONDS = REQUEST_SECONDS / 2
ORDER_SECONDS = MOVE_SECONDS + REQUEST_SECONDS
GATHER_SECONDS = 5.0  # a page with very many sessions takes a while
_NAMED = 3  # topics in a line of the log

log = logging.getLogger(__name__)


class BrokerClient:
    """Requests to brokers. Every call raises UnreachableError if there is no answer,
    RefusedError for one that is an error; all may be repeated.

    `silent` are the brokers that did not answer lately: until they are heard again
    routes are not sent to them.
    """

    def __init__(self, ask: Ask, token: str, tls: ssl.SSLContext | None) -> None:
        self._ask = ask
        self._token = token
        self._tls = tls
        self.silent: set[str] = set()
        self._failing: set[tuple[str, str]] = set()  # broker and path

    def hear(self, broker: str) -> None:
        """The broker has said something: it can be reached again."""
        self.silent.discard(broker)

    async def routes(self, broker: Address, routes: Iterable[Route]) -> list[CursorRow]:
        """Tell a broker new routes; returns what it has seen of their topics."""
        cursors: list[CursorRow] = []
        for batch in batches(routes, MAX_FRAME_BYTES // 2):
            answer = await self._order(
                broker,
                "/control/routes",
                RouteChange(batch),
                RouteChangeAnswer,
                TELL_SECONDS,
            )
            cursors.extend(answer.cursors)
        return cursors

    async def move(self, broker: Address, order: MoveOrder) -> MoveAnswer:
        """Order a step of a move; the answer comes when the client has done it."""
        return await self._order(
            broker, "/control/move", order, MoveAnswer, ORDER_SECONDS
        )

    async def stop(self, broker: Address, *, restart: bool) -> None:
        await self._order(
            broker,
            "/control/stop",
            StopOrder(restart),
            Empty,
            REQUEST_SECONDS,
        )

    async def balance(self, broker: Address) -> BalancePage:
        """What a broker carries."""
        return await self._order(
            broker, "/balance", None, BalancePage, GATHER_SECONDS, "GET"
        )

    async def load(self, broker: Address) -> TrafficPage:
        """What a broker says of its topics, to look at: one that does not is not
        taken for silent."""
        return await self._request(
            broker, "/load", None, TrafficPage, GATHER_SECONDS, "GET"
        )

    async def sessions(self, broker: Address) -> dict[str, SessionState]:
        """The sessions of a broker by user, to look at."""
        return await self._request(
            broker, "/sessions", None, dict[str, SessionState], GATHER_SECONDS, "GET"
        )

    async def _order(
        self,
        broker: Address,
        path: str,
        body: object,
        kind: type[T],
        seconds: float,
        method: str = "POST",
    ) -> T:
        """As `_request`; a broker that does not answer is silent from now on. What a
        broker does not take is logged once, until it takes it again."""
        key = (broker.broker, path)
        try:
            answer = await self._request(broker, path, body, kind, seconds, method)
        except BrokerwiseError as cause:
            if isinstance(cause, UnreachableError):
                self.silent.add(broker.broker)
            if key not in self._failing:
                log.warning("broker %r did not take %s: %s", *key, cause)
            self._failing.add(key)
            raise
        if key in self._failing:
            log.info("broker %r takes %s again", *key)
            self._failing.discard(key)
        return answer

    async def _request(
        self,
        broker: Address,
        path: str,
        body: object,
        kind: type[T],
        seconds: float,
        method: str,
    ) -> T:
        return await self._ask(
            *("http" + broker.url.removeprefix("ws") + path, body, kind),
            method=method,
            token=self._token,
            seconds=seconds,
            ssl=self._tls,
        )


class RouteAnnouncer:
    """Stores changes of routes, then tells the brokers that they concern.

    A broker that could not be told is told later by `catch_up`, as often as it takes.
    """

    def __init__(self, store: Store, client: BrokerClient) -> None:
        self._store = store
        self._client = client
        self._turn = asyncio.Lock()

    async def join(self, request: JoinRequest) -> JoinAnswer:
        """A broker begins to carry topics, or stops. Raises ConflictError if its
        epoch has been given up.

        The brokers that carry the topics already are told even if nothing is new:
        the broker may ask again because our answer was lost. Cancelling it loses
        nothing that `catch_up` would not tell.
        """
        async with self._turn:
            topics, unknown = self._store_join(request)
            others = self._others(request.broker, topics)
            told = [self._tell(name, found) for name, found in others.items()]
            cursors = [row for rows in await asyncio.gather(*told) for row in rows]
        self._check_epoch(request)
        changed = dict.fromkeys([*topics, *request.leave])
        routes = stored.routes_of(self._store.sql, changed)
        return JoinAnswer(
            tuple(route for route in routes if route.generation),
            tuple(unknown),
            highest(cursors),
        )

    async def routes(self, topics: Iterable[str]) -> RoutesAnswer:
        """The routes of topics, and those that there are none of. A topic that no
        broker carries is given to one first, if there is no plan. Cancelling it loses
        nothing."""
        sql = self._store.sql
        found, unknown = stored.split_known(sql, topics)
        if stored.unrouted(sql, found):
            async with self._turn:
                with self._store.change():
                    assigned = stored.assign_brokers(sql, found)
                _log_routes("brokers were chosen for", assigned)
                await self._catch_up()
        return RoutesAnswer(tuple(stored.routes_of(sql, found)), tuple(unknown))

    async def catch_up(self) -> None:
        """Tell all that has not been told, to the brokers that can be reached."""
        if stored.untold(self._store.sql):
            async with self._turn:
                await self._catch_up()

    async def _catch_up(self) -> None:
        """The brokers that carry a topic hear of it before those that do not any more:
        they pass messages on to them."""
        for carries in (True, False):
            waiting = {
                name: [t for t in topics if self._carries(name, t) is carries]
                for name, topics in stored.untold(self._store.sql).items()
            }
            await asyncio.gather(*(self._tell(b, t) for b, t in waiting.items() if t))

    def _carries(self, broker: str, topic: str) -> bool:
        return broker in stored.stored_route(self._store.sql, topic).brokers

    def _store_join(self, request: JoinRequest) -> tuple[list[str], list[str]]:
        self._check_epoch(request)
        broker = request.broker
        with self._store.change() as sql:
            topics, unknown = stored.split_known(sql, request.topics)
            joined = {topic: stored.join(sql, broker, topic) for topic in topics}
            left = {topic: stored.leave(sql, broker, topic) for topic in request.leave}
        _log_routes(f"broker {broker!r} joined", joined)
        _log_routes(f"broker {broker!r} left", left)
        return topics, unknown

    def _check_epoch(self, request: JoinRequest) -> None:
        if not is_current(self._store.sql, request.broker, request.epoch):
            log.warning(
                "broker %r may not join topics: epoch %d has been given up",
                *(request.broker, request.epoch),
            )
            raise ConflictError(
                f"epoch {request.epoch} of broker {request.broker!r} has been given "
                "up: register again"
            )

    def _others(self, broker: str, topics: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for topic in topics:
            for other in stored.stored_route(self._store.sql, topic).brokers:
                if other != broker:
                    found.setdefault(other, []).append(topic)
        return found

    async def _tell(self, name: str, topics: Sequence[str]) -> list[CursorRow]:
        """What the broker has seen of the topics; nothing if it cannot be reached."""
        broker = find_broker(self._store.sql, name)
        if broker is None or not broker.alive or name in self._client.silent:
            return []
        routes = stored.routes_of(self._store.sql, topics)
        try:
            cursors = await self._client.routes(broker.address, routes)
        except BrokerwiseError:
            return []
        with self._store.change() as sql:
            stored.mark_told(sql, name, routes)
        return cursors


def highest(cursors: Iterable[CursorRow]) -> tuple[CursorRow, ...]:
    """Of several brokers' positions of a topic and source, the last one."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for topic, source, epoch, seq in cursors:
        key = (topic, source)
        found[key] = max(found.get(key, (epoch, seq)), (epoch, seq))
    return tuple((*key, *position) for key, position in found.items())


def batches(routes: Iterable[Route], most_bytes: int) -> Iterator[tuple[Route, ...]]:
    """Routes in groups of at most `most_bytes` as JSON (a longer one goes alone)."""
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


def _log_routes(what: str, generations: Mapping[str, int]) -> None:
    """What became of topics, with the new generations of their routes; 0 if a route
    has not changed."""
    changed = [topic for topic, generation in generations.items() if generation]
    if changed:
        log.info(
            "%s %d topics, generation up to %d: %s%s",
            *(what, len(changed), max(generations.values())),
            ", ".join(map(repr, changed[:_NAMED])),
            ", ..." if len(changed) > _NAMED else "",
        )
