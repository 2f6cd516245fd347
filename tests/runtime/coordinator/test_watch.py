"""What is remembered of a fleet: reports, sights and moves in, events out."""

from dataclasses import replace

from brokerwise.runtime.coordinator.brokers import Broker, BrokerState
from brokerwise.runtime.coordinator.moves import Move, MoveState
from brokerwise.runtime.coordinator.watch import Watch
from brokerwise.runtime.coordinator.watch_events import KEPT_EVENTS, Sight
from brokerwise.runtime.coordinator.watch_flow import Rate
from brokerwise.runtime.coordinator.watch_history import Spread
from brokerwise.runtime.protocol.control import Heartbeat

UP = Broker("b0", "ws://h", 1, BrokerState.UP, 4, 10.0, None, None, None, 0)
MOVE = Move(1, "ann", "b0", "b1", None, MoveState.DONE, "")


def sight(**states: str) -> Sight:
    brokers = {
        name: replace(UP, name=name, state=BrokerState(state))
        for name, state in states.items()
    }
    return Sight(brokers, {}, automatic=False)


def beat(broker: str, load: float, received: int = 0) -> Heartbeat:
    return Heartbeat(broker, 4, 1, 1, received, 2 * received, load)


def reports(**loads: float) -> dict[str, Heartbeat]:
    return {name: beat(name, load) for name, load in loads.items()}


def test_each_look_is_a_point_of_the_history() -> None:
    watch = Watch(100.0, None)
    watch.look(sight(b0="up", b1="up"), reports(b0=10.0004, b1=30.0), 101.0)
    watch.look(sight(b0="up", b1="up"), reports(b0=20.0, b1=20.0), 102.0)
    shown = watch.history()
    assert shown["at"] == [101.0, 102.0]
    assert shown["loads"] == {"b0": [10.0, 20.0], "b1": [30.0, 20.0]}
    assert (shown["max_load"], shown["mean_load"]) == ([30.0, 20.0], [20.0, 20.0])
    assert shown["cov"] == [0.5, 0.0]
    assert (watch.at, watch.shared) == (102.0, Spread(20.0, 20.0, 0.0))


def test_load_is_shared_by_those_whom_sessions_may_be_on() -> None:
    watch = Watch(100.0, None)
    states = sight(b0="up", b1="draining", b2="drained", b3="lost")
    watch.look(states, reports(b0=10.0, b1=20.0, b2=0.0), 101.0)
    assert (watch.shared.max_load, watch.shared.mean_load) == (20.0, 15.0)
    assert set(watch.history()["loads"]) == {"b0", "b1", "b2"}


def test_a_report_of_a_broker_that_is_not_known_does_not_count() -> None:
    watch = Watch(100.0, None)
    watch.look(sight(b0="up"), reports(b0=10.0, b9=99.0), 101.0)
    assert set(watch.history()["loads"]) == {"b0"}
    assert watch.shared.max_load == 10.0


def test_messages_a_second_are_those_between_two_looks() -> None:
    watch = Watch(100.0, None)
    watch.hear(beat("b0", 0.0, 0), 1.0)
    watch.hear(beat("b0", 0.0, 50), 2.0)
    watch.look(sight(b0="up"), reports(b0=0.0), 101.0)
    assert watch.rate == Rate(50.0, 100.0)
    assert watch.history()["messages_per_second"] == [50.0]


def test_moves_that_were_done_are_counted_once_and_others_are_not() -> None:
    watch = Watch(100.0, 7.0)
    assert watch.last_move == 7.0
    watch.end_moves([replace(MOVE, state=MoveState.DECLINED)], 100.4)
    assert watch.last_move == 7.0
    watch.end_moves([MOVE, replace(MOVE, state=MoveState.FAILED)], 100.5)
    watch.end_moves([MOVE], 100.6)
    watch.look(sight(), {}, 101.0)
    watch.look(sight(), {}, 102.0)
    assert watch.history()["moves"] == [[101.0, 2]]
    assert watch.last_move == 100.6


def test_events_are_what_changes_between_looks_and_are_kept() -> None:
    watch = Watch(100.0, None)
    assert watch.look(sight(b0="up", b1="up"), {}, 101.0) == []
    (lost,) = watch.look(sight(b0="up", b1="lost"), {}, 102.0)
    assert lost.text == "Broker b1 is lost."
    assert watch.look(sight(b0="up", b1="lost"), {}, 103.0) == []
    assert [event.what for event in watch.events] == ["coordinator up", "broker lost"]


def test_only_the_last_events_are_kept() -> None:
    watch = Watch(100.0, None)
    for number in range(KEPT_EVENTS + 1):
        watch.look(sight(b0="lost" if number % 2 else "up"), {}, 101.0 + number)
    assert len(watch.events) == KEPT_EVENTS
    assert "coordinator up" not in {event.what for event in watch.events}
