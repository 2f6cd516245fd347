"""The sessions of a client: which brokers serve its topics, how to find them, and how a
session moves from one broker to another, losing nothing.

First the frames that ask for topics (pure) and what brokers have not answered yet,
then `Subscriber`, then `Mover`. What brokers send goes to the `inbox`.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.context import ClientContext, wait_at_most
from brokerwise.runtime.client.errors import (
    LinkLostError,
    NoBrokerError,
    NotInPlanError,
    UnknownTopicError,
    final_error,
)
from brokerwise.runtime.client.events import (
    Connected,
    Disconnected,
    Received,
    Retrying,
    SessionMoved,
)
from brokerwise.runtime.client.inbox import Inbox
from brokerwise.runtime.client.links import Link
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.net.tasks import Backoff
from brokerwise.runtime.protocol.fleet import Address, CursorRow, SessionPlace
from brokerwise.runtime.protocol.frames import (
    Accept,
    Connect,
    Decline,
    Moved,
    Problem,
    RequestToMove,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from brokerwise.runtime.protocol.limits import (
    MAX_FRAME_BYTES,
    MAX_TOPICS_PER_FRAME,
    MOVE_SECONDS,
)
from brokerwise.runtime.protocol.names import is_channel
from brokerwise.runtime.protocol.subchannels import Box, WrongRangeError

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0  # that a broker may take over a subscription
ASK_AGAIN_SECONDS = 1.0  # whether it is still the one to go to
CATCH_UP_SECONDS = 5.0  # that an old broker has for what only it can still bring

AcceptsMoves = Callable[[RequestToMove], bool]

_FRAME_BYTES = MAX_FRAME_BYTES // 2  # of names, before what JSON adds


def subscriptions(
    topics: Sequence[str],
    cursors: Iterable[CursorRow],
    latest: Collection[str] = (),
) -> Iterator[Subscribe]:
    """Frames that ask for topics, none of them too large; for channels in frames of
    their own, also for those to begin with the `latest`. Cursors that would not fit
    beside their topics are left out: a direct topic begins where it is anyway."""
    by_topic: dict[str, list[CursorRow]] = {}
    for row in cursors:
        by_topic.setdefault(row[0], []).append(row)
    channels = [topic for topic in topics if is_channel(topic)]
    direct = [topic for topic in topics if not is_channel(topic)]
    yield from _frames(direct, by_topic)
    yield from _frames([t for t in channels if t not in latest], by_topic)
    for frame in _frames([t for t in channels if t in latest], by_topic):
        yield msgspec.structs.replace(frame, latest=True)


def _frames(
    topics: Iterable[str], by_topic: dict[str, list[CursorRow]]
) -> Iterator[Subscribe]:
    part: list[str] = []
    rows: list[CursorRow] = []
    size = 0
    for topic in topics:
        own = by_topic.get(topic, [])
        added = _size(topic, own)
        if added > _FRAME_BYTES:
            own, added = [], _size(topic, [])
        if part and (size + added > _FRAME_BYTES or len(part) == MAX_TOPICS_PER_FRAME):
            yield Subscribe(0, tuple(part), {}, tuple(rows))
            part, rows, size = [], [], 0
        part.append(topic)
        rows += own
        size += added
    if part:
        yield Subscribe(0, tuple(part), {}, tuple(rows))


def _size(topic: str, rows: list[CursorRow]) -> int:
    name = len(topic.encode()) + 4
    return name + sum(name + len(row[1].encode()) + 44 for row in rows)


@dataclass(eq=False)
class Ranges:
    """A box that the application wants, and the link that serves it."""

    box: Box
    link: Link | None = None
    refusal: BrokerwiseError | None = None

    @property
    def is_lacking(self) -> bool:
        served = self.link is not None and self.link.is_open and not self.link.is_silent
        return not served and self.refusal is None


@dataclass(eq=False)
class SubscriptionRequest:
    """A request to a broker. `topics` are those that it is still to serve."""

    link: Link
    topics: set[str]
    ranges: Ranges | None = None
    is_quiet: bool = False


class SubscriptionRequests:
    """Asks brokers for topics, each topic of one broker at a time."""

    def __init__(self) -> None:
        self._waiting: dict[int, SubscriptionRequest] = {}
        self._last_id = 0

    def fresh(self, link: Link, topics: Iterable[str]) -> list[str]:
        """Those of the topics that a broker has not been asked for already."""
        asked: set[str] = set()
        for request in self._waiting.values():
            if request.link is link:
                asked |= request.topics
        return sorted(set(topics) - asked)

    def ask(
        self,
        link: Link,
        topics: list[str],
        cursors: Iterable[CursorRow],
        *,
        latest: Collection[str] = (),
        is_quiet: bool = False,
    ) -> None:
        self.withdraw(topics)
        for frame in subscriptions(topics, cursors, latest):
            request = SubscriptionRequest(link, set(frame.topics), None, is_quiet)
            self._send(frame, request)

    def ask_ranges(self, link: Link, ranges: Ranges) -> None:
        for request in self._waiting.values():
            if request.ranges is ranges and request.link is link:
                return
        box = {name: (low, high) for name, (low, high) in ranges.box.items()}
        self._send(Subscribe(ranges=box), SubscriptionRequest(link, set(), ranges))

    def wait_for(self, link: Link) -> bool:
        """True if a broker still owes an answer."""
        return any(request.link is link for request in self._waiting.values())

    def find(self, number: int) -> SubscriptionRequest | None:
        return self._waiting.get(number)

    def answered(self, number: int) -> SubscriptionRequest | None:
        return self._waiting.pop(number, None)

    def withdraw(self, topics: Iterable[str]) -> None:
        """Do not wait any more for brokers to serve these."""
        gone = set(topics)
        for request in self._waiting.values():
            request.topics -= gone

    def forget(self, link: Link) -> None:
        """A connection has closed."""
        self._waiting = {n: q for n, q in self._waiting.items() if q.link is not link}

    def _send(self, frame: Subscribe, request: SubscriptionRequest) -> None:
        self._last_id += 1
        self._waiting[self._last_id] = request
        request.link.send(msgspec.structs.replace(frame, id=self._last_id))


class Subscriber:
    """Keeps every topic that the application wants served by a broker.

    Nothing runs while all are. When some are not, one task asks the coordinator where
    to go, and goes there, until all are again.
    """

    def __init__(self, context: ClientContext, inbox: Inbox) -> None:
        self.moving: set[Link] = set()
        self._context = context
        self._inbox = inbox
        self._streams = inbox.streams
        self._wanted: dict[str, None] = {}
        self._ranges: list[Ranges] = []
        self._latest: set[str] = set()
        self._refused: dict[str, BrokerwiseError] = {}
        self._requests = SubscriptionRequests()
        self._served: dict[Link, set[str]] = {}
        self._home: SessionPlace | None = None
        self._attempts: set[str] = set()
        self._repairing: asyncio.Task[None] | None = None

    # What the application asks for

    async def subscribe(self, topics: Sequence[str], *, latest: bool = False) -> None:
        """`latest`: channels begin with the next result, whatever was before."""
        for topic in topics:
            self._refused.pop(topic, None)
            self._wanted[topic] = None
        self._latest.difference_update(topics)
        self._latest.update(topics if latest else ())
        self.repair()
        context = self._context
        await context.wait_until(lambda: not self._lacking(topics), context.changed)
        for topic in topics:
            if topic in self._refused:
                raise self._refused[topic]

    async def subscribe_ranges(self, box: Box) -> None:
        ranges = Ranges(dict(box))
        self._ranges.append(ranges)
        self._inbox.boxes.append(ranges.box)
        self.repair()
        context = self._context
        await context.wait_until(lambda: not ranges.is_lacking, context.changed)
        if ranges.refusal is not None:
            self._ranges.remove(ranges)
            self._inbox.boxes.remove(ranges.box)
            raise ranges.refusal

    def unsubscribe(self, topics: Iterable[str]) -> None:
        gone = set(topics)
        for topic in gone:
            self._wanted.pop(topic, None)
        self._streams.forget(gone)
        self._requests.withdraw(gone)
        self.tidy()

    # What brokers say

    def subscribed(self, link: Link, frame: Subscribed) -> None:
        asked = self._requests.answered(frame.id)
        if asked is None:
            return
        served = set(frame.topics)
        if asked.ranges is None:
            served &= asked.topics
        self._served.setdefault(link, set()).update(frame.topics)
        self._leave_silent(served)
        self._inbox.serve(link, served, frame.cursors)
        if asked.ranges is not None:
            asked.ranges.link = link
        if self._inbox.events.is_full:
            link.pause()
        if served and not asked.is_quiet:
            self._context.tell(Connected(link.broker, len(served)))
        self._context.changed.notify()

    def refused(self, frame: Problem) -> None:
        """Some of a subscription, or all of it, was refused."""
        asked = self._requests.find(frame.id)
        if asked is None:
            return
        if asked.ranges is not None:
            asked.ranges.refusal = WrongRangeError(frame.message)
            self._requests.answered(frame.id)
        else:
            topics = tuple(frame.topics or asked.topics)
            self._refuse(topics, UnknownTopicError(topics, frame.message))
            asked.topics.difference_update(topics)
        self._context.changed.notify()

    def closed(self, link: Link, code: int, reason: str) -> None:
        served = self._served.pop(link, None)
        self._inbox.end(link.number)
        self._requests.forget(link)
        self.moving.discard(link)
        if self._home is not None and self._home.url == link.url:
            self._home = None
        final = final_error(self._context.user, link.broker, code, reason)
        if final is not None and not link.retired:
            self._context.fail(final)
        elif served and not (link.retired or link.is_silent):
            self._context.tell(Disconnected(link.broker, reason or f"code {code}"))
        self.repair()

    def fell_silent(self, link: Link) -> None:
        if self._streams.topics_of(link.number):
            self._context.tell(Disconnected(link.broker, "it has fallen silent"))
            self.repair()

    def resumed(self, link: Link) -> None:
        topics = self._streams.topics_of(link.number)
        if topics:
            self._context.tell(Connected(link.broker, len(topics)))

    # What follows from it

    def tidy(self) -> None:
        """Unsubscribe where others serve by now."""
        for link, served in list(self._served.items()):
            if served and self._streams.feeds(link.number, served):
                continue
            stale = served - self._streams.topics_of(link.number)
            if stale and link not in self.moving:
                served -= stale
                elsewhere = {topic for topic in stale if topic in self._wanted}
                _unsubscribe(link, elsewhere, elsewhere=True)
                _unsubscribe(link, stale - elsewhere, elsewhere=False)
            if not served:
                del self._served[link]
                link.expect_no_more_use()

    def handled(self, message: Received) -> None:
        """The application has dealt with a channel's result."""
        streams = self._streams.streams_of(message.topic)
        found = (self._context.links.numbered(number) for number in streams)
        self._inbox.handled(message, [link for link in found if link])

    def serving(self) -> Link | None:
        """A link that serves topics and can be used, the newest."""
        return next((k for k in reversed(self._served) if k.is_usable), None)

    def uses(self, link: Link) -> bool:
        """True if a link serves anything, or was asked to."""
        serves = link in self._served or link in self.moving
        return serves or self._requests.wait_for(link)

    def withdraw(self, topics: Iterable[str]) -> None:
        """Do not go where these were asked for, if that is not answered yet."""
        self._requests.withdraw(topics)

    def ranges_moved(self, old: Link, new: Link) -> None:
        for ranges in self._ranges:
            if ranges.link is old:
                ranges.link = new

    def home(self, address: Address) -> None:
        """The session goes on at this broker."""
        if self._home is not None:
            self._home = SessionPlace(address.broker, address.url)

    def repair(self) -> None:
        """See to it that everything wanted is served, as soon as can be."""
        idle = self._repairing is None or self._repairing.done()
        if idle and self._context.failure is None and self._is_lacking():
            self._repairing = self._context.start(self._repair())

    async def attach(
        self, link: Link, topics: Iterable[str], *, is_quiet: bool = False
    ) -> None:
        """Ask a broker for topics, and wait until it serves them, has refused, or is
        gone; at most ANSWER_SECONDS. Cancelling it leaves the request open.

        Raises LinkLostError if there is no answer.
        """
        fresh = self._requests.fresh(link, topics)
        cursors = self._streams.cursors(fresh)
        self._requests.ask(link, fresh, cursors, latest=self._latest, is_quiet=is_quiet)
        await self._answered(link)

    async def _answered(self, link: Link) -> None:
        await wait_at_most(
            ANSWER_SECONDS,
            lambda: not (link.is_usable and self._requests.wait_for(link)),
            self._context.changed,
        )
        if self._requests.wait_for(link):
            raise LinkLostError(link.url, 1006, "no answer to a subscription")

    # How it is repaired

    async def _repair(self) -> None:
        """Go where the coordinator says; ask again while that comes to nothing."""
        backoff = Backoff()
        while self._is_lacking():
            try:
                for place in await self._places():
                    self._go_to(place)
            except (UnreachableError, RefusedError) as error:
                self._note_failure(error.message)
            await self._wait_for_brokers()
            if self._is_lacking() and not self._attempts:
                await asyncio.sleep(backoff.pause())

    def _go_to(self, place: SessionPlace) -> None:
        if place.url not in self._attempts:
            self._attempts.add(place.url)
            self._context.start(self._go(place))

    async def _wait_for_brokers(self) -> None:
        """Wait until all topics are served; a broker may be slow, or frozen."""
        await wait_at_most(
            ASK_AGAIN_SECONDS,
            lambda: not (self._attempts and self._is_lacking()),
            self._context.changed,
        )

    async def _places(self) -> tuple[SessionPlace, ...]:
        """Where the coordinator wants the sessions; without a plan that is where one
        is already."""
        if self._home is not None and self._context.links.is_usable(self._home.url):
            return (self._home,)
        lacking = self._lacking(self._wanted)
        user = self._context.user
        try:
            answer = await self._context.coordinator.request_broker(
                user, list(self._wanted) or None
            )
        except RefusedError as error:
            if error.status < 500:
                self._refuse([t for t in lacking if self._is_new(t)], error)
                self._refuse_ranges(error)
            raise
        unserved = [t for t in answer.unserved if t in lacking and self._is_new(t)]
        if unserved:
            self._refuse(unserved, NotInPlanError(user, unserved))
        if not answer.sessions:
            self._refuse_ranges(NoBrokerError(user))
        self._home = next((p for p in answer.sessions if p.topics is None), None)
        return answer.sessions

    async def _go(self, place: SessionPlace) -> None:
        here = self._wanted if place.topics is None else set(place.topics)
        try:
            if self._lacking(here) or any(r.is_lacking for r in self._ranges):
                link = await self._context.links.reach(Address(place.broker, place.url))
                await self.attach(link, self._lacking(here))
                for ranges in [r for r in self._ranges if r.is_lacking]:
                    self._requests.ask_ranges(link, ranges)
                    await self._answered(link)
        except (UnreachableError, RefusedError, LinkLostError) as error:
            self._note_failure(error.message)
        finally:
            self._attempts.discard(place.url)
            self._context.changed.notify()

    def _note_failure(self, reason: str) -> None:
        """An attempt failed: the application is told, unless all topics are served."""
        if self._is_lacking():
            self._context.tell(Retrying(reason))

    def _is_lacking(self) -> bool:
        return any(r.is_lacking for r in self._ranges) or bool(
            self._lacking(self._wanted)
        )

    def _lacking(self, topics: Iterable[str]) -> list[str]:
        """Those of the topics that are wanted and that no broker serves that is
        heard from."""
        alive = {link.number for link in self._context.links if not link.is_silent}
        return [
            topic
            for topic in topics
            if topic in self._wanted
            and alive.isdisjoint(self._streams.streams_of(topic))
        ]

    def _is_new(self, topic: str) -> bool:
        return not self._streams.knows(topic)

    def _refuse(self, topics: Iterable[str], error: BrokerwiseError) -> None:
        for topic in topics:
            if self._wanted.pop(topic, "") is None:
                self._refused[topic] = error
        self._context.changed.notify()

    def _refuse_ranges(self, error: BrokerwiseError) -> None:
        for ranges in self._ranges:
            if ranges.link is None and ranges.refusal is None:
                ranges.refusal = error
        self._context.changed.notify()

    def _leave_silent(self, topics: Iterable[str]) -> None:
        """Another broker serves these topics: hang up on silent ones that did."""
        for topic in topics:
            for number in self._streams.streams_of(topic):
                link = self._context.links.numbered(number)
                if link is None or link.is_silent or link.retired:
                    self._inbox.leave(number, (topic,))
                    if link is not None and not self._streams.topics_of(number):
                        link.abort()


