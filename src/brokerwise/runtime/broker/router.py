"""The way of a message through a broker: its order, its route. No I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from brokerwise.runtime.broker.outside import Outside
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.topics import Overlay, RoutedMessage, Topic
from brokerwise.runtime.protocol.control import CursorRow, Route
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

_OVERHEAD = 128  # bytes of a message besides its data
_Waiting = list[tuple[Session | None, Publish | Forward, str]]
Clock = Callable[[], float]
_LARGE = 64 << 10  # bytes, after which it is seen whether readers keep up
_MUCH = SESSION_QUEUE_BYTES // 2
Feed = Callable[[str, msgspec.Raw], str]


class HeldBytes:
    """Bytes of messages that wait, by topic. One that is full leaves room for others,
    as long as there is any."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        self._in_all = 0

    def has(self, topic: str, size: int) -> bool:
        return (
            self._taken.get(topic, 0) + size <= HELD_BYTES
            and self._in_all + size <= HELD_BYTES_IN_ALL
        )

    def take(self, topic: str, size: int) -> None:
        self._taken[topic] = self._taken.get(topic, 0) + size
        self._in_all += size

    def give_back(self, topic: str, size: int | None = None) -> None:
        """So much, or all that was taken for a topic."""
        taken = self._taken.pop(topic, 0)
        size = taken if size is None else min(size, taken)
        self._in_all -= size
        if taken > size:
            self._taken[topic] = taken - size

    def clear(self) -> None:
        self._taken.clear()
        self._in_all = 0


