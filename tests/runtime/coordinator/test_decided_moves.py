"""Moves of decisions, as they are stored."""

from collections.abc import Iterator

import pytest

from brokerwise.runtime.coordinator import moves
from brokerwise.runtime.coordinator.seats import seats_of, sit
from brokerwise.runtime.coordinator.store import new_state
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession

SEED = Seed(
    tuple(SeedBroker(f"b{number}", 100) for number in range(4)),
    "plan",
    kind="fill",
    sessions=(SeedSession("ann", "b0", ("news",)), SeedSession("ann", "b1", ("art",))),
    rates={"news": 1, "art": 1},
)


@pytest.fixture
def sql() -> Iterator[Sql]:
    state = new_state(SEED)
    yield state
    state.close()


def moved(sql: Sql, source: str, target: str, decision: int | None) -> moves.Move:
    move = moves.insert_move(sql, "ann", source, target, decision=decision)
    accepted = moves.take_answer(sql, move, "accepted")
    assert accepted is not None
    found = moves.take_answer(sql, accepted, "moved")
    assert found is not None
    return found


def places(sql: Sql) -> list[tuple[str, str]]:
    return [(seat.home, seat.broker) for seat in seats_of(sql, "ann")]


def test_a_session_is_at_home_where_a_decision_put_it(sql: Sql) -> None:
    assert moved(sql, "b0", "b2", 1).session == "news"
    assert places(sql) == [("b1", "b1"), ("b2", "b2")]


def test_a_session_that_somebody_else_moved_still_belongs_home(sql: Sql) -> None:
    moved(sql, "b0", "b2", None)
    assert places(sql) == [("b0", "b2"), ("b1", "b1")]


def test_two_sessions_of_a_user_never_have_one_home(sql: Sql) -> None:
    away = next(seat for seat in seats_of(sql, "ann") if seat.home == "b1")
    sit(sql, away, "b3")
    moved(sql, "b0", "b1", 1)
    assert places(sql) == [("b0", "b1"), ("b1", "b3")]


def test_what_a_session_is_known_by_does_not_change_with_its_place(sql: Sql) -> None:
    for source, target in (("b0", "b2"), ("b2", "b3"), ("b3", "b0")):
        assert moved(sql, source, target, 1).session == "news"
    assert moves.request_move(sql, "ann", "b1", "b2", "b1").session == "art"


def test_an_end_is_noticed_once(sql: Sql) -> None:
    first = moved(sql, "b0", "b2", 1)
    waiting = moves.insert_move(sql, "ann", "b1", "b3", decision=1)
    assert [move.id for move in moves.notice_ended(sql, 7.0)] == [first.id]
    assert moves.notice_ended(sql, 8.0) == []
    assert [(at, m.id) for at, m in moves.ended_since(sql, 7.0)] == [(7.0, first.id)]
    assert moves.ended_since(sql, 7.5) == []
    assert not moves.is_carried_out(sql, 1)
    assert moves.count_unfinished(sql, decided=True) == 1
    paused = moves.unfinished_moves(sql, but_waiting=True)
    assert (paused, moves.unfinished_moves(sql)) == ([], [waiting])
