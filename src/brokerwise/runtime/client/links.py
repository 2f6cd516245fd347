"""The connections of a client: one to each broker that it needs, logged in."""

import asyncio
import json
import ssl
from collections.abc import Iterator
from itertools import count
from typing import Any, Protocol

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.errors import LinkLostError, final_error
from brokerwise.runtime.client.events import Received
from brokerwise.runtime.net.connection import connect
from brokerwise.runtime.protocol.fleet import Address
from brokerwise.runtime.protocol.frames import (
    Ack,
    Beat,
    Connect,
    Frame,
    Login,
    Logout,
    Message,
    Problem,
    Published,
    RequestToMove,
    StaleRoute,
    Subscribed,
    Unsubscribed,
    Welcome,
    decode_from_broker,
    encode,
)
from brokerwise.runtime.protocol.limits import ACK_EVERY, MAX_SEQ, REQUEST_SECONDS

BrokerFrame = (
    Subscribed
    | Unsubscribed
    | Published
    | StaleRoute
    | RequestToMove
    | Connect
    | Problem
)
_decoder = msgspec.json.Decoder(Received | BrokerFrame | Welcome | Beat)
_numbers = count(1)
IDLE_TICKS = 4  # that a link is kept while it is not needed: it may be again


class LinkOwner(Protocol):
    """What a link belongs to. None of these is called from inside a call of the link's
    methods."""

    def received(self, link: "Link", message: Received) -> None: ...

    def answered(self, link: "Link", frame: BrokerFrame) -> None:
        """A frame that is not a message."""

    def resumed(self, link: "Link") -> None:
        """A broker that had been silent speaks again."""

    def closed(self, link: "Link", code: int, reason: str) -> None:
        """Once, of a link that was open."""


class Link:
    """A connection that has logged in: nothing else may be called before `open`.

    `number` names its stream. `sent` messages were published on it, of which the
    broker has taken in `confirmed`; `received` have come. A link that is `retired`
    is not used any more: another has taken its place, or it is not needed.
    `idle_ticks` counts the ticks in a row at which it was not needed.
    """

    def __init__(
        self,
        address: Address,
        user: str,
        owner: LinkOwner,
        window: int | None = None,
    ) -> None:
        self.broker, self.url, self.user = address.broker, address.url, user
        self.number = next(_numbers)
        self.sent = self.confirmed = self.received = self.acknowledged = 0
        self.changed: dict[tuple[str, str], None] = {}
        self.ack_every = ACK_EVERY
        self.idle_ticks = 0
        self.is_silent = self.retired = False
        self.welcome: Welcome | None = None
        loop = asyncio.get_running_loop()
        self._welcomed: asyncio.Future[None] = loop.create_future()
        self._owner = owner
        self._window = window or 0
        self._paused = False
        self._spoke = True
        self._quiet_since = loop.time()

    async def open(self, login: Login, tls: ssl.SSLContext | None) -> None:
        """Connect and log in, within REQUEST_SECONDS each. Cancelling it, like any
        failure, leaves no connection behind.

        Raises UnreachableError or LinkLostError; UnauthorizedError and the like when
        there is no point in trying again.
        """
        self._connection = await connect(
            f"{self.url}/session",
            on_text=self._on_text,
            on_closed=self._on_closed,
            ssl=tls,
        )
        try:
            self.send(login)
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._welcomed
        except TimeoutError as cause:
            raise LinkLostError(self.url, 1006, "no answer to the login") from cause
        finally:
            if self.welcome is None:
                self.retired = True
                self._connection.abort()

    @property
    def is_open(self) -> bool:
        return self.welcome is not None and self._connection.is_open

    @property
    def is_usable(self) -> bool:
        return self.is_open and not self.is_silent and not self.retired

    @property
    def has_room(self) -> bool:
        """True if the broker takes one more message without a confirmation. Once it
        hangs up it does not, though it may still read what was sent before."""
        return self._connection.is_open and self.sent - self.confirmed < self._window

    def send(self, frame: Frame) -> None:
        self.send_text(encode(frame))

    def send_text(self, text: bytes) -> None:
        if self._connection.is_open:
            self._connection.send(text)

    def buffered(self) -> int:
        return self._connection.buffered()

    async def drained(self) -> None:
        """Until what was sent has mostly gone. Cancelling it loses nothing."""
        await self._connection.drained()

    def pause(self) -> None:
        """Stop reading: the application is behind."""
        self._paused = True
        self._connection.pause_reading()

    def resume(self) -> None:
        self._paused, self._spoke = False, True
        self._connection.resume_reading()

    def fell_silent(self, now: float) -> bool:
        """True if the broker has just been silent too long; called at every tick."""
        if self._spoke or self._paused:
            self._spoke, self._quiet_since = False, now
            return False
        assert self.welcome is not None
        if self.is_silent or now - self._quiet_since < self.welcome.silence_seconds:
            return False
        self.is_silent = True
        return True

    def acknowledge(self, ack: Ack) -> None:
        if self.acknowledged < ack.count or ack.cursors:
            self.acknowledged = ack.count
            self.send(ack)

    def expect_no_more_use(self) -> None:
        """Close it at the next tick, unless it is needed then."""
        self.idle_ticks = IDLE_TICKS

    def is_needed(self, needed: bool) -> bool:
        """True if it is to be kept; called at every tick."""
        self.idle_ticks = 0 if needed else self.idle_ticks + 1
        return self.idle_ticks < IDLE_TICKS

    def log_out(self) -> None:
        """Say goodbye, and hang up once everything sent has been read."""
        self.retired = True
        self.send(Logout())
        self._connection.close()

    def abort(self) -> None:
        self.retired = True
        self._connection.abort()

    def _on_text(self, text: bytes) -> None:
        try:
            frame = _decoder.decode(text)
        except (ValueError, RecursionError):
            found = _decode_leniently(text)
            if found is None:
                self._connection.abort()
                return
            frame = found
        self._spoke = True
        if self.is_silent:
            self.is_silent = False
            self._owner.resumed(self)
        if type(frame) is Received:
            self.received += 1
            self._owner.received(self, frame)
        elif isinstance(frame, Welcome):
            self._begin(frame)
        elif type(frame) is not Beat:
            self._owner.answered(self, frame)

    def _begin(self, welcome: Welcome) -> None:
        self.welcome = welcome
        self.broker = welcome.broker
        self.ack_every = welcome.ack_every
        self._window = min(self._window or MAX_SEQ, welcome.publish_window)
        if not self._welcomed.done():
            self._welcomed.set_result(None)

    def _on_closed(self, code: int, reason: str) -> None:
        if self.welcome is not None:
            self._owner.closed(self, code, reason)
        elif not self._welcomed.done():
            self._welcomed.set_exception(self._refusal(code, reason))

    def _refusal(self, code: int, reason: str) -> BrokerwiseError:
        final = final_error(self.user, self.broker, code, reason)
        return final or LinkLostError(self.url, code, reason)


