"""The coordinator: every request that it answers, as a call, and what it does by
itself.

What there is to do is in the stored state, so a coordinator that starts again goes on
where the last one was killed. A round, at least four times a second, notices lost
leases (`leases.py`), goes on with drains (`drains.py`) and decisions, tells brokers
their routes (`orders.py`), and begins or resumes moves (`moves.py`).
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Iterable

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.balancing.placement import Point
from brokerwise.runtime.coordinator import drains, leases, moves, sessions
from brokerwise.runtime.coordinator.balance.service import BalanceService
from brokerwise.runtime.coordinator.brokers import (
    Broker,
    all_brokers,
    is_current,
    the_broker,
)
from brokerwise.runtime.coordinator.orders import BrokerClient, RouteAnnouncer
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.coordinator.watch.polling import DataSource
from brokerwise.runtime.coordinator.watch.server import WatchServer
from brokerwise.runtime.net.errors import ConflictError, NotFoundError
from brokerwise.runtime.net.http import Ask
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import (
    BrokerAnswer,
    BrokerConfiguration,
    BrokerRegistration,
    BrokerState,
    Heartbeat,
    HeartbeatAnswer,
    JoinAnswer,
    JoinRequest,
    RoutesAnswer,
    Then,
)
from brokerwise.runtime.protocol.tokens import Keys, Role

EXPECTED_SECONDS = 30.0  # a broker of the seed that has not registered by then is lost
TICK_SECONDS = 0.25
PAUSE_SECONDS = 0.02  # between two rounds, however much happens
RETRY_SECONDS = 0.25
Clock = Callable[[], float]

log = logging.getLogger(__name__)


class Coordinator:
    """Answers requests at once from the stored state, and stores what they change.

    `run` does the rest. `clock` gives seconds that never go back, `wall` seconds
    since 1970. `data` is the data cluster, if there is one. Calls raise RefusalError.
    """

    def __init__(
        self,
        store: Store,
        keys: Keys,
        ask: Ask,
        *,
        tls: ssl.SSLContext | None = None,
        data: DataSource | None = None,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        self.keys = keys
        self.reports: dict[str, Heartbeat] = {}
        self._store = store
        self._clock, self._wall = clock, wall
        self._started = clock()
        self._work = asyncio.Event()  # there may be something to do
        wake = self._work.set
        self._client = BrokerClient(ask, keys.token(Role.BROKER, "coordinator"), tls)
        self._announcer = RouteAnnouncer(store, self._client)
        self._moves = moves.MoveRunner(store, self._client, wake)
        self._telling_routes: asyncio.Task[None] | None = None
        self._stopping: dict[tuple[str, int], asyncio.Task[None]] = {}
        self.balancing = BalanceService(store, self._client, wall=wall, wake=wake)
        self.watching = WatchServer(
            *(store.sql, self.reports, self._client, self.balancing),
            data=data,
            clock=clock,
            wall=wall,
        )
        self.balancing.moves_ended = self.watching.add_ended_moves
        self._leases = leases.Leases()
        for broker in all_brokers(store.sql):
            if broker.alive:
                self._leases.renew(broker.name, self._started)

    @property
    def sql(self) -> Sql:
        """The stored state, to read."""
        return self._store.sql

    async def run(self) -> None:
        """Look after leases, moves, drains, the balance of the fleet and those who
        watch it until cancelled, which loses nothing: the next coordinator takes it up.
        Any error in it is one of ours, and ends it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._run_rounds())
            group.create_task(self.balancing.run())
            group.create_task(self.watching.run())

    # Brokers

    def register(self, registration: BrokerRegistration) -> BrokerConfiguration:
        with self._store.change() as sql:
            found = leases.register(sql, registration, self._wall())
        self._hear(registration.broker)
        self.reports.pop(registration.broker, None)
        self._work.set()
        return found

    def heartbeat(self, report: Heartbeat) -> HeartbeatAnswer:
        if not is_current(self.sql, report.broker, report.epoch):
            log.warning(
                "broker %r is told that it is lost: epoch %d has been given up",
                *(report.broker, report.epoch),
            )
            return HeartbeatAnswer(lost=True)
        self._hear(report.broker)
        self.reports[report.broker] = report
        self.watching.add_heartbeat(report)
        alive = (b.address for b in all_brokers(self.sql) if b.alive)
        return HeartbeatAnswer(lost=False, brokers=tuple(alive))

    def leave(self, broker: str, epoch: int) -> None:
        """A broker ends. One whose epoch was given up before has nothing to end."""
        if is_current(self.sql, broker, epoch):
            self._lose(broker, graceful=True)

    def sweep(self) -> None:
        """Give up the brokers that have not been heard of for too long."""
        now = self._clock()
        for name in self._leases.lapsed(now):
            self._lose(name)
        if now - self._started > EXPECTED_SECONDS:
            for broker in all_brokers(self.sql):
                if broker.state is BrokerState.EXPECTED and not broker.since:
                    self._lose(broker.name)

    async def join(self, request: JoinRequest) -> JoinAnswer:
        self._client.hear(request.broker)
        answer = await self._announcer.join(request)
        self._work.set()
        return answer

    # Users

    async def routes(self, topics: Iterable[str]) -> RoutesAnswer:
        return await self._announcer.routes(topics)

    def register_user(self, user: str, point: Point | None) -> str:
        """The user's token."""
        with self._store.change() as sql:
            sessions.register_user(sql, user, point)
        return self.keys.token(Role.USER, user)

    def request_broker(self, user: str, topics: Iterable[str] | None) -> BrokerAnswer:
        with self._store.change() as sql:
            return sessions.request_broker(sql, user, topics)

    # Operators

    def request_move(self, user: str, source: str, target: str) -> moves.Move:
        with self._store.change() as sql:
            drains.refuse_overlay(sql)
            _check_move(sql, user, source, target)
            move = moves.request_move(sql, user, source, target)
        self._work.set()
        return move

    def drain(self, broker: str, then: Then) -> int:
        """The number of users that have to move."""
        with self._store.change() as sql:
            count = drains.begin_drain(sql, broker, then, self._wall())
        self._work.set()
        return count

    def activate(self, broker: str) -> None:
        with self._store.change() as sql:
            drains.activate(sql, broker, self._wall())
        self._work.set()

    # By itself

    async def _run_rounds(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                self._work.clear()
                self._round(group)
                await asyncio.sleep(PAUSE_SECONDS)
                try:
                    async with asyncio.timeout(TICK_SECONDS):
                        await self._work.wait()
                except TimeoutError:
                    continue

    def _round(self, group: asyncio.TaskGroup) -> None:
        self.sweep()
        with self._store.change() as sql:
            drains.advance(sql, self._wall())
            self.balancing.advance(sql, self._wall())
        if self._telling_routes is None or self._telling_routes.done():
            self._telling_routes = group.create_task(self._announcer.catch_up())
        self._moves.start(group, paused=self.balancing.mode.paused)
        for broker in drains.to_stop(self.sql):
            key = (broker.name, broker.epoch)
            if key not in self._stopping:
                self._stopping[key] = group.create_task(self._stop(broker))

    async def _stop(self, broker: Broker) -> None:
        """Stop a broker that is drained. It must know first who carries its topics
        now."""
        await self._announcer.catch_up()
        restart = broker.then is Then.RESTART
        try:
            await self._client.stop(broker.address, restart=restart)
        except BrokerwiseError:
            await asyncio.sleep(RETRY_SECONDS)
            del self._stopping[broker.name, broker.epoch]
        else:
            word = "restart" if restart else "stop"
            log.info("broker %r was told to %s", broker.name, word)

    def _hear(self, broker: str) -> None:
        self._leases.renew(broker, self._clock())
        self._client.hear(broker)

    def _lose(self, broker: str, *, graceful: bool = False) -> None:
        with self._store.change() as sql:
            leases.lose(sql, broker, self._wall(), graceful=graceful)
        self._leases.end(broker)
        self.reports.pop(broker, None)
        self._work.set()


def _check_move(sql: Sql, user: str, source: str, target: str) -> None:
    the_broker(sql, source)
    if the_broker(sql, target).state is not BrokerState.UP:
        raise ConflictError(f"broker {target!r} is not up")
    if source == target:
        raise ConflictError(f"the session is on {target!r} already")
    found = sessions.sessions_of(sql, user)
    if not any(session.broker == source for session in found):
        raise NotFoundError(f"user {user!r} has no session on broker {source!r}")
    if moves.is_moving(sql, source, user):
        raise ConflictError(f"a move of user {user!r} from {source!r} is under way")
