"""Channel subscriptions at a broker. No I/O.

`ChannelSubscriptions` has what sessions ask for, and what the data cluster is to know
of it; `data_cluster` sends that, and brings the answers. `ResultLogs` follows the logs
of results, once for each topic that has a session here, from a position of its own, and
hands what comes to all sessions through the router. A session that begins earlier
catches up first.
"""

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from brokerwise.runtime.broker.router import MessageRouter
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.topics import RoutedMessage, Topic
from brokerwise.runtime.protocol.data import (
    Interest,
    Pull,
    PullAnswer,
    ResultBatch,
    SubscribeAnswer,
    Subscription,
    SubscriptionRefusal,
    UserCursor,
    UserTopic,
)
from brokerwise.runtime.protocol.fleet import CursorRow
from brokerwise.runtime.protocol.frames import Problem, Subscribe, Subscribed
from brokerwise.runtime.protocol.limits import PULL_BYTES
from brokerwise.runtime.protocol.names import SOURCE
from brokerwise.runtime.protocol.order import Released

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ResultLog:
    """The log of one topic's results.

    `position` is the last result handed on, `last` the last that there is, as far
    as is known. There may be more if there is `news`. Sessions that are `apart`
    have had everything up to a position of their own, or want nothing before it: they
    catch up, or wait until it is reached.
    """

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
        """The last result that a session has had, as far as is known."""
        epoch, seq = session.cursors.get((self.topic.name, SOURCE), (0, 0))
        known = seq if epoch == self.subscription else self.position
        return min(known, self.apart.get(session, known))


class ResultLogs:
    """The logs of results that are followed, by topic."""

    def __init__(self, router: MessageRouter) -> None:
        self._router = router
        self._logs: dict[str, ResultLog] = {}
        self._topics: dict[int, str] = {}

    def find(self, topic: str) -> ResultLog | None:
        return self._logs.get(topic)

    def serving(self) -> tuple[UserCursor, ...]:
        """The users that are served here, with the last result that each has had."""
        return tuple(
            UserCursor(session.user, results.subscription, results.seen_by(session))
            for results in self._logs.values()
            for session in results.sessions()
        )

    # What to fetch, and what came

    def pulls(self, *, all_of_them: bool = False) -> tuple[Pull, ...]:
        """What to fetch; nothing for sessions with a large backlog."""
        found: dict[Pull, None] = {}
        for results in self._logs.values():
            if all_of_them or results.news or results.position < results.last:
                found[Pull(results.subscription, results.position)] = None
            for session, position in results.behind():
                if session.connection.buffered() <= PULL_BYTES // 4:
                    found[Pull(results.subscription, position)] = None
        return tuple(found)

    def is_behind(self) -> bool:
        """True while a session catches up."""
        return any(any(results.behind()) for results in self._logs.values())

    def mark_new(self, subscriptions: Iterable[int]) -> None:
        """Some subscriptions have new results."""
        for results in map(self._numbered, subscriptions):
            if results is not None:
                results.news = True

    def take_results(self, asked: Collection[Pull], answer: PullAnswer) -> None:
        """Results have come. If they begin elsewhere than asked for, the results before
        them have been deleted."""
        for found in answer.pulled:
            results = self._numbered(found.subscription)
            if results is not None:
                was_asked = Pull(found.subscription, found.after) in asked
                self._take(results, found, cut=not was_asked)
        for results in map(self._numbered, answer.gone):
            if results is not None:
                self._end(results)

    def _numbered(self, subscription: int) -> ResultLog | None:
        topic = self._topics.get(subscription)
        return None if topic is None else self._logs[topic]

    def _take(self, results: ResultLog, found: ResultBatch, *, cut: bool) -> None:
        results.last = max(results.last, found.last)
        items = [
            self._router.new_message(
                SOURCE, results.subscription, seq, result.data, result.at
            )
            for seq, result in enumerate(found.results, found.after + 1)
        ]
        for session, at in list(results.behind()):
            if at >= found.after or cut:
                self._catch_up(results, session, max(at, found.after), items)
        if results.position >= found.after or cut:
            if results.position < found.after:
                log.warning(
                    "%r: results %d to %d are not kept any more: a gap",
                    *(results.topic.name, results.position + 1, found.after),
                )
            results.position = max(results.position, found.after)
            new = [item for item in items if item.seq > results.position]
            if new:
                results.position = new[-1].seq
                self._router.hand_on(results.topic, Released(tuple(new)))
            results.news = results.news and results.position < found.last
        self.admit(results.topic.name)

    def _catch_up(
        self, results: ResultLog, session: Session, at: int, items: list[RoutedMessage]
    ) -> None:
        """To one session alone, and no further than all others are: from there on it
        goes with them."""
        due = [item for item in items if at < item.seq <= results.position]
        self._router.delivery.write_to(session, results.topic, due)
        results.apart[session] = due[-1].seq if due else at

    # Sessions and their logs

    def follow(self, given: Subscription) -> None:
        """From the last result that there is, unless it is followed already."""
        results = self._logs.get(given.topic)
        if results is not None and results.subscription == given.subscription:
            results.last = max(results.last, given.last)
            return
        if results is not None:
            self._end(results)
        topic = self._router.topic(given.topic)
        topic.carried = True
        topic.positions[SOURCE] = (given.subscription, given.last)
        self._topics[given.subscription] = given.topic
        self._logs[given.topic] = ResultLog(
            topic, given.subscription, given.last, given.last
        )

    def attach(self, session: Session, given: Subscription) -> CursorRow:
        """Where the session begins. It gets nothing before `admit`."""
        self.follow(given)  # others may have left it meanwhile
        results = self._logs[given.topic]
        session.topics.add(given.topic)
        at = results.position
        if session not in results.topic.sessions:
            at = results.apart.setdefault(session, given.start)
        return given.topic, SOURCE, given.subscription, at

    def admit(self, topic: str) -> None:
        """Sessions that have caught up get what comes together with all others."""
        results = self._logs[topic]
        for session in [s for s, at in results.apart.items() if at == results.position]:
            del results.apart[session]
            self._router.delivery.write(results.topic)
            results.topic.add(session)

    def detach(self, session: Session, topic: str) -> None:
        """A log without sessions is not followed."""
        session.topics.discard(topic)
        results = self._logs.get(topic)
        if results is None:
            return
        self._router.delivery.write(results.topic)
        results.topic.remove(session)
        results.apart.pop(session, None)
        if not results.sessions():
            self._forget(results)

    def _end(self, results: ResultLog) -> None:
        """The subscription has ended."""
        name = results.topic.name
        log.info("%r has ended, for %d sessions", name, len(results.sessions()))
        text = f"{name!r} has ended: its channel was dropped, or nobody spoke of it"
        for session in results.sessions():
            self.detach(session, name)
            session.send(Problem("unknown_topic", text, topics=(name,)))
        self._forget(results)

    def _forget(self, results: ResultLog) -> None:
        results.topic.carried = False
        results.topic.positions.pop(SOURCE, None)
        self._logs.pop(results.topic.name, None)
        self._topics.pop(results.subscription, None)