def _decode_leniently(text: bytes) -> Received | None:
    """A message whose data msgspec refuses, and Python's JSON reader may take."""
    try:
        frame = decode_from_broker(text)
    except BrokerwiseError:
        return None
    if not isinstance(frame, Message):
        return None
    return Received(
        *(frame.topic, frame.source, frame.epoch, frame.seq),
        _decoded(bytes(frame.data)),
        frame.at,
    )


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode(errors="replace")


class Links:
    """Opens connections, shares them, and closes them all at the end."""

    def __init__(
        self,
        login: Login,
        tls: ssl.SSLContext | None,
        owner: LinkOwner,
        window: int | None = None,
    ) -> None:
        """`window`: messages that may be unconfirmed, if fewer than a broker allows."""
        self._login = login
        self._window = window
        self._tls = tls
        self._owner = owner
        self._by_url: dict[str, Link] = {}
        self._open: dict[int, Link] = {}
        self._dialling: dict[str, asyncio.Task[Link]] = {}
        self._none_open = asyncio.Event()

    def __iter__(self) -> Iterator[Link]:
        return iter(list(self._open.values()))

    def numbered(self, number: int) -> Link | None:
        """The link of a stream, if it is open."""
        return self._open.get(number)

    def usable(self, url: str) -> Link | None:
        link = self._by_url.get(url)
        return link if link is not None and link.is_usable else None

    def is_usable(self, url: str) -> bool:
        return self.usable(url) is not None

    def is_dialling(self, url: str) -> bool:
        return url in self._dialling

    async def reach(self, address: Address) -> Link:
        """A connection that can be used, a new one if need be; one that is silent
        stays open beside it. Concurrent callers share it, so cancelling this loses
        nothing.

        Raises what `Link.open` raises.
        """
        found = self.usable(address.url)
        if found is not None:
            return found
        dialling = self._dialling.get(address.url)
        if dialling is None:
            dialling = asyncio.get_running_loop().create_task(self._dial(address))
            self._dialling[address.url] = dialling
            dialling.add_done_callback(_retrieve)
        return await asyncio.shield(dialling)

    def forget(self, link: Link) -> None:
        """A connection has closed."""
        self._open.pop(link.number, None)
        if self._by_url.get(link.url) is link:
            del self._by_url[link.url]
        if not self._open:
            self._none_open.set()

    async def close(self) -> None:
        """Log out everywhere; what does not close in time is cut off. Cancelling it
        cuts off the rest at once."""
        for task in list(self._dialling.values()):
            task.cancel()
        await asyncio.gather(*self._dialling.values(), return_exceptions=True)
        for link in self:
            if link.is_silent:
                link.abort()
            else:
                link.log_out()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._all_closed()
        except TimeoutError:
            pass
        finally:
            for link in self:
                link.abort()
        await self._all_closed()

    async def _all_closed(self) -> None:
        while self._open:
            self._none_open.clear()
            await self._none_open.wait()

    async def _dial(self, address: Address) -> Link:
        link = Link(address, self._login.user, self._owner, self._window)
        try:
            await link.open(self._login, self._tls)
        finally:
            del self._dialling[address.url]
        if not link.is_open:
            link.abort()
            raise LinkLostError(link.url, 1006, "it hung up after the login")
        before = self._by_url.get(address.url)
        if before is not None:
            before.retired = True
        self._by_url[address.url] = self._open[link.number] = link
        return link


def _retrieve(task: "asyncio.Task[Link]") -> None:
    """Keep asyncio from logging a failure that no caller waited for."""
    if not task.cancelled():
        task.exception()
