"""Subscriptions, cursors and fencing, against a model in plain Python."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.tiers import examples

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster import subscriptions
from brokerwise.runtime.data_cluster.store import counter, new_state
from brokerwise.runtime.net.errors import ConflictError
from brokerwise.runtime.process.state_file import Sql, transaction
from brokerwise.runtime.protocol.data import (
    AcknowledgeRequest,
    BrokerCreation,
    Interest,
    SubscribeRequest,
    Subscription,
    SubscriptionRefusal,
    UnsubscribeRequest,
    UserCursor,
    UserTopic,
)
from brokerwise.runtime.protocol.limits import KEPT_SECONDS

NAMES = st.sampled_from(["b0", "b1"])
# How far from the epoch that is known: most are right.
OFFS = st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1])
USERS = st.sampled_from(["ann", "ben", "cat"])
TOPICS = st.sampled_from(["channel/c?x=1", "channel/c?x=2", "channel/d?x=1"])


def values_of(channel: str, texts: Mapping[str, str]) -> tuple[object, ...]:
    if channel not in ("c", "d"):
        raise InputError(f"there is no channel {channel!r}")
    return tuple(texts.values())


@dataclass
class Front:
    seq: int
    broker: str
    seen: float


@dataclass
class Back:
    number: int
    last: int = 0
    fronts: dict[str, Front] = field(default_factory=dict)


class Model:
    """What must be, in so many words."""

    def __init__(self) -> None:
        self.epochs: dict[str, int] = {}
        self.heard: dict[str, float] = {}
        self.backs: dict[str, Back] = {}
        self.given_out = 0

    def fronts(self) -> list[Front]:
        return [f for back in self.backs.values() for f in back.fronts.values()]

    def create(self, broker: str, epoch: int, at: float) -> bool:
        before = self.epochs.get(broker, epoch)
        if epoch < before:
            return False
        if epoch > before:
            self.leave(broker, at)
        self.epochs[broker], self.heard[broker] = epoch, at
        return True

    def leave(self, broker: str, at: float) -> None:
        for front in self.fronts():
            if front.broker == broker:
                front.broker, front.seen = "", at

    def subscribe(self, broker: str, wanted: Interest) -> Subscription:
        back = self.backs.get(wanted.topic)
        if back is None:
            self.given_out += 1
            back = self.backs[wanted.topic] = Back(self.given_out)
        known = back.fronts.get(wanted.user)
        start = back.last
        if wanted.cursor and wanted.cursor[0] == back.number:
            start = min(start, wanted.cursor[1])
        elif known and not wanted.latest:
            start = known.seq
        seq = start
        if known and not (wanted.latest and not wanted.cursor):
            seq = known.seq
        back.fronts[wanted.user] = Front(seq, broker, 0.0)
        return Subscription(wanted.user, wanted.topic, back.number, start, back.last)

    def assert_served(self, back: Back, seen: UserCursor, broker: str) -> None:
        front = back.fronts.get(seen.user)
        if front is None:
            seq = min(seen.seq, back.last)
            back.fronts[seen.user] = Front(seq, broker, 0.0)
        elif not front.broker:
            front.broker, front.seen = broker, 0.0

    def remove_unwanted(self) -> None:
        self.backs = {t: back for t, back in self.backs.items() if back.fronts}

    def lapse(self, at: float) -> None:
        for broker, heard in list(self.heard.items()):
            if at - heard > KEPT_SECONDS:
                self.leave(broker, heard)
                del self.heard[broker], self.epochs[broker]
        for back in self.backs.values():
            back.fronts = {
                user: front
                for user, front in back.fronts.items()
                if front.broker or at - front.seen <= KEPT_SECONDS
            }
        self.remove_unwanted()


def served(back: Back | None, user: str, broker: str) -> Front | None:
    """The user's, if it is this broker that serves it."""
    front = back.fronts.get(user) if back is not None else None
    return front if front is not None and front.broker == broker else None


