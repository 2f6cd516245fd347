"""Guests of a broker who need not behave: raw connections, over which anything goes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from brokerwise.runtime.net.connection import ClientConnection, connect

ANSWER_SECONDS = 10.0


class Guest:
    """A WebSocket to a broker that says what it is told to, whether or not it makes
    sense, and notes what it hears.

    `frames` are those that came, in order, but for messages, which are counted, and
    given to `on_message`.
    """

    line: ClientConnection

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self.messages = 0
        self.closed: tuple[int, str] | None = None
        self.on_message: Callable[[bytes], object] = len
        self._news = asyncio.Event()

    async def dial(self, url: str) -> None:
        self.line = await connect(
            f"{url}/session", on_text=self._hear, on_closed=self._end, seconds=10
        )

    def say(self, *frames: dict[str, Any]) -> None:
        for frame in frames:
            self.line.send(json.dumps(frame).encode())

    async def log_in(self, user: str, token: str, **more: object) -> None:
        self.say({"type": "login", "user": user, "token": token, **more})
        await self.told("welcome")

    async def subscribe(self, *topics: str, number: int = 1) -> dict[str, Any]:
        """The answer, once it has come."""
        self.say({"type": "subscribe", "id": number, "topics": topics})
        return await self.told("subscribed", id=number)

    def publish(self, topic: str, seq: int, epoch: int = 1) -> None:
        self.say({"type": "publish", "topic": topic, "epoch": epoch, "seq": seq})

    async def told(self, kind: str, **wanted: object) -> dict[str, Any]:
        """The first frame like this, once it has come. Fails if that is never."""
        pattern = {"type": kind, **wanted}

        def found() -> list[dict[str, Any]]:
            return [f for f in self.frames if pattern.items() <= f.items()]

        await self._until(lambda: bool(found() or self.closed), ANSWER_SECONDS)
        assert found(), f"no {pattern}: closed with {self.closed}, had {self.frames}"
        return found()[0]

    async def got(self, messages: int, seconds: float = ANSWER_SECONDS) -> None:
        """Wait for so many messages in all."""
        await self._until(
            lambda: bool(self.messages >= messages or self.closed), seconds
        )
        assert self.messages >= messages, f"{self.messages}, {self.closed}"

    async def ended(self, seconds: float = ANSWER_SECONDS) -> tuple[int, str]:
        """The code and the reason that the broker closed with."""
        await self._until(lambda: self.closed is not None, seconds)
        assert self.closed is not None
        return self.closed

    async def log_out(self) -> None:
        self.say({"type": "logout"})
        assert (await self.ended())[0] == 1000

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def _hear(self, text: bytes) -> None:
        self._news.set()
        if text.startswith(b'{"type":"message"'):
            self.messages += 1
            self.on_message(text)
        else:
            self.frames.append(json.loads(text))

    def _end(self, code: int, reason: str) -> None:
        self._news.set()
        self.closed = (code, reason)


@asynccontextmanager
async def guest(url: str) -> AsyncIterator[Guest]:
    """A guest who has not logged in; gone afterwards, if it was not before."""
    one = Guest()
    await one.dial(url)
    try:
        yield one
    finally:
        one.line.abort()
        await one.ended()


@asynccontextmanager
async def visitor(
    url: str, user: str, token: str, **login: object
) -> AsyncIterator[Guest]:
    """A guest who has logged in."""
    async with guest(url) as one:
        await one.log_in(user, token, **login)
        yield one


Socket = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def opened_socket(url: str) -> AsyncIterator[Socket]:
    """A plain connection to the port of an address, for bytes of any kind."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with suppress(OSError):  # it was reset: what was read before is what counts
            await writer.wait_closed()


async def answer_to(url: str, said: bytes) -> bytes:
    """All that comes back to these bytes, until the other end hangs up."""
    async with opened_socket(url) as (reader, writer):
        writer.write(said)
        async with asyncio.timeout(ANSWER_SECONDS):
            return await reader.read()
