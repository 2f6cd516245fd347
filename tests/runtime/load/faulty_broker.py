"""A broker and its coordinator in a few lines, and what can be wrong with one."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import Connection, serve
from brokerwise.runtime.protocol.fleet import (
    Address,
    Axis,
    BrokerAnswer,
    Route,
    RoutesAnswer,
    SessionPlace,
)
from brokerwise.runtime.protocol.frames import (
    Ack,
    Login,
    Logout,
    Message,
    Problem,
    Publish,
    Published,
    Subscribe,
    Subscribed,
    Welcome,
    decode_from_client,
    encode,
)

WELCOME = Welcome("b0", 1, 1, 1.0, 60.0, 64, 0.2, 1_024, 1 << 20)
Fault = Callable[[Message], list[Message]]


def faultless(message: Message) -> list[Message]:
    return [message]


@dataclass
class FaultyBroker:
    """Sends a subscriber, for each message of its topics, what `fault` makes of it;
    closes after `hangs_up_after` messages; knows all topics but `unknown`. It is the
    only broker, and answers for the coordinator too; with `axes` it runs an overlay."""

    fault: Fault = faultless
    hangs_up_after: int | None = None
    unknown: str = ""
    confirms: bool = True
    axes: tuple[Axis, ...] = ()
    url: str = ""
    logins: list[Login] = field(default_factory=list)
    acknowledged: dict[str, int] = field(default_factory=dict)
    published: list[Publish] = field(default_factory=list)
    _users: dict[Connection, Login] = field(default_factory=dict)
    _topics: dict[Connection, tuple[str, ...]] = field(default_factory=dict)
    _counts: dict[Connection, int] = field(default_factory=dict)

    def opened(self, connection: Connection) -> None:
        pass

    def closed(self, connection: Connection) -> None:
        self._topics.pop(connection, None)

    def overflowed(self, connection: Connection) -> None:
        raise AssertionError("a reader is slow")

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        asked = msgspec.json.decode(request.body or b"{}")
        found: object
        match request.path:
            case "/requestbroker":
                found = BrokerAnswer((SessionPlace("b0", self.url),))
            case "/routes":
                here = (Address("b0", self.url),)
                found = RoutesAnswer(tuple(Route(t, 5, here) for t in asked["topics"]))
            case "/subchannels":
                found = {"axes": self.axes}
            case _:
                return HttpAnswer(404)
        return HttpAnswer(200, msgspec.json.encode(found))

    def received(self, connection: Connection, text: bytes) -> None:
        match decode_from_client(text):
            case Login() as login:
                self.logins.append(login)
                self._users[connection] = login
                connection.send(encode(WELCOME))
            case Subscribe(id=number, topics=topics):
                self._subscribe(connection, number, topics)
            case Publish() as message:
                self._take(connection, message)
            case Ack(count=count):
                self.acknowledged[self._users[connection].user] = count
            case Logout():
                connection.close(1000, "goodbye")

    def _subscribe(
        self, connection: Connection, number: int, topics: tuple[str, ...]
    ) -> None:
        if self.unknown in topics:
            what = f"there is no topic {self.unknown!r}"
            problem = Problem("unknown_topic", what, number, (self.unknown,))
            connection.send(encode(problem))
            topics = tuple(topic for topic in topics if topic != self.unknown)
        self._topics[connection] = self._topics.get(connection, ()) + topics
        connection.send(encode(Subscribed(number, topics)))

    def _take(self, connection: Connection, message: Publish) -> None:
        self.published.append(message)
        source = _source(self._users[connection])
        sent = Message(
            message.topic, source, message.epoch, message.seq, message.data, message.at
        )
        for other, topics in list(self._topics.items()):
            if message.topic in topics and _source(self._users[other]) != source:
                for one in self.fault(sent):
                    other.send(encode(one))
        self._counts[connection] = self._counts.get(connection, 0) + 1
        if self.confirms:
            connection.send(encode(Published(self._counts[connection])))
        if len(self.published) == self.hangs_up_after:
            for other in list(self._topics):
                other.close(4503, "the broker leaves")


def _source(login: Login) -> str:
    return login.source or login.user


@asynccontextmanager
async def running(broker: FaultyBroker) -> AsyncIterator[str]:
    """The address of its coordinator."""
    server = await serve(broker, host="127.0.0.1", port=0)
    broker.url = f"ws://127.0.0.1:{server.port}"
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        await server.close()
