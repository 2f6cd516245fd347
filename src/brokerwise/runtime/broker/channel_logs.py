"""The logs of channel results that a broker follows, for its sessions. No I/O.

A log is followed once for each topic that anyone here has, from a position of its own,
and what comes is handed to all sessions. A session that begins earlier catches up by
itself first.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.session import Session
from brokerwise.runtime.broker.topic import Item, Topic
from brokerwise.runtime.protocol.control import CursorRow
from brokerwise.runtime.protocol.data import Given, Pull, PullAnswer, Pulled, Seen
from brokerwise.runtime.protocol.frames import Problem
from brokerwise.runtime.protocol.limits import PULL_BYTES
from brokerwise.runtime.protocol.names import SOURCE
from brokerwise.runtime.protocol.order import Released


@dataclass(eq=False)
class Log:
    """`position` is the last result handed on, `last` the last that there is, as far
    as we have heard. There may be more if there is `news`. Sessions that are `apart`
    have had everything up to a position of their own, or want nothing before it: they
    catch up, or wait until it is reached."""

    topic: Topic
    subscription: int
    position: int
    last: int
    news: bool = False
    apart: dict[Session, int] = field(default_factory=dict)

    def behind(self) -> Iterator[tuple[Session, int]]:
        return ((s, at) for s, at in self.apart.items() if at < self.position)

    def sessions(self) -> tuple[Session, ...]:
        return (*self.topic.sessions, *self.apart)

    def seen_by(self, session: Session) -> int:
        """What a session has had, as far as we know."""
        epoch, seq = session.cursors.get((self.topic.name, SOURCE), (0, 0))
        known = seq if epoch == self.subscription else self.position
        return min(known, self.apart.get(session, known))


class Logs:
    """All that are followed, by topic."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._logs: dict[str, Log] = {}
        self._topics: dict[int, str] = {}

    def find(self, topic: str) -> Log | None:
        return self._logs.get(topic)

    def serving(self) -> tuple[Seen, ...]:
        """Everyone who is served here, with what they have had as far as we know."""
        return tuple(
            Seen(session.user, log.subscription, log.seen_by(session))
            for log in self._logs.values()
            for session in log.sessions()
        )

    # What to fetch, and what came

    def pulls(self, *, all_of_them: bool = False) -> tuple[Pull, ...]:
        """Nothing for sessions that have much to read still."""
        found: dict[Pull, None] = {}
        for log in self._logs.values():
            if all_of_them or log.news or log.position < log.last:
                found[Pull(log.subscription, log.position)] = None
            for session, position in log.behind():
                if session.line.buffered() <= PULL_BYTES // 4:
                    found[Pull(log.subscription, position)] = None
        return tuple(found)

    def is_behind(self) -> bool:
        """Whether a session still catches up."""
        return any(any(log.behind()) for log in self._logs.values())

    def notified(self, subscriptions: Iterable[int]) -> None:
        """Some subscriptions have new results."""
        for log in map(self._numbered, subscriptions):
            if log is not None:
                log.news = True

    def pulled(self, asked: Collection[Pull], answer: PullAnswer) -> None:
        """Results have come. Those that begin where nobody asked for are what is left:
        what was before them is not kept any more."""
        for found in answer.pulled:
            log = self._numbered(found.subscription)
            if log is not None:
                was_asked = Pull(found.subscription, found.after) in asked
                self._take(log, found, cut=not was_asked)
        for log in map(self._numbered, answer.gone):
            if log is not None:
                self._end(log)

    def _numbered(self, subscription: int) -> Log | None:
        topic = self._topics.get(subscription)
        return None if topic is None else self._logs[topic]

    def _take(self, log: Log, found: Pulled, *, cut: bool) -> None:
        log.last = max(log.last, found.last)
        items = [
            self._passage.item(SOURCE, log.subscription, seq, result.data, result.at)
            for seq, result in enumerate(found.results, found.after + 1)
        ]
        for session, at in list(log.behind()):
            if at >= found.after or cut:
                self._catch_up(log, session, max(at, found.after), items)
        if log.position >= found.after or cut:
            log.position = max(log.position, found.after)
            new = [item for item in items if item.seq > log.position]
            if new:
                log.position = new[-1].seq
                self._passage.hand_on(log.topic, Released(tuple(new)))
            log.news = log.news and log.position < found.last
        self._admit(log)

    def _catch_up(self, log: Log, session: Session, at: int, items: list[Item]) -> None:
        """To one session alone, and no further than all others are: from there on it
        goes with them."""
        due = [item for item in items if at < item.seq <= log.position]
        self._passage.delivery.write_to(session, log.topic, due)
        log.apart[session] = due[-1].seq if due else at

    # Who has which

    def follow(self, given: Given) -> None:
        """From the last result that there is, unless it is followed already."""
        log = self._logs.get(given.topic)
        if log is not None and log.subscription == given.subscription:
            log.last = max(log.last, given.last)
            return
        if log is not None:
            self._end(log)
        topic = self._passage.topic(given.topic)
        topic.carried = True
        topic.positions[SOURCE] = (given.subscription, given.last)
        self._topics[given.subscription] = given.topic
        self._logs[given.topic] = Log(topic, given.subscription, given.last, given.last)

    def attach(self, session: Session, given: Given) -> CursorRow:
        """Where the session begins. It gets nothing before `admit`."""
        self.follow(given)  # others may have left it meanwhile
        log = self._logs[given.topic]
        session.topics.add(given.topic)
        at = log.position
        if session not in log.topic.sessions:
            at = log.apart.setdefault(session, given.start)
        return given.topic, SOURCE, given.subscription, at

    def admit(self, topic: str) -> None:
        self._admit(self._logs[topic])

    def _admit(self, log: Log) -> None:
        """Those who are where all others are get what comes with them from now on."""
        for session in [s for s, at in log.apart.items() if at == log.position]:
            del log.apart[session]
            self._passage.delivery.write(log.topic)
            log.topic.add(session)

    def detach(self, session: Session, topic: str) -> None:
        """A log that nobody here has any more is not followed."""
        session.topics.discard(topic)
        log = self._logs.get(topic)
        if log is None:
            return
        self._passage.delivery.write(log.topic)
        log.topic.remove(session)
        log.apart.pop(session, None)
        if not log.sessions():
            self._forget(log)

    def _end(self, log: Log) -> None:
        """There is no such subscription any more."""
        name = log.topic.name
        text = f"{name!r} has ended: its channel was dropped, or nobody spoke of it"
        for session in log.sessions():
            self.detach(session, name)
            session.tell(Problem("unknown_topic", text, topics=(name,)))
        self._forget(log)

    def _forget(self, log: Log) -> None:
        log.topic.carried = False
        log.topic.positions.pop(SOURCE, None)
        self._logs.pop(log.topic.name, None)
        self._topics.pop(log.subscription, None)
