"""Subscriptions that wait for the coordinator to let this broker carry a topic."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from brokerwise.runtime.broker.session import Session


@dataclass(eq=False)
class Pending:
    """A subscription, as its client asked for it. `missing` are the topics that the
    broker has asked to join; `unknown` those that there turned out to be none of."""

    session: Session
    id: int
    topics: tuple[str, ...]
    missing: set[str]
    unknown: list[str] = field(default_factory=list)


class PendingSubscriptions:
    """Which subscriptions wait for which topics. A subscription is confirmed as a
    whole, so its client hears of it once."""

    def __init__(self) -> None:
        self._by_topic: dict[str, list[Pending]] = {}

    def add(self, pending: Pending) -> None:
        for topic in pending.missing:
            self._by_topic.setdefault(topic, []).append(pending)

    def topics(self) -> set[str]:
        """What a broker must still ask to join."""
        return set(self._by_topic)

    def reserved(self) -> set[str]:
        """All topics of the subscriptions that wait, also those that need not."""
        waiting = {id(p): p for found in self._by_topic.values() for p in found}
        return {topic for pending in waiting.values() for topic in pending.topics}

    def resolve(self, joined: Iterable[str], unknown: Iterable[str]) -> list[Pending]:
        """The subscriptions that wait for nothing more."""
        complete = []
        refused = set(unknown)
        for topic in [*joined, *refused]:
            for pending in self._by_topic.pop(topic, ()):
                pending.missing.discard(topic)
                if topic in refused:
                    pending.unknown.append(topic)
                if not pending.missing:
                    complete.append(pending)
        return complete

    def forget(self, session: Session, topics: Iterable[str] | None = None) -> None:
        """A client has gone, or wants these topics no more."""
        for topic in list(self._by_topic if topics is None else topics):
            waiting = self._by_topic.get(topic, [])
            left = [p for p in waiting if p.session is not session]
            if left:
                self._by_topic[topic] = left
            else:
                self._by_topic.pop(topic, None)
