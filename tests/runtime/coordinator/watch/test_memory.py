"""What is remembered of a fleet: heartbeats, states and moves in, events out."""

import json
import statistics
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.coordinator.moves import Move
from brokerwise.runtime.coordinator.watch.memory import (
    KEPT_EVENTS,
    KEPT_POINTS,
    SHOWN_TOPICS,
    DecisionSummary,
    FleetState,
    LoadHistory,
    LoadSpread,
    MessageMeter,
    MessageRate,
    TopicBoard,
    WatchMemory,
    busiest,
    events_between,
    most_concerning,
    spread_of,
    topic_rows,
)
from brokerwise.runtime.coordinator.watch.polling import PollSchedule
from brokerwise.runtime.protocol.balance import DecisionState
from brokerwise.runtime.protocol.fleet import (
    BrokerState,
    Heartbeat,
    MoveState,
    Then,
    TopicLoad,
    TrafficPage,
)
from brokerwise.runtime.protocol.watch import FleetEvent, TopicRow

LOADS = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20)


@given(LOADS)
def test_load_is_shared_out_as_statistics_say(loads: list[float]) -> None:
    found = spread_of(loads)
    mean = statistics.fmean(loads)
    assert found.max_load == pytest.approx(max(loads), abs=1e-3)
    assert found.mean_load == pytest.approx(mean, abs=1e-3)
    assert found.cov == pytest.approx(statistics.pstdev(loads) / mean, abs=1e-3)


@pytest.mark.parametrize("loads", [[], [0.0], [0.0, 0.0]])
def test_without_load_nothing_is_uneven(loads: list[float]) -> None:
    assert spread_of(loads) == LoadSpread(0.0, 0.0, 0.0)


def test_a_point_has_the_loads_of_those_who_were_there() -> None:
    history = LoadHistory()
    history.add(1.0, {"b0": 10.0}, LoadSpread(10.0, 10.0, 0.0), 4.0, 0)
    history.add(2.0, {"b0": 10.0, "b1": 30.0}, LoadSpread(30.0, 20.0, 0.5), 5.0, 3)
    history.add(3.0, {"b1": 31.0}, LoadSpread(31.0, 31.0, 0.0), 6.0, 0)
    assert json.loads(msgspec.json.encode(history.columns())) == {
        "at": [1.0, 2.0, 3.0],
        "max_load": [10.0, 30.0, 31.0],
        "mean_load": [10.0, 20.0, 31.0],
        "cov": [0.0, 0.5, 0.0],
        "loads": {"b0": [10.0, 10.0, None], "b1": [None, 30.0, 31.0]},
        "moves": [[2.0, 3]],
        "messages_per_second": [4.0, 5.0, 6.0],
    }


def test_nothing_is_shown_of_a_fleet_that_was_not_looked_at() -> None:
    shown = LoadHistory().columns()
    assert shown.at == shown.cov == []
    assert shown.moves == []
    assert shown.loads == {}


def test_only_the_last_points_are_kept_and_brokers_go_with_theirs() -> None:
    history = LoadHistory()
    history.add(0.0, {"old": 1.0}, LoadSpread(1.0, 1.0, 0.0), 0.0, 1)
    for second in range(1, KEPT_POINTS + 1):
        history.add(second, {"b0": second}, LoadSpread(second, second, 0.0), 0.0, 0)
    shown = history.columns()
    assert (len(shown.at), shown.at[0]) == (KEPT_POINTS, 1)
    assert list(shown.loads) == ["b0"]
    assert shown.moves == []


def beat(broker: str, received: int, delivered: int = 0) -> Heartbeat:
    return Heartbeat(broker, 1, 0, 0, received, delivered, 0.0)


def test_what_was_counted_before_the_first_report_is_not_of_now() -> None:
    meter = MessageMeter()
    meter.add(beat("b0", 1_000_000), 5.0)
    assert meter.rate(["b0"]) == MessageRate(0.0, 0.0)
    meter.add(beat("b0", 1_000_030, 60), 8.0)
    assert meter.rate(["b0"]) == MessageRate(10.0, 20.0)


