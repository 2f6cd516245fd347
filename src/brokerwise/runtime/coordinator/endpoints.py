"""The calls of the HTTP API: each takes a checked body and gives an answer."""

from typing import Annotated

from fastapi import Path, Query, Request, Response
from fastapi.responses import PlainTextResponse

from brokerwise.runtime.coordinator import bodies, moves, status
from brokerwise.runtime.coordinator.balance.answers import balancer_status
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.moves import MoveState
from brokerwise.runtime.net.answers import json_answer
from brokerwise.runtime.net.refusals import ForbiddenError, NotFoundError
from brokerwise.runtime.process import open_files
from brokerwise.runtime.protocol.limits import MAX_SEQ
from brokerwise.runtime.protocol.tokens import Holder, Role

MAX_MOVES_LISTED = 10_000


class Endpoints:
    """Their docstrings are what the API page says about them."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def register_broker(self, body: bodies.Registration) -> Response:
        """A broker starts, or comes back after it lost its lease. It gets a new epoch
        and all that it needs to know."""
        return json_answer(self._coordinator.register(body.plain()))

    async def heartbeat(self, body: bodies.Report) -> Response:
        """A broker lives. `lost` says that its epoch has been given up: it closes its
        sessions and registers again."""
        return json_answer(self._coordinator.heartbeat(body.plain()))

    async def leaving(self, body: bodies.Leaving) -> Response:
        """A broker ends in good order: its sessions are placed elsewhere at once."""
        self._coordinator.leave(body.broker, body.epoch)
        return json_answer({})

    async def join(self, body: bodies.Join) -> Response:
        """A broker begins to carry topics, or (`leave`) stops. 409 if its epoch has
        been given up."""
        return json_answer(await self._coordinator.join(body.plain()))

    async def routes(self, body: bodies.RoutesRequest) -> Response:
        """Which brokers carry the topics. Without a plan a topic that nobody carries
        is given to a broker, if any is up."""
        found, unknown = await self._coordinator.routes(body.topics)
        return json_answer({"routes": found, "unknown": unknown})

    async def register_user(self, body: bodies.User) -> Response:
        """A token for a user, the same each time."""
        token = self._coordinator.register_user(body.user, body.point)
        return json_answer({"user": body.user, "token": token})

    async def request_broker(
        self, request: Request, body: bodies.BrokerRequest
    ) -> Response:
        """Which brokers serve a user, and with which topics. Users ask for
        themselves. 503 while no broker can: ask again."""
        holder: Holder = request.state.holder
        if holder.role is Role.USER and holder.name != body.user:
            raise ForbiddenError(f"the token is not for user {body.user!r}")
        return json_answer(self._coordinator.request_broker(body.user, body.topics))

    async def request_move(self, body: bodies.MoveRequest) -> Response:
        """Ask a user's session to move from one broker to another; the answer says
        that the move has begun."""
        move = self._coordinator.request_move(body.user, body.source, body.target)
        return json_answer(status.move_status(move))

    async def list_moves(
        self,
        state: Annotated[MoveState | None, Query()] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_MOVES_LISTED)] = 100,
    ) -> Response:
        """The newest moves, those in one state if it is given."""
        found = moves.newest_moves(self._coordinator.sql, state, limit)
        return json_answer({"moves": [status.move_status(move) for move in found]})

    async def show_move(
        self, number: Annotated[int, Path(alias="id", ge=1, le=MAX_SEQ)]
    ) -> Response:
        """One move."""
        move = moves.find_move(self._coordinator.sql, number)
        if move is None:
            raise NotFoundError(f"there is no move {number}")
        return json_answer(status.move_status(move))

    async def drain(self, body: bodies.DrainRequest) -> Response:
        """Move all sessions of a broker elsewhere, and place nothing there."""
        return json_answer({"moves": self._coordinator.drain(body.broker, body.then)})

    async def activate(self, body: bodies.ActivateRequest) -> Response:
        """End a drain: sessions may be placed on the broker again."""
        self._coordinator.activate(body.broker)
        return json_answer({})

    async def status(self) -> Response:
        """The fleet at a glance."""
        sql, balancing = self._coordinator.sql, self._coordinator.balancing
        mode, words = balancing.mode, balancing.status
        mind = balancer_status(sql, mode, words, balancing.now())
        return json_answer(status.fleet_status(sql, self._coordinator.reports, mind))

    async def subchannels(self) -> Response:
        """How an overlay's content is cut into sub-channels: that of the k-th cell is
        topic `subchannel/k`. Empty without an overlay."""
        return json_answer({"axes": status.axes(self._coordinator.sql)})

    async def topics(self) -> Response:
        """The topics that there are, with their planned rates, and, if the plan places
        topics, their brokers and targets in milliseconds."""
        sql = self._coordinator.sql
        homes, targets = status.placed_topics(sql)
        rates = status.topic_rates(sql)
        return json_answer({"topics": rates, "homes": homes, "targets": targets})

    async def health(self) -> Response:
        """The coordinator answers."""
        return json_answer({"status": "up"})

    async def metrics(self) -> Response:
        """For Prometheus."""
        text = status.metrics(self._coordinator.sql, self._coordinator.reports)
        return PlainTextResponse(text + open_files.metrics_text())
