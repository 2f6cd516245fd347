"""A broker: one process, one event loop.

`BrokerProcess` puts the parts together, carries out what the cores command, and answers
HTTP. Its lease is kept in `_keep_lease` (see `coordination`); a broker that lost it, or
that was frozen for longer than a lease lasts (`_tick`, `received`), is fenced in
`_fence`.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable

import msgspec
import uvloop

from brokerwise.runtime.broker.connections import ConnectionLimit, Connections
from brokerwise.runtime.broker.coordination import Coordination, LeaseState, http_url
from brokerwise.runtime.broker.data_cluster import (
    DataClusterClient,
    DatasetFeeder,
    record_sender,
)
from brokerwise.runtime.broker.http import HttpApi
from brokerwise.runtime.broker.loads import ByteRates, TopicLoads, balance_page
from brokerwise.runtime.broker.metrics import metrics_text
from brokerwise.runtime.broker.peers import Peers
from brokerwise.runtime.broker.processing import TopicSteps
from brokerwise.runtime.broker.router import MessageRouter
from brokerwise.runtime.broker.subscriptions import (
    AskDataCluster,
    Commands,
    SessionHandler,
)
from brokerwise.runtime.broker.topics import Overlay
from brokerwise.runtime.net.connection import frame_text
from brokerwise.runtime.net.http import HttpAnswer, HttpClient, HttpRequest
from brokerwise.runtime.net.server import Connection, Server, serve
from brokerwise.runtime.net.tls import client_tls, server_tls
from brokerwise.runtime.process import open_files
from brokerwise.runtime.process.launch import (
    EXIT_RESTART,
    Launch,
    announce,
    run_process,
    stop_requested,
)
from brokerwise.runtime.process.open_files import OpenFiles, allow_many_files
from brokerwise.runtime.protocol.data import BrokerCreation, Notification
from brokerwise.runtime.protocol.fleet import (
    BalancePage,
    BrokerHealth,
    BrokerRegistration,
    Heartbeat,
    LinkLoad,
    LoadPage,
    MoveAnswer,
    MoveOrder,
    PostedMessage,
    RouteChange,
    RouteChangeAnswer,
    SessionState,
    StopOrder,
)
from brokerwise.runtime.protocol.frames import CloseCode, Welcome
from brokerwise.runtime.protocol.limits import (
    ACK_EVERY,
    ACK_SECONDS,
    BEAT_SECONDS,
    HEARTBEAT_SECONDS,
    LEASE_SECONDS,
    MAX_FRAME_BYTES,
    MOVE_SECONDS,
    PUBLISH_WINDOW,
    SILENCE_SECONDS,
    VERSION,
)
from brokerwise.runtime.protocol.names import is_channel, is_dataset
from brokerwise.runtime.protocol.tokens import Role

TICK_SECONDS = 0.25
_NO_DATA_CLUSTER = "this fleet has no data cluster"
FAREWELL_SECONDS = 2.0  # for clients to read that the broker leaves

log = logging.getLogger(__name__)


def main() -> int:
    """The exit code: 0 after a stop in good order, EXIT_RESTART if the broker is to be
    started again, 3 after a failure."""
    return run_process(_main)


def _main(launch: Launch) -> int:
    files = allow_many_files()
    log.info(
        "may have %s files open; takes connections up to %s of them",
        *(f"{files.limit:,}", f"{files.open_to_all:,}"),
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(launch, files))


async def _serve(launch: Launch, files: OpenFiles) -> int:
    stop = stop_requested()
    broker = BrokerProcess(launch, files)
    announce(launch.name, await broker.start())
    return await broker.run(stop)


class BrokerProcess:
    """All parts of a broker, and the process's start, chores and end."""

    def __init__(self, launch: Launch, files: OpenFiles) -> None:
        self._launch = launch
        self._loop = asyncio.get_running_loop()
        keys = launch.signing()
        token = keys.token(Role.BROKER, launch.name)
        tls = client_tls(launch.coordinator, launch.authority)
        self._peers = Peers(launch.name, token, tls)
        self._steps = TopicSteps(limited=launch.step_limit)
        http = HttpClient(keeps=True, repeatable=True)
        self._feeder = DatasetFeeder(
            record_sender(http, launch.data_cluster, token, tls), launch.name
        )
        self._feed = self._feeder.add if launch.data_cluster else _refuse_record
        self._router = MessageRouter(
            launch.name,
            peers=self._peers,
            steps=self._steps,
            feed=self._feed,
            frame_text=frame_text,
            clock=time.perf_counter,
            call_soon=self._loop.call_soon,
        )
        self._handler = SessionHandler(self._router, self._feed)
        self._loads = TopicLoads(self._router)
        self._byte_rates = ByteRates(self._router)
        self._connections = Connections(
            self._handler,
            self._router,
            keys,
            welcome=self._welcome,
            carry_out=self._carry_out,
            loop=self._loop,
        )
        self._coordination = Coordination(
            launch.coordinator,
            token,
            tls,
            registration=self._registration,
            handler=self._handler,
            router=self._router,
            peers=self._peers,
        )
        self._data_cluster = DataClusterClient(
            http,
            launch.data_cluster,
            token,
            tls,
            creation=self._creation,
            channels=self._handler.channels,
            feeder=self._feeder,
        )
        self._http = HttpApi(keys, self)
        self._limit = ConnectionLimit(keys, files)
        self._server: Server | None = None
        self._scheme = "ws"
        self._ticked_at = self._loop.time()
        self._fencing: asyncio.Task[None] | None = None
        self._exit_code = 0
        self._stopping = asyncio.Event()

    async def start(self) -> str:
        """Listen, and register; returns the address once both are done."""
        launch = self._launch
        tls = server_tls(launch.certificate, launch.private_key)
        self._scheme = "wss" if tls else "ws"
        self._server = await serve(
            self, host=launch.host, port=launch.port, ssl=tls, door=self._limit
        )
        await self._register()
        if launch.data_cluster:
            self._data_cluster.start()
        return self._url()

    async def run(self, stop: asyncio.Event) -> int:
        """Serve until told to stop; then tell all clients, and return the exit code."""
        self._ticked_at = self._loop.time()
        chores = [
            asyncio.create_task(self._every(TICK_SECONDS, self._tick)),
            asyncio.create_task(self._every(BEAT_SECONDS, self._keep_alive)),
            asyncio.create_task(self._keep_lease()),
        ]
        waits = [
            asyncio.create_task(stop.wait()),
            asyncio.create_task(self._stopping.wait()),
        ]
        await asyncio.wait([*chores, *waits], return_when=asyncio.FIRST_COMPLETED)
        for task in [*chores, *waits]:
            task.cancel()
        ended = await asyncio.gather(*chores, *waits, return_exceptions=True)
        await self._leave()
        for result in ended:
            if isinstance(result, Exception):
                raise result
        return self._exit_code

    # What connections do (runtime.net.server.Handler)

    def opened(self, connection: Connection) -> None:
        self._connections.opened(connection)

    def received(self, connection: Connection, text: bytes) -> None:
        if self._loop.time() - self._ticked_at > LEASE_SECONDS:
            self._fence_frozen()  # another broker serves these sessions by now
        self._connections.received(connection, text)

    def closed(self, connection: Connection) -> None:
        self._connections.closed(connection)

    def overflowed(self, connection: Connection) -> None:
        self._connections.overflowed(connection)

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        return await self._http.answer(request)

    # What the cores command

    def _carry_out(self, commands: Commands) -> None:
        for command in commands:
            if not isinstance(command, AskDataCluster):
                self._coordination.carry_out(command)
            elif self._launch.data_cluster:
                self._data_cluster.send_soon()
            else:
                self._handler.channels.refuse_all(_NO_DATA_CLUSTER)

    # What HTTP requests do (broker.http.BrokerActions)

    def health(self) -> BrokerHealth:
        return BrokerHealth(
            status="leaving" if self._stopping.is_set() else "up",
            broker=self._launch.name,
            epoch=self._coordination.epoch,
            renewed=self._loop.time() - self._coordination.renewed_at,
        )

    def load(self) -> LoadPage:
        received, delivered = self._loads.totals()
        now, has_overlay = self._loop.time(), self._router.overlay is not None
        return LoadPage(
            broker=self._launch.name,
            epoch=self._coordination.epoch,
            sessions=len(self._connections.sessions),
            received=received,
            delivered=delivered,
            load_per_second=self._loads.load_per_second(now),
            topics=self._loads.by_topic(now),
            links={n: LinkLoad(c) for n, c in self._router.links.items()},
            dropped=self._peers.dropped(),
            steps=self._steps.counts(),
            fed=self._feeder.sent,
            fed_dropped=self._feeder.dropped,
            users=self._connections.users() if has_overlay else msgspec.UNSET,
        )

    def sessions(self) -> dict[str, SessionState]:
        return {
            user: SessionState(
                topics=tuple(sorted(session.topics)),
                sent=session.sent,
                acknowledged=session.acknowledged,
                cursors=tuple((*key, *at) for key, at in session.cursors.items()),
            )
            for user, session in self._handler.users.items()
        }

    def balance(self) -> BalancePage:
        self._byte_rates.look(self._loop.time())
        name, epoch = self._launch.name, self._coordination.epoch
        return balance_page(name, epoch, self._byte_rates, self._handler.users)

    def metrics(self) -> str:
        now, sessions = self._loop.time(), len(self._connections.sessions)
        refused, links = self._limit.refused, self._router.links
        text = metrics_text(self._loads, now, sessions, refused, links)
        return text + open_files.metrics_text()

    async def publish(self, posted: PostedMessage) -> bool:
        """False if there is no such topic."""
        if is_dataset(posted.topic):
            return not self._feed(posted.topic, posted.data)
        if is_channel(posted.topic):
            return False
        if not await self._coordination.knows(posted.topic):
            return False
        self._carry_out(self._router.publish(None, posted, posted.source))
        return True

    def change_routes(self, change: RouteChange) -> RouteChangeAnswer:
        for route in change.routes:
            self._peers.learn(route.brokers)
        return RouteChangeAnswer(self._router.change_routes(change.routes))

    async def move(self, order: MoveOrder) -> MoveAnswer:
        answer: asyncio.Future[MoveAnswer] = self._loop.create_future()

        def answered(found: MoveAnswer) -> None:
            if not answer.done():
                answer.set_result(found)

        self._handler.moves.order(order, self._handler.users.get(order.user), answered)
        await asyncio.wait([answer], timeout=MOVE_SECONDS)
        self._handler.moves.give_up(order, f"no answer in {MOVE_SECONDS:g} s")
        return await answer

    def notify(self, notification: Notification) -> None:
        self._data_cluster.take_notification(notification)

    def stop(self, order: StopOrder) -> None:
        log.info("told to %s", "start again" if order.restart else "stop")
        self._exit_code = EXIT_RESTART if order.restart else 0
        self._stopping.set()

    # Chores

    async def _every(self, seconds: float, chore: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(seconds)
            chore()

    def _tick(self) -> None:
        now = self._loop.time()
        if now - self._ticked_at > LEASE_SECONDS:
            self._fence_frozen()
        self._connections.tick(now - self._ticked_at)
        self._ticked_at = now
        self._router.settle_late()
        self._limit.report()

    def _keep_alive(self) -> None:
        self._connections.keep_alive()
        self._loads.look(self._loop.time())
        self._byte_rates.look(self._loop.time())

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if await self._coordination.renew(self._heartbeat()) is LeaseState.LOST:
                self._fence()
            if self._fencing is not None:
                await self._fencing

    def _fence_frozen(self) -> None:
        seconds = self._loop.time() - self._ticked_at
        log.warning("was frozen for %.1f s: the lease is taken as lost", seconds)
        self._fence()

    def _fence(self) -> None:
        """The lease is lost: hang up on all clients, and register again."""
        self._ticked_at = self._loop.time()
        if self._fencing is None or self._fencing.done():
            text = "the broker was cut off"
            log.warning("fenced: ends all sessions and registers again")
            self._connections.hang_up_on_all(CloseCode.LEASE_LOST, text)
            self._handler.channels.reset()
            self._router.reset()
            self._fencing = self._loop.create_task(self._register())

    async def _register(self) -> None:
        found = await self._coordination.register()
        if found.overlay is not None:
            self._router.overlay = Overlay(found.overlay)
        self._router.datasets = dict(found.into)
        await self._steps.start(found.steps, found.later)

    async def _leave(self) -> None:
        self._stopping.set()
        if self._fencing is not None:
            self._fencing.cancel()
        await self._coordination.leave_fleet()
        self._router.settle_all()
        self._connections.hang_up_on_all(CloseCode.LEAVING, "the broker leaves")
        until = self._loop.time() + FAREWELL_SECONDS
        while self._connections.sessions and self._loop.time() < until:
            await asyncio.sleep(0.01)
        await self._steps.close()
        await self._data_cluster.close()
        await self._peers.close()
        await self._coordination.close()
        if self._server is not None:
            await self._server.close()

    # What the broker says of itself

    def _url(self) -> str:
        assert self._server is not None
        return f"{self._scheme}://{self._launch.host}:{self._server.port}"

    def _registration(self) -> BrokerRegistration:
        return BrokerRegistration(self._launch.name, self._url(), os.getpid())

    def _creation(self) -> BrokerCreation:
        name, epoch = self._launch.name, self._coordination.epoch
        return BrokerCreation(name, epoch, http_url(self._url()))

    def _welcome(self) -> Welcome:
        return Welcome(
            broker=self._launch.name,
            epoch=self._coordination.epoch,
            version=VERSION,
            beat_seconds=BEAT_SECONDS,
            silence_seconds=SILENCE_SECONDS,
            ack_every=ACK_EVERY,
            ack_seconds=ACK_SECONDS,
            publish_window=PUBLISH_WINDOW,
            max_frame_bytes=MAX_FRAME_BYTES,
        )

    def _heartbeat(self) -> Heartbeat:
        received, delivered = self._loads.totals()
        topics = sum(topic.carried for topic in self._router.topics.values())
        return Heartbeat(
            broker=self._launch.name,
            epoch=self._coordination.epoch,
            sessions=len(self._handler.users),
            topics=topics,
            received=received,
            delivered=delivered,
            load_per_second=self._loads.load_per_second(self._loop.time()),
        )


def _refuse_record(topic: str, data: msgspec.Raw) -> str:
    return _NO_DATA_CLUSTER