@given(st.lists(st.booleans(), min_size=2, max_size=60))
def test_an_even_stream_is_even_whenever_it_is_looked_at(looks: list[bool]) -> None:
    """Reports come every 0.75 s, looks in between."""
    meter = MessageMeter()
    for number, is_looked in enumerate(looks):
        meter.add(beat("b0", 300 * number, 900 * number), 0.75 * number)
        found = meter.rate(["b0"]) if is_looked and number else None
        assert found is None or found == MessageRate(400.0, 1200.0)


def test_without_news_it_goes_on_as_before() -> None:
    meter = MessageMeter()
    meter.add(beat("b0", 0), 0.0)
    meter.add(beat("b0", 70), 1.0)
    assert [meter.rate(["b0"]).received for _ in range(3)] == [70.0] * 3


def test_brokers_add_up_and_those_who_have_gone_do_not_count() -> None:
    meter = MessageMeter()
    for name in ("b0", "b1"):
        meter.add(beat(name, 0), 0.0)
        meter.add(beat(name, 50, 10), 1.0)
    assert meter.rate(["b0", "b1"]) == MessageRate(100.0, 20.0)
    assert meter.rate(["b1"]) == MessageRate(50.0, 10.0)
    meter.add(beat("b0", 80), 2.0)
    assert meter.rate(["b0", "b1"]).received == 50.0, "it has only just come back"


def test_a_new_process_counts_from_its_own_beginning() -> None:
    meter = MessageMeter()
    meter.add(beat("b0", 500), 0.0)
    meter.add(beat("b0", 510), 1.0)
    meter.add(beat("b0", 3), 2.0)
    meter.add(beat("b0", 23), 4.0)
    assert meter.rate(["b0"]).received == pytest.approx(10.0)


UP = Broker("b0", "ws://h", 1, BrokerState.UP, 4, 10.0, None, None, None, 0)
NEVER = replace(UP, state=BrokerState.EXPECTED, epoch=0, since=0.0)
NOTHING = FleetState({}, {}, automatic=False)


def state_of(*brokers: Broker, automatic: bool = False) -> FleetState:
    return FleetState({b.name: b for b in brokers}, {}, automatic)


def decided(number: int, state: DecisionState, **changes: Any) -> FleetState:
    seen = DecisionSummary(number, 20.0, state, "planned", "cov is high", "")
    return FleetState({}, {number: replace(seen, **changes)}, automatic=False)


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
    was = state_of() if before is None else state_of(before)
    found = events_between(was, state_of(after), 99.0)
    assert found == [FleetEvent(77.0, what, f"Broker b0 {text}.")]


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
    (found,) = events_between(state_of(UP), state_of(drained), 0.0)
    assert (found.what, found.text) == ("drain", f"Broker b0 {text}.")


def test_what_stays_as_it_is_is_no_news() -> None:
    assert events_between(state_of(UP), state_of(replace(UP, since=50.0)), 0.0) == []
    assert events_between(state_of(UP), state_of(), 0.0) == []
    assert events_between(NOTHING, state_of(NEVER), 0.0) == []
    running = decided(3, DecisionState.RUNNING)
    assert events_between(running, running, 0.0) == []


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
    (found,) = events_between(before, decided(3, state, outcome="3 moves"), 99.0)
    assert found == FleetEvent(
        20.0, f"decision {state}", f"Decision 3 (planned) {text}"
    )


def test_a_thought_of_the_balancer_is_told_as_such() -> None:
    noted = decided(1, DecisionState.NOTED, reason="paused: sessions stay")
    (found,) = events_between(NOTHING, noted, 99.0)
    assert found == FleetEvent(20.0, "balancer", "Balancer: paused: sessions stay.")


def test_a_decision_that_was_only_out_of_sight_is_no_news() -> None:
    old = decided(3, DecisionState.DONE)
    assert events_between(decided(5, DecisionState.DONE), old, 0.0) == []


@pytest.mark.parametrize(
    ("now", "how"), [(True, "by itself"), (False, "only when asked")]
)
def test_a_change_of_mode_is_told(now: bool, how: str) -> None:
    found = events_between(state_of(automatic=not now), state_of(automatic=now), 99.0)
    assert found == [FleetEvent(99.0, "balancer", f"The balancer decides {how}.")]


