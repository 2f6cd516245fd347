"""What a broker answers over plain HTTP, on the port of its sessions.

`HttpApi` checks who may ask for what and reads bodies; the answers are `process`'s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.coordination import Health
from brokerwise.runtime.broker.loads import TopicLoad
from brokerwise.runtime.broker.metrics import CONTENT_TYPE
from brokerwise.runtime.broker.sessions import may_publish_as
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.protocol.control import (
    BalancePage,
    CursorRow,
    MoveAnswer,
    MoveOrder,
    RouteChange,
    RouteChangeAnswer,
)
from brokerwise.runtime.protocol.data import Notification
from brokerwise.runtime.protocol.frames import Publish
from brokerwise.runtime.protocol.names import refusal
from brokerwise.runtime.protocol.tokens import Keys, Role

T = TypeVar("T")


class UnreadableBodyError(BrokerwiseError):
    """A body that is not what the page asks for."""


class PostedMessage(Publish, frozen=True, tag="publish"):
    """A message published over HTTP: here it names its source itself."""

    source: str = ""


@dataclass(frozen=True)
class StopOrder:
    """Ends the broker; with `restart`, its parent process starts it again."""

    restart: bool = False


@dataclass(frozen=True)
class LoadPage:
    """GET /load. `users` (messages sent and got by each) is there on an overlay only;
    `dropped` counts messages for other brokers, `fed_dropped` records for datasets."""

    broker: str
    epoch: int
    sessions: int
    received: int
    delivered: int
    load_per_second: float
    topics: Mapping[str, TopicLoad]
    links: Mapping[str, Mapping[str, int]]
    dropped: int
    steps: Mapping[str, Mapping[str, Any]]
    fed: int
    fed_dropped: int
    users: Mapping[str, Mapping[str, int]] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True)
class SessionState:
    """GET /sessions: one session, by its user."""

    topics: list[str]
    sent: int
    acknowledged: int
    cursors: list[CursorRow]


class BrokerActions(Protocol):
    """What the pages show and do. All but `publish` and `health` is for the
    coordinator, for other brokers, and for operators by way of the coordinator."""

    def health(self) -> Health: ...

    def load(self) -> LoadPage: ...

    def sessions(self) -> Mapping[str, SessionState]: ...

    def balance(self) -> BalancePage: ...

    def metrics(self) -> str: ...

    async def publish(self, posted: PostedMessage) -> bool: ...

    def change_routes(self, change: RouteChange) -> RouteChangeAnswer: ...

    async def move(self, order: MoveOrder) -> MoveAnswer: ...

    def notify(self, notification: Notification) -> None: ...

    def stop(self, order: StopOrder) -> None: ...


class HttpApi:
    """Routes a request to its action, if its token allows it."""

    def __init__(self, keys: Keys, actions: BrokerActions) -> None:
        self._keys = keys
        self._actions = actions

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """Never raises for what a request holds."""
        path, method = request.path, request.method
        wanted = _METHODS.get(path)
        if wanted is None:
            return _error(404, f"there is no page {path}")
        if method != wanted:
            return _error(405, f"found {method}, expected {wanted}")
        if path == "/health":
            return _json(self._actions.health())
        holder = self._keys.holder(request.token())
        if holder is None:
            return _error(401, "wrong or missing token")
        if path == "/publish":
            if holder.role is not Role.USER:
                return _error(403, "only users publish")
            return await self._publish(holder.name, request.body)
        if holder.role is not Role.BROKER:
            return _error(403, "only brokers and the coordinator may ask for this")
        try:
            return await self._for_brokers(path, request.body)
        except UnreadableBodyError as error:
            return _error(422, error.message)

    async def _publish(self, user: str, body: bytes) -> HttpAnswer:
        try:
            posted = _read(body, PostedMessage)
        except UnreadableBodyError as error:
            return _error(422, error.message)
        source = posted.source or user
        wrong = refusal(posted.topic) or refusal(source)
        if wrong:
            return _error(422, wrong)
        if not may_publish_as(user, source):
            return _error(403, f"found source {source!r}, expected {user!r}")
        try:
            is_known = await self._actions.publish(
                msgspec.structs.replace(posted, source=source)
            )
        except BrokerwiseError as error:
            return _error(503, f"nobody can say where to now: {error.message}")
        if not is_known:
            return _error(404, f"there is no topic {posted.topic!r}")
        return _json({"accepted": True})

    async def _for_brokers(self, path: str, body: bytes) -> HttpAnswer:
        actions = self._actions
        match path:
            case "/load":
                return _json(actions.load())
            case "/sessions":
                return _json(actions.sessions())
            case "/balance":
                return _json(actions.balance())
            case "/metrics":
                text = actions.metrics().encode()
                return HttpAnswer(200, text, CONTENT_TYPE)
            case "/control/routes":
                return _json(actions.change_routes(_read(body, RouteChange)))
            case "/control/move":
                return _json(await actions.move(_read(body, MoveOrder)))
            case "/notify":
                actions.notify(_read(body, Notification))
                return _json({})
            case _:
                actions.stop(_read(body, StopOrder))
                return _json({})


_METHODS = {
    "/health": "GET",
    "/load": "GET",
    "/sessions": "GET",
    "/balance": "GET",
    "/metrics": "GET",
    "/publish": "POST",
    "/control/routes": "POST",
    "/control/move": "POST",
    "/control/stop": "POST",
    "/notify": "POST",
}


def _read(body: bytes, kind: type[T]) -> T:
    try:
        body.decode()  # inside of `data` nobody else looks
        return msgspec.json.decode(body, type=kind)
    except (ValueError, RecursionError) as cause:
        raise UnreadableBodyError(str(cause)) from cause


def _json(content: object) -> HttpAnswer:
    return HttpAnswer(200, msgspec.json.encode(content))


def _error(status: int, text: str) -> HttpAnswer:
    return HttpAnswer(status, msgspec.json.encode({"error": text}))