def _unsubscribe(link: Link, topics: Iterable[str], *, elsewhere: bool) -> None:
    for frame in subscriptions(sorted(topics), ()):
        link.send(Unsubscribe(0, frame.topics, elsewhere))


class Mover:
    """Answers what brokers ask about moves, and carries them out."""

    def __init__(
        self,
        context: ClientContext,
        inbox: Inbox,
        subscriber: Subscriber,
        accepts: AcceptsMoves,
    ) -> None:
        self._context = context
        self._inbox, self._streams = inbox, inbox.streams
        self._subscriber = subscriber
        self._accepts = accepts
        self._under_way: set[int] = set()

    def asked(self, link: Link, request: RequestToMove) -> None:
        """The application decides; one that fails to stays where it is."""
        try:
            accepted, reason = self._accepts(request), "declined by the application"
        except Exception as error:
            accepted, reason = False, f"the application failed: {error!r}"[:200]
        answer = Accept(request.move) if accepted else Decline(request.move, reason)
        if not accepted:
            log.info("move %d of %r: %s", request.move, self._context.user, reason)
        link.send(answer)

    def ordered(self, link: Link, order: Connect) -> None:
        if order.move not in self._under_way:
            self._under_way.add(order.move)
            log.info(
                "move %d of %r begins: from broker %r to %r",
                order.move,
                self._context.user,
                link.broker,
                order.broker,
            )
            self._context.start(self._move(link, order))

    async def _move(self, old: Link, order: Connect) -> None:
        self._subscriber.moving.add(old)
        try:
            async with asyncio.timeout(MOVE_SECONDS):
                await self._change_over(old, order)
            if old.is_open:
                old.send(Moved(order.move))
                if not order.topics:
                    self._subscriber.home(Address(order.broker, order.url))
                self._context.tell(SessionMoved(old.broker, order.broker))
        except (TimeoutError, RefusedError, LinkLostError) as error:
            self._context.tell(Retrying(f"stays at {old.broker}: {error}"))
        finally:
            self._under_way.discard(order.move)
            self._subscriber.moving.discard(old)
            self._subscriber.tidy()
            self._subscriber.repair()

    async def _change_over(self, old: Link, order: Connect) -> None:
        """Until no topic that is to move is left at the old broker: the application may
        subscribe to more meanwhile."""
        if order.url == old.url:
            return
        new = await self._reach(old, Address(order.broker, order.url))
        while old.is_open and (topics := self._to_move(old, order)):
            try:
                await self._subscriber.attach(new, topics, is_quiet=True)
                await self._catch_up(old, new, topics)
            except BaseException:
                self._subscriber.withdraw(topics)
                raise
        if not order.topics:
            self._subscriber.ranges_moved(old, new)

    def _to_move(self, old: Link, order: Connect) -> set[str]:
        here = self._streams.topics_of(old.number)
        return here & set(order.topics) if order.topics else here

    async def _reach(self, old: Link, to: Address) -> Link:
        backoff = Backoff()
        while True:
            try:
                return await self._context.links.reach(to)
            except (UnreachableError, LinkLostError) as error:
                if not old.is_open:
                    raise LinkLostError(to.url, 1006, error.message) from error
            await asyncio.sleep(backoff.pause())

    async def _catch_up(self, old: Link, new: Link, topics: set[str]) -> None:
        """Wait until the old broker has sent what the new one will not; what it has not
        sent in time is a gap."""
        await wait_at_most(
            CATCH_UP_SECONDS,
            lambda: not self._streams.behind(topics),
            self._inbox.progressed,
        )
        if not new.is_open:
            raise LinkLostError(new.url, 1006, "it has gone in the middle of a move")
        self._inbox.leave(old.number, topics)