class Delivery:
    """Hands messages to the sessions of their topics.

    `deliveries` counts one for each message and session.
    """

    def __init__(
        self,
        outside: Outside,
        frame_text: Callable[[bytes], bytes],
        clock: Clock,
    ) -> None:
        self.deliveries = 0
        self._outside = outside
        self._frame_text = frame_text
        self._clock = clock
        self._unwritten: dict[Topic, None] = {}
        self._pressed: dict[Session, None] = {}

    def fan_out(
        self,
        topic: Topic,
        item: RoutedMessage,
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
        topic.positions[item.source] = (item.epoch, item.seq)
        if not topic.sessions:
            topic.latency.record(self._microseconds_since(item.arrived))
            return
        framed = self._frame_text(encode(item.message(topic.name, data, skipped)))
        topic.framed_bytes += len(framed)
        own = _session_of(topic, sender)
        if own is None:
            self._add(topic, framed, item.arrived)
        else:
            self.write(topic)
            topic.remove(own)
            self._add(topic, framed, item.arrived)
            self.write(topic)
            topic.add(own)

    def write_to(
        self, session: Session, topic: Topic, items: Sequence[RoutedMessage]
    ) -> None:
        """Hand messages to one session alone, now."""
        framed = [
            self._frame_text(encode(item.message(topic.name, item.data, False)))
            for item in items
        ]
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
            self._note_pressed(topic)
        for arrived in topic.arrivals:
            topic.latency.record(self._microseconds_since(arrived))
        topic.unwritten.clear()
        topic.arrivals.clear()

    def is_pressed(self) -> bool:
        """Whether publishers had better wait: much is on its way to subscribers, or
        other brokers, who have not been slow for long."""
        now = self._clock()
        for session in list(self._pressed):
            if session.connection.buffered() <= _MUCH:
                session.pressed_at = None
                del self._pressed[session]
        since = (session.pressed_at for session in self._pressed)
        return self._outside.is_pressed() or any(
            at is not None and now - at < PRESSED_SECONDS for at in since
        )

    def release(self, session: Session) -> None:
        """A session has ended."""
        self._pressed.pop(session, None)

    def _add(self, topic: Topic, framed: bytes, arrived: float) -> None:
        if not self._unwritten:
            self._outside.flush()
        self._unwritten[topic] = None
        topic.unwritten.append(framed)
        topic.arrivals.append(arrived)
        topic.delivered += len(topic.sessions)
        self.deliveries += len(topic.sessions)

    def _note_pressed(self, topic: Topic) -> None:
        for session in topic.audience():
            if session.pressed_at is None and session.connection.buffered() > _MUCH:
                session.pressed_at = self._clock()
                self._pressed[session] = None

    def _microseconds_since(self, arrived: float) -> int:
        return int((self._clock() - arrived) * 1e6)


def _session_of(topic: Topic, sender: Session | None) -> Session | None:
    """The session that the sender of a message has for its topic: it need not hear
    what it said itself."""
    if sender is None:
        return None
    return next((s for s in topic.sessions if s.user == sender.user), None)


class MessageRouter:
    """The topics of a broker, and what happens to each message of theirs.

    `links` counts the messages passed on to each other broker. `clock` gives seconds
    that never go back.
    """

    def __init__(
        self,
        name: str,
        outside: Outside,
        frame_text: Callable[[bytes], bytes],
        clock: Clock,
    ) -> None:
        self.name = name
        self.overlay: Overlay | None = None
        self.topics: dict[str, Topic] = {}
        self.links: dict[str, int] = {}
        self.delivery = Delivery(outside, frame_text, clock)
        self._outside = outside
        self._clock = clock
        self._unrouted: dict[str, _Waiting] = {}
        self._unrouted_room = HeldBytes()
        self._held_room = HeldBytes()
        self._in_transition: dict[Topic, None] = {}

    def topic(self, name: str) -> Topic:
        found = self.topics.get(name)
        if found is None:
            found = self.topics[name] = Topic(name)
        return found

    def serves(self, name: str) -> bool:
        """Whether whoever subscribes to a topic now misses nothing from now on."""
        topic = self.topics.get(name)
        if topic is None or topic.joining or topic.leaving:
            return False
        return topic.carried

    def has_route(self, name: str) -> bool:
        topic = self.topics.get(name)
        return topic is not None and (topic.carried or topic.route.generation > 0)

    # Messages come in

    def publish(
        self, session: Session | None, frame: Publish | Forward, source: str
    ) -> None:
        """A message from its source, over a session or over HTTP, or (without a
        session) from a broker that its publisher should not have sent it to."""
        if self.overlay is not None:
            self._publish_content(session, frame, source, self.overlay)
            return
        if not self.has_route(frame.topic):
            self._look_up(session, frame, source)
            return
        topic = self.topics[frame.topic]
        item = self._item(frame, source)
        if frame.generation < topic.route.generation:
            self._redirect(session, topic, item, frame.generation)
        if topic.carried:
            self._offer(topic, item)

    def take_forwarded(self, frame: Forward) -> None:
        """A message from another broker, along an overlay's tree or by an old route,
        which may be older than ours still."""
        if frame.origin:
            topic = self.topic(frame.topic)
            self._offer(topic, self._item(frame, frame.source, frame.origin))
        else:
            self.publish(None, frame, frame.source)

    def _publish_content(
        self,
        session: Session | None,
        frame: Publish | Forward,
        source: str,
        overlay: Overlay,
    ) -> None:
        if overlay.knows(frame.topic):
            item = self._item(frame, source, self.name)
            self._offer(self.topic(frame.topic), item, session)
        elif session is not None:
            _refuse(session, frame)

    def item(
        self, source: str, epoch: int, seq: int, data: msgspec.Raw, at: float
    ) -> RoutedMessage:
        """A message that arrives now."""
        return RoutedMessage(source, epoch, seq, data, at, arrived=self._clock())

    def _item(
        self, frame: Publish | Forward, source: str, origin: str = ""
    ) -> RoutedMessage:
        return RoutedMessage(
            *(source, frame.epoch, frame.seq, frame.data, frame.at),
            arrived=self._clock(),
            origin=origin,
        )

    def _redirect(
        self,
        session: Session | None,
        topic: Topic,
        item: RoutedMessage,
        generation: int,
    ) -> None:
        """The publisher's route is old: pass its message on to those that it does
        not know, and tell it the new route, once."""
        for broker in topic.route.missed_by(generation) - {self.name}:
            self._forward(broker, topic, item)
        newest = topic.route.generation
        if session is not None and session.told.get(topic.name) != newest:
            session.told[topic.name] = newest
            addresses = tuple((a.broker, a.url) for a in topic.route.brokers)
            session.tell(StaleRoute(topic.name, newest, addresses))

    def _look_up(
        self, session: Session | None, frame: Publish | Forward, source: str
    ) -> None:
        waiting = self._unrouted.get(frame.topic)
        if waiting is None:
            self._unrouted[frame.topic] = waiting = []
            self._outside.look_up(frame.topic)
        room, size = self._unrouted_room, _size(frame)
        if len(waiting) < HELD_MESSAGES and room.has(frame.topic, size):
            room.take(frame.topic, size)
            waiting.append((session, frame, source))

    def routed(self, name: str, route: Route | None) -> None:
        """The coordinator's answer to `look_up`; None: there is no such topic."""
        waiting = self._unrouted.pop(name, [])
        self._unrouted_room.give_back(name)
        if route is not None:
            topic = self.topic(name)
            topic.route.update(route)
            topic.carried |= self.name in topic.route.members()
        for session, frame, source in waiting:
            if route is not None:
                self.publish(session, frame, source)
            elif session is not None:
                _refuse(session, frame)

    # Messages go out

    def _offer(
        self, topic: Topic, item: RoutedMessage, sender: Session | None = None
    ) -> None:
        sequencer = topic.sequencer
        if topic.joining and not self._may_wait(topic, item):
            return
        released = sequencer.offer(item.source, item.epoch, item.seq, item)
        if len(released.messages) > 1:
            waited = sum(map(_size, released.messages[1:]))
            self._held_room.give_back(topic.name, waited)
        self.hand_on(topic, released, sender)
        if sequencer.held:
            self._wait_for_stragglers(topic, item)

    def _wait_for_stragglers(self, topic: Topic, item: RoutedMessage) -> None:
        """Messages wait for one that may still come another way: not for ever."""
        waiting = topic.sequencer.held.get(item.source, {})
        may_wait = self._may_wait(topic, item)
        if waiting.get((item.epoch, item.seq)) is item:
            self._held_room.take(topic.name, _size(item))
        if topic.joining:
            return
        if not may_wait:
            self._settle(topic)
        elif topic.settles_at is None:
            topic.settles_at = self._clock() + TRANSITION_SECONDS
            self._in_transition[topic] = None

    def _may_wait(self, topic: Topic, item: RoutedMessage) -> bool:
        return (
            self._held_room.has(topic.name, _size(item))
            and topic.sequencer.waiting() <= HELD_MESSAGES
        )

    def hand_on(
        self,
        topic: Topic,
        released: Released[RoutedMessage],
        sender: Session | None = None,
    ) -> None:
        """Messages whose turn it is: along the overlay, and to our own sessions, but
        not to that of their sender."""
        for item in released.messages:
            topic.received += 1
            if self.overlay is not None:
                for broker in self.overlay.branches(item.origin, topic.name):
                    self._forward(broker, topic, item)
            if not self._outside.process(topic.name, item):
                self.delivery.fan_out(topic, item, item.data, sender)

    def _forward(self, broker: str, topic: Topic, item: RoutedMessage) -> None:
        self.links[broker] = self.links.get(broker, 0) + 1
        frame = item.forward(topic.name, topic.route.generation)
        self._outside.forward(broker, frame)

    # Routes change

    def begin_joining(self, name: str) -> None:
        """From now on what comes of a topic is held until it is known what came
        before."""
        topic = self.topic(name)
        if not topic.joining:
            topic.begin_joining()
            self._held_room.give_back(name)

    def begin(
        self, topic: Topic, cursors: list[tuple[str, int, int]]
    ) -> Released[RoutedMessage]:
        """We carry a topic now, which others have seen up to these cursors; returns
        what has come since and waits for nothing."""
        topic.joining = False
        released = topic.sequencer.begin_transition(cursors)
        topic.positions = {s: (epoch, seq) for s, epoch, seq in cursors}
        self._held_room.give_back(topic.name)
        for waiting in topic.sequencer.held.values():
            for item in waiting.values():
                self._held_room.take(topic.name, _size(item))
        topic.settles_at = self._clock() + TRANSITION_SECONDS
        self._in_transition[topic] = None
        return released

    def routes_changed(self, routes: Iterable[Route]) -> tuple[CursorRow, ...]:
        """Take new routes; returns what was taken in of their topics so far. From
        now on whatever comes by an older route is passed on."""
        cursors: list[CursorRow] = []
        for route in routes:
            topic = self.topic(route.topic)
            added = topic.route.update(route) - {self.name}
            if topic.joining:
                continue
            if topic.carried:
                cursors += topic.cursors()
                self._forward_held(topic, added)
            topic.carried = self.name in topic.route.members() or bool(topic.sessions)
        return tuple(cursors)

    def reset(self) -> None:
        """Carry nothing any more: the routes that we were in hold no longer. What was
        counted stays."""
        self._in_transition.clear()
        self._held_room.clear()
        for topic in self.topics.values():
            topic.forget()

    def forget(self, name: str) -> None:
        """There is no such topic."""
        self.topics.pop(name, None)
        self._held_room.give_back(name)

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
        self._held_room.give_back(topic.name)
        self.hand_on(topic, topic.sequencer.settle())


def _size(message: Publish | Forward | RoutedMessage) -> int:
    """What it takes up while it waits, or thereabouts."""
    return len(message.data) + _OVERHEAD


def _refuse(session: Session, frame: Publish | Forward) -> None:
    session.tell(
        Problem(
            "unknown_topic",
            f"message {frame.seq} was not taken: there is no topic {frame.topic!r}",
            topics=(frame.topic,),
        )
    )


class Into:
    """Feeds what comes out of topics, to the datasets that were told.

    Of all brokers that carry a topic one feeds it, its feeder, which the coordinator
    names with the route and which stays the same while it carries the topic.
    """

    def __init__(self, router: MessageRouter, feed: Feed) -> None:
        self._router = router
        self._feed = feed
        self._datasets: dict[str, str] = {}

    def tell(self, datasets: Mapping[str, str]) -> None:
        """Datasets by topic or pattern."""
        self._datasets = dict(datasets)

    def dataset(self, name: str) -> str:
        """Where this broker feeds what comes of a topic; empty if it does not."""
        if not self._datasets or is_channel(name):
            return ""
        found = found_for(name, self._datasets)
        topic = self._router.topics.get(name)
        if found is None or topic is None:
            return ""
        return found if topic.route.feeder == self._router.name else ""

    def feed(self, dataset: str, data: msgspec.Raw) -> None:
        """A record that there is no room for is dropped and counted, like that of a
        client."""
        if dataset:
            self._feed(f"{DATASET}{dataset}", data)
