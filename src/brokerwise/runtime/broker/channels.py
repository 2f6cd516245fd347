"""Channel subscriptions at a broker: what sessions ask for, and what there is to say
about it to the data cluster. No I/O."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from brokerwise.runtime.broker.router import MessageRouter
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.topics import RoutedMessage, Topic
from brokerwise.runtime.protocol.control import CursorRow
from brokerwise.runtime.protocol.data import (
    Ended,
    Given,
    Pull,
    PullAnswer,
    Pulled,
    Refused,
    Seen,
    SubscribeAnswer,
    Wanted,
)
from brokerwise.runtime.protocol.frames import Problem, Subscribe, Subscribed
from brokerwise.runtime.protocol.limits import PULL_BYTES
from brokerwise.runtime.protocol.names import SOURCE
from brokerwise.runtime.protocol.order import Released


@dataclass(eq=False)
class ResultLog:
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


class ResultLogs:
    """All that are followed, by topic."""

    def __init__(self, router: MessageRouter) -> None:
        self._router = router
        self._logs: dict[str, ResultLog] = {}
        self._topics: dict[int, str] = {}

    def find(self, topic: str) -> ResultLog | None:
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
                if session.connection.buffered() <= PULL_BYTES // 4:
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

    def _numbered(self, subscription: int) -> ResultLog | None:
        topic = self._topics.get(subscription)
        return None if topic is None else self._logs[topic]

    def _take(self, log: ResultLog, found: Pulled, *, cut: bool) -> None:
        log.last = max(log.last, found.last)
        items = [
            self._router.item(SOURCE, log.subscription, seq, result.data, result.at)
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
                self._router.hand_on(log.topic, Released(tuple(new)))
            log.news = log.news and log.position < found.last
        self._admit(log)

    def _catch_up(
        self, log: ResultLog, session: Session, at: int, items: list[RoutedMessage]
    ) -> None:
        """To one session alone, and no further than all others are: from there on it
        goes with them."""
        due = [item for item in items if at < item.seq <= log.position]
        self._router.delivery.write_to(session, log.topic, due)
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
        topic = self._router.topic(given.topic)
        topic.carried = True
        topic.positions[SOURCE] = (given.subscription, given.last)
        self._topics[given.subscription] = given.topic
        self._logs[given.topic] = ResultLog(
            topic, given.subscription, given.last, given.last
        )

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

    def _admit(self, log: ResultLog) -> None:
        """Those who are where all others are get what comes with them from now on."""
        for session in [s for s, at in log.apart.items() if at == log.position]:
            del log.apart[session]
            self._router.delivery.write(log.topic)
            log.topic.add(session)

    def detach(self, session: Session, topic: str) -> None:
        """A log that nobody here has any more is not followed."""
        session.topics.discard(topic)
        log = self._logs.get(topic)
        if log is None:
            return
        self._router.delivery.write(log.topic)
        log.topic.remove(session)
        log.apart.pop(session, None)
        if not log.sessions():
            self._forget(log)

    def _end(self, log: ResultLog) -> None:
        """There is no such subscription any more."""
        name = log.topic.name
        text = f"{name!r} has ended: its channel was dropped, or nobody spoke of it"
        for session in log.sessions():
            self.detach(session, name)
            session.tell(Problem("unknown_topic", text, topics=(name,)))
        self._forget(log)

    def _forget(self, log: ResultLog) -> None:
        log.topic.carried = False
        log.topic.positions.pop(SOURCE, None)
        self._logs.pop(log.topic.name, None)
        self._topics.pop(log.subscription, None)


@dataclass(eq=False)
class _Asked:
    """A subscription, as its client asked for it: `missing` are the topics that the
    data cluster has not answered about."""

    session: Session
    id: int
    missing: set[str]
    given: list[Given] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def topics(self) -> set[str]:
        """Those that were not refused."""
        return {*self.missing, *(given.topic for given in self.given)}


@dataclass(frozen=True)
class _Question:
    asked: _Asked
    wanted: Wanted


class ChannelSubscriptions:
    """What the sessions of a broker have of channels; `logs` brings them the results.

    The shell asks what there is to say to the data cluster (`wanted`, `ended`,
    `offline`, `seen`), says it, and brings the answers.
    """

    def __init__(self, router: MessageRouter) -> None:
        self.logs = ResultLogs(router)
        self._questions: dict[tuple[str, str], _Question] = {}
        self._unconfirmed: dict[Session, dict[_Asked, None]] = {}
        self._ended: dict[Ended, None] = {}
        self._offline: dict[Ended, None] = {}
        self._seen: dict[tuple[str, int], int] = {}

    # What sessions ask for

    def subscribe(self, session: Session, frame: Subscribe) -> None:
        """The answer comes when the data cluster has said where each topic begins."""
        cursors = {topic: (e, s) for topic, src, e, s in frame.cursors if src == SOURCE}
        topics = dict.fromkeys(frame.topics)
        asked = _Asked(session, frame.id, set(topics))
        self._unconfirmed.setdefault(session, {})[asked] = None
        for topic in topics:
            key, ended = (session.user, topic), Ended(session.user, topic)
            before = self._questions.get(key)
            self._ended.pop(ended, None)
            self._offline.pop(ended, None)
            wanted = Wanted(session.user, topic, cursors.get(topic), frame.latest)
            self._questions[key] = _Question(asked, wanted)
            if before is not None:
                self._resolve(before.asked, topic)

    def unsubscribe(
        self, session: Session, topics: Iterable[str], *, elsewhere: bool
    ) -> tuple[str, ...]:
        """A client wants topics no more, or not from here; returns those that it had
        or waited for."""
        told = self._offline if elsewhere else self._ended
        left = []
        for topic in topics:
            if self._withdraw(session, topic) or topic in session.topics:
                left.append(topic)
                self._leave(session, topic, told)
        return tuple(left)

    def close(self, session: Session) -> None:
        """A client has gone: it may be back."""
        left = {name for name in session.topics if self.logs.find(name)}
        for asked in self._unconfirmed.pop(session, ()):
            for topic in asked.missing:
                del self._questions[session.user, topic]
            left |= asked.topics()
        for topic in left:
            self._leave(session, topic, self._offline)

    def acknowledge(self, session: Session, cursors: Iterable[CursorRow]) -> None:
        for topic, source, epoch, seq in cursors:
            log = self.logs.find(topic) if source == SOURCE else None
            if log is None or epoch != log.subscription:
                continue
            if topic in session.topics:
                self._seen[session.user, epoch] = min(seq, log.last)

    def _withdraw(self, session: Session, topic: str) -> bool:
        """Whether a session waited for a topic; it does no more."""
        waited = False
        for asked in tuple(self._unconfirmed.get(session, ())):
            waited = waited or topic in asked.topics()
            asked.given = [given for given in asked.given if given.topic != topic]
            if topic in asked.missing:
                del self._questions[session.user, topic]
                self._resolve(asked, topic)
        return waited

    def _leave(self, session: Session, topic: str, told: dict[Ended, None]) -> None:
        self.logs.detach(session, topic)
        if not self._has_another(session, topic):
            told[Ended(session.user, topic)] = None

    def _has_another(self, session: Session, topic: str) -> bool:
        """Whether the user has the topic on another connection by now."""
        if (session.user, topic) in self._questions:
            return True
        log = self.logs.find(topic)
        return log is not None and any(s.user == session.user for s in log.sessions())

    # What there is to say to the data cluster

    def is_waiting(self) -> bool:
        """Whether a subscription waits for an answer."""
        return bool(self._questions)

    def wanted(self, most: int) -> tuple[Wanted, ...]:
        found = [question.wanted for question in self._questions.values()]
        return tuple(found[:most])

    def ended(self) -> tuple[Ended, ...]:
        return tuple(self._ended)

    def offline(self) -> tuple[Ended, ...]:
        return tuple(self._offline)

    def seen(self) -> tuple[Seen, ...]:
        return tuple(Seen(user, n, seq) for (user, n), seq in self._seen.items())

    def told(
        self,
        ended: Iterable[Ended] = (),
        offline: Iterable[Ended] = (),
        seen: Iterable[Seen] = (),
    ) -> None:
        """The data cluster knows this now."""
        for one in ended:
            self._ended.pop(one, None)
        for one in offline:
            self._offline.pop(one, None)
        for at in seen:
            if self._seen.get((at.user, at.subscription)) == at.seq:
                del self._seen[at.user, at.subscription]

    def reset(self) -> None:
        """All sessions have been hung up on, and our epoch is given up: what was to
        be said under it holds no longer."""
        self._ended.clear()
        self._offline.clear()
        self._seen.clear()

    # What the data cluster answers

    def given(self, asked: Iterable[Wanted], answer: SubscribeAnswer) -> None:
        """The answer to what was wanted. Someone who has gone meanwhile is offline."""
        current = {(w.user, w.topic) for w in asked if self._is_asked(w)}
        for found in answer.given:
            key = (found.user, found.topic)
            if key in current:
                question = self._questions.pop(key)
                question.asked.given.append(found)
                self.logs.follow(found)
                self._resolve(question.asked, found.topic)
            elif key not in self._questions:
                self._offline[Ended(*key)] = None
        for refused in answer.refused:
            key = (refused.user, refused.topic)
            if key in current:
                question = self._questions.pop(key)
                question.asked.refused.append(refused)
                self._resolve(question.asked, refused.topic)

    def refuse_all(self, reason: str) -> None:
        """There is no data cluster."""
        asked = [question.wanted for question in self._questions.values()]
        refused = tuple(Refused(w.user, w.topic, reason) for w in asked)
        self.given(asked, SubscribeAnswer((), refused))

    def _is_asked(self, wanted: Wanted) -> bool:
        question = self._questions.get((wanted.user, wanted.topic))
        return question is not None and question.wanted is wanted

    def _resolve(self, asked: _Asked, topic: str) -> None:
        """One topic less to wait for; with the last one the client hears of it."""
        asked.missing.discard(topic)
        mine = self._unconfirmed.get(asked.session, {})
        if not asked.missing and asked in mine:
            del mine[asked]
            if not mine:
                del self._unconfirmed[asked.session]
            self._confirm(asked)

    def _confirm(self, asked: _Asked) -> None:
        session = asked.session
        cursors = tuple(self.logs.attach(session, given) for given in asked.given)
        if asked.refused:
            topics = tuple(refused.topic for refused in asked.refused)
            text = asked.refused[0].reason
            session.tell(Problem("unknown_topic", text, asked.id, topics))
        served = tuple(given.topic for given in asked.given)
        session.tell(Subscribed(asked.id, served, cursors))
        for topic in served:
            self.logs.admit(topic)
