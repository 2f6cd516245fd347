"""A broker: one process, one event loop."""

import asyncio
import os
import time
from typing import Any

import msgspec

from brokerwise.runtime.broker.admission import Door
from brokerwise.runtime.broker.balance_page import ByteRates, balance_page
from brokerwise.runtime.broker.connections import Connections
from brokerwise.runtime.broker.coordination import Coordination, Lease
from brokerwise.runtime.broker.data_cluster import DataCluster
from brokerwise.runtime.broker.hub import Hub
from brokerwise.runtime.broker.into import Into
from brokerwise.runtime.broker.measures import Measures, metrics_text
from brokerwise.runtime.broker.overlay import Overlay
from brokerwise.runtime.broker.pages import Pages, Posted, StopOrder
from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.peers import Peers
from brokerwise.runtime.broker.steps import Steps
from brokerwise.runtime.broker.topic import Item
from brokerwise.runtime.net.connection import frame_text
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import Connection, Server, serve
from brokerwise.runtime.net.tls import client_tls, server_tls
from brokerwise.runtime.process import open_files
from brokerwise.runtime.process.launch import EXIT_RESTART, Launch
from brokerwise.runtime.process.open_files import OpenFiles
from brokerwise.runtime.protocol.control import (
    BalancePage,
    BrokerRegistration,
    Heartbeat,
    MoveAnswer,
    MoveOrder,
    RouteChange,
    RouteChangeAnswer,
)
from brokerwise.runtime.protocol.data import BrokerCreation, Notification
from brokerwise.runtime.protocol.frames import CloseCode, Forward, Welcome
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
FAREWELL_SECONDS = 2.0  # for clients to hear that we leave


