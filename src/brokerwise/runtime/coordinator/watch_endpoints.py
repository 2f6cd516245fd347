"""The calls of the HTTP API by which a fleet is watched, and the page that does."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from brokerwise.page.assets import ASSETS
from brokerwise.runtime.coordinator import status
from brokerwise.runtime.coordinator import watch_bodies as bodies
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.mailbox import Mailbox
from brokerwise.runtime.coordinator.watch.server import WatchServer
from brokerwise.runtime.net.answers import json_answer
from brokerwise.runtime.net.api import OPERATORS, Endpoint
from brokerwise.runtime.net.static import asset_answer
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES

LINES = "application/x-ndjson"
_FOLDER = "/page/"


class WatchEndpoints:
    """Their docstrings are what the API page says about them."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._sql = coordinator.sql
        self._watching = coordinator.watching

    async def watch(self) -> Response:
        """Lines of JSON without end, each with its `kind`: `hello` with the last
        quarter of an hour, the last events, then a `tick` each second; `topics`,
        `data` and `event` when there is news. Who reads slowly misses some. 503 while
        50 others watch."""
        self._watching.refuse_more()
        return WatchAnswer(self._watching)

    async def broker(
        self, name: Annotated[str, Path(max_length=MAX_NAME_BYTES)]
    ) -> Response:
        """One broker, with its topics and sessions."""
        return json_answer(await self._watching.broker(name))

    async def find(
        self, text: Annotated[str, Query(min_length=1, max_length=MAX_NAME_BYTES)]
    ) -> Response:
        """Topics and users with a text in their names, 20 of each at most: where they
        are, and why."""
        return json_answer(status.find(self._sql, text))


class WatchAnswer(StreamingResponse):
    """Goes on until whoever watches has gone, or the coordinator ends."""

    def __init__(self, watching: WatchServer) -> None:
        self._watching, self._box = watching, Mailbox()
        no_copy = {"Cache-Control": "no-store"}
        super().__init__(self._box, media_type=LINES, headers=no_copy)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._watching.subscribed(self._box):
            await super().__call__(scope, receive, send)


def endpoints(calls: WatchEndpoints) -> list[Endpoint]:
    broker, found, only = bodies.WatchedBroker, bodies.FindAnswer, OPERATORS
    one = "/watch/broker/{name:path}"
    return [
        Endpoint("GET", "/watch", calls.watch, only, LINES),
        Endpoint("GET", one, calls.broker, only, broker, (404,)),
        Endpoint("GET", "/watch/find", calls.find, only, found),
    ]


def pages() -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """The page by itself, which has no data in it: for anybody."""

    async def page(request: Request) -> Response:
        name = request.url.path.removeprefix(_FOLDER).strip("/")
        return asset_answer(request, name or "index.html")

    return dict.fromkeys(["/", *(f"{_FOLDER}{name}" for name in ASSETS)], page)
