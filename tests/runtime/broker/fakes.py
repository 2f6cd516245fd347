"""Brokers without sockets: lines that keep what is sent, an outside that notes it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from brokerwise.runtime.broker.router import MessageRouter
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.subscriptions import SessionHandler
from brokerwise.runtime.broker.topics import RoutedMessage
from brokerwise.runtime.protocol.control import Address, JoinAnswer, Route
from brokerwise.runtime.protocol.frames import (
    Forward,
    FromBroker,
    FromClient,
    Message,
    Publish,
    Subscribe,
    decode_from_broker,
)


def framed(text: bytes) -> bytes:
    return text + b"\n"


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass(eq=False)
class FakeConnection:
    """The other end of a session: what it was sent, and what it was closed with."""

    frames: list[FromBroker] = field(default_factory=list)
    closed: tuple[int, str] | None = None
    unread: int = 0

    @property
    def write(self) -> Callable[[bytes], None]:
        return self.send

    def send(self, text: bytes) -> None:
        """Frames come in one piece or several: one a line, as `framed` makes them."""
        self.frames += map(decode_from_broker, text.splitlines())

    def buffered(self) -> int:
        return self.unread

    def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)

    def messages(self) -> list[Message]:
        return [frame for frame in self.frames if isinstance(frame, Message)]

    def positions(self) -> list[tuple[str, int, int]]:
        return [(m.source, m.epoch, m.seq) for m in self.messages()]

    def last(self) -> FromBroker:
        return self.frames[-1]


@dataclass
class NotedOutside:
    """What a core has asked for, for the test to answer."""

    forwards: list[tuple[str, Forward]] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    joins: int = 0
    flushes: int = 0
    steps: dict[str, list[RoutedMessage]] = field(default_factory=dict)
    attached: int = 0
    fed: list[tuple[str, bytes]] = field(default_factory=list)

    def forward(self, broker: str, frame: Forward) -> None:
        self.forwards.append((broker, frame))

    def is_pressed(self) -> bool:
        return False

    def join(self) -> None:
        self.joins += 1

    def look_up(self, topic: str) -> None:
        self.looked_up.append(topic)

    def leave(self, topic: str) -> None:
        self.left.append(topic)

    def attach(self) -> None:
        self.attached += 1

    def feed(self, topic: str, data: msgspec.Raw) -> str:
        self.fed.append((topic, bytes(data)))
        return ""

    def flush(self) -> None:
        self.flushes += 1

    def process(self, topic: str, item: RoutedMessage) -> bool:
        if topic not in self.steps:
            return False
        self.steps[topic].append(item)
        return True


class FakeBroker:
    """A broker's core with such an outside."""

    def __init__(self, name: str = "b0", clock: Clock | None = None) -> None:
        self.name = name
        self.clock = clock or Clock()
        self.outside = NotedOutside()
        self.router = MessageRouter(name, self.outside, framed, self.clock)
        self.handler = SessionHandler(self.router, self.outside)

    def session(
        self, user: str, *, is_peer: bool = False
    ) -> tuple[Session, FakeConnection]:
        line = FakeConnection()
        return Session(line, user, user, self.clock(), is_peer=is_peer), line

    def subscriber(self, user: str, *topics: str) -> tuple[Session, FakeConnection]:
        """A session that has been subscribed, the coordinator agreeing at once."""
        session, line = self.session(user)
        self.handler.handle(session, Subscribe(1, topics), self.clock())
        names = self.handler.wanted()
        if names:
            routes = tuple(route(name, 1, self.name) for name in names)
            self.handler.joined(JoinAnswer(routes))
        return session, line

    def hear(self, session: Session, *frames: FromClient) -> None:
        """A turn in which a session says this."""
        for frame in frames:
            self.handler.handle(session, frame, self.clock())
        self.router.delivery.flush()


def route(topic: str, generation: int, *brokers: str) -> Route:
    addresses = tuple(Address(name, f"ws://{name}") for name in brokers)
    return Route(topic, generation, addresses)


def message(
    topic: str, seq: int, *, epoch: int = 1, generation: int = 1, data: object = None
) -> Publish:
    raw = msgspec.Raw(msgspec.json.encode(data))
    return Publish(topic, epoch, seq, raw, generation)