class Broker:
    """Puts the parts together, and does for the core what it asks of the outside."""

    def __init__(self, launch: Launch, files: OpenFiles) -> None:
        self._launch = launch
        self._loop = asyncio.get_running_loop()
        keys = launch.signing()
        token = keys.token(Role.BROKER, launch.name)
        tls = client_tls(launch.coordinator, launch.authority)
        self._passage = Passage(launch.name, self, frame_text, time.perf_counter)
        self._hub = Hub(self._passage, self)
        self._measures = Measures(self._passage)
        self._byte_rates = ByteRates(self._passage)
        self._peers = Peers(launch.name, token, tls)
        self._into = Into(self._passage, self.feed)
        self._steps = Steps(self._passage, self._into, limited=launch.step_limit)
        self._connections = Connections(
            self._hub, self._passage, keys, self._welcome, self._loop
        )
        self._coordination = Coordination(
            launch.coordinator,
            token,
            self._registration,
            self._hub,
            self._passage,
            self._peers,
            tls,
        )
        self._data_cluster = DataCluster(
            launch.data_cluster, self._creation, token, self._hub.channels, tls
        )
        self._pages = Pages(keys, self)
        self._door = Door(keys, files)
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
            self, host=launch.host, port=launch.port, ssl=tls, door=self._door
        )
        await self._register()
        if launch.data_cluster:
            self._data_cluster.start()
        return self._url()

    async def run(self, stop: asyncio.Event) -> int:
        """Serve until told to stop; then let everyone know, and return the exit
        code."""
        self._ticked_at = self._loop.time()
        chores = [
            asyncio.create_task(self._every(TICK_SECONDS, self._tick)),
            asyncio.create_task(self._every(BEAT_SECONDS, self._beat)),
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
            self._fence()  # we were frozen: what comes now is for another broker
        self._connections.received(connection, text)

    def closed(self, connection: Connection) -> None:
        self._connections.closed(connection)

    def overflowed(self, connection: Connection) -> None:
        self._connections.overflowed(connection)

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        return await self._pages.answer(request)

    # What the core asks for (broker.outside.Outside)

    def forward(self, broker: str, frame: Forward) -> None:
        self._peers.forward(broker, frame)

    def is_pressed(self) -> bool:
        return self._peers.is_pressed()

    def join(self) -> None:
        self._coordination.join()

    def look_up(self, topic: str) -> None:
        self._coordination.look_up(topic)

    def leave(self, topic: str) -> None:
        if not self._into.dataset(topic):
            self._coordination.leave(topic)

    def attach(self) -> None:
        if self._launch.data_cluster:
            self._data_cluster.attach()
        else:
            self._hub.channels.refuse_all(_NO_DATA_CLUSTER)

    def feed(self, topic: str, data: msgspec.Raw) -> str:
        if not self._launch.data_cluster:
            return _NO_DATA_CLUSTER
        return self._data_cluster.feeds.add(topic, data)

    def flush(self) -> None:
        self._loop.call_soon(self._passage.delivery.flush)

    def process(self, topic: str, item: Item) -> bool:
        return self._steps.process(topic, item)

    # What pages do (broker.pages.Actions)

    def health(self) -> dict[str, Any]:
        return {
            "status": "leaving" if self._stopping.is_set() else "up",
            "broker": self._launch.name,
            "epoch": self._coordination.epoch,
            "renewed": self._loop.time() - self._coordination.renewed_at,
        }

    def load(self) -> dict[str, Any]:
        received, delivered = self._measures.totals()
        now = self._loop.time()
        found: dict[str, Any] = {
            "broker": self._launch.name,
            "epoch": self._coordination.epoch,
            "sessions": len(self._connections.sessions),
            "received": received,
            "delivered": delivered,
            "load_per_second": self._measures.load_per_second(now),
            "topics": self._measures.by_topic(now),
            "links": {n: {"forwarded": c} for n, c in self._passage.links.items()},
            "dropped": self._peers.dropped(),
            "steps": self._steps.counts(),
            "fed": self._data_cluster.feeds.sent,
            "fed_dropped": self._data_cluster.feeds.dropped,
        }
        if self._passage.overlay is not None:
            found["users"] = self._connections.users()
        return found

    def sessions(self) -> dict[str, Any]:
        return {
            user: {
                "topics": sorted(session.topics),
                "sent": session.sent,
                "acknowledged": session.acknowledged,
                "cursors": [[*key, *at] for key, at in session.cursors.items()],
            }
            for user, session in self._hub.users.items()
        }

    def balance(self) -> BalancePage:
        self._byte_rates.look(self._loop.time())
        name, epoch = self._launch.name, self._coordination.epoch
        return balance_page(name, epoch, self._byte_rates, self._hub.users)

    def metrics(self) -> str:
        now, sessions = self._loop.time(), len(self._connections.sessions)
        refused, links = self._door.refused, self._passage.links
        text = metrics_text(self._measures, now, sessions, refused, links)
        return text + open_files.metrics_text()

    async def publish(self, posted: Posted) -> bool:
        """False if there is no such topic."""
        if is_dataset(posted.topic):
            return not self.feed(posted.topic, posted.data)
        if is_channel(posted.topic):
            return False
        if not await self._coordination.knows(posted.topic):
            return False
        self._passage.publish(None, posted, posted.source)
        return True

    def change_routes(self, change: RouteChange) -> RouteChangeAnswer:
        for route in change.routes:
            self._peers.learn(route.brokers)
        return RouteChangeAnswer(self._passage.routes_changed(change.routes))

    async def move(self, order: MoveOrder) -> MoveAnswer:
        answer: asyncio.Future[MoveAnswer] = self._loop.create_future()

        def answered(found: MoveAnswer) -> None:
            if not answer.done():
                answer.set_result(found)

        self._hub.moves.order(order, self._hub.users.get(order.user), answered)
        await asyncio.wait([answer], timeout=MOVE_SECONDS)
        self._hub.moves.give_up(order, f"no answer in {MOVE_SECONDS:g} s")
        return await answer

    def notify(self, notification: Notification) -> None:
        self._data_cluster.notified(notification)

    def stop(self, order: StopOrder) -> None:
        self._exit_code = EXIT_RESTART if order.restart else 0
        self._stopping.set()

    # Chores

    async def _every(self, seconds: float, chore: Any) -> None:
        while True:
            await asyncio.sleep(seconds)
            chore()

    def _tick(self) -> None:
        now = self._loop.time()
        if now - self._ticked_at > LEASE_SECONDS:
            self._fence()
        self._connections.tick(now - self._ticked_at)
        self._ticked_at = now
        self._passage.settle_late()
        self._door.report()

    def _beat(self) -> None:
        self._connections.beat()
        self._measures.look(self._loop.time())
        self._byte_rates.look(self._loop.time())

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if await self._coordination.renew(self._heartbeat()) is Lease.LOST:
                self._fence()
            if self._fencing is not None:
                await self._fencing

    def _fence(self) -> None:
        """Our lease is another's by now: hang up on everyone, and begin again."""
        self._ticked_at = self._loop.time()
        if self._fencing is None or self._fencing.done():
            text = "the broker was cut off"
            self._connections.hang_up_on_all(CloseCode.LEASE_LOST, text)
            self._hub.channels.reset()
            self._passage.reset()
            self._fencing = self._loop.create_task(self._register())

    async def _register(self) -> None:
        found = await self._coordination.register()
        if found.overlay is not None:
            self._passage.overlay = Overlay(found.overlay)
        self._into.tell(found.into)
        await self._steps.start(found.steps, found.later)

    async def _leave(self) -> None:
        self._stopping.set()
        if self._fencing is not None:
            self._fencing.cancel()
        await self._coordination.leave_fleet()
        self._passage.settle_all()
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

    # What others are told

    def _url(self) -> str:
        assert self._server is not None
        return f"{self._scheme}://{self._launch.host}:{self._server.port}"

    def _registration(self) -> BrokerRegistration:
        return BrokerRegistration(self._launch.name, self._url(), os.getpid())

    def _creation(self) -> BrokerCreation:
        http = "http" + self._url().removeprefix("ws")
        return BrokerCreation(self._launch.name, self._coordination.epoch, http)

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
        received, delivered = self._measures.totals()
        topics = sum(topic.carried for topic in self._passage.topics.values())
        return Heartbeat(
            broker=self._launch.name,
            epoch=self._coordination.epoch,
            sessions=len(self._hub.users),
            topics=topics,
            received=received,
            delivered=delivered,
            load_per_second=self._measures.load_per_second(self._loop.time()),
        )
