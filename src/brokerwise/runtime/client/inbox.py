"""What brokers bring, made one stream of events for the application.

`StreamMerger` is pure (no I/O, no clock): each message once, in the order of its
source, whichever broker brings it. `Acknowledger` tells brokers what has come,
`EventQueue` holds what waits for the application, and `Inbox` is the way of a message
through the three.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.context import SharedTimer
from brokerwise.runtime.client.events import (
    Event,
    GapTold,
    OnEvent,
    Received,
    select_content,
)
from brokerwise.runtime.client.links import Link
from brokerwise.runtime.net.tasks import Signal
from brokerwise.runtime.protocol.fleet import CursorRow
from brokerwise.runtime.protocol.frames import Ack
from brokerwise.runtime.protocol.limits import HELD_MESSAGES
from brokerwise.runtime.protocol.names import SOURCE
from brokerwise.runtime.protocol.order import (
    NOTHING_SEEN,
    Position,
    Released,
    Sequencer,
)
from brokerwise.runtime.protocol.subchannels import Box

MOST_EVENTS = 10_000  # that wait for the application, then no more are read
LOW_MARK = MOST_EVENTS // 2  # and then reading goes on

Positions = dict[str, Position]  # by source
_LAST: Position = (1 << 62, 0)


@dataclass
class _Topic:
    """`streams` are those that feed it now, oldest first, each with its position in
    every source (kept up only while there are several), and `starts` the cursors that
    they began with. The newest is to be the only one, once all up to its start has
    come: `awaited` is what has not."""

    name: str
    sequencer: Sequencer[Received] = field(default_factory=Sequencer)
    streams: dict[int, Positions] = field(default_factory=dict)
    starts: dict[int, Positions] = field(default_factory=dict)
    awaited: Positions = field(default_factory=dict)

    def look_forward(self) -> None:
        """Find what the newest stream has to wait for."""
        start = self.starts.get(next(reversed(self.streams), 0), {})
        self.awaited = {s: p for s, p in start.items() if self.last(s) < p}

    def last(self, source: str) -> Position:
        return self.sequencer.last.get(source, NOTHING_SEEN)

    def watermark(self, source: str) -> Position:
        """Up to here no stream brings anything more of a source."""
        return min(
            (p.get(source, NOTHING_SEEN) for p in self.streams.values()), default=_LAST
        )


class StreamMerger:
    """Hands on each message once, in the order of its source, whichever connection
    brings it.

    Each connection is a stream, by a number that is never used again. A stream brings
    the messages of a topic in the order of their sources, every one of them after the
    cursors that it began with. Mostly a topic has one stream; in a move it has two.

    A gap is reported as soon as no stream can close it, and only then. Calls return
    the events for the application, in order.

    `own_source` is the client's own on an overlay: its messages are not delivered to
    it, so their absence is no gap.
    """

    def __init__(self) -> None:
        self.own_source: str | None = None
        self._topics: dict[str, _Topic] = {}
        self._of_stream: dict[int, set[str]] = {}

    # What streams bring

    def serve(
        self, stream: int, topics: Iterable[str], cursors: Iterable[CursorRow]
    ) -> list[Event]:
        """From now on a stream brings all of these topics after the cursors.

        What a topic's other streams have still to bring, up to the cursors, is waited
        for. If there are none, it is a gap, unless the topic is new here.
        """
        by_topic: dict[str, Positions] = {topic: {} for topic in topics}
        for topic, source, epoch, seq in cursors:
            if topic in by_topic:
                by_topic[topic][source] = (epoch, seq)
        events: list[Event] = []
        for name, positions in by_topic.items():
            self._of_stream.setdefault(stream, set()).add(name)
            events += self._serve(stream, name, positions)
        return events

    def advance(self, stream: int, message: Received) -> bool:
        """True if a message is the very next of its source, on the only stream of its
        topic: then it is to be handed on, and `receive` is not called. Nearly all are,
        and this costs the least."""
        topic = self._topics.get(message.topic)
        if topic is None or stream not in topic.streams:
            return False
        return topic.sequencer.advance(message.source, message.epoch, message.seq)

    def receive(self, stream: int, message: Received) -> Sequence[Event]:
        """A message has come. It is ignored if the stream does not serve its topic:
        another stream brings it."""
        topic = self._topics.get(message.topic)
        if topic is None or stream not in topic.streams:
            return ()
        sequencer = topic.sequencer
        if not sequencer.settled:
            return self._receive_one_of_several(topic, stream, message)
        released = sequencer.offer(message.source, message.epoch, message.seq, message)
        return self._events(topic, released) if released.gaps else released.messages

    def is_needless(self, stream: int, name: str) -> bool:
        """True if a message for which `receive` returned nothing should not have been
        sent: its topic is not wanted, or the stream alone serves it, and had brought
        this message or a later one before."""
        topic = self._topics.get(name)
        return topic is None or (topic.sequencer.settled and stream in topic.streams)

    def end(self, stream: int) -> list[Event]:
        """A stream has ended."""
        return self.leave(stream, tuple(self._of_stream.get(stream, ())))

    def leave(self, stream: int, topics: Iterable[str]) -> list[Event]:
        """A stream is ignored from now on for these topics; what only it could
        have brought is a gap, unless the topic is left without any: then it is not
        known yet what will be missed."""
        events: list[Event] = []
        for name in topics:
            topic = self._topics.get(name)
            if topic is not None and stream in topic.streams:
                self._detach(topic, stream)
                events += self._settle(topic)
        return events

    def forget(self, topics: Iterable[str]) -> None:
        """The application has unsubscribed from these topics."""
        for name in topics:
            topic = self._topics.pop(name, None)
            for stream in topic.streams if topic else ():
                self._of_stream[stream].discard(name)

    # What there is

    def knows(self, topic: str) -> bool:
        """True if a topic has been served, ever since it is wanted."""
        return topic in self._topics

    def feeds(self, stream: int, topics: set[str]) -> bool:
        """True if a stream feeds all of these topics."""
        return topics <= self._of_stream.get(stream, set())

    def topics_of(self, stream: int) -> set[str]:
        """The topics that a stream feeds."""
        return set(self._of_stream.get(stream, ()))

    def streams_of(self, topic: str) -> tuple[int, ...]:
        """The streams that feed a topic, oldest first."""
        found = self._topics.get(topic)
        return tuple(found.streams) if found else ()

    def behind(self, topics: Iterable[str]) -> list[str]:
        """Those of the topics whose newest stream is not alone yet."""
        return [name for name in topics if len(self.streams_of(name)) > 1]

    def cursors(self, topics: Iterable[str]) -> list[CursorRow]:
        """What has been handed on of each topic and source."""
        found = []
        for name in topics:
            topic = self._topics.get(name)
            if topic is not None:
                found += [(name, s, *p) for s, p in topic.sequencer.last.items()]
        return found

    def position(self, topic: str, source: str) -> Position | None:
        found = self._topics.get(topic)
        return found.sequencer.last.get(source) if found else None

    # How a topic changes hands

    def _receive_one_of_several(
        self, topic: _Topic, stream: int, message: Received
    ) -> list[Event]:
        source, position = message.source, (message.epoch, message.seq)
        positions = topic.streams[stream]
        positions[source] = max(position, positions.get(source, NOTHING_SEEN))
        if not topic.last(source)[0] and position > topic.awaited.get(source, position):
            # The start of an epoch, but others before it are still to come.
            topic.sequencer.held.setdefault(source, {})[position] = message
            return self._progress(topic, source)
        released = topic.sequencer.offer(source, *position, message)
        return [*self._events(topic, released), *self._progress(topic, source)]

    def _serve(self, stream: int, name: str, positions: Positions) -> list[Event]:
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = _Topic(name)
            topic.sequencer.last = dict(positions)
        if topic.sequencer.settled:
            topic.streams = {s: dict(topic.sequencer.last) for s in topic.streams}
        topic.streams.pop(stream, None)
        topic.streams[stream] = positions
        topic.starts[stream] = dict(positions)
        topic.sequencer.settled = False
        return self._settle(topic)

    def _progress(self, topic: _Topic, source: str) -> list[Event]:
        """A source has advanced: release the messages that need not wait."""
        events = self._release(topic, source, topic.watermark(source))
        awaited = topic.awaited.get(source)
        if awaited is not None and topic.last(source) >= awaited:
            del topic.awaited[source]
        if not topic.awaited or topic.sequencer.waiting() > HELD_MESSAGES:
            events += self._hand_over(topic)
        return events

    def _hand_over(self, topic: _Topic) -> list[Event]:
        """Listen to the newest stream alone."""
        for stream in list(topic.streams)[:-1]:
            self._detach(topic, stream)
        return self._settle_one(topic)

    def _settle(self, topic: _Topic) -> list[Event]:
        """Streams have changed: release the messages that wait for none of the rest."""
        topic.look_forward()
        if len(topic.streams) < 2:
            return self._settle_one(topic)
        if not topic.awaited:
            return self._hand_over(topic)
        events: list[Event] = []
        for source in list(topic.sequencer.held):
            events += self._release(topic, source, topic.watermark(source))
        return events

    def _settle_one(self, topic: _Topic) -> list[Event]:
        """One stream is left, or none: what it did not bring up to its start will not
        come. What others brought beyond it waits, if anything, until it gets there."""
        events: list[Event] = []
        for source, position in topic.awaited.items():
            events += self._release(topic, source, position)
            events += self._skip(topic, source, position)
        for source in list(topic.sequencer.held):
            events += self._release(topic, source, topic.watermark(source))
        topic.awaited, topic.starts = {}, {}
        topic.sequencer.settled = not topic.sequencer.held
        return events

    def _skip(self, topic: _Topic, source: str, position: Position) -> list[Event]:
        """Give up the messages of a source up to a position that have not come."""
        last = topic.last(source)
        if last >= position:
            return []
        missing = position[1] - last[1] if last[0] == position[0] else None
        gap = self._gap(topic.name, source, missing)
        return [
            *gap,
            *self._events(topic, topic.sequencer.catch_up(source, position)),
        ]

    def _detach(self, topic: _Topic, stream: int) -> None:
        del topic.streams[stream]
        topic.starts.pop(stream, None)
        self._of_stream[stream].discard(topic.name)
        if not self._of_stream[stream]:
            del self._of_stream[stream]

    def _release(self, topic: _Topic, source: str, watermark: Position) -> list[Event]:
        """Hand on what waits of a source up to a position, and tell its gaps."""
        events: list[Event] = []
        sequencer = topic.sequencer
        while waiting := sequencer.held.get(source):
            first = min(waiting)
            if first > watermark:
                break
            message = waiting.pop(first)
            if not waiting:
                del sequencer.held[source]
            sequencer.settled = True  # so that it does not wait again
            events += self._events(topic, sequencer.offer(source, *first, message))
            sequencer.settled = False
            events += self._events(topic, sequencer.catch_up(source, first))
        return events

    def _events(self, topic: _Topic, released: Released[Received]) -> list[Event]:
        """Gaps come before the message that shows them: there is one at most."""
        events: list[Event] = []
        for gap in released.gaps:
            events += self._gap(topic.name, gap.source, gap.missing)
        events += released.messages
        return events

    def _gap(self, topic: str, source: str, missing: int | None) -> list[Event]:
        return [] if source == self.own_source else [GapTold(topic, source, missing)]


class Acknowledger:
    """Acknowledges every `ack_every` messages of a link, or soon after the first that
    is not; all links of all clients share one timer.

    The count, and the cursors of direct topics, are of what has been received. Those of
    channels are of what the application has dealt with: if it ends, it can go on there.
    """

    def __init__(self, streams: StreamMerger, timer: SharedTimer) -> None:
        self._streams = streams
        self._timer = timer
        self._owing: dict[Link, None] = {}
        self._handled: dict[str, Position] = {}

    def note(self, link: Link, message: Received) -> None:
        if message.source != SOURCE:
            link.changed[message.topic, message.source] = None
        owed = link.received - link.acknowledged
        if owed >= link.ack_every:
            self._acknowledge(link)
        elif owed == 1:  # the first since the last acknowledgement
            self._soon(link)

    def handled(self, message: Received, links: Iterable[Link]) -> None:
        """A channel's result has been dealt with; tell the brokers that serve its
        topic."""
        self._handled[message.topic] = (message.epoch, message.seq)
        for link in links:
            link.changed[message.topic, SOURCE] = None
            self._soon(link)

    def served(self, link: Link, topics: Iterable[str]) -> None:
        """Another broker serves topics: it does not have their acknowledgements yet."""
        for topic in topics:
            if topic in self._handled:
                link.changed[topic, SOURCE] = None
                self._soon(link)

    def settle(self) -> None:
        """Acknowledge everything now."""
        owing, self._owing = self._owing, {}
        for link in owing:
            self._acknowledge(link)

    def _soon(self, link: Link) -> None:
        self._owing[link] = None
        self._timer.soon(self.settle)

    def _acknowledge(self, link: Link) -> None:
        cursors: list[CursorRow] = []
        for topic, source in link.changed:
            position = self._position(topic, source)
            if position is not None:
                cursors.append((topic, source, *position))
        link.changed.clear()
        link.acknowledge(Ack(link.received, tuple(cursors)))

    def _position(self, topic: str, source: str) -> Position | None:
        if source == SOURCE:
            return self._handled.get(topic)
        return self._streams.position(topic, source)


class EventQueue(AsyncIterator[Event]):
    """What waits for the application, which iterates over it.

    `on_full` and `on_room` are called when reading should pause and go on: what is
    added in between still fits. `on_handled` is called with a channel's result once
    the next event is asked for. With `on_event` nothing waits: each event is given to
    it at once, and has been dealt with when it returns.

    Cancelling a wait for the next event loses none.
    """

    def __init__(
        self,
        on_full: Callable[[], None],
        on_room: Callable[[], None],
        on_handled: Callable[[Received], None],
        on_event: OnEvent | None = None,
    ) -> None:
        self.is_full = False
        self._events: deque[Event] = deque()
        self._arrived = Signal()
        self._on_full = on_full
        self._on_room = on_room
        self._on_handled = on_handled
        self._on_event = on_event
        self._handed_out: Event | None = None
        self._failure: BrokerwiseError | None = None
        self._closed = False

    def add(self, events: Iterable[Event]) -> None:
        if self._on_event is not None:
            for event in events:
                self.add_one(event)
            return
        self._events.extend(events)
        self._arrived.notify()
        if not self.is_full and len(self._events) >= MOST_EVENTS:
            self.is_full = True
            self._on_full()

    def add_one(self, event: Event) -> None:
        if self._on_event is None:
            self.add((event,))
            return
        try:
            self._on_event(event)
        except Exception as error:  # of the application: it must not end a connection
            asyncio.get_running_loop().call_exception_handler(
                {"message": "on_event failed", "exception": error}
            )
        if event.source == SOURCE and type(event) is Received:
            self._on_handled(event)

    def close(self, failure: BrokerwiseError | None = None) -> None:
        """Nothing more comes; the application gets the rest, then the failure."""
        if not self._closed:
            self._closed, self._failure = True, failure
            self._arrived.notify()

    def settle(self) -> None:
        """The application has dealt with what it got last."""
        last, self._handed_out = self._handed_out, None
        if isinstance(last, Received) and last.source == SOURCE:
            self._on_handled(last)

    async def __anext__(self) -> Event:
        self.settle()
        events = self._events
        while not events:
            if self._failure is not None:
                raise self._failure
            if self._closed:
                raise StopAsyncIteration
            await self._arrived.wait()
        event = self._handed_out = events.popleft()
        if self.is_full and len(events) <= LOW_MARK:
            self.is_full = False
            self._on_room()
        return event


class Inbox:
    """The messages of the application's topics, from all brokers.

    Attributes
    ----------
    streams
        Which connection feeds which topic, and how far each has come.
    events
        What waits for the application.
    boxes
        On an overlay: what the application wants of the sub-channels that come. If
        there are none, everything is wanted.
    progressed
        Notified when a message came of a topic that has several streams, or a
        stream ended.
    """

    def __init__(
        self,
        events: EventQueue,
        timer: SharedTimer,
        on_needless: Callable[[Received], None] | None = None,
    ) -> None:
        """`on_needless` is called with messages that should not have been sent."""
        self.streams = StreamMerger()
        self.events = events
        self.boxes: list[Box] = []
        self.progressed = Signal()
        self._acknowledger = Acknowledger(self.streams, timer)
        self._on_needless = on_needless

    def receive(self, link: Link, message: Received) -> None:
        """A broker has sent a message."""
        if not self.boxes and self.streams.advance(link.number, message):
            self.events.add_one(message)
        else:
            self._receive_out_of_order(link, message)
        self._acknowledger.note(link, message)

    def _receive_out_of_order(self, link: Link, message: Received) -> None:
        """One that may have to wait, or leaves a gap, or is dropped."""
        events = self.streams.receive(link.number, message)
        if events:
            self._hand_on(events)
        elif self._on_needless and self.streams.is_needless(link.number, message.topic):
            self._on_needless(message)
        self.progressed.notify()

    def serve(
        self, link: Link, topics: Iterable[str], cursors: Iterable[CursorRow]
    ) -> None:
        """From now on a broker sends these topics, after the cursors."""
        self._hand_on(self.streams.serve(link.number, topics, cursors))
        self._acknowledger.served(link, topics)

    def leave(self, stream: int, topics: Iterable[str]) -> None:
        """Ignore a stream from now on, for these topics."""
        self._hand_on(self.streams.leave(stream, topics))

    def end(self, stream: int) -> None:
        """A stream has ended."""
        self._hand_on(self.streams.end(stream))
        self.progressed.notify()

    def handled(self, message: Received, links: Iterable[Link]) -> None:
        """The application has dealt with a channel's result; these serve its topic."""
        self._acknowledger.handled(message, links)

    def settle(self) -> None:
        """Acknowledge everything now: the client ends."""
        self._acknowledger.settle()

    def _hand_on(self, events: Sequence[Event]) -> None:
        if self.boxes:
            events = select_content(events, self.boxes)
        if events:
            self.events.add(events)
