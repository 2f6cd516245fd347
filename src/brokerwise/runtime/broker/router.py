"""The way of a message: put in order, held back, passed on, delivered. No I/O.

`MessageRouter` decides. A message is put in order in `_offer` (by the topic's
`Sequencer`, in `protocol.order`); one that leaves a gap is held back for at most
TRANSITION_SECONDS, then `_settle` gives the gap up. `Delivery` writes to sessions, at
the end of the turn. The state of a topic is in `topics`.

What the router cannot do itself comes back as commands (`LookUpRoute`). What may be
needed for each message is called directly: other brokers (`Forwarder`), processing
steps (`StepFinder`), datasets (`Feed`). A command for each message would be one more
allocation and dispatch, and the answer is needed at once. None of these knows the
router.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.topics import Overlay, RoutedMessage, Topic
from brokerwise.runtime.protocol.fleet import CursorRow, Route
from brokerwise.runtime.protocol.frames import (
    Forward,
    Problem,
    Publish,
    StaleRoute,
    encode,
)
from brokerwise.runtime.protocol.limits import (
    HELD_BYTES,
    HELD_BYTES_IN_ALL,
    HELD_MESSAGES,
    PRESSED_SECONDS,
    SESSION_QUEUE_BYTES,
    TRANSITION_SECONDS,
)
from brokerwise.runtime.protocol.names import DATASET, found_for, is_channel
from brokerwise.runtime.protocol.order import Released

Clock = Callable[[], float]  # seconds that never go back
CallSoon = Callable[[Callable[[], None]], object]  # when the turn is over
Feed = Callable[[str, msgspec.Raw], str]  # a record, to a dataset; why not, if not

_OVERHEAD = 128  # bytes of a message besides its data
_LARGE = 64 << 10  # bytes, after which it is checked whether readers keep up
_BACKLOG = SESSION_QUEUE_BYTES // 2
_Waiting = list[tuple[Session | None, Publish | Forward, str]]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LookUpRoute:
    """Ask the coordinator for the route of a topic, for `MessageRouter.take_route`."""

    topic: str


class Forwarder(Protocol):
    """The other brokers."""

    def forward(self, broker: str, frame: Forward) -> None:
        """Send a message to another broker, after those before it."""

    def is_congested(self) -> bool:
        """True if a large backlog waits for another broker that has not been slow for
        long."""
        raise NotImplementedError


class MessageStep(Protocol):
    """A topic's processing step."""

    def submit(self, data: bytes, done: Callable[[bytes | None], None]) -> bool:
        """Process a message; `done` gets what comes out, later and in order, or None
        if the step drops it. False if the step has no room for it."""
        raise NotImplementedError


class StepFinder(Protocol):
    def find(self, topic: str) -> MessageStep | None:
        """The step that the messages of a topic go through, if there is one."""


