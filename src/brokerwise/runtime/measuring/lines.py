"""The connections of a trial: publishers that never wait, subscribers that note when
each message comes."""

import asyncio
import ssl
from collections.abc import Callable
from time import monotonic_ns

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.net.connection import ClientConnection, connect
from brokerwise.runtime.protocol.frames import (
    Ack,
    Frame,
    Login,
    Message,
    Problem,
    Subscribe,
    Subscribed,
    Welcome,
    decode_from_broker,
    encode,
)
from brokerwise.runtime.protocol.limits import ACK_EVERY

OPEN_SECONDS = 30.0  # hundreds connect at once to a broker on one core

Failed = Callable[[BrokerwiseError], None]
Arrived = Callable[[Message, int], None]  # with the time, in nanoseconds


class LineError(BrokerwiseError):
    """A connection of a trial was refused or lost: what it measured is of no use."""

    def __init__(self, user: str, what: str) -> None:
        self.user = user
        super().__init__(f"the session of {user!r} {what}")


class Line:
    """A connection that logs in, and tells of whatever goes wrong with it.

    Publishing does not wait for confirmations: the broker gives them before a message
    goes through its processing step, so they would not hold anyone back for its
    backlog, but messages have to be sent when they are due, whatever happens.
    """

    def __init__(self, user: str, failed: Failed) -> None:
        self.user = user
        self._failed = failed
        self._dialled: ClientConnection | None = None
        self._closing = False
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()

    async def open(
        self,
        url: str,
        token: str,
        source: str = "",
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Returns once the broker has answered. Raises LineError. Cancelling it leaves
        the line to `abort`."""
        try:
            self._dialled = await connect(
                f"{url}/session",
                on_text=self._heard,
                on_closed=self._hung_up,
                ssl=tls,
                seconds=OPEN_SECONDS,
            )
        except BrokerwiseError as cause:
            raise LineError(self.user, f"cannot be had: {cause.message}") from cause
        self._say(Login(self.user, token, source))
        await self._answered()

    def send(self, text: bytes) -> None:
        assert self._dialled is not None
        self._dialled.send(text)

    def abort(self) -> None:
        self._closing = True
        if self._dialled is not None:
            self._dialled.abort()

    def take(self, message: Message) -> None:
        """A message has come; publishers get none."""

    def _say(self, frame: Frame) -> None:
        self.send(encode(frame))

    async def _answered(self) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), OPEN_SECONDS)
        except TimeoutError as cause:
            raise LineError(self.user, "got no answer in time") from cause

    def _heard(self, text: bytes) -> None:
        match decode_from_broker(text):
            case Message() as message:
                self.take(message)
            case Welcome() | Subscribed():
                if not self._ready.done():
                    self._ready.set_result(None)
            case Problem(message=what):
                self._fail(f"was told: {what}")

    def _hung_up(self, code: int, reason: str) -> None:
        if not self._closing:
            self._fail(f"was closed: {reason or 'the broker is gone'} ({code})")

    def _fail(self, what: str) -> None:
        error = LineError(self.user, what)
        if not self._ready.done():
            self._ready.set_exception(error)
        else:
            self._failed(error)


class SubscriberLine(Line):
    """One that has a topic, and acknowledges what comes as clients do."""

    def __init__(self, user: str, failed: Failed, arrived: Arrived) -> None:
        super().__init__(user, failed)
        self._arrived = arrived
        self._count = self._acknowledged = 0
        self._cursors: dict[str, tuple[str, int, int]] = {}

    async def subscribe(self, topic: str) -> None:
        """Returns once it is served. Raises LineError."""
        self._ready = asyncio.get_running_loop().create_future()
        self._say(Subscribe(0, (topic,)))
        await self._answered()

    def take(self, message: Message) -> None:
        now = monotonic_ns()
        self._count += 1
        self._cursors[message.source] = (message.topic, message.epoch, message.seq)
        self._arrived(message, now)
        if self._count - self._acknowledged >= ACK_EVERY:
            self.acknowledge()

    def acknowledge(self) -> None:
        """Say what has come, if something has since the last time."""
        if self._count > self._acknowledged and not self._closing:
            found = self._cursors.items()
            rows = tuple((topic, s, epoch, seq) for s, (topic, epoch, seq) in found)
            self._cursors.clear()
            self._acknowledged = self._count
            self._say(Ack(self._count, rows))
