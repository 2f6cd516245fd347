"""The other brokers: one connection to each that messages are passed on to."""

import asyncio
import ssl
from collections import deque
from collections.abc import Iterable
from functools import partial

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.net.connection import ClientConnection, connect
from brokerwise.runtime.net.tasks import Backoff
from brokerwise.runtime.protocol.control import Address
from brokerwise.runtime.protocol.frames import Forward, Login, encode
from brokerwise.runtime.protocol.limits import PRESSED_SECONDS

QUEUED_BYTES = 64 << 20  # that wait for a broker that cannot be reached, or is slow
MUCH_QUEUED_BYTES = 4 << 20  # from which publishers are held back


class Peer:
    """A line to another broker. Messages go out in order, or wait for the line; if too
    many wait, the oldest are dropped. So are the newest, if the other end does not
    read what is under way. Both are counted."""

    def __init__(self, login: Login, tls: ssl.SSLContext | None) -> None:
        self.url = ""
        self.dropped = 0
        self._login, self._token = encode(login), login.token
        self._tls = tls
        self._line: ClientConnection | None = None
        self._ended = asyncio.Event()
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._pressed_at: float | None = None
        self._dialling: asyncio.Task[None] | None = None

    def move_to(self, url: str) -> None:
        """The broker is at this address now: it may have started again."""
        if url != self.url:
            self.url = url
            if self._line is not None:
                self._line.close()
                self._line = None
            self._dial()

    def send(self, text: bytes) -> None:
        if self._line is not None and self._line.is_open:
            if self._line.buffered() + len(text) <= QUEUED_BYTES:
                self._line.send(text)
            else:
                self.dropped += 1
            return
        self._queue.append(text)
        self._queued += len(text)
        while self._queued > QUEUED_BYTES:
            self._queued -= len(self._queue.popleft())
            self.dropped += 1
        self._dial()

    def is_pressed(self, now: float) -> bool:
        """Whether much is under way to a broker that has not been slow for long."""
        if self._line is None or self._line.buffered() <= MUCH_QUEUED_BYTES:
            self._pressed_at = None
            return False
        if self._pressed_at is None:
            self._pressed_at = now
        return now - self._pressed_at < PRESSED_SECONDS

    async def close(self) -> None:
        """Hang up once everything sent has been read by the other end."""
        if self._dialling is not None:
            self._dialling.cancel()
            await asyncio.gather(self._dialling, return_exceptions=True)
        if self._line is not None:
            self._line.close()
            await self._ended.wait()

    def _dial(self) -> None:
        if self.url and (self._dialling is None or self._dialling.done()):
            self._dialling = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        backoff = Backoff()
        while self._queue:
            url = self.url
            ended = asyncio.Event()
            try:
                line = await connect(
                    f"{url}/session",
                    on_text=_ignore,
                    on_closed=partial(_note, ended),
                    ssl=self._tls,
                    token=self._token,
                )
            except BrokerwiseError:
                await asyncio.sleep(backoff.pause())
                continue
            line.send(self._login)
            while self._queue:
                line.send(self._queue.popleft())
            self._queued = 0
            self._line, self._ended = line, ended


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

    def is_pressed(self) -> bool:
        now = asyncio.get_running_loop().time()
        return any([peer.is_pressed(now) for peer in self._peers.values()])

    def addresses(self) -> dict[str, str]:
        return {name: peer.url for name, peer in self._peers.items() if peer.url}

    def dropped(self) -> int:
        return sum(peer.dropped for peer in self._peers.values())

    async def close(self) -> None:
        await asyncio.gather(*(peer.close() for peer in self._peers.values()))

    def _peer(self, name: str) -> Peer:
        found = self._peers.get(name)
        if found is None:
            found = self._peers[name] = Peer(self._login, self._tls)
        return found


def _ignore(text: bytes) -> None:
    """What a peer tells us: its welcome, and that it has taken messages in."""


def _note(ended: asyncio.Event, code: int, reason: str) -> None:
    """The next message finds the line closed, and opens another."""
    ended.set()
