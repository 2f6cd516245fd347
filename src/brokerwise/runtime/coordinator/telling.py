"""What the coordinator says to brokers, over HTTP."""

import ssl
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from brokerwise.runtime.coordinator.load_pages import LoadPage, SessionPage
from brokerwise.runtime.coordinator.routing import batches
from brokerwise.runtime.net.errors import UnreachableError
from brokerwise.runtime.protocol.control import (
    Address,
    BalancePage,
    CursorRow,
    MoveAnswer,
    MoveOrder,
    Route,
    RouteChange,
    RouteChangeAnswer,
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


class Ask(Protocol):
    """As `wire.requests.ask`."""

    async def __call__(
        self,
        url: str,
        body: object,
        kind: type[T],
        *,
        method: str,
        token: str,
        seconds: float,
        ssl: ssl.SSLContext | None,
    ) -> T: ...


class Telling:
    """Requests to brokers. Every call raises UnreachableError if there is no answer,
    RefusedError for one that is an error; all may be repeated.

    `silent` are those that did not answer lately: until they are heard again nobody
    waits for them.
    """

    def __init__(self, ask: Ask, token: str, tls: ssl.SSLContext | None) -> None:
        self._ask = ask
        self._token = token
        self._tls = tls
        self.silent: set[str] = set()

    async def routes(self, broker: Address, routes: Iterable[Route]) -> list[CursorRow]:
        """Tell a broker new routes; returns what it has seen of their topics."""
        cursors: list[CursorRow] = []
        for batch in batches(routes, MAX_FRAME_BYTES // 2):
            answer = await self._say(
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
        return await self._say(
            broker, "/control/move", order, MoveAnswer, ORDER_SECONDS
        )

    async def balance(self, broker: Address) -> BalancePage:
        """What a broker carries."""
        return await self._say(
            broker, "/balance", None, BalancePage, GATHER_SECONDS, "GET"
        )

    async def load(self, broker: Address) -> LoadPage:
        """What a broker says of its topics, to look at: one that does not is not
        taken for silent."""
        return await self._ask_for(
            broker, "/load", None, LoadPage, GATHER_SECONDS, "GET"
        )

    async def sessions(self, broker: Address) -> dict[str, SessionPage]:
        """The sessions of a broker by user, to look at."""
        return await self._ask_for(
            broker, "/sessions", None, dict[str, SessionPage], GATHER_SECONDS, "GET"
        )

    async def stop(self, broker: Address, *, restart: bool) -> None:
        await self._say(
            broker,
            "/control/stop",
            {"restart": restart},
            dict[str, Any],
            REQUEST_SECONDS,
        )

    async def _say(
        self,
        broker: Address,
        path: str,
        body: object,
        kind: type[T],
        seconds: float,
        method: str = "POST",
    ) -> T:
        try:
            return await self._ask_for(broker, path, body, kind, seconds, method)
        except UnreachableError:
            self.silent.add(broker.broker)
            raise

    async def _ask_for(
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
