"""The client of a fleet: subscribe, publish, and let it follow routes and moves.

`Client` is what applications use. `OpenClient` is its state while it is open: its
connections, and which part handles what they bring.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Self

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.client.context import (
    DEFAULT_OPTIONS,
    ClientContext,
    ClientOptions,
    SharedTimer,
)
from brokerwise.runtime.client.coordinator import CoordinatorClient
from brokerwise.runtime.client.errors import (
    ClientClosedError,
    LinkLostError,
    NoBrokerError,
    UnknownTopicError,
)
from brokerwise.runtime.client.events import (
    Event,
    Notice,
    Received,
    RequestRefused,
    wrap,
)
from brokerwise.runtime.client.inbox import EventQueue, Inbox
from brokerwise.runtime.client.links import BrokerFrame, Link, Links
from brokerwise.runtime.client.publisher import Publisher
from brokerwise.runtime.client.subscriber import AcceptsMoves, Mover, Subscriber
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.protocol.fleet import Address, Axis
from brokerwise.runtime.protocol.frames import (
    Connect,
    Login,
    Problem,
    Published,
    RequestToMove,
    StaleRoute,
    Subscribed,
)
from brokerwise.runtime.protocol.names import (
    DATASET,
    Value,
    channel_topic,
    refusal,
    refuse_patterns,
)
from brokerwise.runtime.protocol.subchannels import (
    PREFIX,
    Box,
    Point,
    WrongRangeError,
    is_subchannel,
    topic_of,
)

log = logging.getLogger(__name__)


def _ignore(notice: Notice) -> None:
    """The default of `on_notice`."""


class Client:
    """One user of a fleet. Everything is done on the event loop that it is opened on;
    hundreds of clients fit on one.

    Parameters
    ----------
    coordinator_url
        http://host:port or https://host:port.
    source
        The name that its messages carry: the user, or the user, a slash and more. Of
        several clients that publish as one user, each needs its own.
    authority
        A PEM file of authorities to trust, instead of the system's.
    accepts_moves
        Asked when a broker would like the session to move; an exception declines.
    on_notice
        Called when a session begins, moves, or is lost.
    literal
        Take a topic such as `gps/*` for its name. Otherwise it raises PatternError:
        there are no patterns to subscribe to, and no topic has that name.
    options
        What few applications need.
    """

    def __init__(
        self,
        coordinator_url: str,
        user: str,
        token: str,
        source: str | None = None,
        authority: str | None = None,
        accepts_moves: AcceptsMoves = lambda request: True,
        on_notice: Callable[[Notice], None] = _ignore,
        literal: bool = False,
        options: ClientOptions = DEFAULT_OPTIONS,
    ) -> None:
        _check_names("user", (user,))
        _check_names("source", (source,) if source else ())
        tls = client_tls(coordinator_url, authority or "")
        self._coordinator = CoordinatorClient(coordinator_url, token, tls)
        self._login = Login(user, token, source or "")
        self._literal = literal
        self._make_open = partial(
            OpenClient,
            self._coordinator,
            self._login,
            tls,
            accepts_moves,
            on_notice,
            options,
        )
        self._axes: tuple[Axis, ...] | None = None
        self._opened: OpenClient | None = None

    async def __aenter__(self) -> Self:
        """Nothing is connected yet: that happens when it is needed."""
        self._opened = self._make_open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close(handled=kind is None)

    async def close(self) -> None:
        """Log out everywhere; what was published still goes out. Cancelling it hangs
        up at once, and what was not sent yet is lost."""
        if self._opened is not None:
            await self._opened.close()

    # Subscribing

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Returns when all topics are served: every message from now on comes.

        It keeps trying while no broker, or no coordinator, can be reached. Raises
        PatternError for what looks like a pattern, UnknownTopicError for topics that
        there are none of, NotInPlanError for those that a plan does not give this
        user; the others are served. Cancelling it loses nothing: the topics stay
        wanted, and are served when that is possible.
        """
        names = list(dict.fromkeys(topics))
        self._check_topics(names)
        await self._open.subscriber.subscribe(names)

    async def subscribe_ranges(self, ranges: Box) -> None:
        """On an overlay: all content in a box; several boxes add up. Bounds are part
        of it, and an attribute left out is unbounded.

        Raises WrongRangeError if it does not fit. Cancelling it loses nothing: the
        box stays wanted.
        """
        _check_names("attribute", ranges)
        client = self._open
        client.inbox.streams.own_source = self._login.source or self._login.user
        await client.subscriber.subscribe_ranges(ranges)

    async def subscribe_channel(
        self,
        channel: str,
        parameters: Mapping[str, Value] | None = None,
        *,
        latest: bool = False,
    ) -> str:
        """Subscribe to a channel's results for these parameters; returns the topic
        that they come under.

        A user who had subscribed before gets everything since the last result that it
        dealt with (an event counts as dealt with when the next is asked for), as far
        as the data cluster keeps it; with `latest`, or the first time, what comes from
        now on. Going offline keeps the subscription, `unsubscribe` ends it. Raises
        UnknownTopicError if there is no such channel, or its parameters are others.
        Waits while no broker or data cluster can be reached; cancelling it loses
        nothing.
        """
        topic = channel_topic(channel, parameters or {})
        _check_names("channel", (topic,))
        await self._open.subscriber.subscribe([topic], latest=latest)
        return topic

    async def unsubscribe(self, topics: Iterable[str]) -> None:
        """Unsubscribe; what has come already is still delivered. Does not wait, so
        it cannot be cancelled."""
        self._open.subscriber.unsubscribe(topics)

    def events(self) -> AsyncIterator[Event]:
        """Messages and gaps, in order; ends when the client is closed. Several
        iterators share them. While 10,000 wait, reading from the brokers pauses.

        Cancelling a wait for the next event loses none. Raises ReplacedError,
        UnauthorizedError or ProtocolError when a broker refuses this client for good.
        """
        return self._open.events

    # Publishing

    async def publish(self, topic: str, data: Any) -> None:
        """Send anything that JSON can say. Waits only for room: until brokers have
        confirmed enough of the messages before, or can be reached again.

        Raises PatternError, UnknownTopicError, MessageTooLargeError. A call that is
        cancelled before it returns may have been sent or not; nothing else is lost.
        """
        client = self._open
        axes = await self._space() if topic.startswith(PREFIX) else ()
        if axes:
            if not is_subchannel(axes, topic):
                raise UnknownTopicError((topic,))
            await client.publisher.publish_at(client.home, topic, data)
        else:
            if not client.publisher.knows(topic):
                self._check_topics((topic,))
            await client.publisher.publish(topic, data)

    async def feed(self, dataset: str, record: Mapping[str, Any]) -> None:
        """Send a record to a dataset of the data cluster, by way of this user's broker,
        which sends it on until the data cluster has it. A record that is not as the
        dataset's columns are is kept aside there.

        Cancelling: as `publish`. What a broker had not sent on when it dies is lost:
        for an answer to each batch, feed the data cluster itself.
        """
        client, topic = self._open, f"{DATASET}{dataset}"
        _check_names("dataset", (topic,))
        await client.publisher.publish_at(client.session, topic, record)

    async def publish_content(self, content: Point, data: Any) -> None:
        """On an overlay: send data to all subscribers of content at this point.

        Raises WrongRangeError if the overlay has no such point. Cancelling: as
        `publish`.
        """
        axes = await self._space()
        if not axes:
            raise WrongRangeError("this fleet runs no overlay: publish to a topic")
        await self.publish(topic_of(axes, content), wrap(content, data))

    async def prepare(self, topics: Iterable[str]) -> None:
        """Learn the routes of many topics at once and connect to their brokers, so
        that the first message of each need not; on an overlay, connect to this user's
        broker. Cancelling it loses nothing."""
        names = list(dict.fromkeys(topics))
        self._check_topics(names)
        if any(name.startswith(PREFIX) for name in names) and await self._space():
            await self._open.home()
        else:
            await self._open.publisher.prepare(names)

    async def flush(self) -> None:
        """Returns when every broker has confirmed all that it was sent, or has gone
        (`unconfirmed` counts what it had not). Cancelling it loses nothing."""
        await self._open.publisher.flush()

    @property
    def unrouted(self) -> int:
        """Messages that were dropped because their topic had no subscribers."""
        return self._open.publisher.unrouted

    @property
    def unconfirmed(self) -> int:
        """Messages that a broker had not confirmed when its connection ended."""
        return self._open.publisher.unconfirmed

    def _check_topics(self, topics: Iterable[str]) -> None:
        names = tuple(topics)
        _check_names("topic", names)
        if not self._literal:
            refuse_patterns(names)

    async def _space(self) -> tuple[Axis, ...]:
        if self._axes is None:
            self._axes = await self._coordinator.axes()
        return self._axes

    @property
    def _open(self) -> "OpenClient":
        if self._opened is None:
            raise ClientClosedError
        return self._opened


