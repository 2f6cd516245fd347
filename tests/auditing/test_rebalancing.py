"""The independent check of a rebalancing finds every kind of fault."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.auditing.rebalancing import recounted, violations
from brokerwise.model.interests import Interests
from brokerwise.model.snapshot import Rebalancing, Snapshot


def two_brokers() -> Snapshot:
    """Sessions 0, 1 and 2 on broker 0; rates 10 and 3. Users 0, 1, 1."""
    return Snapshot(
        brokers=3,
        rates=np.array([10, 3]),
        wanted=Interests(np.array([0, 2, 3, 4]), np.array([0, 1, 0, 1])),
        places=np.array([0, 0, 1], np.int32),
        users=np.array([0, 1, 1], np.int32),
        state_bytes=np.array([5, 5, 5]),
    )


def one_moves(**changes: Any) -> Rebalancing:
    """Session 0 goes from broker 0 to broker 2."""
    plain = Rebalancing(
        policy="planned",
        sessions=np.array([0], np.int32),
        targets=np.array([2], np.int32),
        before=np.array([36, 6, 0]),
        after=np.array([20, 6, 26]),
        bound=14,
        reason="",
    )
    return replace(plain, **changes)


def found(rebalancing: Rebalancing, **masks: list[int]) -> list[str]:
    snapshot = two_brokers()
    held, open_, closing = np.zeros(3, bool), np.ones(3, bool), np.zeros(3, bool)
    held[masks.get("held", [])] = True
    closing[masks.get("closing", [])] = True
    open_[masks.get("shut", [])] = False
    return violations(snapshot, held, open_, closing, rebalancing)


def test_what_is_right_is_found_right() -> None:
    assert found(one_moves()) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"after": np.array([20, 6, 25])}, "load of broker 2 after: found 25, counted"),
        ({"before": np.array([35, 6, 0])}, "load of broker 0 before: found 35"),
        ({"after": np.array([20, 6])}, "2 loads after, of 3 brokers"),
        ({"targets": np.array([0], np.int32)}, "session 0 moves to where it is"),
        ({"targets": np.array([3], np.int32)}, "there is no broker 3"),
        ({"sessions": np.array([-1], np.int32)}, "there is no session -1"),
        ({"sessions": np.array([0, 0], np.int32)}, "2 sessions move to 1 targets"),
        ({"bound": 27}, "bound: found 27, but a maximum load of 26 is known"),
    ],
)
def test_each_fault_is_named(changes: dict[str, Any], text: str) -> None:
    (first, *_) = found(one_moves(**changes))
    assert text in first


def test_a_session_that_moves_twice_is_found() -> None:
    twice = {"sessions": np.array([0, 0]), "targets": np.array([1, 2])}
    assert found(one_moves(**twice)) == [
        "sessions are not in order, or one moves twice"
    ]


def test_two_sessions_of_a_user_may_not_meet() -> None:
    meeting = one_moves(sessions=np.array([1]), targets=np.array([1]))
    assert "two sessions of user 1 meet on broker 1" in found(meeting)


def test_what_may_not_be_touched_is_not() -> None:
    assert found(one_moves(), held=[0]) == ["session 0 is held, and moves (broker 2)"]
    assert found(one_moves(), shut=[2]) == [
        "session 0 moves to a broker that takes none (broker 2)"
    ]
    assert found(one_moves(), closing=[0], shut=[0]) == [
        "1 sessions stay on brokers that close"
    ]


def test_only_the_first_few_of_many_faults_are_listed() -> None:
    many = Rebalancing(
        "planned",
        np.arange(5, dtype=np.int32),
        np.zeros(5, np.int32),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        0,
        "",
    )
    wanted = Interests(np.zeros(6, np.int64), np.zeros(0, np.int32))
    snapshot = Snapshot.of(1, np.zeros(0, np.int64), wanted, np.zeros(5, np.int32))
    nothing = np.zeros(5, bool)
    wrong = violations(snapshot, nothing, np.ones(1, bool), np.zeros(1, bool), many)
    assert len(wrong) == 4
    assert wrong[-1] == "and 2 more: moves to where it is"


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    topics = draw(st.integers(1, 5))
    brokers = draw(st.integers(1, 4))
    lists = draw(st.lists(st.sets(st.integers(0, topics - 1)), max_size=8))
    offsets = np.cumsum([0, *map(len, lists)])
    flat = [topic for topics_ in lists for topic in sorted(topics_)]
    place = st.integers(0, brokers - 1)
    count = len(lists)
    return Snapshot.of(
        brokers,
        np.array(draw(st.lists(st.integers(0, 9), min_size=topics, max_size=topics))),
        Interests(offsets, np.array(flat, np.int32)),
        np.array(draw(st.lists(place, min_size=count, max_size=count)), np.int32),
    )


@given(snapshots())
def test_loads_are_those_of_a_plain_count(snapshot: Snapshot) -> None:
    plain = [0] * snapshot.brokers
    for broker in range(snapshot.brokers):
        there = np.flatnonzero(snapshot.places == broker)
        wanted = [int(t) for s in there for t in snapshot.wanted.of(int(s))]
        for topic in set(wanted):
            plain[broker] += int(snapshot.rates[topic]) * (1 + wanted.count(topic))
    assert recounted(snapshot, snapshot.places).tolist() == plain
    assert snapshot.loads().tolist() == plain
