"""What sessions ask of a broker, and its answers. No I/O.

`SessionHandler.handle` is where each frame of a session is answered. A subscription to
a topic that the broker does not carry waits in the `JoinQueue` until the coordinator
has let the broker join it. Channels are in `channels`, moves in `sessions`; messages go
to `router`. What the shell must do comes back as commands, which `process` carries out.
"""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice

from brokerwise.model.errors import InputError
from brokerwise.runtime.broker.channels import ChannelSubscriptions
from brokerwise.runtime.broker.router import Feed, LookUpRoute, MessageRouter
from brokerwise.runtime.broker.sessions import Moves, Session
from brokerwise.runtime.broker.topics import RoutedMessage, Topic
from brokerwise.runtime.protocol.fleet import CursorRow, JoinAnswer, MoveAnswer
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

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JoinTopics:
    """Ask the coordinator for the topics of `SessionHandler.topics_to_join`, soon."""


@dataclass(frozen=True, slots=True)
class LeaveTopic:
    """No session has a topic here any more: tell the coordinator if it lasts."""

    topic: str


@dataclass(frozen=True, slots=True)
class AskDataCluster:
    """Send the data cluster what `ChannelSubscriptions` has for it, soon."""


CoordinatorCommand = JoinTopics | LeaveTopic | LookUpRoute
Command = CoordinatorCommand | AskDataCluster
Commands = tuple[Command, ...]


@dataclass(eq=False)
class PendingSubscription:
    """A subscription, as its client asked for it, and what it has seen. `missing` are
    the topics that the broker has asked to join; `unknown` those that do not exist."""

    session: Session
    id: int
    topics: tuple[str, ...]
    missing: set[str]
    cursors: tuple[CursorRow, ...] = ()
    unknown: list[str] = field(default_factory=list)


