"""The coordinator's HTTP API: its paths, who may call them, and the calls.

The docstrings of the calls are what the API page says about them; what they take and
answer is in `protocol/`.
"""

from typing import Annotated

import msgspec

from brokerwise.runtime.coordinator import moves, status
from brokerwise.runtime.coordinator.balance import answers, execution, proposals
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.watch.server import Mailbox
from brokerwise.runtime.net.api import (
    ANYONE,
    BROKERS,
    OPERATORS,
    USERS,
    Endpoint,
    HttpService,
    Lines,
    Text,
    page_endpoints,
)
from brokerwise.runtime.net.errors import ForbiddenError, NotFoundError, RefusalError
from brokerwise.runtime.net.openapi import About, described_service
from brokerwise.runtime.process import open_files
from brokerwise.runtime.protocol import balance, fleet, watch
from brokerwise.runtime.protocol.fields import Number
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES
from brokerwise.runtime.protocol.tokens import Holder, Role

MAX_MOVES_LISTED = 10_000
MAX_DECISIONS_LISTED = 1_000
_ABOUT = About(
    title="Brokerwise coordinator",
    description="Registers brokers and users, places sessions, keeps routes, "
    "drives moves and drains, and balances load. All bodies are JSON.",
)


def make_service(coordinator: Coordinator) -> HttpService:
    """The whole API; it does not run the coordinator."""
    calls = [
        *_fleet_endpoints(FleetCalls(coordinator)),
        *_balance_endpoints(BalanceCalls(coordinator)),
        *_watch_endpoints(WatchCalls(coordinator)),
    ]
    endpoints = [*calls, *page_endpoints("index.html")]
    return described_service(_ABOUT, endpoints, coordinator.keys)


