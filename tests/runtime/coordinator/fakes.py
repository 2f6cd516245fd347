"""A coordinator that runs in the test's own event loop, and brokers that obey."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from brokerwise.runtime.coordinator.api import make_service
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.store import STATE_FILE, Store, seed_store
from brokerwise.runtime.coordinator.watch.polling import DataSource
from brokerwise.runtime.net.api import GRACE_SECONDS
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest, ask, request
from brokerwise.runtime.net.server import Connection, serve, serve_http, url_of
from brokerwise.runtime.protocol.fleet import (
    BalancePage,
    BrokerConfiguration,
    CursorRow,
    MoveAnswer,
    MoveOrder,
    Route,
    RouteChange,
    RouteChangeAnswer,
)
from brokerwise.runtime.protocol.seed import Seed, SeedBroker
from brokerwise.runtime.protocol.tokens import Keys, Role

T = TypeVar("T")
KEYS = Keys.of_secret(b"a secret of the tests")
OPERATOR = KEYS.token(Role.OPERATOR, "op")
BROKER = KEYS.token(Role.BROKER, "a broker")


def run(
    work: Coroutine[Any, Any, T], seconds: float = 30, debug: bool | None = None
) -> T:
    """In the debug mode of asyncio, if it is on, HTTP costs ten times as much."""

    async def bounded() -> T:
        try:
            return await asyncio.wait_for(work, seconds)
        finally:
            await asyncio.sleep(0.02)  # for servers to hear that clients have gone

    return asyncio.run(bounded(), debug=debug)


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that in time"
        await asyncio.sleep(0.01)


def token(user: str) -> str:
    return KEYS.token(Role.USER, user)


def plain_seed(count: int, placement: str = "round-robin") -> Seed:
    return Seed(tuple(SeedBroker(f"b{i}") for i in range(count)), placement)


class Clock:
    """What leases go by stands still until a test adds to it, so that no lease ends
    because a machine is slow; the time of the day goes on, and may be added to."""

    def __init__(self) -> None:
        self.added = 0.0
        self.added_to_day = 0.0

    def wall(self) -> float:
        return time.time() + self.added_to_day

    def __call__(self) -> float:
        return self.added


class Caller:
    """Speaks to a coordinator at an address."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        self.url = url
        self.tls = tls

    async def call(
        self, path: str, body: object = None, *, token: str = OPERATOR
    ) -> tuple[int, Any]:
        """Status and content of the answer; a POST if there is a body."""
        content = None if body is None else msgspec.json.encode(body)
        method = "GET" if body is None else "POST"
        answer = await request(
            method,
            self.url + path,
            body=content,
            token=token,
            seconds=120,  # the first plan ever compiles its kernels
            ssl=self.tls,
        )
        return answer.status, msgspec.json.decode(answer.body)

    async def done(self, path: str, body: object = None, token: str = OPERATOR) -> Any:
        status, content = await self.call(path, body, token=token)
        assert status == 200, content
        return content

    async def as_broker(self, path: str, body: object) -> Any:
        return await self.done(path, body, BROKER)

    async def broker(self, name: str) -> dict[str, Any]:
        status = await self.done("/status")
        return next(b for b in status["brokers"] if b["broker"] == name)


class Running(Caller):
    """A coordinator and its server, in this event loop."""

    def __init__(self, url: str, coordinator: Coordinator, clock: Clock) -> None:
        super().__init__(url)
        self.coordinator = coordinator
        self.clock = clock

    def pass_time(self, seconds: float) -> None:
        """Let time pass, with the coordinator awake."""
        for _ in range(int(seconds * 2)):
            self.clock.added += 0.5
            self.coordinator.sweep()


@asynccontextmanager
async def running(
    folder: Path,
    seed: Seed | None = None,
    *,
    chores: bool = True,
    data: DataSource | None = None,
) -> AsyncIterator[Running]:
    """With a seed it starts anew; without one from what the folder holds."""
    path = folder / STATE_FILE
    if seed is not None:
        seed_store(path, seed)
    clock = Clock()
    with Store(path) as store:
        coordinator = Coordinator(
            *(store, KEYS, ask), data=data, clock=clock, wall=clock.wall
        )
        admit = make_service(coordinator).admit
        server = await serve_http(admit, host="127.0.0.1", port=0)
        url = url_of("127.0.0.1", server.port, secure=False)
        tasks = [asyncio.create_task(coordinator.run())] if chores else []
        try:
            yield Running(url, coordinator, clock)
            assert not any(task.done() for task in tasks), "it ended by itself"
        finally:
            coordinator.watching.end()
            await server.close(GRACE_SECONDS)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0.02)  # for servers to hear that clients have gone


