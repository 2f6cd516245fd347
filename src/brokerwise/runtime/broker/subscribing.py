"""Subscriptions that wait for the coordinator to let this broker carry a topic."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice

from brokerwise.runtime.broker.session import Session
from brokerwise.runtime.protocol.control import CursorRow


@dataclass(eq=False)
class Pending:
    """A subscription, as its client asked for it, and what it has seen. `missing` are
    the topics that the broker has asked to join; `unknown` those that there turned out
    to be none of."""

    session: Session
    id: int
    topics: tuple[str, ...]
    missing: set[str]
    cursors: tuple[CursorRow, ...] = ()
    unknown: list[str] = field(default_factory=list)


class PendingSubscriptions:
    """Which subscriptions wait for which topics. A subscription is confirmed as a
    whole, so its client hears of it once."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[Pending, None]] = {}
        self._by_session: dict[Session, dict[Pending, None]] = {}

    def add(self, pending: Pending) -> None:
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

    def resolve(self, joined: Iterable[str], unknown: Iterable[str]) -> list[Pending]:
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

    def withdraw(self, session: Session, topics: Collection[str]) -> list[Pending]:
        """A client wants these topics no more; its subscriptions that wait for
        nothing else."""
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

    def _without(self, pending: Pending, topic: str) -> bool:
        """It waits for one topic less; whether that was the last."""
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
