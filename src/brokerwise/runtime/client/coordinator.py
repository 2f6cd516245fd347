"""The calls of a client to the coordinator."""

import ssl
from collections.abc import Sequence
from typing import TypeVar

from brokerwise.runtime.client.errors import UnauthorizedError
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.protocol.fleet import (
    Axis,
    BrokerAnswer,
    BrokerRequest,
    Route,
    RoutesAnswer,
    RoutesRequest,
    Subchannels,
    UserRegistration,
    UserToken,
)

T = TypeVar("T")
MOST_TOPICS = 2_000  # of one request: with the longest names it still fits


class CoordinatorClient:
    """Calls to the coordinator as one user. Cancelling a call loses nothing but its
    answer. Each raises UnreachableError, RefusedError or UnauthorizedError. Requests go
    over `http`, which may keep connections; each may be carried out twice."""

    def __init__(self, url: str, token: str, tls: ssl.SSLContext | None) -> None:
        self.url = url.rstrip("/")
        self.http = HttpClient()
        self._token = token
        self._tls = tls

    async def request_broker(
        self, user: str, topics: Sequence[str] | None
    ) -> BrokerAnswer:
        content = BrokerRequest(user, None if topics is None else tuple(topics))
        return await self._ask("/requestbroker", content, BrokerAnswer)

    async def routes(self, topics: Sequence[str]) -> RoutesAnswer:
        routes: list[Route] = []
        unknown: list[str] = []
        for start in range(0, len(topics), MOST_TOPICS):
            part = tuple(topics[start : start + MOST_TOPICS])
            found = await self._ask("/routes", RoutesRequest(part), RoutesAnswer)
            routes += found.routes
            unknown += found.unknown
        return RoutesAnswer(tuple(routes), tuple(unknown))

    async def axes(self) -> tuple[Axis, ...]:
        """Those of the overlay that the fleet runs; none if it runs none."""
        return (await self._ask("/subchannels", None, Subchannels, "GET")).axes

    async def register_user(
        self, user: str, place: tuple[float, float] | None = None
    ) -> str:
        """The user's token; only operators may ask. `place` is where the user is."""
        content = UserRegistration(user, *(place or (None, None)))
        return (await self._ask("/registeruser", content, UserToken)).token

    async def _ask(
        self, path: str, content: object, kind: type[T], method: str = "POST"
    ) -> T:
        try:
            return await self.http.ask(
                f"{self.url}{path}",
                content,
                kind,
                method=method,
                token=self._token,
                ssl=self._tls,
            )
        except RefusedError as refused:
            if refused.status in (401, 403):
                raise UnauthorizedError(
                    f"the coordinator refuses this token: {refused.text}"
                ) from refused
            raise
