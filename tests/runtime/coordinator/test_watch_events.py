"""What has happened to a fleet, between two sights of it."""

from dataclasses import replace
from typing import Any

import pytest

from brokerwise.runtime.coordinator.brokers import Broker, BrokerState, Then
from brokerwise.runtime.coordinator.decisions import DecisionState
from brokerwise.runtime.coordinator.watch_events import (
    DecisionSeen,
    Happening,
    Sight,
    happenings,
)

UP = Broker("b0", "ws://h", 1, BrokerState.UP, 4, 10.0, None, None, None, 0)
NEVER = replace(UP, state=BrokerState.EXPECTED, epoch=0, since=0.0)
NOTHING = Sight({}, {}, automatic=False)


def sight(*brokers: Broker, automatic: bool = False) -> Sight:
    return Sight({b.name: b for b in brokers}, {}, automatic)


def decided(number: int, state: DecisionState, **changes: Any) -> Sight:
    seen = DecisionSeen(number, 20.0, state, "planned", "cov is high", "")
    return Sight({}, {number: replace(seen, **changes)}, automatic=False)


@pytest.mark.parametrize(
    ("before", "after", "what", "text"),
    [
        (None, UP, "broker up", "is up"),
        (NEVER, UP, "broker up", "is up"),
        (
            *(UP, replace(UP, epoch=5), "broker restarted"),
            "was gone, and another process is up for it",
        ),
        (
            *(replace(UP, state=BrokerState.LOST), replace(UP, epoch=5)),
            *("broker up", "is up again"),
        ),
        (
            *(replace(UP, state=BrokerState.DRAINED), UP, "activated"),
            "takes sessions again: its drain was ended",
        ),
        (UP, replace(UP, state=BrokerState.DRAINED), "drained", "is drained"),
        (UP, replace(UP, state=BrokerState.LOST), "broker lost", "is lost"),
        (
            *(NEVER, replace(NEVER, state=BrokerState.LOST), "broker lost"),
            "has not come up",
        ),
        (
            *(UP, replace(UP, state=BrokerState.STOPPED), "broker stopped"),
            "has stopped, as it was told to",
        ),
    ],
)
def test_what_becomes_of_a_broker_is_told(
    before: Broker | None, after: Broker, what: str, text: str
) -> None:
    after = replace(after, since=77.0)
    was = sight() if before is None else sight(before)
    found = happenings(was, sight(after), 99.0)
    assert found == [Happening(77.0, what, f"Broker b0 {text}.")]


@pytest.mark.parametrize(
    ("then", "text"),
    [
        (Then.STAY, "is being drained"),
        (Then.STOP, "is being drained, and stops then"),
        (Then.RESTART, "is being drained, and restarts then"),
    ],
)
def test_a_drain_says_what_comes_after_it(then: Then, text: str) -> None:
    drained = replace(UP, state=BrokerState.DRAINING, then=then)
    (found,) = happenings(sight(UP), sight(drained), 0.0)
    assert (found.what, found.text) == ("drain", f"Broker b0 {text}.")


def test_what_stays_as_it_is_is_no_news() -> None:
    assert happenings(sight(UP), sight(replace(UP, since=50.0)), 0.0) == []
    assert happenings(sight(UP), sight(), 0.0) == []
    assert happenings(NOTHING, sight(NEVER), 0.0) == []
    running = decided(3, DecisionState.RUNNING)
    assert happenings(running, running, 0.0) == []


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (DecisionState.PROPOSED, "waits for approval: cov is high."),
        (DecisionState.STARTING, "is approved and waits for new brokers."),
        (DecisionState.RUNNING, "is carried out: cov is high."),
        (DecisionState.DONE, "is done: 3 moves."),
        (DecisionState.FAILED, "has failed: 3 moves."),
        (DecisionState.OUTDATED, "is out of date: 3 moves."),
    ],
)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_decision_is_told_at_each_step(
    state: DecisionState, text: str, is_new: bool
) -> None:
    other = decided(3, DecisionState.NOTED)
    before = NOTHING if is_new else other
    (found,) = happenings(before, decided(3, state, outcome="3 moves"), 99.0)
    assert found == Happening(20.0, f"decision {state}", f"Decision 3 (planned) {text}")


def test_a_thought_of_the_balancer_is_told_as_such() -> None:
    noted = decided(1, DecisionState.NOTED, reason="paused: sessions stay")
    (found,) = happenings(NOTHING, noted, 99.0)
    assert found == Happening(20.0, "balancer", "Balancer: paused: sessions stay.")


def test_a_decision_that_was_only_out_of_sight_is_no_news() -> None:
    old = decided(3, DecisionState.DONE)
    assert happenings(decided(5, DecisionState.DONE), old, 0.0) == []


@pytest.mark.parametrize(
    ("now", "how"), [(True, "by itself"), (False, "only when asked")]
)
def test_a_change_of_mode_is_told(now: bool, how: str) -> None:
    found = happenings(sight(automatic=not now), sight(automatic=now), 99.0)
    assert found == [Happening(99.0, "balancer", f"The balancer decides {how}.")]


def test_events_come_in_the_order_of_their_times() -> None:
    late = replace(UP, name="b1", epoch=9, since=80.0)
    early = replace(UP, name="b2", epoch=8, since=70.0)
    found = happenings(NOTHING, Sight({"b1": late, "b2": early}, {}, True), 75.0)
    assert [one.at for one in found] == [70.0, 75.0, 80.0]