class FleetCalls:
    """Brokers, users, moves and drains."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def register_broker(
        self, body: fleet.BrokerRegistration
    ) -> fleet.BrokerConfiguration:
        """A broker starts, or comes back after it lost its lease. It gets a new epoch
        and all that it needs to know."""
        return self._coordinator.register(body)

    async def heartbeat(self, body: fleet.Heartbeat) -> fleet.HeartbeatAnswer:
        """A broker lives. `lost` says that its epoch has been given up: it closes its
        sessions and registers again."""
        return self._coordinator.heartbeat(body)

    async def leaving(self, body: fleet.Departure) -> None:
        """A broker ends in good order: its sessions are placed elsewhere at once."""
        self._coordinator.leave(body.broker, body.epoch)

    async def join(self, body: fleet.JoinRequest) -> fleet.JoinAnswer:
        """A broker begins to carry topics, or (`leave`) stops. 409 if its epoch has
        been given up."""
        return await self._coordinator.join(body)

    async def routes(self, body: fleet.RoutesRequest) -> fleet.RoutesAnswer:
        """Which brokers carry the topics. Without a plan a topic that nobody carries
        is given to a broker, if any is up."""
        return await self._coordinator.routes(body.topics)

    async def register_user(self, body: fleet.UserRegistration) -> fleet.UserToken:
        """A token for a user, the same each time."""
        token = self._coordinator.register_user(body.user, body.point)
        return fleet.UserToken(body.user, token)

    async def request_broker(
        self, holder: Holder, body: fleet.BrokerRequest
    ) -> fleet.BrokerAnswer:
        """Which brokers serve a user, and with which topics. Users ask for
        themselves. 503 while no broker can: ask again."""
        if holder.role is Role.USER and holder.name != body.user:
            raise ForbiddenError(f"the token is not for user {body.user!r}")
        return self._coordinator.request_broker(body.user, body.topics)

    async def request_move(self, body: fleet.MoveRequest) -> fleet.MoveStatus:
        """Ask a user's session to move from one broker to another; the answer says
        that the move has begun."""
        move = self._coordinator.request_move(body.user, body.source, body.target)
        return status.move_status(move)

    async def list_moves(
        self,
        state: fleet.MoveState | None = None,
        limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_MOVES_LISTED)] = 100,
    ) -> fleet.Moves:
        """The newest moves, those in one state if it is given."""
        found = moves.newest_moves(self._coordinator.sql, state, limit)
        return fleet.Moves(tuple(map(status.move_status, found)))

    async def show_move(self, id: Number) -> fleet.MoveStatus:
        """One move."""
        move = moves.find_move(self._coordinator.sql, id)
        if move is None:
            raise NotFoundError(f"there is no move {id}")
        return status.move_status(move)

    async def drain(self, body: fleet.DrainRequest) -> fleet.DrainAnswer:
        """Move all sessions of a broker elsewhere, and place nothing there."""
        return fleet.DrainAnswer(self._coordinator.drain(body.broker, body.then))

    async def activate(self, body: fleet.ActivateRequest) -> None:
        """End a drain: sessions may be placed on the broker again."""
        self._coordinator.activate(body.broker)

    async def status(self) -> fleet.FleetStatus:
        """The fleet at a glance."""
        sql, balancing = self._coordinator.sql, self._coordinator.balancing
        mode, words = balancing.mode, balancing.status
        doing = answers.balancer_status(sql, mode, words, balancing.now())
        return status.fleet_status(sql, self._coordinator.reports, doing)

    async def subchannels(self) -> fleet.Subchannels:
        """How an overlay's content is cut into sub-channels: that of the k-th cell is
        topic `subchannel/k`. Empty without an overlay."""
        return fleet.Subchannels(status.axes(self._coordinator.sql))

    async def topics(self) -> fleet.TopicPlan:
        """The topics that there are, with their planned rates, and, if the plan places
        topics, their brokers and targets in milliseconds."""
        return status.topic_plan(self._coordinator.sql)

    async def health(self) -> fleet.Health:
        """The coordinator answers."""
        return fleet.Health("up")

    async def metrics(self) -> Text:
        """For Prometheus."""
        text = status.metrics(self._coordinator.sql, self._coordinator.reports)
        return text + open_files.metrics_text()


def _fleet_endpoints(calls: FleetCalls) -> list[Endpoint]:
    return [
        Endpoint("POST", "/registerbroker", BROKERS, calls.register_broker),
        Endpoint("POST", "/heartbeat", BROKERS, calls.heartbeat),
        Endpoint("POST", "/leaving", BROKERS, calls.leaving),
        Endpoint("POST", "/join", BROKERS, calls.join, (409,)),
        Endpoint("POST", "/requestbroker", USERS, calls.request_broker),
        Endpoint("POST", "/routes", ANYONE, calls.routes),
        Endpoint("GET", "/subchannels", ANYONE, calls.subchannels),
        Endpoint("POST", "/registeruser", OPERATORS, calls.register_user),
        Endpoint("POST", "/moves", OPERATORS, calls.request_move, (404, 409)),
        Endpoint("GET", "/moves", OPERATORS, calls.list_moves),
        Endpoint("GET", "/moves/{id}", OPERATORS, calls.show_move, (404,)),
        Endpoint("POST", "/drain", OPERATORS, calls.drain, (404, 409)),
        Endpoint("POST", "/activate", OPERATORS, calls.activate, (404, 409)),
        Endpoint("GET", "/status", OPERATORS, calls.status),
        Endpoint("GET", "/topics", OPERATORS, calls.topics),
        Endpoint("GET", "/metrics", OPERATORS, calls.metrics),
        Endpoint("GET", "/health", frozenset(), calls.health),
    ]


class BalanceCalls:
    """The balance of the fleet."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._sql = coordinator.sql
        self._balancing = coordinator.balancing

    async def show_balance(self) -> balance.Balance:
        """What the balancer is at, and what each broker carries now."""
        balancing, problem, picture = self._balancing, "", None
        try:
            picture = await balancing.recent_loads()
        except RefusalError as refusal:
            problem = refusal.message
        mode, words = balancing.mode, balancing.status
        doing = answers.balancer_status(self._sql, mode, words, balancing.now())
        return answers.balance(self._sql, mode, doing, picture, problem)

    async def plan(self, body: balance.BalanceOptions) -> balance.Decision:
        """What would be done about the balance of the fleet, and what that would give.
        Nothing is done before its digest is approved."""
        found = await self._balancing.plan(body)
        return answers.decision(found, self._sql)

    async def approve(self, body: balance.ApprovalRequest) -> balance.Approval:
        """Do exactly what was proposed. 409, with what has changed, if the fleet is not
        as it was then."""
        found, begins = self._balancing.approve(body.digest)
        return answers.approval(found, self._sql, begins=begins)

    async def set_mode(self, body: balance.ModeRequest) -> None:
        """Let the balancer decide by itself, or not. More or fewer brokers need an
        approval all the same."""
        self._balancing.set_mode(body)

    async def pause(self) -> None:
        """Moves of decisions that nobody has agreed to yet wait, and nothing is decided
        without being asked."""
        self._balancing.pause(True)

    async def resume(self) -> None:
        """Go on."""
        self._balancing.pause(False)

    async def list_decisions(
        self, limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_DECISIONS_LISTED)] = 20
    ) -> balance.Decisions:
        """What was decided, or thought, and why."""
        found = proposals.newest_decisions(self._sql, limit)
        return balance.Decisions(tuple(answers.decision(d, self._sql) for d in found))

    async def show_decision(self, number: Number) -> balance.DecisionDetails:
        """One decision, with all its moves."""
        found = proposals.read_decision(self._sql, number)
        paused = self._balancing.mode.paused
        return answers.decision_details(found, self._sql, paused=paused)

    async def wanted(self) -> balance.AwaitedBrokers:
        """Brokers that have to be started."""
        return balance.AwaitedBrokers(tuple(execution.wanted_brokers(self._sql)))


