"""The other brokers: one connection to each that messages are passed on to.

A connection that is lost is noticed in `_note_closed`, and opened again by the next
message.
"""

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Iterable
from functools import partial

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.net.connection import ClientConnection, connect
from brokerwise.runtime.net.tasks import Backoff
from brokerwise.runtime.protocol.fleet import Address
from brokerwise.runtime.protocol.frames import Forward, Login, encode
from brokerwise.runtime.protocol.limits import PRESSED_SECONDS

QUEUED_BYTES = 64 << 20  # that wait for a broker that cannot be reached, or is slow
BACKLOG_BYTES = 4 << 20  # from which publishers are held back

log = logging.getLogger(__name__)


class Peer:
    """A connection to another broker. Messages go out in order, or wait for the
    connection; if too many wait, the oldest are dropped. If the other end does not
    read, the newest are. Both are counted."""

    def __init__(self, name: str, login: Login, tls: ssl.SSLContext | None) -> None:
        self.name = name
        self.url = ""
        self.dropped = 0
        self._login, self._token = encode(login), login.token
        self._tls = tls
        self._connection: ClientConnection | None = None
        self._ended = asyncio.Event()
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._congested_at: float | None = None
        self._is_dropping = False  # since it was last connected, and that was logged
        self._dialling: asyncio.Task[None] | None = None

    def move_to(self, url: str) -> None:
        """The broker is at this address now: it may have started again."""
        if url != self.url:
            self.url = url
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._dial()

    def send(self, text: bytes) -> None:
        if self._connection is not None and self._connection.is_open:
            if self._connection.buffered() + len(text) <= QUEUED_BYTES:
                self._connection.send(text)
            else:
                self._drop("it does not read")
            return
        self._queue.append(text)
        self._queued += len(text)
        while self._queued > QUEUED_BYTES:
            self._queued -= len(self._queue.popleft())
            self._drop("it cannot be reached")
        self._dial()

    def is_congested(self, now: float) -> bool:
        """True if a large backlog waits, and the broker has not been slow for long."""
        if self._connection is None or self._connection.buffered() <= BACKLOG_BYTES:
            self._congested_at = None
            return False
        if self._congested_at is None:
            self._congested_at = now
        return now - self._congested_at < PRESSED_SECONDS

    async def close(self) -> None:
        """Hang up once everything sent has been read by the other end."""
        if self._dialling is not None:
            self._dialling.cancel()
            await asyncio.gather(self._dialling, return_exceptions=True)
        if self._connection is not None:
            self._connection.close()
            await self._ended.wait()

    def _drop(self, why: str) -> None:
        self.dropped += 1
        if not self._is_dropping:
            self._is_dropping = True
            log.warning(
                "messages to broker %r are dropped: %s, and %d bytes wait",
                *(self.name, why, QUEUED_BYTES),
            )

    def _dial(self) -> None:
        if self.url and (self._dialling is None or self._dialling.done()):
            self._dialling = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        backoff, logged = Backoff(), False
        while self._queue:
            url = self.url
            ended = asyncio.Event()
            try:
                connection = await connect(
                    f"{url}/session",
                    on_text=_ignore,
                    on_closed=partial(self._note_closed, ended),
                    ssl=self._tls,
                    token=self._token,
                )
            except BrokerwiseError as problem:
                if not logged:
                    logged = True
                    log.warning("broker %r: %s", self.name, problem.message)
                await asyncio.sleep(backoff.pause())
                continue
            log.info("connected to broker %r at %s", self.name, url)
            self._is_dropping = False
            connection.send(self._login)
            while self._queue:
                connection.send(self._queue.popleft())
            self._queued = 0
            self._connection, self._ended = connection, ended

    def _note_closed(self, ended: asyncio.Event, code: int, reason: str) -> None:
        """The next message finds the connection closed, and opens another."""
        ended.set()
        log.info("connection to broker %r closed: %r (%d)", self.name, reason, code)


class Peers:
    """All other brokers that we know the address of, or have messages for."""

    def __init__(self, name: str, token: str, tls: ssl.SSLContext | None) -> None:
        self._name = name
        self._login = Login(name, token)
        self._tls = tls
        self._peers: dict[str, Peer] = {}

    def learn(self, addresses: Iterable[Address]) -> None:
        for address in addresses:
            if address.broker != self._name and address.url:
                self._peer(address.broker).move_to(address.url)

    def forward(self, broker: str, frame: Forward) -> None:
        self._peer(broker).send(encode(frame))

    def is_congested(self) -> bool:
        now = asyncio.get_running_loop().time()
        return any([peer.is_congested(now) for peer in self._peers.values()])

    def addresses(self) -> dict[str, str]:
        return {name: peer.url for name, peer in self._peers.items() if peer.url}

    def dropped(self) -> int:
        return sum(peer.dropped for peer in self._peers.values())

    async def close(self) -> None:
        await asyncio.gather(*(peer.close() for peer in self._peers.values()))

    def _peer(self, name: str) -> Peer:
        if name not in self._peers:
            self._peers[name] = Peer(name, self._login, self._tls)
        return self._peers[name]


def _ignore(text: bytes) -> None:
    """A peer sends only its welcome and confirmations, which need no answer."""
