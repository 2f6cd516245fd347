"""The coordinator: every request that it answers, as a call."""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Iterable

from brokerwise.runtime.balancing.placement import Point
from brokerwise.runtime.coordinator import drains, members, moves, seats
from brokerwise.runtime.coordinator.balance.service import BalanceService
from brokerwise.runtime.coordinator.brokers import all_brokers, is_current, the_broker
from brokerwise.runtime.coordinator.chores import Chores
from brokerwise.runtime.coordinator.herald import Herald
from brokerwise.runtime.coordinator.leases import Leases
from brokerwise.runtime.coordinator.membership import BrokerState, Then
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.coordinator.telling import Ask, Telling
from brokerwise.runtime.coordinator.watch.polling import DataSource
from brokerwise.runtime.coordinator.watch.server import WatchServer
from brokerwise.runtime.net.refusals import ConflictError, NotFoundError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.control import (
    BrokerAnswer,
    BrokerConfiguration,
    BrokerRegistration,
    Heartbeat,
    HeartbeatAnswer,
    JoinAnswer,
    JoinRequest,
    Route,
)
from brokerwise.runtime.protocol.tokens import Keys, Role

EXPECTED_SECONDS = 30.0  # a broker of the seed that has not registered by then is lost
Clock = Callable[[], float]

_log = logging.getLogger(__name__)


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
        self._telling = Telling(ask, keys.token(Role.BROKER, "coordinator"), tls)
        self._herald = Herald(store, self._telling)
        self.balancing = BalanceService(store, self._telling, wall=wall)
        self._chores = Chores(
            *(store, self._telling, self._herald, self.balancing),
            sweep=self.sweep,
            wall=wall,
        )
        self.watching = WatchServer(
            *(store.sql, self.reports, self._telling, self.balancing),
            data=data,
            clock=clock,
            wall=wall,
        )
        self.balancing.wake = self._chores.wake
        self.balancing.moves_ended = self.watching.add_ended_moves
        self._leases = Leases()
        for broker in all_brokers(store.sql):
            if broker.alive:
                self._leases.renew(broker.name, self._started)

    @property
    def sql(self) -> Sql:
        """The stored state, to read."""
        return self._store.sql

    async def run(self) -> None:
        """Look after leases, moves, drains, the balance of the fleet and those who
        watch it until cancelled, which loses nothing."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._chores.run())
            group.create_task(self.balancing.run())
            group.create_task(self.watching.run())

    def register(self, registration: BrokerRegistration) -> BrokerConfiguration:
        with self._store.change() as sql:
            found = members.register(sql, registration, self._wall())
        self._heard(registration.broker)
        self.reports.pop(registration.broker, None)
        _log.info("broker %s is up, epoch %d", registration.broker, found.epoch)
        self._chores.wake()
        return found

    def heartbeat(self, report: Heartbeat) -> HeartbeatAnswer:
        if not is_current(self.sql, report.broker, report.epoch):
            return HeartbeatAnswer(lost=True)
        self._heard(report.broker)
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
        self._telling.silent.discard(request.broker)
        answer = await self._herald.join(request)
        self._chores.wake()
        return answer

    async def routes(self, topics: Iterable[str]) -> tuple[list[Route], list[str]]:
        return await self._herald.routes(topics)

    def register_user(self, user: str, point: Point | None) -> str:
        """The user's token."""
        with self._store.change() as sql:
            seats.register_user(sql, user, point)
        return self.keys.token(Role.USER, user)

    def request_broker(self, user: str, topics: Iterable[str] | None) -> BrokerAnswer:
        with self._store.change() as sql:
            return seats.request_broker(sql, user, topics)

    def request_move(self, user: str, source: str, target: str) -> moves.Move:
        with self._store.change() as sql:
            drains.refuse_overlay(sql)
            _check_move(sql, user, source, target)
            move = moves.request_move(sql, user, source, target)
        self._chores.wake()
        return move

    def drain(self, broker: str, then: Then) -> int:
        """How many users have to move."""
        with self._store.change() as sql:
            count = drains.begin_drain(sql, broker, then, self._wall())
        self._chores.wake()
        return count

    def activate(self, broker: str) -> None:
        with self._store.change() as sql:
            drains.activate(sql, broker, self._wall())
        self._chores.wake()

    def _heard(self, broker: str) -> None:
        self._leases.renew(broker, self._clock())
        self._telling.silent.discard(broker)

    def _lose(self, broker: str, *, graceful: bool = False) -> None:
        with self._store.change() as sql:
            members.lose(sql, broker, self._wall(), graceful=graceful)
        self._leases.end(broker)
        self.reports.pop(broker, None)
        _log.info("broker %s %s", broker, "has left" if graceful else "is lost")
        self._chores.wake()


def _check_move(sql: Sql, user: str, source: str, target: str) -> None:
    the_broker(sql, source)
    if the_broker(sql, target).state is not BrokerState.UP:
        raise ConflictError(f"broker {target!r} is not up")
    if source == target:
        raise ConflictError(f"the session is on {target!r} already")
    if not any(seat.broker == source for seat in seats.seats_of(sql, user)):
        raise NotFoundError(f"user {user!r} has no session on broker {source!r}")
    if moves.is_moving(sql, source, user):
        raise ConflictError(f"a move of user {user!r} from {source!r} is under way")