def test_events_come_in_the_order_of_their_times() -> None:
    late = replace(UP, name="b1", epoch=9, since=80.0)
    early = replace(UP, name="b2", epoch=8, since=70.0)
    found = events_between(
        NOTHING, FleetState({"b1": late, "b2": early}, {}, True), 75.0
    )
    assert [one.at for one in found] == [70.0, 75.0, 80.0]


MOVE = Move(1, "ann", "b0", "b1", None, MoveState.DONE, "")


def fleet_state(**states: str) -> FleetState:
    brokers = {
        name: replace(UP, name=name, state=BrokerState(state))
        for name, state in states.items()
    }
    return FleetState(brokers, {}, automatic=False)


def loaded(broker: str, load: float, received: int = 0) -> Heartbeat:
    return Heartbeat(broker, 4, 1, 1, received, 2 * received, load)


def reports(**loads: float) -> dict[str, Heartbeat]:
    return {name: loaded(name, load) for name, load in loads.items()}


def test_each_look_is_a_point_of_the_history() -> None:
    watch = WatchMemory(100.0, None)
    watch.update(fleet_state(b0="up", b1="up"), reports(b0=10.0004, b1=30.0), 101.0)
    watch.update(fleet_state(b0="up", b1="up"), reports(b0=20.0, b1=20.0), 102.0)
    shown = watch.history()
    assert shown.at == [101.0, 102.0]
    assert shown.loads == {"b0": [10.0, 20.0], "b1": [30.0, 20.0]}
    assert (shown.max_load, shown.mean_load) == ([30.0, 20.0], [20.0, 20.0])
    assert shown.cov == [0.5, 0.0]
    assert (watch.at, watch.spread) == (102.0, LoadSpread(20.0, 20.0, 0.0))


def test_load_is_shared_by_those_whom_sessions_may_be_on() -> None:
    watch = WatchMemory(100.0, None)
    states = fleet_state(b0="up", b1="draining", b2="drained", b3="lost")
    watch.update(states, reports(b0=10.0, b1=20.0, b2=0.0), 101.0)
    assert (watch.spread.max_load, watch.spread.mean_load) == (20.0, 15.0)
    assert set(watch.history().loads) == {"b0", "b1", "b2"}


def test_a_report_of_a_broker_that_is_not_known_does_not_count() -> None:
    watch = WatchMemory(100.0, None)
    watch.update(fleet_state(b0="up"), reports(b0=10.0, b9=99.0), 101.0)
    assert set(watch.history().loads) == {"b0"}
    assert watch.spread.max_load == 10.0


def test_messages_a_second_are_those_between_two_looks() -> None:
    watch = WatchMemory(100.0, None)
    watch.add_heartbeat(loaded("b0", 0.0, 0), 1.0)
    watch.add_heartbeat(loaded("b0", 0.0, 50), 2.0)
    watch.update(fleet_state(b0="up"), reports(b0=0.0), 101.0)
    assert watch.rate == MessageRate(50.0, 100.0)
    assert watch.history().messages_per_second == [50.0]


def test_moves_that_were_done_are_counted_once_and_others_are_not() -> None:
    watch = WatchMemory(100.0, 7.0)
    assert watch.last_move == 7.0
    watch.add_ended_moves([replace(MOVE, state=MoveState.DECLINED)], 100.4)
    assert watch.last_move == 7.0
    watch.add_ended_moves([MOVE, replace(MOVE, state=MoveState.FAILED)], 100.5)
    watch.add_ended_moves([MOVE], 100.6)
    watch.update(fleet_state(), {}, 101.0)
    watch.update(fleet_state(), {}, 102.0)
    assert watch.history().moves == [(101.0, 2)]
    assert watch.last_move == 100.6


