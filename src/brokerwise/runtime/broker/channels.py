"""Channel subscriptions at a broker: asked for, caught up, served. No I/O.

A channel's results are a log in the data cluster. The broker follows that log once
for each topic that anyone here has, from a position of its own, and hands on what comes
to all sessions. A session that begins earlier catches up by itself first.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.session import Session
from brokerwise.runtime.broker.topic import Item, Topic
from brokerwise.runtime.channel_names import SOURCE
from brokerwise.runtime.control import CursorRow
from brokerwise.runtime.data_control import (
    Ended,
    Given,
    Pull,
    PullAnswer,
    Pulled,
    Refused,
    Result,
    Seen,
    SubscribeAnswer,
    Wanted,
)
from brokerwise.runtime.frames import Problem, Subscribe, Subscribed
from brokerwise.runtime.limits import PULL_BYTES
from brokerwise.runtime.sequencer import Released


@dataclass(eq=False)
class _Asked:
    """A subscription, as its client asked for it: `missing` are the topics that the
    data cluster has not answered about."""

    session: Session
    id: int
    missing: set[str]
    given: list[Given] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


@dataclass(frozen=True)
class _Question:
    asked: _Asked
    wanted: Wanted


@dataclass(eq=False)
class _Followed:
    """A log that is followed: `position` is the last result handed on, `last` the
    last that there is, as far as we have heard. There may be more if there is `news`.
    Sessions that are `apart` have had everything up to a position of their own, or
    want nothing before it: they catch up, or wait until it is reached."""

    topic: Topic
    subscription: int
    position: int
    last: int
    news: bool = False
    apart: dict[Session, int] = field(default_factory=dict)

    def behind(self) -> Iterator[tuple[Session, int]]:
        return ((s, at) for s, at in self.apart.items() if at < self.position)


class Channels:
    """What the sessions of a broker have of channels.

    The shell asks what there is to say to the data cluster (`wanted`, `ended`,
    `offline`, `seen`, `pulls`), says it, and brings the answers.
    """

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._questions: dict[tuple[str, str], _Question] = {}
        self._unconfirmed: dict[Session, dict[_Asked, None]] = {}
        self._followed: dict[str, _Followed] = {}
        self._topics: dict[int, str] = {}
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
        return self._leave(session, topics, self._offline if elsewhere else self._ended)

    def close(self, session: Session) -> None:
        """A client has gone: it may be back."""
        left = {name for name in session.topics if name in self._followed}
        for asked in self._unconfirmed.pop(session, ()):
            for topic in asked.missing:
                del self._questions[session.user, topic]
            left |= {*asked.missing, *(given.topic for given in asked.given)}
        for topic in left:
            self._end_one(session, topic, self._offline)

    def acknowledge(self, session: Session, cursors: Iterable[CursorRow]) -> None:
        for topic, source, epoch, seq in cursors:
            followed = self._followed.get(topic) if source == SOURCE else None
            if followed is None or epoch != followed.subscription:
                continue
            if topic in session.topics:
                self._seen[session.user, epoch] = min(seq, followed.last)

    def _leave(
        self, session: Session, topics: Iterable[str], told: dict[Ended, None]
    ) -> tuple[str, ...]:
        left = []
        for topic in topics:
            waited = self._withdraw(session, topic)
            if waited or topic in session.topics:
                left.append(topic)
                self._end_one(session, topic, told)
        return tuple(left)

    def _end_one(self, session: Session, topic: str, told: dict[Ended, None]) -> None:
        self._detach(session, topic)
        if not self._has_another(session, topic):
            told[Ended(session.user, topic)] = None

    def _withdraw(self, session: Session, topic: str) -> bool:
        """Whether a session waited for a topic; it does no more."""
        waited = False
        for asked in tuple(self._unconfirmed.get(session, ())):
            others = [given for given in asked.given if given.topic != topic]
            waited = waited or topic in asked.missing or len(others) < len(asked.given)
            asked.given = others
            if topic in asked.missing:
                del self._questions[session.user, topic]
                self._resolve(asked, topic)
        return waited

    def _has_another(self, session: Session, topic: str) -> bool:
        """Whether the user has the topic on another connection by now."""
        if (session.user, topic) in self._questions:
            return True
        followed = self._followed.get(topic)
        if followed is None:
            return False
        having = (*followed.topic.sessions, *followed.apart)
        return any(s.user == session.user for s in having)

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

    def serving(self) -> tuple[Seen, ...]:
        """Everyone who is served here, with what they have had as far as we know."""
        return tuple(
            Seen(session.user, followed.subscription, _seen_by(session, followed))
            for followed in self._followed.values()
            for session in (*followed.topic.sessions, *followed.apart)
        )

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

    def pulls(self, *, all_of_them: bool = False) -> tuple[Pull, ...]:
        """What to fetch now: nothing for sessions that have much to read still."""
        found: dict[Pull, None] = {}
        for followed in self._followed.values():
            number = followed.subscription
            if all_of_them or followed.news or followed.position < followed.last:
                found[Pull(number, followed.position)] = None
            for session, position in followed.behind():
                if session.line.buffered() <= PULL_BYTES // 4:
                    found[Pull(number, position)] = None
        return tuple(found)

    def is_behind(self) -> bool:
        """Whether a session still catches up."""
        return any(any(found.behind()) for found in self._followed.values())

    # What the data cluster says

    def notified(self, subscriptions: Iterable[int]) -> None:
        """Some subscriptions have new results."""
        for number in subscriptions:
            topic = self._topics.get(number)
            if topic is not None:
                self._followed[topic].news = True

    def given(self, asked: Iterable[Wanted], answer: SubscribeAnswer) -> None:
        """The answer to what was wanted. Someone who has gone meanwhile is offline."""
        current = {(w.user, w.topic) for w in asked if self._is_asked(w)}
        for found in answer.given:
            key = (found.user, found.topic)
            if key in current:
                self._resolve(self._questions.pop(key).asked, found.topic, found)
            elif key not in self._questions:
                self._offline[Ended(*key)] = None
        for refused in answer.refused:
            key = (refused.user, refused.topic)
            if key in current:
                question = self._questions.pop(key)
                question.asked.refused.append(refused)
                self._resolve(question.asked, refused.topic)

    def _is_asked(self, wanted: Wanted) -> bool:
        question = self._questions.get((wanted.user, wanted.topic))
        return question is not None and question.wanted is wanted

    def refuse_all(self, reason: str) -> None:
        """There is no data cluster."""
        refused = tuple(Refused(*key, reason) for key in self._questions)
        self.given([q.wanted for q in self._questions.values()], _nothing(refused))

    def pulled(self, asked: Collection[Pull], answer: PullAnswer) -> None:
        for found in answer.pulled:
            topic = self._topics.get(found.subscription)
            if topic is not None:
                was_asked = Pull(found.subscription, found.after) in asked
                self._take(self._followed[topic], found, cut=not was_asked)
        for number in answer.gone:
            topic = self._topics.get(number)
            if topic is not None:
                self._end(self._followed[topic])

    def reset(self) -> None:
        """All sessions have been hung up on, and our epoch is given up: what was to
        be said under it holds no longer."""
        self._ended.clear()
        self._offline.clear()
        self._seen.clear()

    # How a session comes to a topic

    def _resolve(self, asked: _Asked, topic: str, given: Given | None = None) -> None:
        asked.missing.discard(topic)
        if given is not None:
            asked.given.append(given)
            self._follow(given)
        mine = self._unconfirmed.get(asked.session, {})
        if not asked.missing and asked in mine:
            del mine[asked]
            if not mine:
                del self._unconfirmed[asked.session]
            self._confirm(asked)

    def _follow(self, given: Given) -> None:
        followed = self._followed.get(given.topic)
        if followed is not None and followed.subscription == given.subscription:
            followed.last = max(followed.last, given.last)
            return
        if followed is not None:
            self._end(followed)
        topic = self._passage.topic(given.topic)
        topic.carried = True
        topic.positions[SOURCE] = (given.subscription, given.last)
        self._topics[given.subscription] = given.topic
        self._followed[given.topic] = _Followed(
            topic, given.subscription, given.last, given.last
        )

    def _confirm(self, asked: _Asked) -> None:
        session = asked.session
        cursors: list[CursorRow] = []
        for given in asked.given:
            self._follow(given)  # again: others may have left it meanwhile
            followed = self._followed[given.topic]
            session.topics.add(given.topic)
            at = followed.position
            if session not in followed.topic.sessions:
                at = followed.apart.setdefault(session, given.start)
            cursors.append((given.topic, SOURCE, given.subscription, at))
        if asked.refused:
            topics = tuple(refused.topic for refused in asked.refused)
            text = asked.refused[0].reason
            session.tell(Problem("unknown_topic", text, asked.id, topics))
        served = tuple(given.topic for given in asked.given)
        session.tell(Subscribed(asked.id, served, tuple(cursors)))
        for given in asked.given:
            self._admit(self._followed[given.topic])

    def _admit(self, followed: _Followed) -> None:
        """Those who are where all others are get what comes with them from now on."""
        here = followed.position
        for session in [s for s, at in followed.apart.items() if at == here]:
            del followed.apart[session]
            self._passage.delivery.write(followed.topic)
            followed.topic.add(session)

    def _detach(self, session: Session, name: str) -> None:
        session.topics.discard(name)
        followed = self._followed.get(name)
        if followed is None:
            return
        self._passage.delivery.write(followed.topic)
        followed.topic.remove(session)
        followed.apart.pop(session, None)
        self._tidy(name)

    def _tidy(self, name: str) -> None:
        """Follow no log that nobody here has."""
        followed = self._followed.get(name)
        if followed is not None and not (followed.topic.sessions or followed.apart):
            self._forget(followed)

    def _end(self, followed: _Followed) -> None:
        """Its log is no more: the channel was dropped."""
        name = followed.topic.name
        text = f"{name!r} has ended: its channel was dropped"
        for session in (*followed.topic.sessions, *followed.apart):
            self._detach(session, name)
            session.tell(Problem("unknown_topic", text, topics=(name,)))
        self._forget(followed)

    def _forget(self, followed: _Followed) -> None:
        followed.topic.carried = False
        followed.topic.positions.pop(SOURCE, None)
        self._followed.pop(followed.topic.name, None)
        self._topics.pop(followed.subscription, None)

    # How results go out

    def _take(self, followed: _Followed, found: Pulled, *, cut: bool) -> None:
        """Results have come. `cut`: what was before them is not kept any more."""
        followed.last = max(followed.last, found.last)
        items = [self._item(followed, found, i) for i in range(len(found.results))]
        for session, at in list(followed.behind()):
            if at >= found.after or cut:
                self._catch_up(followed, session, max(at, found.after), items)
        if followed.position >= found.after or cut:
            followed.position = max(followed.position, found.after)
            new = [item for item in items if item.seq > followed.position]
            if new:
                followed.position = new[-1].seq
                self._passage.hand_on(followed.topic, Released(tuple(new)))
            followed.news = followed.news and followed.position < found.last
        self._admit(followed)

    def _catch_up(
        self, followed: _Followed, session: Session, at: int, items: list[Item]
    ) -> None:
        """To one session alone, and no further than all others are: from there on it
        goes with them."""
        due = [item for item in items if at < item.seq <= followed.position]
        self._passage.delivery.write_to(session, followed.topic, due)
        followed.apart[session] = due[-1].seq if due else at

    def _item(self, followed: _Followed, found: Pulled, index: int) -> Item:
        result: Result = found.results[index]
        seq = found.after + 1 + index
        return self._passage.item(
            SOURCE, followed.subscription, seq, result.data, result.at
        )


def _nothing(refused: tuple[Refused, ...]) -> SubscribeAnswer:
    return SubscribeAnswer((), refused)


def _seen_by(session: Session, followed: _Followed) -> int:
    epoch, seq = session.cursors.get((followed.topic.name, SOURCE), (0, 0))
    known = seq if epoch == followed.subscription else followed.position
    return min(known, followed.apart.get(session, known))