def _check_names(what: str, names: Iterable[str]) -> None:
    for name in names:
        refused = refusal(name)
        if refused:
            raise InputError(f"{what}: {refused}")


class OpenClient:
    """A client between `async with` and its end: passes on what links bring, and looks
    after them twice a second."""

    def __init__(
        self,
        coordinator: CoordinatorClient,
        login: Login,
        tls: ssl.SSLContext | None,
        accepts_moves: AcceptsMoves,
        on_notice: Callable[[Notice], None],
        options: ClientOptions,
    ) -> None:
        links = Links(login, tls, self, options.window)
        self._loop = asyncio.get_running_loop()
        self._on_notice = on_notice
        self._context = ClientContext(
            login.user, coordinator, links, options, self._tell, self._failed
        )
        self._timer = SharedTimer.of(self._loop)
        self._home: Address | None = None
        self.events = EventQueue(
            self._pause,
            self._resume,
            self._handled,
            options.on_event,
        )
        self.inbox = Inbox(self.events, self._timer, options.on_needless)
        self.received = self.inbox.receive
        self.subscriber = Subscriber(self._context, self.inbox)
        self.publisher = Publisher(self._context, time.time)
        self._mover = Mover(self._context, self.inbox, self.subscriber, accepts_moves)
        self._timer.watch(self._tick)
        coordinator.http = self._timer.http

    async def close(self, *, handled: bool = True) -> None:
        """Log out everywhere, and be closed for good. Doing it again does nothing.
        Cancelling it hangs up at once. `handled`: the application has dealt with the
        last event that it got."""
        if handled:
            self.events.settle()
        self._timer.unwatch(self._tick)
        self.inbox.settle()
        if self._context.failure is None:
            self._context.failure = ClientClosedError()
        self.events.close()
        self.publisher.links_changed()
        self._context.changed.notify()
        try:
            await self._context.stop()
        finally:
            await self._context.links.close()
            await self._timer.leave()

    async def session(self) -> Link:
        """A link to the broker that this user is on. Cancelling it loses nothing."""
        return self.subscriber.serving() or await self.home()

    async def home(self) -> Link:
        """A link to the broker that an overlay gives this user. Cancelling it loses
        nothing."""
        return await self._context.retry(self._reach_home)

    async def _reach_home(self) -> Link:
        try:
            if self._home is None:
                self._home = await self._find_home()
            return await self._context.links.reach(self._home)
        except (UnreachableError, RefusedError, LinkLostError):
            self._home = None
            raise

    async def _find_home(self) -> Address:
        context = self._context
        answer = await context.coordinator.request_broker(context.user, None)
        for place in answer.sessions:
            return Address(place.broker, place.url)
        raise NoBrokerError(context.user)

    # What links bring (client.links.LinkOwner)

    def answered(self, link: Link, frame: BrokerFrame) -> None:
        match frame:
            case Published(count):
                self.publisher.confirmed(link, count)
            case StaleRoute():
                self.publisher.stale(frame)
            case Subscribed():
                self.subscriber.subscribed(link, frame)
            case Problem(id=0):
                self._context.tell(RequestRefused(frame.message))
            case Problem():
                self.subscriber.refused(frame)
            case RequestToMove():
                self._mover.asked(link, frame)
            case Connect():
                self._mover.ordered(link, frame)

    def resumed(self, link: Link) -> None:
        self.subscriber.resumed(link)
        self._links_changed()

    def closed(self, link: Link, code: int, reason: str) -> None:
        if not link.retired:
            log.info(
                "client of %r: connection to broker %r closed: %s (%d)",
                self._context.user,
                link.broker,
                reason or "no reason given",
                code,
            )
        self._context.links.forget(link)
        self.subscriber.closed(link, code, reason)
        self.publisher.closed(link)
        self._context.changed.notify()

    # What happens by itself

    def _tick(self, now: float) -> None:
        needed = self.publisher.needed()
        self.subscriber.tidy()
        for link in self._context.links:
            if link.fell_silent(now):
                self.subscriber.fell_silent(link)
                self._links_changed()
            self._close_if_idle(link, needed)

    def _close_if_idle(self, link: Link, needed: set[str]) -> None:
        used = self.subscriber.uses(link) or self._publishes(link, needed)
        if not link.is_needed(used):
            link.log_out()

    def _publishes(self, link: Link, needed: set[str]) -> bool:
        """True if messages go over a link, or it owes a confirmation."""
        is_home = self._home is not None and self._home.url == link.url
        waits = link.sent > link.confirmed and not link.is_silent
        return waits or ((link.url in needed or is_home) and not link.retired)

    def _links_changed(self) -> None:
        self.publisher.links_changed()
        self._context.changed.notify()

    def _tell(self, notice: Notice) -> None:
        """A fault of the application must not end a connection."""
        log.info("client of %r: %r", self._context.user, notice)
        try:
            self._on_notice(notice)
        except Exception as error:
            self._loop.call_exception_handler(
                {"message": "on_notice failed", "exception": error}
            )

    def _failed(self, error: BrokerwiseError) -> None:
        self.events.close(error)
        self.publisher.links_changed()

    def _handled(self, message: Received) -> None:
        self.subscriber.handled(message)

    def _pause(self) -> None:
        for link in self._context.links:
            if self.subscriber.uses(link):
                link.pause()

    def _resume(self) -> None:
        for link in self._context.links:
            link.resume()
