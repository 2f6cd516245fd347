"""Guests of a broker who need not behave: raw connections, over which anything goes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from brokerwise.runtime.wire.connecting import Dialled, connect

from .load import until

ANSWER_SECONDS = 10.0


class Guest:
    """A WebSocket to a broker that says what it is told to, whether or not it makes
    sense, and notes what it is told.

    `frames` are those that came, in order, but for messages, which are only counted:
    whoever wants to see them gives `on_message`.
    """

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self.messages = 0
        self.closed: tuple[int, str] | None = None
        self.on_message: Callable[[bytes], None] | None = None
        self.line: Dialled

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

    async def told(self, kind: str, **wanted: object) -> dict[str, Any]:
        """The first frame like this, once it has come. Fails if that is never."""
        pattern = {"type": kind, **wanted}

        def found() -> list[dict[str, Any]]:
            return [f for f in self.frames if pattern.items() <= f.items()]

        await until(lambda: bool(found() or self.closed), ANSWER_SECONDS)
        assert found(), f"no {pattern}: closed with {self.closed}, had {self.frames}"
        return found()[0]

    async def ended(self, seconds: float = ANSWER_SECONDS) -> tuple[int, str]:
        """The code and the reason that the broker closed with."""
        await until(lambda: self.closed is not None, seconds)
        assert self.closed is not None
        return self.closed

    async def log_out(self) -> None:
        self.say({"type": "logout"})
        assert (await self.ended())[0] == 1000

    def _hear(self, text: bytes) -> None:
        if text.startswith(b'{"type":"message"'):
            self.messages += 1
            if self.on_message is not None:
                self.on_message(text)
        else:
            self.frames.append(json.loads(text))

    def _end(self, code: int, reason: str) -> None:
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


@asynccontextmanager
async def socket(
    url: str,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A plain connection to the port of an address, for bytes of any kind."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        try:
            await writer.wait_closed()
        except OSError:
            pass  # it was reset: what was read before is what counts


async def answer_to(url: str, said: bytes, *, seconds: float = ANSWER_SECONDS) -> bytes:
    """All that comes back, up to the end, to these bytes."""
    async with socket(url) as (reader, writer):
        writer.write(said)
        async with asyncio.timeout(seconds):
            return await reader.read()
