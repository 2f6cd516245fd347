"""A broker in a few lines, and what can be wrong with one."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import Connection, serve
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
    decode_from_client,
    encode,
)

Fault = Callable[[Message], list[Message]]


def faultless(message: Message) -> list[Message]:
    return [message]


@dataclass
class FaultyBroker:
    """Sends a subscriber, for each message of its topics, what `fault` makes of it;
    closes after `hangs_up_after` messages; knows all topics but `unknown`."""

    fault: Fault = faultless
    hangs_up_after: int | None = None
    unknown: str = ""
    confirms: bool = True
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
        return HttpAnswer(404)

    def received(self, connection: Connection, text: bytes) -> None:
        match decode_from_client(text):
            case Login() as login:
                self.logins.append(login)
                self._users[connection] = login
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
            problem = Problem("unknown_topic", f"there is no topic {self.unknown!r}")
            connection.send(encode(problem))
        self._topics[connection] = self._topics.get(connection, ()) + topics
        connection.send(encode(Subscribed(number, topics)))

    def _take(self, connection: Connection, message: Publish) -> None:
        self.published.append(message)
        source = self._users[connection].source
        sent = Message(
            message.topic, source, message.epoch, message.seq, message.data, message.at
        )
        for other, topics in list(self._topics.items()):
            if message.topic in topics and self._users[other].source != source:
                for one in self.fault(sent):
                    other.send(encode(one))
        self._counts[connection] = self._counts.get(connection, 0) + 1
        if self.confirms:
            connection.send(encode(Published(self._counts[connection])))
        if len(self.published) == self.hangs_up_after:
            for other in list(self._topics):
                other.close(4503, "the broker leaves")


@asynccontextmanager
async def running(broker: FaultyBroker) -> AsyncIterator[str]:
    """Its address."""
    server = await serve(broker, host="127.0.0.1", port=0)
    try:
        yield f"ws://127.0.0.1:{server.port}"
    finally:
        await server.close()