def _balance_endpoints(calls: BalanceCalls) -> list[Endpoint]:
    one = "/balance/decisions/{number}"
    return [
        Endpoint("GET", "/balance", OPERATORS, calls.show_balance),
        Endpoint("POST", "/balance/plan", OPERATORS, calls.plan, (409,)),
        Endpoint("POST", "/balance/approve", OPERATORS, calls.approve, (404, 409)),
        Endpoint("POST", "/balance/mode", OPERATORS, calls.set_mode, (409,)),
        Endpoint("POST", "/balance/pause", OPERATORS, calls.pause),
        Endpoint("POST", "/balance/resume", OPERATORS, calls.resume),
        Endpoint("GET", "/balance/decisions", OPERATORS, calls.list_decisions),
        Endpoint("GET", one, OPERATORS, calls.show_decision, (404,)),
        Endpoint("GET", "/balance/wanted", OPERATORS, calls.wanted),
    ]


class WatchCalls:
    """By which a fleet is watched."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._sql = coordinator.sql
        self._watching = coordinator.watching

    async def watch_fleet(self) -> Lines:
        """Lines of JSON without end, each with its `kind`: `hello` with the last
        quarter of an hour, the last events, then a `tick` each second; `topics`,
        `data` and `event` when there is news. Who reads slowly misses some. 503 while
        50 others watch."""
        self._watching.refuse_more()
        return self._lines()

    async def broker(
        self, name: Annotated[str, msgspec.Meta(max_length=MAX_NAME_BYTES)]
    ) -> watch.BrokerDetails:
        """One broker, with its topics and sessions."""
        return await self._watching.broker(name)

    async def find(
        self,
        text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_BYTES)],
    ) -> watch.SearchResult:
        """Topics and users with a text in their names, 20 of each at most: where they
        are, and why."""
        return status.find(self._sql, text)

    async def _lines(self) -> Lines:
        """Until whoever watches has gone, or the coordinator ends."""
        box = Mailbox()
        with self._watching.subscribed(box):
            async for content in box:
                yield content


def _watch_endpoints(calls: WatchCalls) -> list[Endpoint]:
    one = "/watch/broker/{name:path}"
    return [
        Endpoint("GET", "/watch", OPERATORS, calls.watch_fleet),
        Endpoint("GET", one, OPERATORS, calls.broker, (404,)),
        Endpoint("GET", "/watch/find", OPERATORS, calls.find),
    ]