class JoinQueue:
    """Which subscriptions wait for which topics. A subscription is confirmed as a
    whole, with one frame."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[PendingSubscription, None]] = {}
        self._by_session: dict[Session, dict[PendingSubscription, None]] = {}

    def add(self, pending: PendingSubscription) -> None:
        self._by_session.setdefault(pending.session, {})[pending] = None
        for topic in pending.topics:
            if topic in pending.missing:
                self._by_topic.setdefault(topic, {})[pending] = None

    def __bool__(self) -> bool:
        return bool(self._by_topic)

    def topics(self, most: int | None = None) -> tuple[str, ...]:
        """What a broker must still ask to join, first what waits the longest."""
        return tuple(islice(self._by_topic, most))

    def reserved(self) -> set[str]:
        """All topics of the subscriptions that wait, also those that need not."""
        waiting = (p for found in self._by_session.values() for p in found)
        return {topic for pending in waiting for topic in pending.topics}

    def waited_for_by(self, session: Session) -> set[str]:
        """All topics of the subscriptions of a client that wait."""
        return {t for p in self._by_session.get(session, ()) for t in p.topics}

    def resolve(
        self, joined: Iterable[str], unknown: Iterable[str]
    ) -> list[PendingSubscription]:
        """The subscriptions that wait for nothing more."""
        complete = []
        refused = set(unknown)
        for topic in [*joined, *refused]:
            for pending in tuple(self._by_topic.get(topic, ())):
                if topic in refused:
                    pending.unknown.append(topic)
                if self._without(pending, topic):
                    complete.append(pending)
        return complete

    def withdraw(
        self, session: Session, topics: Collection[str]
    ) -> list[PendingSubscription]:
        """A client has unsubscribed; returns its subscriptions that wait for nothing
        else."""
        complete = []
        for pending in tuple(self._by_session.get(session, ())):
            pending.topics = tuple(t for t in pending.topics if t not in topics)
            unwanted = [t for t in pending.missing if t in topics]
            if any([self._without(pending, topic) for topic in unwanted]):
                complete.append(pending)
        return complete

    def forget(self, session: Session) -> None:
        """A client has gone."""
        for pending in tuple(self._by_session.get(session, ())):
            for topic in tuple(pending.missing):
                self._without(pending, topic)

    def _without(self, pending: PendingSubscription, topic: str) -> bool:
        """It waits for one topic less; True if that was the last."""
        waiting = self._by_topic[topic]
        del waiting[pending]
        if not waiting:
            del self._by_topic[topic]
        pending.missing.discard(topic)
        if pending.missing:
            return False
        others = self._by_session[pending.session]
        del others[pending]
        if not others:
            del self._by_session[pending.session]
        return True


class SessionHandler:
    """Answers the frames of sessions. Everything happens in synchronous calls."""

    def __init__(self, router: MessageRouter, feed: Feed) -> None:
        self.users: dict[str, Session] = {}
        self.moves = Moves()
        self.channels = ChannelSubscriptions(router)
        self._router = router
        self._feed = feed
        self._joins = JoinQueue()

    def handle(self, session: Session, frame: FromClient, now: float) -> Commands:
        """One frame of a session that has logged in. Raises FrameError for one that
        has no place there."""
        match frame:
            case Publish():
                session.published += 1
                return self._publish(session, frame)
            case Forward() if session.is_peer:
                session.published += 1
                return self._router.take_forwarded(frame)
            case Ack():
                self._acknowledge(session, frame, now)
            case Subscribe() if not session.is_peer:
                return self._subscribe(session, frame)
            case Unsubscribe():
                return self._unsubscribe(session, frame)
            case Accept(move):
                self._answer_move(session, move, MoveAnswer("accepted"))
            case Decline(move, reason):
                self._answer_move(session, move, MoveAnswer("declined", reason))
            case Moved(move):
                self._answer_move(session, move, MoveAnswer("moved"))
            case Logout():
                commands = self.close(session)  # before: nothing follows a goodbye
                session.close(1000, "goodbye")
                return commands
            case _:
                raise FrameError(f"found {type(frame).__name__.lower()} after a login")
        return ()

    def close(self, session: Session) -> Commands:
        """A session has ended. Doing it again does nothing."""
        self._joins.forget(session)
        self.moves.forget(session)
        if self.users.get(session.user) is session:
            del self.users[session.user]
        self._router.delivery.release(session)
        self.channels.close(session)
        return self._drop(session, tuple(session.topics))

    def _publish(self, session: Session, frame: Publish) -> Commands:
        topic = frame.topic
        if is_dataset(topic):
            refused = self._feed(topic, frame.data)
        elif is_channel(topic):
            refused = "only the data cluster sends a channel's results"
        else:
            return self._router.publish(session, frame, session.source)
        if refused:
            session.send(Problem("unknown_topic", refused, topics=(topic,)))
        return ()

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
        """What a subscriber has seen. Sources that are unknown here are ignored, as a
        client could name any number of them."""
        for name, source, epoch, seq in cursors:
            topics = self._router.topics
            if name in session.topics and source in topics[name].positions:
                session.cursors[name, source] = (epoch, seq)
        self.channels.acknowledge(session, cursors)

    # Subscriptions

    def _subscribe(self, session: Session, frame: Subscribe) -> Commands:
        try:
            topics = self._topics_of(frame)
        except InputError as error:
            session.send(Problem("wrong_range", error.message, frame.id))
            return ()
        commands = self._replace(session)
        if any(map(is_channel, topics)):
            return (*commands, *self._subscribe_to_channels(session, frame))
        missing = {name for name in topics if not self._router.serves(name)}
        pending = PendingSubscription(session, frame.id, topics, missing, frame.cursors)
        overlay = self._router.overlay
        if overlay is not None:
            pending.unknown += [n for n in topics if not overlay.knows(n)]
            missing.clear()
        if missing:
            self._joins.add(pending)
            return (*commands, JoinTopics())
        self._confirm(pending)
        return commands

    def _subscribe_to_channels(self, session: Session, frame: Subscribe) -> Commands:
        if not all(map(is_channel, frame.topics)) or frame.ranges:
            text = "found channels and other topics in one frame: ask for each kind"
            session.send(Problem("mixed_topics", text, frame.id, frame.topics))
            return ()
        self.channels.subscribe(session, frame)
        return (AskDataCluster(),)

    def _topics_of(self, frame: Subscribe) -> tuple[str, ...]:
        topics = dict.fromkeys(frame.topics)
        if frame.ranges:
            if self._router.overlay is None:
                raise InputError("ranges: found some, but this fleet runs no overlay")
            topics |= dict.fromkeys(self._router.overlay.topics_of(frame.ranges))
        return tuple(topics)

    def _replace(self, session: Session) -> Commands:
        """A user has one session here: the connection that subscribed last."""
        before = self.users.get(session.user)
        commands: Commands = ()
        if before is not None and before is not session:
            commands = self.close(before)
            before.close(CloseCode.REPLACED, "subscribed on another connection")
        self.users[session.user] = session
        return commands

    def _confirm(self, pending: PendingSubscription) -> None:
        session, unknown = pending.session, set(pending.unknown)
        served = tuple(name for name in pending.topics if name not in unknown)
        cursors: list[CursorRow] = []
        for name in served:
            topic = self._router.topic(name)
            topic.carried = True
            self._router.delivery.write(topic)
            topic.add(session)
            cursors += topic.delivered_cursors()
        session.topics.update(served)
        self._note_seen(session, pending.cursors)
        if unknown:
            session.send(_no_such_topics(pending))
        session.send(Subscribed(pending.id, served, tuple(cursors)))

    def _unsubscribe(self, session: Session, frame: Unsubscribe) -> Commands:
        asked = dict.fromkeys(frame.topics)
        channels = self.channels.unsubscribe(
            session, filter(is_channel, asked), elsewhere=frame.elsewhere
        )
        asked = dict.fromkeys(name for name in asked if name not in channels)
        left = tuple(name for name in asked if name in session.topics)
        known = session.topics | self._joins.waited_for_by(session)
        others = tuple(name for name in asked if name not in known)
        for pending in self._joins.withdraw(session, asked):
            self._confirm(pending)
        commands = self._drop(session, left)
        if others:
            text = f"{others[0]!r} was not subscribed to"
            session.send(Problem("not_subscribed", text, frame.id, others))
        session.send(Unsubscribed(frame.id, left + channels))
        return (AskDataCluster(), *commands) if channels else commands

    def _drop(self, session: Session, names: Iterable[str]) -> tuple[LeaveTopic, ...]:
        """A topic without sessions is left, unless it feeds a dataset here."""
        commands: list[LeaveTopic] = []
        for name in names:
            session.topics.discard(name)
            topic = self._router.topics[name]
            self._router.delivery.write(topic)
            topic.remove(session)
            if not topic.sessions and self._router.overlay is None:
                commands += self._leave(name)
        return tuple(commands)

    def _leave(self, name: str) -> tuple[LeaveTopic, ...]:
        return () if self._router.dataset_of(name) else (LeaveTopic(name),)

    # Topics that the broker joins and leaves

    def is_waiting(self) -> bool:
        """True if a subscription waits for the coordinator."""
        return bool(self._joins)

    def topics_to_join(self, most: int | None = None) -> tuple[str, ...]:
        """The topics to ask the coordinator for: subscriptions wait for them, those
        that come first the longest."""
        names = self._joins.topics(most)
        for name in names:
            self._router.begin_joining(name)
        return names

    def topics_to_leave(self, names: Iterable[str]) -> tuple[str, ...]:
        """Of some topics, those that no session has or waits for. Until the
        coordinator has answered whether we may leave them, new subscribers wait."""
        reserved = self._joins.reserved()
        found = []
        for name in sorted(names):
            topic = self._router.topics.get(name)
            if topic is None or topic.joining or topic.sessions or name in reserved:
                continue
            topic.leaving = True
            found.append(name)
        return tuple(found)

    def finish_leaving(self, names: Iterable[str]) -> None:
        """The coordinator has answered about topics to leave, and routes are changed
        accordingly: serve the subscriptions made meanwhile, if we had to stay."""
        for name in names:
            self._router.topic(name).leaving = False
        stayed = [name for name in names if self._router.serves(name)]
        for pending in self._joins.resolve(stayed, ()):
            self._confirm(pending)

    def finish_joining(self, answer: JoinAnswer) -> tuple[LeaveTopic, ...]:
        """The coordinator's answer: confirm the subscriptions that waited for it,
        then hand on the messages held since."""
        before: dict[str, list[tuple[str, int, int]]] = {}
        for name, source, epoch, seq in answer.cursors:
            before.setdefault(name, []).append((source, epoch, seq))
        begun: list[tuple[Topic, Released[RoutedMessage]]] = []
        for route in answer.routes:
            topic = self._router.topic(route.topic)
            topic.route.update(route)
            if topic.joining and self._router.name in topic.route.members():
                cursors = before.get(route.topic, [])
                begun.append((topic, self._router.finish_joining(topic, cursors)))
        for name in answer.unknown:
            self._router.forget(name)
        names = [topic.name for topic, _ in begun]
        if names:
            log.info("joined %d topics, the first %r", len(names), names[0])
        for pending in self._joins.resolve(names, answer.unknown):
            self._confirm(pending)
        commands: list[LeaveTopic] = []
        for topic, released in begun:
            self._router.hand_on(topic, released)
            if not topic.sessions:
                commands += self._leave(topic.name)
        return tuple(commands)

    # Moves

    def _answer_move(self, session: Session, move: int, answer: MoveAnswer) -> None:
        if not self.moves.answer(session, move, answer):
            session.send(Problem("unknown_move", f"nobody asked for move {move}"))


def _no_such_topics(pending: PendingSubscription) -> Problem:
    first, others = pending.unknown[0], len(pending.unknown) - 1
    text = f"there is no topic {first!r}" + (f", nor {others} others" if others else "")
    return Problem("unknown_topic", text, pending.id, tuple(pending.unknown))