def test_events_are_what_changes_between_looks_and_are_kept() -> None:
    watch = WatchMemory(100.0, None)
    assert watch.update(fleet_state(b0="up", b1="up"), {}, 101.0) == []
    (lost,) = watch.update(fleet_state(b0="up", b1="lost"), {}, 102.0)
    assert lost.text == "Broker b1 is lost."
    assert watch.update(fleet_state(b0="up", b1="lost"), {}, 103.0) == []
    assert [event.what for event in watch.events] == ["coordinator up", "broker lost"]


def test_only_the_last_events_are_kept() -> None:
    watch = WatchMemory(100.0, None)
    for number in range(KEPT_EVENTS + 1):
        watch.update(fleet_state(b0="lost" if number % 2 else "up"), {}, 101.0 + number)
    assert len(watch.events) == KEPT_EVENTS
    assert "coordinator up" not in {event.what for event in watch.events}


def load(delivered: int, rate: float, p50: float, p90: float) -> TopicLoad:
    return TopicLoad(
        delivered=delivered, received_per_second=rate, p50_ms=p50, p90_ms=p90
    )


TOPIC_LOADS = st.builds(
    load, st.integers(0, 2), st.floats(0, 50), st.floats(0, 9), st.floats(0, 500)
)
TOPICS = st.dictionaries(st.sampled_from("abcdefgh"), TOPIC_LOADS)
PAGES = st.builds(TrafficPage, topics=TOPICS)
TARGETS = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 300))


def page(**topics: tuple[int, float, float]) -> TrafficPage:
    """Topics with what was delivered, what comes in a second, and the p90."""
    loads = {
        name: load(delivered, rate, p90 / 2, p90)
        for name, (delivered, rate, p90) in topics.items()
    }
    return TrafficPage(topics=loads)


def board(
    pages: Mapping[str, TrafficPage], targets: Mapping[str, float] | None = None
) -> TopicBoard:
    found = TopicBoard()
    for name, said in pages.items():
        found.replace(name, said, targets or {})
    return found


def test_of_a_brokers_page_only_what_is_needed_is_read() -> None:
    text = (
        b'{"broker": "b0", "steps": {"x": [1]}, "topics": {"news": {"received": 9,'
        b' "delivered": 8, "received_per_second": 1.5, "p50_ms": 2, "p99_ms": 1e9}}}'
    )
    found = msgspec.json.decode(text, type=TrafficPage)
    news = TopicLoad(
        received=9, delivered=8, received_per_second=1.5, p50_ms=2.0, p99_ms=1e9
    )
    assert found == TrafficPage("b0", topics={"news": news})


def test_a_row_says_whether_the_target_is_met_if_that_can_be_said() -> None:
    said = page(slow=(1, 5.0, 90.0), quick=(1, 6.0, 10.0), silent=(0, 0.0, 0.0))
    rows = {row.topic: row for row in topic_rows("b0", said, {"slow": 50, "quick": 10})}
    assert rows["slow"] == TopicRow(
        topic="slow",
        broker="b0",
        received_per_second=5.0,
        p50_ms=45.0,
        p90_ms=90.0,
        target_ms=50,
        met=False,
    )
    assert rows["quick"].met is True
    assert rows["silent"] == TopicRow(
        topic="silent",
        broker="b0",
        received_per_second=0.0,
        p50_ms=None,
        p90_ms=None,
        target_ms=None,
        met=None,
    )
    (waiting,) = topic_rows("b0", page(new=(0, 1.0, 0.0)), {"new": 50})
    assert (waiting.target_ms, waiting.met) == (50, None)


def test_the_latest_for_their_targets_come_first_then_the_busiest() -> None:
    said = page(
        busy=(1, 99.0, 900.0), calm=(1, 1.0, 900.0), fine=(1, 2.0, 10.0),
        late=(1, 3.0, 80.0), unheard=(0, 50.0, 0.0),
    )  # fmt: skip
    targets = {"fine": 20.0, "late": 40.0, "unheard": 1.0}
    rows = most_concerning(topic_rows("b0", said, targets))
    assert [row.topic for row in rows] == ["late", "fine", "busy", "unheard", "calm"]
    assert [r.topic for r in busiest(rows, 2)] == ["busy", "unheard"]


