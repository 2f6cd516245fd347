"""A client that is open: its connections, and who does what with what they bring."""

import asyncio
import ssl
import time
from collections.abc import Callable

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.coordinator import Coordinator
from brokerwise.runtime.client.errors import (
    ClientClosedError,
    LinkLostError,
    NoBrokerError,
)
from brokerwise.runtime.client.events import Notice, Received, Refused
from brokerwise.runtime.client.following import Following
from brokerwise.runtime.client.inbox import Inbox
from brokerwise.runtime.client.link import Link, Told
from brokerwise.runtime.client.links import Links
from brokerwise.runtime.client.moving import AcceptsMoves, Mover
from brokerwise.runtime.client.publishing import Publisher
from brokerwise.runtime.client.pulse import Pulse
from brokerwise.runtime.client.setting import Setting
from brokerwise.runtime.client.subscribing import Subscriber
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.net.waiting import Backoff
from brokerwise.runtime.protocol.control import Address
from brokerwise.runtime.protocol.frames import (
    Connect,
    Login,
    Problem,
    Published,
    RequestToMove,
    StaleRoute,
    Subscribed,
)


class Core:
    """Passes on what links bring, and looks after them twice a second."""

    def __init__(
        self,
        coordinator: Coordinator,
        login: Login,
        tls: ssl.SSLContext | None,
        accepts_moves: AcceptsMoves,
        on_notice: Callable[[Notice], None],
    ) -> None:
        links = Links(login, tls, self)
        self._loop = asyncio.get_running_loop()
        self._on_notice = on_notice
        self._setting = Setting(
            login.user, coordinator, links, self._tell, self._failed
        )
        self._pulse = Pulse.of(self._loop)
        self._home: Address | None = None
        self.inbox = Inbox(self._pause, self._resume, self._handled)
        self.following = Following()
        self.subscriber = Subscriber(
            self._setting, self.inbox, self.following, self._pulse
        )
        self.publisher = Publisher(self._setting, time.time)
        self._mover = Mover(self._setting, self.subscriber, accepts_moves)
        self._pulse.watch(self._tick)

    async def close(self, *, handled: bool = True) -> None:
        """Log out everywhere, and be closed for good. Doing it again does nothing.
        Cancelling it hangs up at once. `handled`: the application has dealt with the
        last event that it got."""
        if handled:
            self.inbox.settle()
        self._pulse.unwatch(self._tick)
        self.subscriber.settle()
        if self._setting.failure is None:
            self._setting.failure = ClientClosedError()
        self.inbox.close()
        self.publisher.links_changed()
        self._setting.changed.notify()
        try:
            await self._setting.stop()
        finally:
            await self._setting.links.close()

    async def session(self) -> Link:
        """A link to the broker that this user is on. Cancelling it loses nothing."""
        return self.subscriber.serving() or await self.home()

    async def home(self) -> Link:
        """A link to the broker that an overlay gives this user. Cancelling it loses
        nothing."""
        backoff = Backoff()
        while True:
            self._setting.check()
            try:
                if self._home is None:
                    self._home = await self._find_home()
                return await self._setting.links.reach(self._home)
            except (UnreachableError, RefusedError, LinkLostError) as error:
                self._home = None
                if isinstance(error, RefusedError) and error.status < 500:
                    raise
            await asyncio.sleep(backoff.pause())

    async def _find_home(self) -> Address:
        setting = self._setting
        answer = await setting.coordinator.request_broker(setting.user, None)
        for place in answer.sessions:
            return Address(place.broker, place.url)
        raise NoBrokerError(setting.user)

    # What links bring (client.link.Listener)

    def received(self, link: Link, message: Received) -> None:
        self.subscriber.received(link, message)

    def told(self, link: Link, frame: Told) -> None:
        match frame:
            case Published(count):
                self.publisher.confirmed(link, count)
            case StaleRoute():
                self.publisher.stale(frame)
            case Subscribed():
                self.subscriber.subscribed(link, frame)
            case Problem(id=0):
                self._setting.tell(Refused(frame.message))
            case Problem():
                self.subscriber.refused(frame)
            case RequestToMove():
                self._mover.asked(link, frame)
            case Connect():
                self._mover.ordered(link, frame)
            case _:
                pass

    def resumed(self, link: Link) -> None:
        self.subscriber.resumed(link)
        self._links_changed()

    def closed(self, link: Link, code: int, reason: str) -> None:
        self._setting.links.forget(link)
        self.subscriber.closed(link, code, reason)
        self.publisher.closed(link)
        self._setting.changed.notify()

    # What happens by itself

    def _tick(self, now: float) -> None:
        needed = self.publisher.needed()
        self.subscriber.tidy()
        for link in self._setting.links:
            if link.fell_silent(now):
                self.subscriber.fell_silent(link)
                self._links_changed()
            self._close_if_idle(link, needed)

    def _close_if_idle(self, link: Link, needed: set[str]) -> None:
        is_home = self._home is not None and self._home.url == link.url
        waits = link.sent > link.confirmed and not link.is_silent
        published = (link.url in needed or is_home) and not link.retired
        used = published or waits or self.subscriber.uses(link)
        if not link.is_needed(used):
            link.log_out()

    def _links_changed(self) -> None:
        self.publisher.links_changed()
        self._setting.changed.notify()

    def _tell(self, notice: Notice) -> None:
        """A fault of the application must not end a connection."""
        try:
            self._on_notice(notice)
        except Exception as error:
            self._loop.call_exception_handler(
                {"message": "on_notice failed", "exception": error}
            )

    def _failed(self, error: BrokerwiseError) -> None:
        self.inbox.close(error)
        self.publisher.links_changed()

    def _handled(self, message: Received) -> None:
        self.subscriber.handled(message)

    def _pause(self) -> None:
        for link in self._setting.links:
            if self.subscriber.uses(link):
                link.pause()

    def _resume(self) -> None:
        for link in self._setting.links:
            link.resume()
