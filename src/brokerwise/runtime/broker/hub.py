"""The sessions of a broker: what they ask for, and what they are told. No I/O."""

from collections.abc import Iterable

from brokerwise.model.errors import InputError
from brokerwise.runtime.broker.channels import Channels
from brokerwise.runtime.broker.moving import Moves
from brokerwise.runtime.broker.outside import Outside
from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.session import Session
from brokerwise.runtime.broker.subscribing import Pending, PendingSubscriptions
from brokerwise.runtime.broker.topic import Item, Topic
from brokerwise.runtime.protocol.control import CursorRow, JoinAnswer, MoveAnswer
from brokerwise.runtime.protocol.frames import (
    Accept,
    Ack,
    CloseCode,
    Decline,
    Forward,
    FrameError,
    FromClient,
    Logout,
    Moved,
    Problem,
    Publish,
    Subscribe,
    Subscribed,
    Unsubscribe,
    Unsubscribed,
)
from brokerwise.runtime.protocol.names import is_channel, is_dataset
from brokerwise.runtime.protocol.order import Released


class Hub:
    """Answers the frames of sessions. Everything happens in synchronous calls."""

    def __init__(self, passage: Passage, outside: Outside) -> None:
        self.users: dict[str, Session] = {}
        self.moves = Moves()
        self.channels = Channels(passage)
        self._passage = passage
        self._outside = outside
        self._pending = PendingSubscriptions()

    def handle(self, session: Session, frame: FromClient, now: float) -> None:
        """One frame of a session that has logged in. Raises FrameError for one that
        has no place there."""
        match frame:
            case Publish():
                session.published += 1
                self._publish(session, frame)
            case Forward() if session.is_peer:
                session.published += 1
                self._passage.take_forwarded(frame)
            case Ack():
                self._acknowledge(session, frame, now)
            case Subscribe() if not session.is_peer:
                self._subscribe(session, frame)
            case Unsubscribe():
                self._unsubscribe(session, frame)
            case Accept(move):
                self._answer_move(session, move, MoveAnswer("accepted"))
            case Decline(move, reason):
                self._answer_move(session, move, MoveAnswer("declined", reason))
            case Moved(move):
                self._answer_move(session, move, MoveAnswer("moved"))
            case Logout():
                self.close(session)  # before: nothing may follow a goodbye
                session.close(1000, "goodbye")
            case _:
                raise FrameError(f"found {type(frame).__name__.lower()} after a login")

    def close(self, session: Session) -> None:
        """A session has ended. Doing it again does nothing."""
        self._pending.forget(session)
        self.moves.forget(session)
        if self.users.get(session.user) is session:
            del self.users[session.user]
        self._passage.delivery.release(session)
        self.channels.close(session)
        self._drop(session, tuple(session.topics))

    def _publish(self, session: Session, frame: Publish) -> None:
        topic = frame.topic
        if is_dataset(topic):
            refused = self._outside.feed(topic, frame.data)
        elif is_channel(topic):
            refused = "only the data cluster sends a channel's results"
        else:
            self._passage.publish(session, frame, session.source)
            return
        if refused:
            session.tell(Problem("unknown_topic", refused, topics=(topic,)))

    def _acknowledge(self, session: Session, frame: Ack, now: float) -> None:
        if frame.count > session.sent:
            raise FrameError(
                f"ack: found count {frame.count}, expected at most {session.sent}, "
                "the messages sent"
            )
        if frame.count > session.acknowledged:
            session.acknowledged = frame.count
            session.acknowledged_at = now
        self._note_seen(session, frame.cursors)

    def _note_seen(self, session: Session, cursors: tuple[CursorRow, ...]) -> None:
        """What a subscriber has seen, of what we know: of other things it could name
        more without end."""
        for name, source, epoch, seq in cursors:
            topics = self._passage.topics
            if name in session.topics and source in topics[name].positions:
                session.cursors[name, source] = (epoch, seq)
        self.channels.acknowledge(session, cursors)

    # Subscriptions

    def _subscribe(self, session: Session, frame: Subscribe) -> None:
        try:
            topics = self._topics_of(frame)
        except InputError as error:
            session.tell(Problem("wrong_range", error.message, frame.id))
            return
        self._replace(session)
        if any(map(is_channel, topics)):
            self._subscribe_to_channels(session, frame)
            return
        missing = {name for name in topics if not self._passage.serves(name)}
        pending = Pending(session, frame.id, topics, missing, frame.cursors)
        overlay = self._passage.overlay
        if overlay is not None:
            pending.unknown += [n for n in topics if not overlay.knows(n)]
            missing.clear()
        if missing:
            self._pending.add(pending)
            self._outside.join()
        else:
            self._confirm(pending)

    def _subscribe_to_channels(self, session: Session, frame: Subscribe) -> None:
        if not all(map(is_channel, frame.topics)) or frame.ranges:
            text = "found channels and other topics in one frame: ask for each kind"
            session.tell(Problem("mixed_topics", text, frame.id, frame.topics))
            return
        self.channels.subscribe(session, frame)
        self._outside.attach()

    def _topics_of(self, frame: Subscribe) -> tuple[str, ...]:
        topics = dict.fromkeys(frame.topics)
        if frame.ranges:
            if self._passage.overlay is None:
                raise InputError("ranges: found some, but this fleet runs no overlay")
            topics |= dict.fromkeys(self._passage.overlay.topics_of(frame.ranges))
        return tuple(topics)

    def _replace(self, session: Session) -> None:
        """A user has one session here: the connection that subscribed last."""
        before = self.users.get(session.user)
        if before is not None and before is not session:
            self.close(before)
            before.close(CloseCode.REPLACED, "subscribed on another connection")
        self.users[session.user] = session

    def _confirm(self, pending: Pending) -> None:
        session, unknown = pending.session, set(pending.unknown)
        served = tuple(name for name in pending.topics if name not in unknown)
        cursors: list[CursorRow] = []
        for name in served:
            topic = self._passage.topic(name)
            topic.carried = True
            self._passage.delivery.write(topic)
            topic.add(session)
            cursors += topic.delivered_cursors()
        session.topics.update(served)
        self._note_seen(session, pending.cursors)
        if unknown:
            session.tell(_no_such_topics(pending))
        session.tell(Subscribed(pending.id, served, tuple(cursors)))

    def _unsubscribe(self, session: Session, frame: Unsubscribe) -> None:
        asked = dict.fromkeys(frame.topics)
        channels = self.channels.unsubscribe(
            session, filter(is_channel, asked), elsewhere=frame.elsewhere
        )
        if channels:
            self._outside.attach()
        asked = dict.fromkeys(name for name in asked if name not in channels)
        left = tuple(name for name in asked if name in session.topics)
        known = session.topics | self._pending.waited_for_by(session)
        others = tuple(name for name in asked if name not in known)
        for pending in self._pending.withdraw(session, asked):
            self._confirm(pending)
        self._drop(session, left)
        if others:
            text = f"{others[0]!r} was not subscribed to"
            session.tell(Problem("not_subscribed", text, frame.id, others))
        session.tell(Unsubscribed(frame.id, left + channels))

    def _drop(self, session: Session, names: Iterable[str]) -> None:
        for name in names:
            session.topics.discard(name)
            topic = self._passage.topics[name]
            self._passage.delivery.write(topic)
            topic.remove(session)
            if not topic.sessions and self._passage.overlay is None:
                self._outside.leave(name)

    # Topics that the broker joins and leaves

    def is_waiting(self) -> bool:
        """Whether a subscription waits for the coordinator."""
        return bool(self._pending)

    def wanted(self, most: int | None = None) -> tuple[str, ...]:
        """The topics to ask the coordinator for: subscriptions wait for them, those
        that come first the longest."""
        names = self._pending.topics(most)
        for name in names:
            self._passage.begin_joining(name)
        return names

    def unwanted(self, names: Iterable[str]) -> tuple[str, ...]:
        """Of some topics, those that nobody has or waits for here. Until the
        coordinator has said whether we may leave them, whoever subscribes waits."""
        reserved = self._pending.reserved()
        found = []
        for name in sorted(names):
            topic = self._passage.topics.get(name)
            if topic is None or topic.joining or topic.sessions or name in reserved:
                continue
            topic.leaving = True
            found.append(name)
        return tuple(found)

    def left(self, names: Iterable[str]) -> None:
        """The coordinator has answered about topics to leave, and routes are as it
        said: whoever subscribed meanwhile is served, if we had to stay."""
        for name in names:
            self._passage.topic(name).leaving = False
        stayed = [name for name in names if self._passage.serves(name)]
        for pending in self._pending.resolve(stayed, ()):
            self._confirm(pending)

    def joined(self, answer: JoinAnswer) -> None:
        """The coordinator's answer: confirm the subscriptions that waited for it,
        then hand on what has come meanwhile."""
        before: dict[str, list[tuple[str, int, int]]] = {}
        for name, source, epoch, seq in answer.cursors:
            before.setdefault(name, []).append((source, epoch, seq))
        begun: list[tuple[Topic, Released[Item]]] = []
        for route in answer.routes:
            topic = self._passage.topic(route.topic)
            topic.route.update(route)
            if topic.joining and self._passage.name in topic.route.members():
                cursors = before.get(route.topic, [])
                begun.append((topic, self._passage.begin(topic, cursors)))
        for name in answer.unknown:
            self._passage.forget(name)
        names = [topic.name for topic, _ in begun]
        for pending in self._pending.resolve(names, answer.unknown):
            self._confirm(pending)
        for topic, released in begun:
            self._passage.hand_on(topic, released)
            if not topic.sessions:
                self._outside.leave(topic.name)

    # Moves

    def _answer_move(self, session: Session, move: int, answer: MoveAnswer) -> None:
        if not self.moves.answer(session, move, answer):
            session.tell(Problem("unknown_move", f"nobody asked for move {move}"))


def _no_such_topics(pending: Pending) -> Problem:
    first, others = pending.unknown[0], len(pending.unknown) - 1
    text = f"there is no topic {first!r}" + (f", nor {others} others" if others else "")
    return Problem("unknown_topic", text, pending.id, tuple(pending.unknown))