def test_a_target_of_nothing_cannot_be_met() -> None:
    rows = list(topic_rows("b0", page(a=(1, 1.0, 5.0), b=(1, 1.0, 9.0)), {"a": 0.0}))
    assert most_concerning(rows, 1)[0].topic == "a"
    assert most_concerning(rows, 1)[0].met is False


@given(st.dictionaries(st.sampled_from(["b0", "b1", "b2"]), PAGES), TARGETS)
def test_the_board_shows_what_all_rows_together_would(
    pages: dict[str, TrafficPage], targets: dict[str, float]
) -> None:
    found = board(pages, targets)
    rows = [
        row for name, said in pages.items() for row in topic_rows(name, said, targets)
    ]
    assert found.rows() == most_concerning(rows, len(rows) + 1)
    assert found.late() == len({row.topic for row in rows if row.met is False})
    known = [row for row in rows if row.p90_ms is not None]
    targeted = [row for row in known if row.target_ms is not None]
    worst = [row.p90_ms for row in targeted or known]
    assert found.worst_p90() == (max(worst) if worst else None)  # type: ignore[type-var]


def test_a_channels_topic_on_two_brokers_is_one() -> None:
    fires = {"channel/near?type=fire": load(1, 1.0, 1.0, 1.0)}
    floods = {"channel/near?type=flood": load(1, 1.0, 1.0, 1.0)}
    news = page(news=(1, 1.0, 1.0)).topics
    first = TrafficPage(topics={**fires, **news})
    found = board({"b0": first, "b1": TrafficPage(topics=fires | floods)})
    assert found.channels() == 2


def test_of_very_many_topics_those_are_shown_that_matter() -> None:
    pages = {
        f"b{b}": TrafficPage(
            topics={f"t{b}-{n}": load(1, n, 1, 1) for n in range(1_000)}
        )
        for b in range(3)
    }
    rows = board(pages).rows()
    assert len(rows) == SHOWN_TOPICS
    assert min(row.received_per_second for row in rows) >= 1_000 - SHOWN_TOPICS / 3 - 1


def test_what_a_broker_says_takes_the_place_of_what_it_said() -> None:
    found = board({"b0": page(a=(1, 1.0, 7.0)), "b1": page(b=(1, 2.0, 8.0))})
    found.replace("b0", page(c=(1, 3.0, 9.0)), {})
    assert [row.topic for row in found.rows()] == ["c", "b"]
    found.forget("b1")
    found.forget("stranger")
    assert [row.topic for row in found.rows()] == ["c"]
    found.keep_only(["b1"])
    assert (found.rows(), found.late(), found.worst_p90()) == ([], 0, None)


def test_few_are_asked_all_at_once_and_again_after_a_while() -> None:
    turns = PollSchedule(10.0, 4)
    assert turns.next(["b0", "b1"], 0.0) == ["b0", "b1"]
    assert turns.is_round()
    assert turns.next(["b0", "b1"], 9.9) == []
    assert turns.next(["b0", "b1", "b2"], 9.95) == ["b2"]
    assert turns.next(["b0", "b1", "b2"], 10.0) == ["b0", "b1"]


@pytest.mark.parametrize("brokers", [10, 100, 250])
def test_many_are_asked_in_turn_at_most_ten_a_second(brokers: int) -> None:
    names = [f"b{number}" for number in range(brokers)]
    turns = PollSchedule(10.0, 10)
    asked: list[list[str]] = []
    for second in range(brokers // 10):
        asked.append(turns.next(names, float(second)))
        assert turns.is_round() == (second == brokers // 10 - 1)
    assert [len(some) for some in asked] == [10] * (brokers // 10)
    assert sorted(chain.from_iterable(asked)) == sorted(names)
    later = turns.next(names, float(max(10, brokers // 10)))
    assert later == asked[0]


def test_who_comes_is_asked_before_who_was_and_who_goes_is_forgotten() -> None:
    turns = PollSchedule(1.0, 1)
    assert turns.next(["b0"], 0.0) == ["b0"]
    assert turns.next(["b0", "new"], 5.0) == ["new"]
    assert turns.next(["new"], 6.0) == ["new"]
    assert turns.next(["b0", "new"], 6.0) == ["b0"]
