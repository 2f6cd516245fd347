"""A broker and a coordinator that do what a test says, on real sockets."""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import Event, Notice
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import Connection, Server, serve
from brokerwise.runtime.protocol.fleet import Axis, BrokerAnswer, Route, SessionPlace
from brokerwise.runtime.protocol.frames import (
    Beat,
    CloseCode,
    Frame,
    Login,
    Logout,
    Message,
    Problem,
    Publish,
    Published,
    Subscribe,
    Subscribed,
    Unsubscribe,
    Welcome,
    decode_from_client,
    encode,
)
from brokerwise.runtime.protocol.names import SOURCE, is_channel

T = TypeVar("T")
F = TypeVar("F", bound=Frame)
PATIENCE = 20.0  # seconds for anything that should happen
BEAT_SECONDS, SILENCE_SECONDS = 0.1, 0.7
CursorRow = tuple[str, str, int, int]


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(3 * PATIENCE):
            return await work

    return asyncio.run(bounded())


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition of a test."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


async def take(client: Client, count: int) -> list[Event]:
    events = client.events()
    async with asyncio.timeout(PATIENCE):
        return [await anext(events) for _ in range(count)]


@dataclass(eq=False)
class FakeBroker:
    """Welcomes everyone, serves every topic but `unknown`, and keeps what it hears.

    `refuses` closes whoever logs in; `frozen` hears and says nothing; `confirms`
    tells publishers that their messages were taken.
    """

    name: str
    scheme: str = "ws"
    window: int = 8
    confirms: bool = True
    frozen: bool = False
    refuses: int = 0
    hangs_up_after_welcome: bool = False
    unknown: set[str] = field(default_factory=set)
    cursors: list[CursorRow] = field(default_factory=list)
    heard: list[Frame] = field(default_factory=list)
    users: dict[Connection, Login] = field(default_factory=dict)
    topics: dict[Connection, set[str]] = field(default_factory=lambda: defaultdict(set))
    published: dict[Connection, int] = field(default_factory=lambda: defaultdict(int))
    beats: int = 0
    closed_with: list[Connection] = field(default_factory=list)
    server: Server | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"{self.scheme}://127.0.0.1:{self.server.port}"

    def place(self, topics: tuple[str, ...] | None = None) -> SessionPlace:
        return SessionPlace(self.name, self.url, topics)

    def all_heard(self, kind: type[F]) -> list[F]:
        return [frame for frame in self.heard if isinstance(frame, kind)]

    # What it says

    def tell(self, user: str, frame: Frame) -> None:
        for connection, login in self.users.items():
            if login.user == user:
                connection.send(encode(frame))

    def deliver(
        self, topic: str, seq: int, data: object = None, epoch: int = 1
    ) -> None:
        raw = msgspec.Raw(msgspec.json.encode(data))
        source = SOURCE if is_channel(topic) else "paper"
        text = encode(Message(topic, source, epoch, seq, raw, 0.0))
        for connection, topics in self.topics.items():
            if topic in topics:
                connection.send(text)

    def hang_up(self, code: int, reason: str = "") -> None:
        for connection in list(self.users):
            connection.close(code, reason)

    def vanish(self) -> None:
        for connection in list(self.users):
            connection.abort()

    def beat(self) -> None:
        self.beats += 1
        for connection in self.users if not self.frozen else ():
            connection.send(encode(Beat()))

    # What it hears (runtime.net.server.Handler)

    def opened(self, connection: Connection) -> None:
        return

    def overflowed(self, connection: Connection) -> None:
        return

    def closed(self, connection: Connection) -> None:
        self.closed_with.append(connection)
        self.users.pop(connection, None)
        self.topics.pop(connection, None)

    def received(self, connection: Connection, text: bytes) -> None:
        frame = decode_from_client(text)
        self.heard.append(frame)
        if not self.frozen:
            self.answer_frame(connection, frame)

    def answer_frame(self, connection: Connection, frame: Frame) -> None:
        match frame:
            case Login() if self.refuses:
                connection.close(self.refuses, "as the test says")
            case Login():
                self.users[connection] = frame
                connection.send(encode(self._welcome()))
                if self.hangs_up_after_welcome:
                    connection.close(CloseCode.LEAVING, "as the test says")
            case Subscribe():
                self._subscribe(connection, frame)
            case Unsubscribe():
                self.topics[connection] -= set(frame.topics)
            case Publish():
                self.published[connection] += 1
                if self.confirms:
                    self.confirm(connection)
            case Logout():
                connection.close(1000, "goodbye")

    def confirm(self, connection: Connection) -> None:
        connection.send(encode(Published(self.published[connection])))

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(404)

    def _subscribe(self, connection: Connection, frame: Subscribe) -> None:
        if frame.ranges.get("x", (0, 0))[1] > 1:
            connection.send(encode(Problem("wrong_range", "x: too far", frame.id)))
            return
        topics = frame.topics or ("subchannel/0", "subchannel/1")
        refused = tuple(t for t in topics if t in self.unknown)
        served = tuple(t for t in topics if t not in self.unknown)
        for other, login in list(self.users.items()):
            same = login.user == self.users[connection].user
            if other is not connection and same and self.topics[other]:
                other.close(CloseCode.REPLACED, "subscribed on another connection")
        self.topics[connection] |= set(served)
        if refused:
            text = f"there is no topic {refused[0]!r}"
            connection.send(encode(Problem("unknown_topic", text, frame.id, refused)))
        rows = tuple(row for row in self.cursors if row[0] in served)
        connection.send(encode(Subscribed(frame.id, served, rows)))

    def _welcome(self) -> Welcome:
        return Welcome(
            *(self.name, 1, 1, BEAT_SECONDS, SILENCE_SECONDS),
            *(4, 0.05, self.window, 1 << 20),
        )


