"""Routes change one after the other, and brokers hear of it in that order."""

import asyncio
import logging
from collections.abc import Iterable, Sequence

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator import carriers
from brokerwise.runtime.coordinator.brokers import find_broker, is_current
from brokerwise.runtime.coordinator.routing import highest
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.coordinator.telling import Telling
from brokerwise.runtime.net.refusals import ConflictError
from brokerwise.runtime.protocol.control import (
    CursorRow,
    JoinAnswer,
    JoinRequest,
    Route,
)

_log = logging.getLogger(__name__)


class Herald:
    """Stores changes of routes, then tells the brokers that they concern.

    Who could not be told is told later by `catch_up`, as often as it takes.
    """

    def __init__(self, store: Store, telling: Telling) -> None:
        self._store = store
        self._telling = telling
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
        routes = carriers.routes_of(self._store.sql, changed)
        return JoinAnswer(
            tuple(route for route in routes if route.generation),
            tuple(unknown),
            highest(cursors),
        )

    async def routes(self, topics: Iterable[str]) -> tuple[list[Route], list[str]]:
        """The routes of topics, and those that there are none of. What nobody carries
        is given to a broker first, if there is no plan. Cancelling it loses nothing."""
        sql = self._store.sql
        found, unknown = carriers.known(sql, topics)
        if carriers.without_carrier(sql, found):
            async with self._turn:
                with self._store.change():
                    carriers.give_carriers(sql, found)
                await self._catch_up()
        return carriers.routes_of(sql, found), unknown

    async def catch_up(self) -> None:
        """Tell all that has not been told, to those that can be reached."""
        if carriers.untold(self._store.sql):
            async with self._turn:
                await self._catch_up()

    async def _catch_up(self) -> None:
        """Who carries a topic hears of it before those that do not any more: they
        pass messages on to it."""
        for carries in (True, False):
            waiting = {
                name: [t for t in topics if self._carries(name, t) is carries]
                for name, topics in carriers.untold(self._store.sql).items()
            }
            await asyncio.gather(*(self._tell(b, t) for b, t in waiting.items() if t))

    def _carries(self, broker: str, topic: str) -> bool:
        return broker in carriers.carried(self._store.sql, topic).brokers

    def _store_join(self, request: JoinRequest) -> tuple[list[str], list[str]]:
        self._check_epoch(request)
        with self._store.change() as sql:
            topics, unknown = carriers.known(sql, request.topics)
            for topic in topics:
                carriers.join(sql, request.broker, topic)
            for topic in request.leave:
                carriers.leave(sql, request.broker, topic)
        return topics, unknown

    def _check_epoch(self, request: JoinRequest) -> None:
        if not is_current(self._store.sql, request.broker, request.epoch):
            raise ConflictError(
                f"epoch {request.epoch} of broker {request.broker!r} has been given "
                "up: register again"
            )

    def _others(self, broker: str, topics: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for topic in topics:
            for other in carriers.carried(self._store.sql, topic).brokers:
                if other != broker:
                    found.setdefault(other, []).append(topic)
        return found

    async def _tell(self, name: str, topics: Sequence[str]) -> list[CursorRow]:
        """What the broker has seen of the topics; nothing if it cannot be reached."""
        broker = find_broker(self._store.sql, name)
        if broker is None or not broker.alive or name in self._telling.silent:
            return []
        routes = carriers.routes_of(self._store.sql, topics)
        try:
            cursors = await self._telling.routes(broker.address, routes)
        except BrokerwiseError as cause:
            _log.warning("cannot tell broker %s its routes: %s", name, cause)
            return []
        with self._store.change() as sql:
            carriers.told(sql, name, routes)
        return cursors
