"""Messages, written to sessions: framed once, and many of them in one piece."""

from collections.abc import Callable, Sequence

import msgspec

from brokerwise.runtime.broker.outside import Outside
from brokerwise.runtime.broker.session import Session
from brokerwise.runtime.broker.topic import Item, Topic
from brokerwise.runtime.protocol.frames import encode
from brokerwise.runtime.protocol.limits import PRESSED_SECONDS, SESSION_QUEUE_BYTES

Clock = Callable[[], float]
_LARGE = 64 << 10  # bytes, after which it is seen whether readers keep up
_MUCH = SESSION_QUEUE_BYTES // 2


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
        item: Item,
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

    def write_to(self, session: Session, topic: Topic, items: Sequence[Item]) -> None:
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
            if session.line.buffered() <= _MUCH:
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
            if session.pressed_at is None and session.line.buffered() > _MUCH:
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