@dataclass(eq=False)
class FakeCoordinator:
    """Answers with what a test puts here, once it is `awake`; `status` refuses
    everything."""

    scheme: str = "http"
    sessions: tuple[SessionPlace, ...] = ()
    unserved: tuple[str, ...] = ()
    routes: dict[str, Route] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    status: int = 0
    awake: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)
    server: Server | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"{self.scheme}://127.0.0.1:{self.server.port}"

    def opened(self, connection: Connection) -> None:
        return

    def received(self, connection: Connection, text: bytes) -> None:
        return

    def closed(self, connection: Connection) -> None:
        return

    def overflowed(self, connection: Connection) -> None:
        return

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        self.asked.append(request.path)
        status = self.status
        await self.awake.wait()
        if status:
            return HttpAnswer(status, b'{"error": "as the test says"}')
        body = msgspec.json.decode(request.body) if request.body else {}
        return HttpAnswer(200, msgspec.json.encode(self._found(request.path, body)))

    def _found(self, path: str, body: dict[str, Any]) -> object:
        if path == "/requestbroker":
            return BrokerAnswer(self.sessions, self.unserved)
        if path == "/subchannels":
            return {"axes": self.axes}
        known = [t for t in body["topics"] if t in self.routes]
        return {
            "routes": [self.routes[t] for t in known],
            "unknown": [t for t in body["topics"] if t not in self.routes],
        }


@dataclass(eq=False)
class FakeFleet:
    coordinator: FakeCoordinator
    brokers: list[FakeBroker]
    notices: list[Notice] = field(default_factory=list)

    def client(self, user: str = "ann", **options: Any) -> Client:
        return Client(
            self.coordinator.url,
            user,
            "a token",
            on_notice=self.notices.append,
            **options,
        )


@asynccontextmanager
async def fake_fleet(
    brokers: int = 2, tls: ssl.SSLContext | None = None
) -> AsyncIterator[FakeFleet]:
    """Brokers b0, b1, ... and a coordinator that sends everyone to b0."""
    fleet = FakeFleet(
        FakeCoordinator(), [FakeBroker(f"b{number}") for number in range(brokers)]
    )
    parts: list[Any] = [fleet.coordinator, *fleet.brokers]
    for part in parts:
        part.scheme += "s" if tls else ""
        part.server = await serve(
            part, host="127.0.0.1", port=0, ssl=tls, close_seconds=0.5
        )
    fleet.coordinator.sessions = (fleet.brokers[0].place(),)
    fleet.coordinator.awake.set()
    beating = asyncio.create_task(_beat(fleet.brokers))
    try:
        yield fleet
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        for part in parts:
            await part.server.close()


async def _beat(brokers: list[FakeBroker]) -> None:
    while True:
        for broker in brokers:
            broker.beat()
        await asyncio.sleep(BEAT_SECONDS)