class FakeBroker:
    """Does what the coordinator says, and notes it.

    `answers` gives the answer to a step of a move, by step; an asyncio.Event holds it
    back until it is set. `positions` is what it has seen of topics, `rates` what they
    bring in bytes a second, `loads` what it says of them, and `wants` the topics of
    each user who is connected. `asked` are the pages that it was asked for.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.port = 0
        self.scheme = "ws"
        self.configuration = BrokerConfiguration(0, 0, 0)
        self.routes: dict[str, Route] = {}
        self.positions: list[CursorRow] = []
        self.orders: list[MoveOrder] = []
        self.answers: dict[str, MoveAnswer] = {
            "request_to_move": MoveAnswer("accepted"),
            "connect": MoveAnswer("moved"),
        }
        self.hold: dict[str, asyncio.Event] = {}
        self.stops: list[bool] = []
        self.rates: dict[str, float] = {}
        self.loads: dict[str, dict[str, float]] = {}
        self.asked: list[str] = []
        self.wants: dict[str, set[str]] = {}
        self.deaf = False
        self.refusing = False

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def epoch(self) -> int:
        return self.configuration.epoch

    async def register(self, coordinator: Caller) -> None:
        body = {"broker": self.name, "url": self.url, "pid": 1}
        self.configuration = await ask(
            f"{coordinator.url}/registerbroker",
            body,
            BrokerConfiguration,
            token=BROKER,
            seconds=120,  # the first plan ever compiles its kernels
            ssl=coordinator.tls,
        )

    async def beat(self, coordinator: Caller, **changes: float) -> Any:
        counts = {"sessions": 1, "topics": 2, "received": 3, "delivered": 4}
        body = {"broker": self.name, "epoch": self.epoch, "load_per_second": 1.5}
        return await coordinator.as_broker("/heartbeat", body | counts | changes)

    async def join(
        self, coordinator: Caller, *topics: str, leave: tuple[str, ...] = ()
    ) -> Any:
        body = {"topics": topics, "leave": leave}
        named = {"broker": self.name, "epoch": self.epoch}
        return await coordinator.as_broker("/join", named | body)

    def members(self, topic: str) -> list[str]:
        route = self.routes.get(topic)
        return [address.broker for address in route.brokers] if route else []

    def opened(self, c: Connection) -> None: ...
    def received(self, c: Connection, text: bytes) -> None: ...
    def closed(self, c: Connection) -> None: ...
    def overflowed(self, c: Connection) -> None: ...

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        holder = KEYS.holder(request.token())
        assert holder is not None
        assert holder.role is Role.BROKER
        self.asked.append(request.path)
        if self.deaf:
            await asyncio.sleep(60)
        if self.refusing:
            return HttpAnswer(500, b'{"error":"not today"}')
        match request.path:
            case "/balance":
                return HttpAnswer(200, msgspec.json.encode(self._carries()))
            case "/load":
                page = {"broker": self.name, "topics": self.loads, "fed": 0}
                return HttpAnswer(200, msgspec.json.encode(page))
            case "/sessions":
                found = {user: {"topics": t} for user, t in self.wants.items()}
                return HttpAnswer(200, msgspec.json.encode(found))
            case "/control/routes":
                return HttpAnswer(200, self._learn(request.body))
            case "/control/move":
                return HttpAnswer(200, await self._move(request.body))
            case "/control/stop":
                self.stops.append(msgspec.json.decode(request.body)["restart"])
                return HttpAnswer(200, b"{}")
        return HttpAnswer(404, b'{"error":"no such page"}')

    def _carries(self) -> BalancePage:
        names = sorted({name for wanted in self.wants.values() for name in wanted})
        sessions = (
            (user, tuple(names.index(name) for name in sorted(wanted)), 100)
            for user, wanted in sorted(self.wants.items())
        )
        rates = ((name, self.rates.get(name, 0.0), 1.0) for name in names)
        return BalancePage(self.name, self.epoch, tuple(rates), tuple(sessions))

    def _learn(self, body: bytes) -> bytes:
        change = msgspec.json.decode(body, type=RouteChange)
        for route in change.routes:
            known = self.routes.get(route.topic)
            if known is None or known.generation < route.generation:
                self.routes[route.topic] = route
        topics = {route.topic for route in change.routes}
        seen = tuple(row for row in self.positions if row[0] in topics)
        return msgspec.json.encode(RouteChangeAnswer(seen))

    async def _move(self, body: bytes) -> bytes:
        order = msgspec.json.decode(body, type=MoveOrder)
        self.orders.append(order)
        if order.step in self.hold:
            await self.hold[order.step].wait()
        return msgspec.json.encode(self.answers[order.step])


@asynccontextmanager
async def broker(
    name: str, coordinator: Caller, tls: ssl.SSLContext | None = None
) -> AsyncIterator[FakeBroker]:
    """A broker that listens and has registered."""
    fake = FakeBroker(name)
    serving = await serve(fake, host="127.0.0.1", port=0, ssl=tls)
    fake.port = serving.port
    fake.scheme = "wss" if tls else "ws"
    try:
        await fake.register(coordinator)
        yield fake
    finally:
        await serving.close()


TwoBrokers = Callable[
    [], AbstractAsyncContextManager[tuple[Running, FakeBroker, FakeBroker]]
]
