"""Channel subscriptions at a broker: what sessions ask for, and what there is to say
about it to the data cluster. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from brokerwise.runtime.broker.channel_logs import Logs
from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.session import Session
from brokerwise.runtime.protocol.control import CursorRow
from brokerwise.runtime.protocol.data import (
    Ended,
    Given,
    Refused,
    Seen,
    SubscribeAnswer,
    Wanted,
)
from brokerwise.runtime.protocol.frames import Problem, Subscribe, Subscribed
from brokerwise.runtime.protocol.names import SOURCE


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


class Channels:
    """What the sessions of a broker have of channels; `logs` brings them the results.

    The shell asks what there is to say to the data cluster (`wanted`, `ended`,
    `offline`, `seen`), says it, and brings the answers.
    """

    def __init__(self, passage: Passage) -> None:
        self.logs = Logs(passage)
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