class HeldBytes:
    """How many bytes of messages wait, by topic and in all. Both are limited, so a
    topic that is full does not take the room of others."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        self._in_all = 0

    def has_room(self, topic: str, size: int) -> bool:
        return (
            self._taken[topic] + size <= HELD_BYTES
            and self._in_all + size <= HELD_BYTES_IN_ALL
        )

    def take(self, topic: str, size: int) -> None:
        self._taken[topic] += size
        self._in_all += size

    def give_back(self, topic: str, size: int | None = None) -> None:
        """Some bytes, or all that was taken for a topic."""
        taken = self._taken.pop(topic, 0)
        size = taken if size is None else min(size, taken)
        self._in_all -= size
        if taken > size:
            self._taken[topic] = taken - size

    def clear(self) -> None:
        self._taken.clear()
        self._in_all = 0


class Delivery:
    """Hands messages to the sessions of their topics: framed once, and many of them
    written in one piece.

    `deliveries` counts one for each message and session.
    """

    def __init__(
        self, frame_text: Callable[[bytes], bytes], clock: Clock, call_soon: CallSoon
    ) -> None:
        self.deliveries = 0
        self._frame_text = frame_text
        self._clock = clock
        self._call_soon = call_soon
        self._unwritten: dict[Topic, None] = {}
        self._congested: dict[Session, None] = {}

    def fan_out(
        self,
        topic: Topic,
        message: RoutedMessage,
        data: msgspec.Raw,
        sender: Session | None = None,
        *,
        skipped: bool = False,
    ) -> None:
        """Hand one message to all sessions of its topic but that of its sender. Of one
        that its step `skipped` they get the number only.

        It is written at the end of the turn, in one piece with others of its topic:
        a write costs far more than what it writes.
        """
        topic.positions[message.source] = (message.epoch, message.seq)
        if not topic.sessions:
            topic.latency.record(self._microseconds_since(message.arrived))
            return
        framed = self._frame_text(encode(message.to_message(topic.name, data, skipped)))
        topic.framed_bytes += len(framed)
        own = _session_of(topic, sender)
        if own is None:
            self._add(topic, framed, message.arrived)
        else:
            self.write(topic)
            topic.remove(own)
            self._add(topic, framed, message.arrived)
            self.write(topic)
            topic.add(own)

    def write_to(
        self, session: Session, topic: Topic, messages: Sequence[RoutedMessage]
    ) -> None:
        """Hand messages to one session alone, now."""
        frames = (m.to_message(topic.name, m.data, False) for m in messages)
        framed = [self._frame_text(encode(frame)) for frame in frames]
        if framed:
            session.sent += len(framed)
            topic.delivered += len(framed)
            self.deliveries += len(framed)
            session.write(b"".join(framed))

    def flush(self) -> None:
        """Write what waits for the end of the turn."""
        for topic in list(self._unwritten):
            self.write(topic)

    def write(self, topic: Topic) -> None:
        """Write what waits of one topic: before its sessions come or go."""
        self._unwritten.pop(topic, None)
        count = len(topic.unwritten)
        if not count:
            return
        data = topic.unwritten[0] if count == 1 else b"".join(topic.unwritten)
        for session in topic.audience():
            session.sent += count
            session.write(data)
        topic.written += len(data)
        if topic.written > _LARGE:
            topic.written = 0
            self._note_congested(topic)
        for arrived in topic.arrivals:
            topic.latency.record(self._microseconds_since(arrived))
        topic.unwritten.clear()
        topic.arrivals.clear()

    def is_congested(self) -> bool:
        """True if a large backlog waits for a subscriber that has not been slow for
        long: publishers should wait."""
        now = self._clock()
        for session in list(self._congested):
            if session.connection.buffered() <= _BACKLOG:
                session.congested_at = None
                del self._congested[session]
        since = (session.congested_at for session in self._congested)
        return any(at is not None and now - at < PRESSED_SECONDS for at in since)

    def release(self, session: Session) -> None:
        """A session has ended."""
        self._congested.pop(session, None)

    def _add(self, topic: Topic, framed: bytes, arrived: float) -> None:
        if not self._unwritten:
            self._call_soon(self.flush)
        self._unwritten[topic] = None
        topic.unwritten.append(framed)
        topic.arrivals.append(arrived)
        topic.delivered += len(topic.sessions)
        self.deliveries += len(topic.sessions)

    def _note_congested(self, topic: Topic) -> None:
        for session in topic.audience():
            if (
                session.congested_at is None
                and session.connection.buffered() > _BACKLOG
            ):
                session.congested_at = self._clock()
                self._congested[session] = None

    def _microseconds_since(self, arrived: float) -> int:
        return int((self._clock() - arrived) * 1e6)


def _session_of(topic: Topic, sender: Session | None) -> Session | None:
    """The session that the sender of a message has for its topic: it does not get its
    own messages."""
    if sender is None:
        return None
    return next((s for s in topic.sessions if s.user == sender.user), None)


class MessageRouter:
    """The topics of a broker, and the way of each of their messages.

    `links` counts the messages passed on to each other broker. `datasets`, by topic or
    pattern, are those that the messages of a topic also go into.
    """

    def __init__(
        self,
        name: str,
        *,
        peers: Forwarder,
        steps: StepFinder,
        feed: Feed,
        frame_text: Callable[[bytes], bytes],
        clock: Clock,
        call_soon: CallSoon,
    ) -> None:
        self.name = name
        self.overlay: Overlay | None = None
        self.datasets: Mapping[str, str] = {}
        self.topics: dict[str, Topic] = {}
        self.links: Counter[str] = Counter()
        self.delivery = Delivery(frame_text, clock, call_soon)
        self._peers = peers
        self._steps = steps
        self._feed = feed
        self._clock = clock
        self._unrouted: dict[str, _Waiting] = {}
        self._unrouted_bytes = HeldBytes()
        self._held_bytes = HeldBytes()
        self._dropped: Counter[str] = Counter()  # by topic, not logged yet
        self._in_transition: dict[Topic, None] = {}

    def topic(self, name: str) -> Topic:
        found = self.topics.get(name)
        if found is None:
            found = self.topics[name] = Topic(name)
        return found

    def serves(self, name: str) -> bool:
        """True if a new subscriber of the topic receives every later message."""
        topic = self.topics.get(name)
        if topic is None or topic.joining or topic.leaving:
            return False
        return topic.carried

    def has_route(self, name: str) -> bool:
        topic = self.topics.get(name)
        return topic is not None and (topic.carried or topic.route.generation > 0)

    def dataset_of(self, name: str) -> str:
        """The dataset that this broker feeds with the messages of a topic, or "".

        Of all brokers that carry a topic one feeds it, its feeder, which the
        coordinator names with the route and which stays the same while it carries the
        topic.
        """
        if not self.datasets or is_channel(name):
            return ""
        found = found_for(name, self.datasets)
        topic = self.topics.get(name)
        if found is None or topic is None:
            return ""
        return found if topic.route.feeder == self.name else ""

    def is_congested(self) -> bool:
        """True if publishers should wait, for subscribers or for other brokers."""
        by_peers = self._peers.is_congested()  # both: they note since when
        return self.delivery.is_congested() or by_peers

    # Messages come in

    def publish(
        self, session: Session | None, frame: Publish | Forward, source: str
    ) -> tuple[LookUpRoute, ...]:
        """A message from its source, over a session or over HTTP, or (without a
        session) from a broker that its publisher should not have sent it to."""
        if self.overlay is not None:
            self._publish_content(session, frame, source, self.overlay)
            return ()
        if not self.has_route(frame.topic):
            return self._wait_for_route(session, frame, source)
        topic = self.topics[frame.topic]
        message = self.new_message(source, frame.epoch, frame.seq, frame.data, frame.at)
        if frame.generation < topic.route.generation:
            self._redirect(session, topic, message, frame.generation)
        if topic.carried:
            self._offer(topic, message)
        return ()

    def take_forwarded(self, frame: Forward) -> tuple[LookUpRoute, ...]:
        """A message from another broker, along an overlay's tree or by an old route,
        which may be older than ours still."""
        if not frame.origin:
            return self.publish(None, frame, frame.source)
        message = self.new_message(
            frame.source, frame.epoch, frame.seq, frame.data, frame.at, frame.origin
        )
        self._offer(self.topic(frame.topic), message)
        return ()

    def new_message(
        self,
        source: str,
        epoch: int,
        seq: int,
        data: msgspec.Raw,
        at: float,
        origin: str = "",
    ) -> RoutedMessage:
        """A message that arrives now."""
        return RoutedMessage(source, epoch, seq, data, at, self._clock(), origin)

    def _publish_content(
        self,
        session: Session | None,
        frame: Publish | Forward,
        source: str,
        overlay: Overlay,
    ) -> None:
        if overlay.knows(frame.topic):
            message = self.new_message(
                source, frame.epoch, frame.seq, frame.data, frame.at, self.name
            )
            self._offer(self.topic(frame.topic), message, session)
        elif session is not None:
            _refuse(session, frame)

    def _redirect(
        self,
        session: Session | None,
        topic: Topic,
        message: RoutedMessage,
        generation: int,
    ) -> None:
        """The publisher's route is old: pass its message on to the brokers that it
        does not know, and tell it the new route, once."""
        for broker in topic.route.missed_by(generation) - {self.name}:
            self._forward(broker, topic, message)
        newest = topic.route.generation
        if session is not None and session.announced.get(topic.name) != newest:
            session.announced[topic.name] = newest
            addresses = tuple((a.broker, a.url) for a in topic.route.brokers)
            session.send(StaleRoute(topic.name, newest, addresses))

    def _wait_for_route(
        self, session: Session | None, frame: Publish | Forward, source: str
    ) -> tuple[LookUpRoute, ...]:
        name, held, size = frame.topic, self._unrouted_bytes, _size(frame)
        waiting = self._unrouted.get(name)
        commands: tuple[LookUpRoute, ...] = ()
        if waiting is None:
            self._unrouted[name] = waiting = []
            commands = (LookUpRoute(name),)
        if len(waiting) < HELD_MESSAGES and held.has_room(name, size):
            held.take(name, size)
            waiting.append((session, frame, source))
        else:
            self._dropped[name] += 1
        return commands

    def take_route(self, name: str, route: Route | None) -> tuple[LookUpRoute, ...]:
        """The coordinator's answer to `LookUpRoute`; None: there is no such topic."""
        waiting = self._unrouted.pop(name, [])
        self._unrouted_bytes.give_back(name)
        self._log_dropped(name)
        if route is not None:
            topic = self.topic(name)
            topic.route.update(route)
            topic.carried |= self.name in topic.route.members()
        commands: list[LookUpRoute] = []
        for session, frame, source in waiting:
            if route is not None:
                commands += self.publish(session, frame, source)
            elif session is not None:
                _refuse(session, frame)
        return tuple(commands)

    # Messages go out

    def _offer(
        self, topic: Topic, message: RoutedMessage, sender: Session | None = None
    ) -> None:
        """Put a message in order, and hand on those whose turn it is."""
        sequencer = topic.sequencer
        if topic.joining and not self._may_wait(topic, message):
            self._dropped[topic.name] += 1
            return
        released = sequencer.offer(message.source, message.epoch, message.seq, message)
        if len(released.messages) > 1:
            waited = sum(map(_size, released.messages[1:]))
            self._held_bytes.give_back(topic.name, waited)
        self.hand_on(topic, released, sender)
        if sequencer.held:
            self._wait_for_stragglers(topic, message)

    def _wait_for_stragglers(self, topic: Topic, message: RoutedMessage) -> None:
        """Messages wait, up to a limit, for one that may still come another way."""
        waiting = topic.sequencer.held.get(message.source, {})
        may_wait = self._may_wait(topic, message)
        if waiting.get((message.epoch, message.seq)) is message:
            self._held_bytes.take(topic.name, _size(message))
        if topic.joining:
            return
        if not may_wait:
            self._settle(topic)
        elif topic.settles_at is None:
            topic.settles_at = self._clock() + TRANSITION_SECONDS
            self._in_transition[topic] = None

    def _may_wait(self, topic: Topic, message: RoutedMessage) -> bool:
        return (
            self._held_bytes.has_room(topic.name, _size(message))
            and topic.sequencer.waiting() <= HELD_MESSAGES
        )

    def hand_on(
        self,
        topic: Topic,
        released: Released[RoutedMessage],
        sender: Session | None = None,
    ) -> None:
        """Messages whose turn it is: along the overlay, through the topic's step, into
        its dataset, and to our own sessions, but not to that of their sender."""
        name = topic.name
        for message in released.messages:
            topic.received += 1
            if self.overlay is not None:
                for broker in self.overlay.branches(message.origin, name):
                    self._forward(broker, topic, message)
            step = self._steps.find(name)
            if step is not None:
                self._process(step, topic, message)
                continue
            if self.datasets:
                self._feed_dataset(self.dataset_of(name), message.data)
            self.delivery.fan_out(topic, message, message.data, sender)

    def _process(self, step: MessageStep, topic: Topic, message: RoutedMessage) -> None:
        """A message that a step drops is not delivered; nor is one that it has no room
        for: the step counts it, and subscribers see a gap."""
        dataset = self.dataset_of(topic.name)  # as of now, not when the step is done

        def done(data: bytes | None) -> None:
            skipped = data is None
            raw = msgspec.Raw(b"null" if data is None else data)
            self.delivery.fan_out(topic, message, raw, skipped=skipped)
            if not skipped:
                self._feed_dataset(dataset, raw)

        step.submit(bytes(message.data), done)

    def _feed_dataset(self, dataset: str, data: msgspec.Raw) -> None:
        """A record that there is no room for is dropped and counted, like that of a
        client."""
        if dataset:
            self._feed(f"{DATASET}{dataset}", data)

    def _forward(self, broker: str, topic: Topic, message: RoutedMessage) -> None:
        self.links[broker] += 1
        frame = message.to_forward(topic.name, topic.route.generation)
        self._peers.forward(broker, frame)

    # Routes change

    def begin_joining(self, name: str) -> None:
        """Hold the messages of a topic from now on, until the cursors before them are
        known."""
        topic = self.topic(name)
        if not topic.joining:
            topic.begin_joining()
            self._held_bytes.give_back(name)

    def finish_joining(
        self, topic: Topic, cursors: list[tuple[str, int, int]]
    ) -> Released[RoutedMessage]:
        """This broker carries a topic now, which others have seen up to these cursors;
        returns what has come since and waits for nothing."""
        topic.joining = False
        released = topic.sequencer.begin_transition(cursors)
        topic.positions = {s: (epoch, seq) for s, epoch, seq in cursors}
        self._held_bytes.give_back(topic.name)
        for waiting in topic.sequencer.held.values():
            for message in waiting.values():
                self._held_bytes.take(topic.name, _size(message))
        topic.settles_at = self._clock() + TRANSITION_SECONDS
        self._in_transition[topic] = None
        self._log_dropped(topic.name)
        return released

    def change_routes(self, routes: Iterable[Route]) -> tuple[CursorRow, ...]:
        """Take new routes; returns what was taken in of their topics so far. From now
        on whatever comes by an older route is passed on."""
        cursors: list[CursorRow] = []
        changed, newest = 0, 0
        for route in routes:
            topic = self.topic(route.topic)
            if route.generation > topic.route.generation:
                changed, newest = changed + 1, max(newest, route.generation)
            added = topic.route.update(route) - {self.name}
            if topic.joining:
                continue
            if topic.carried:
                cursors += topic.cursors()
                self._forward_held(topic, added)
            topic.carried = self.name in topic.route.members() or bool(topic.sessions)
        if changed:
            log.info("routes of %d topics changed, to generation %d", changed, newest)
        return tuple(cursors)

    def reset(self) -> None:
        """Carry no topic: the broker's routes are void. Counters stay."""
        self._in_transition.clear()
        self._held_bytes.clear()
        for topic in self.topics.values():
            topic.forget()

    def forget(self, name: str) -> None:
        """There is no such topic."""
        self.topics.pop(name, None)
        self._held_bytes.give_back(name)
        self._dropped.pop(name, None)

    def settle_late(self) -> None:
        """End the transitions whose time is over: what is missing will not come."""
        now = self._clock()
        for topic in list(self._in_transition):
            if topic.settles_at is not None and topic.settles_at <= now:
                self._settle(topic)

    def settle_all(self) -> None:
        """End all transitions: this broker leaves, and has confirmed what waits."""
        for topic in list(self._in_transition):
            self._settle(topic)

    def _forward_held(self, topic: Topic, brokers: Iterable[str]) -> None:
        """What waits here for an earlier message came by the old route."""
        for broker in brokers:
            for waiting in topic.sequencer.held.values():
                for position in sorted(waiting):
                    self._forward(broker, topic, waiting[position])

    def _settle(self, topic: Topic) -> None:
        self._in_transition.pop(topic, None)
        topic.settles_at = None
        self._held_bytes.give_back(topic.name)
        released = topic.sequencer.settle()
        if released.gaps:
            first = released.gaps[0]
            log.warning(
                "topic %r: gave up waiting in %d gaps, the first of source %r between "
                "%s and %s; %d later messages go on",
                *(topic.name, len(released.gaps), first.source),
                *(first.after, first.before, len(released.messages)),
            )
        self.hand_on(topic, released)

    def _log_dropped(self, name: str) -> None:
        count = self._dropped.pop(name, 0)
        if count:
            log.warning(
                "topic %r: dropped %d messages: too many waited for its route",
                *(name, count),
            )


def _size(message: Publish | Forward | RoutedMessage) -> int:
    """The bytes that it takes up while it waits, approximately."""
    return len(message.data) + _OVERHEAD


def _refuse(session: Session, frame: Publish | Forward) -> None:
    session.send(
        Problem(
            "unknown_topic",
            f"message {frame.seq} was not taken: there is no topic {frame.topic!r}",
            topics=(frame.topic,),
        )
    )