@dataclass(eq=False)
class _PendingRequest:
    """A subscription, as its client asked for it: `missing` are the topics that the
    data cluster has not answered about."""

    session: Session
    id: int
    missing: set[str]
    given: list[Subscription] = field(default_factory=list)
    refused: list[SubscriptionRefusal] = field(default_factory=list)

    def topics(self) -> set[str]:
        """Those that were not refused."""
        return {*self.missing, *(given.topic for given in self.given)}


@dataclass(frozen=True)
class _Question:
    asked: _PendingRequest
    wanted: Interest


class ChannelSubscriptions:
    """What the sessions of a broker have of channels; `logs` brings them the results.

    The shell sends what waits for the data cluster (`wanted`, `ended`, `offline`,
    `seen`), and brings the answers.
    """

    def __init__(self, router: MessageRouter) -> None:
        self.logs = ResultLogs(router)
        self._questions: dict[tuple[str, str], _Question] = {}
        self._unconfirmed: dict[Session, dict[_PendingRequest, None]] = {}
        self._ended: dict[UserTopic, None] = {}
        self._offline: dict[UserTopic, None] = {}
        self._seen: dict[tuple[str, int], int] = {}

    # What sessions ask for

    def subscribe(self, session: Session, frame: Subscribe) -> None:
        """The answer comes when the data cluster has said where each topic begins."""
        cursors = {topic: (e, s) for topic, src, e, s in frame.cursors if src == SOURCE}
        topics = dict.fromkeys(frame.topics)
        asked = _PendingRequest(session, frame.id, set(topics))
        self._unconfirmed.setdefault(session, {})[asked] = None
        for topic in topics:
            key, ended = (session.user, topic), UserTopic(session.user, topic)
            before = self._questions.get(key)
            self._ended.pop(ended, None)
            self._offline.pop(ended, None)
            wanted = Interest(session.user, topic, cursors.get(topic), frame.latest)
            self._questions[key] = _Question(asked, wanted)
            if before is not None:
                self._resolve(before.asked, topic)

    def unsubscribe(
        self, session: Session, topics: Iterable[str], *, elsewhere: bool
    ) -> tuple[str, ...]:
        """A client has unsubscribed, or has the topics `elsewhere`; returns those that
        it had or waited for."""
        unsent = self._offline if elsewhere else self._ended
        left = []
        for topic in topics:
            if self._withdraw(session, topic) or topic in session.topics:
                left.append(topic)
                self._leave(session, topic, unsent)
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
            results = self.logs.find(topic) if source == SOURCE else None
            if results is None or epoch != results.subscription:
                continue
            if topic in session.topics:
                self._seen[session.user, epoch] = min(seq, results.last)

    def _withdraw(self, session: Session, topic: str) -> bool:
        """Stop waiting for a topic; True if the session did."""
        waited = False
        for asked in tuple(self._unconfirmed.get(session, ())):
            waited = waited or topic in asked.topics()
            asked.given = [given for given in asked.given if given.topic != topic]
            if topic in asked.missing:
                del self._questions[session.user, topic]
                self._resolve(asked, topic)
        return waited

    def _leave(
        self, session: Session, topic: str, unsent: dict[UserTopic, None]
    ) -> None:
        self.logs.detach(session, topic)
        if not self._has_another(session, topic):
            unsent[UserTopic(session.user, topic)] = None

    def _has_another(self, session: Session, topic: str) -> bool:
        """True if the user has the topic on another connection by now."""
        if (session.user, topic) in self._questions:
            return True
        results = self.logs.find(topic)
        return results is not None and any(
            s.user == session.user for s in results.sessions()
        )

    # What to send to the data cluster

    def is_waiting(self) -> bool:
        """True if a subscription waits for an answer."""
        return bool(self._questions)

    def wanted(self, most: int) -> tuple[Interest, ...]:
        found = [question.wanted for question in self._questions.values()]
        return tuple(found[:most])

    def ended(self) -> tuple[UserTopic, ...]:
        return tuple(self._ended)

    def offline(self) -> tuple[UserTopic, ...]:
        return tuple(self._offline)

    def seen(self) -> tuple[UserCursor, ...]:
        return tuple(UserCursor(user, n, seq) for (user, n), seq in self._seen.items())

    def mark_sent(
        self,
        ended: Iterable[UserTopic] = (),
        offline: Iterable[UserTopic] = (),
        seen: Iterable[UserCursor] = (),
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
        """All sessions have ended, and so has our epoch: what was to be sent under it
        is void."""
        self._ended.clear()
        self._offline.clear()
        self._seen.clear()

    # What the data cluster answers

    def take_answer(self, asked: Iterable[Interest], answer: SubscribeAnswer) -> None:
        """The answer to `wanted`. A user that has gone meanwhile is offline."""
        current = {(w.user, w.topic) for w in asked if self._is_asked(w)}
        for found in answer.given:
            key = (found.user, found.topic)
            if key in current:
                question = self._questions.pop(key)
                question.asked.given.append(found)
                self.logs.follow(found)
                self._resolve(question.asked, found.topic)
            elif key not in self._questions:
                self._offline[UserTopic(*key)] = None
        for refused in answer.refused:
            key = (refused.user, refused.topic)
            if key in current:
                question = self._questions.pop(key)
                question.asked.refused.append(refused)
                self._resolve(question.asked, refused.topic)

    def refuse_all(self, reason: str) -> None:
        """There is no data cluster."""
        asked = [question.wanted for question in self._questions.values()]
        refused = tuple(SubscriptionRefusal(w.user, w.topic, reason) for w in asked)
        self.take_answer(asked, SubscribeAnswer((), refused))

    def _is_asked(self, wanted: Interest) -> bool:
        question = self._questions.get((wanted.user, wanted.topic))
        return question is not None and question.wanted is wanted

    def _resolve(self, asked: _PendingRequest, topic: str) -> None:
        """One topic less to wait for; after the last one the client is answered."""
        asked.missing.discard(topic)
        mine = self._unconfirmed.get(asked.session, {})
        if not asked.missing and asked in mine:
            del mine[asked]
            if not mine:
                del self._unconfirmed[asked.session]
            self._confirm(asked)

    def _confirm(self, asked: _PendingRequest) -> None:
        session = asked.session
        cursors = tuple(self.logs.attach(session, given) for given in asked.given)
        if asked.refused:
            topics = tuple(refused.topic for refused in asked.refused)
            text = asked.refused[0].reason
            session.send(Problem("unknown_topic", text, asked.id, topics))
        served = tuple(given.topic for given in asked.given)
        session.send(Subscribed(asked.id, served, cursors))
        for topic in served:
            self.logs.admit(topic)
