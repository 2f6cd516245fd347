"""What a broker answers over plain HTTP, on the port of its sessions.

`HttpApi` checks who may ask for what and reads bodies; the answers are `process`'s.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.metrics import CONTENT_TYPE
from brokerwise.runtime.broker.sessions import may_publish_as
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.protocol.data import Notification
from brokerwise.runtime.protocol.fields import (
    BodyReader,
    Empty,
    ErrorAnswer,
    FieldError,
)
from brokerwise.runtime.protocol.fleet import (
    BalancePage,
    BrokerHealth,
    LoadPage,
    MoveAnswer,
    MoveOrder,
    PostedMessage,
    RouteChange,
    RouteChangeAnswer,
    SessionState,
    StopOrder,
)
from brokerwise.runtime.protocol.names import refusal
from brokerwise.runtime.protocol.tokens import Keys, Role


class BrokerActions(Protocol):
    """What the pages show and do. All but `publish` and `health` is for the
    coordinator, for other brokers, and for operators by way of the coordinator."""

    def health(self) -> BrokerHealth: ...

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
        except FieldError as error:
            return _error(422, error.message)

    async def _publish(self, user: str, body: bytes) -> HttpAnswer:
        try:
            posted = _MESSAGE.read(body)
        except FieldError as error:
            return _error(422, error.message)
        source = posted.source or user
        wrong = refusal(source)
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
                return _json(actions.change_routes(_ROUTES.read(body)))
            case "/control/move":
                return _json(await actions.move(_MOVE.read(body)))
            case "/notify":
                actions.notify(_NOTIFICATION.read(body))
                return _json(Empty())
            case _:
                actions.stop(_STOP.read(body))
                return _json(Empty())


_MESSAGE, _NOTIFICATION = BodyReader(PostedMessage), BodyReader(Notification)
_ROUTES, _MOVE = BodyReader(RouteChange), BodyReader(MoveOrder)
_STOP = BodyReader(StopOrder)
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


def _json(content: object) -> HttpAnswer:
    return HttpAnswer(200, msgspec.json.encode(content))


def _error(status: int, text: str) -> HttpAnswer:
    return HttpAnswer(status, msgspec.json.encode(ErrorAnswer(text)))