class Subscriptions(RuleBasedStateMachine):
    """Requests in any order and under any epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.sql = new_state()
        self.model = Model()
        self.now = 1000.0
        self.version = 0
        self.topics: frozenset[str] = frozenset()
        self.fleet = 0
        self.start_again(another=False)

    def teardown(self) -> None:
        self.sql.close()

    def epoch(self, broker: str, off: int) -> int:
        return self.model.epochs.get(broker, 5) + off

    def number(self, data: st.DataObject) -> int:
        """A subscription that there is, if there is any, or was, or may be."""
        there = [back.number for back in self.model.backs.values()]
        return data.draw(st.sampled_from(there * 3 + [self.model.given_out, 999]))

    @contextmanager
    def request_of(self, broker: str, epoch: int) -> Iterator[bool]:
        """A transaction after the check of the epoch; whether it may do anything."""
        allowed = self.model.epochs.get(broker) == epoch
        if not allowed:
            with pytest.raises(ConflictError):
                subscriptions.check_epoch(self.sql, broker, epoch)
            yield False
            return
        subscriptions.check_epoch(self.sql, broker, epoch)
        with transaction(self.sql):
            yield True

    @rule(broker=NAMES, off=st.sampled_from([0, 0, 1, -1]))
    def create_broker(self, broker: str, off: int) -> None:
        epoch = self.epoch(broker, off)
        creation = BrokerCreation(broker, epoch, f"http://{broker}:{epoch}")
        if self.model.create(broker, epoch, self.now):
            with transaction(self.sql):
                subscriptions.create_broker(self.sql, creation, self.now)
        else:
            with pytest.raises(ConflictError), transaction(self.sql):
                subscriptions.create_broker(self.sql, creation, self.now)

    @rule(
        broker=NAMES,
        off=OFFS,
        user=USERS,
        topic=TOPICS,
        seen=st.none() | st.integers(0, 9),
        latest=st.booleans(),
        data=st.data(),
    )
    def subscribe(
        self,
        broker: str,
        off: int,
        user: str,
        topic: str,
        seen: int | None,
        latest: bool,
        data: st.DataObject,
    ) -> None:
        epoch = self.epoch(broker, off)
        cursor = None if seen is None else (self.number(data), seen)
        wanted = Interest(user, topic, cursor, latest)
        request = SubscribeRequest(broker, epoch, (wanted,))
        with self.request_of(broker, epoch) as allowed:
            if allowed:
                answer = subscriptions.subscribe(self.sql, request, values_of)
                assert answer.given == (self.model.subscribe(broker, wanted),)
                assert answer.refused == ()

    @rule(broker=NAMES, off=OFFS, user=USERS, topic=TOPICS)
    def unsubscribe(self, broker: str, off: int, user: str, topic: str) -> None:
        epoch = self.epoch(broker, off)
        request = UnsubscribeRequest(broker, epoch, (UserTopic(user, topic),))
        with self.request_of(broker, epoch) as allowed:
            if allowed:
                subscriptions.unsubscribe(self.sql, request)
                back = self.model.backs.get(topic)
                if back is not None and served(back, user, broker) is not None:
                    del back.fronts[user]
                    self.model.remove_unwanted()

    @rule(
        broker=NAMES,
        off=OFFS,
        users=st.lists(st.tuples(USERS, st.integers(0, 9)), max_size=3),
        offline=st.lists(st.builds(UserTopic, USERS, TOPICS), max_size=1),
        here=st.lists(st.tuples(USERS, st.integers(0, 9)), max_size=2),
        data=st.data(),
    )
    def acknowledge(
        self,
        broker: str,
        off: int,
        users: list[tuple[str, int]],
        offline: list[UserTopic],
        here: list[tuple[str, int]],
        data: st.DataObject,
    ) -> None:
        epoch = self.epoch(broker, off)
        seen = [UserCursor(user, self.number(data), seq) for user, seq in users]
        serving = [UserCursor(user, self.number(data), seq) for user, seq in here]
        request = AcknowledgeRequest(
            broker, epoch, tuple(seen), tuple(offline), tuple(serving)
        )
        with self.request_of(broker, epoch) as allowed:
            if allowed:
                subscriptions.acknowledge(self.sql, request, self.now)
                self._acknowledge(request)

    def _acknowledge(self, request: AcknowledgeRequest) -> None:
        model = self.model
        for seen in request.seen:
            for back in model.backs.values():
                front = served(back, seen.user, request.broker)
                if back.number == seen.subscription and front is not None:
                    front.seq = max(front.seq, min(seen.seq, back.last))
        for ended in request.offline:
            front = served(model.backs.get(ended.topic), ended.user, request.broker)
            if front is not None:
                front.broker, front.seen = "", self.now
        for one in request.serving:
            for back in model.backs.values():
                if back.number == one.subscription:
                    model.assert_served(back, one, request.broker)
        if self.now - model.heard[request.broker] > subscriptions.HEARD_SECONDS:
            model.heard[request.broker] = self.now

    @precondition(lambda self: self.model.backs)
    @rule(data=st.data(), count=st.integers(1, 5))
    def commit_results(self, data: st.DataObject, count: int) -> None:
        topic = data.draw(st.sampled_from(sorted(self.model.backs)))
        back = self.model.backs[topic]
        self.sql.execute(
            "INSERT INTO results VALUES (?, ?, ?, 'c', 1, 0, 0)",
            (back.number, back.last + 1, count),
        )
        back.last += count
        self.sql.execute(
            "UPDATE subscriptions SET last = ? WHERE id = ?", (back.last, back.number)
        )

    @rule(
        seconds=st.sampled_from([1.0, 1.0, 20.0, KEPT_SECONDS * 0.6, KEPT_SECONDS + 1])
    )
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        with transaction(self.sql):
            subscriptions.forget_silent(self.sql, self.now)
            subscriptions.forget_offline(self.sql, self.now)
        self.model.lapse(self.now)

    @rule(another=st.sampled_from([False, False, True]))
    def start_again(self, another: bool) -> None:
        self.fleet += another
        with transaction(self.sql):
            subscriptions.begin_fleet(self.sql, f"fleet {self.fleet}", self.now)
        if another:
            for broker in self.model.epochs:
                self.model.leave(broker, self.now)
            self.model.epochs.clear()
            self.model.heard.clear()
        self.model.heard = dict.fromkeys(self.model.heard, self.now)

    def _stored(self) -> dict[str, Any]:
        rows = self.sql.execute(
            "SELECT topic, user, id, last, seq, broker, seen FROM subscriptions "
            "LEFT JOIN frontends ON subscription = id"
        )
        return {f"{topic} {user}": tuple(rest) for topic, user, *rest in rows}

    @invariant()
    def the_state_is_the_model(self) -> None:
        expected = {
            f"{topic} {user}": (b.number, b.last, f.seq, f.broker, f.seen)
            for topic, b in self.model.backs.items()
            for user, f in b.fronts.items()
        }
        found = self._stored()
        assert {k: (*v[:4], v[4] if not v[3] else 0.0) for k, v in found.items()} == {
            k: (*v[:4], v[4] if not v[3] else 0.0) for k, v in expected.items()
        }
        known = self.sql.execute("SELECT name, epoch, heard FROM brokers").fetchall()
        epochs, heard = self.model.epochs, self.model.heard
        assert sorted(known) == [(n, epochs[n], heard[n]) for n in sorted(epochs)]

    @invariant()
    def brokers_are_found_by_whom_they_serve(self) -> None:
        backs = self.model.backs.values()
        served = {
            (front.broker, back.number)
            for back in backs
            for front in back.fronts.values()
            if front.broker
        }
        found = subscriptions.brokers_of(self.sql, [b.number for b in backs])
        assert {(name, n) for name, numbers in found.items() for n in numbers} == served
        behind = {
            back.number
            for back in backs
            for front in back.fronts.values()
            if front.broker and front.seq < back.last
        }
        numbers = [n for ns in subscriptions.undelivered(self.sql).values() for n in ns]
        assert sorted(numbers) == sorted(behind)

    @invariant()
    def a_version_stands_for_one_set_of_subscriptions(self) -> None:
        topics = frozenset(f"{t} {b.number}" for t, b in self.model.backs.items())
        version = counter(self.sql, "version")
        assert version >= self.version
        assert (version > self.version) or topics == self.topics
        self.version, self.topics = version, topics

    @invariant()
    def results_are_kept_only_of_subscriptions_that_there_are(self) -> None:
        rows = self.sql.execute("SELECT DISTINCT subscription FROM results")
        numbers = {back.number for back in self.model.backs.values()}
        assert {number for (number,) in rows} <= numbers


TestSubscriptions = Subscriptions.TestCase
TestSubscriptions.settings = settings(max_examples=examples(80), stateful_step_count=50)


@pytest.fixture
def sql() -> Iterator[Sql]:
    opened = new_state()
    subscriptions.create_broker(opened, BrokerCreation("b0", 1, "http://b0"), 0.0)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "topic",
    ["news", "channel/c?b=1&a=2", "channel/c?x=%zz", "channel/zzz?x=1", "channel/"],
)
def test_what_is_no_subscription_is_refused_by_itself(sql: Sql, topic: str) -> None:
    wanted = (Interest("ann", topic), Interest("ann", "channel/c?x=1"))
    answer = subscriptions.subscribe(sql, SubscribeRequest("b0", 1, wanted), values_of)
    assert answer.given == (Subscription("ann", "channel/c?x=1", 1, 0, 0),)
    (refused,) = answer.refused
    assert refused == SubscriptionRefusal("ann", topic, refused.reason)
    assert repr(topic) in refused.reason or "no channel" in refused.reason
    (stored,) = sql.execute("SELECT parameters FROM subscriptions").fetchall()
    assert json.loads(stored[0]) == ["1"]


def subscribed(sql: Sql, **more: Any) -> Subscription:
    """Ann, to the channel, at b0; five results are there from then on."""
    wanted = Interest("ann", "channel/c?x=1", **more)
    request = SubscribeRequest("b0", 1, (wanted,))
    (given,) = subscriptions.subscribe(sql, request, values_of).given
    sql.execute("UPDATE subscriptions SET last = 5")
    return given


def acknowledged(sql: Sql, seq: int, broker: str = "b0") -> int:
    """Where ann is after this acknowledgement."""
    request = AcknowledgeRequest(broker, 1, (UserCursor("ann", 1, seq),))
    subscriptions.acknowledge(sql, request, 1.0)
    ((found,),) = sql.execute("SELECT seq FROM frontends").fetchall()
    return int(found)


def test_a_cursor_goes_forward_only_and_never_past_what_there_is(sql: Sql) -> None:
    subscribed(sql)
    assert [acknowledged(sql, seq) for seq in (3, 2, 9, 4)] == [3, 3, 5, 5]


def test_only_the_broker_that_serves_a_user_moves_its_cursor(sql: Sql) -> None:
    subscribed(sql)
    assert acknowledged(sql, 3, "b1") == 0
    subscriptions.create_broker(sql, BrokerCreation("b0", 2, "http://b0"), 1.0)
    assert acknowledged(sql, 3) == 0  # it serves nobody yet under its new epoch


def test_a_fenced_and_an_unknown_broker_leave_a_trace(
    sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    subscriptions.create_broker(sql, BrokerCreation("b0", 2, "http://b0"), 1.0)
    for broker, epoch in (("b0", 1), ("b\n7", 1)):
        with pytest.raises(ConflictError):
            subscriptions.check_epoch(sql, broker, epoch)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[-2:] == [
        "broker 'b0' is fenced: epoch 1, its newest is 2",
        "broker 'b\\n7' speaks and is unknown: refused",
    ]


def test_a_user_who_returns_begins_where_it_was_or_with_the_next(sql: Sql) -> None:
    subscribed(sql)
    acknowledged(sql, 2)
    assert subscribed(sql).start == 2
    assert subscribed(sql, cursor=(1, 4)).start == 4
    assert subscribed(sql, cursor=(1, 7)).start == 5
    assert subscribed(sql, cursor=(9, 1)).start == 2
    assert subscribed(sql, latest=True).start == 5
    assert subscribed(sql).start == 5
