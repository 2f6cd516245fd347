"""Brokers without sockets: connections that keep what is sent, commands that nobody
carries out."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from brokerwise.runtime.broker.router import LookUpRoute, MessageRouter, StepFinder
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.subscriptions import (
    Command,
    JoinTopics,
    LeaveTopic,
    SessionHandler,
)
from brokerwise.runtime.protocol.fleet import Address, JoinAnswer, Route
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
class FakePeers:
    """Notes what is passed on to other brokers."""

    forwards: list[tuple[str, Forward]] = field(default_factory=list)

    def forward(self, broker: str, frame: Forward) -> None:
        self.forwards.append((broker, frame))

    def is_congested(self) -> bool:
        return False


@dataclass
class FakeStep:
    """Keeps what it is given, and what is to be called with the results."""

    submitted: list[tuple[bytes, Callable[[bytes | None], None]]] = field(
        default_factory=list
    )

    def submit(self, data: bytes, done: Callable[[bytes | None], None]) -> bool:
        self.submitted.append((data, done))
        return True


@dataclass
class FakeSteps:
    steps: dict[str, FakeStep] = field(default_factory=dict)

    def find(self, topic: str) -> FakeStep | None:
        return self.steps.get(topic)


class FakeBroker:
    """A broker's cores. `commands` are those that nobody has carried out, `fed` the
    records sent to datasets, `soon` what is to be called at the end of the turn."""

    def __init__(
        self,
        name: str = "b0",
        clock: Clock | None = None,
        steps: StepFinder | None = None,
    ) -> None:
        self.name = name
        self.clock = clock or Clock()
        self.peers = FakePeers()
        self.commands: list[Command] = []
        self.fed: list[tuple[str, bytes]] = []
        self.soon: list[Callable[[], None]] = []
        self.router = MessageRouter(
            name,
            peers=self.peers,
            steps=steps or FakeSteps(),
            feed=self.feed,
            frame_text=framed,
            clock=self.clock,
            call_soon=self.soon.append,
        )
        self.handler = SessionHandler(self.router, self.feed)

    def feed(self, topic: str, data: msgspec.Raw) -> str:
        self.fed.append((topic, bytes(data)))
        return ""

    def session(
        self, user: str, *, is_peer: bool = False
    ) -> tuple[Session, FakeConnection]:
        connection = FakeConnection()
        session = Session(connection, user, user, self.clock(), is_peer=is_peer)
        return session, connection

    def subscriber(self, user: str, *topics: str) -> tuple[Session, FakeConnection]:
        """A session that has been subscribed, the coordinator agreeing at once."""
        session, connection = self.session(user)
        self.handle(session, Subscribe(1, topics))
        names = self.handler.topics_to_join()
        if names:
            routes = tuple(route(name, 1, self.name) for name in names)
            self.finish_joining(JoinAnswer(routes))
        return session, connection

    def handle(self, session: Session, frame: FromClient) -> None:
        self.commands += self.handler.handle(session, frame, self.clock())

    def close(self, session: Session) -> None:
        self.commands += self.handler.close(session)

    def finish_joining(self, answer: JoinAnswer) -> None:
        self.commands += self.handler.finish_joining(answer)

    def hear(self, session: Session, *frames: FromClient) -> None:
        """A turn in which a session says this."""
        for frame in frames:
            self.handle(session, frame)
        self.router.delivery.flush()

    def joins(self) -> int:
        return self.commands.count(JoinTopics())

    def left(self) -> list[str]:
        return [c.topic for c in self.commands if isinstance(c, LeaveTopic)]

    def looked_up(self) -> list[str]:
        return [c.topic for c in self.commands if isinstance(c, LookUpRoute)]


def route(topic: str, generation: int, *brokers: str) -> Route:
    addresses = tuple(Address(name, f"ws://{name}") for name in brokers)
    return Route(topic, generation, addresses)


def message(
    topic: str, seq: int, *, epoch: int = 1, generation: int = 1, data: object = None
) -> Publish:
    raw = msgspec.Raw(msgspec.json.encode(data))
    return Publish(topic, epoch, seq, raw, generation)
