"""Which moves have changed since the last look."""

import pytest
from tests.runtime.coordinator.fakes import plain_seed
from tests.runtime.coordinator.seeds import States

from brokerwise.runtime.coordinator import moves
from brokerwise.runtime.coordinator.moves import MoveState
from brokerwise.runtime.coordinator.watch_moves import MOVES_SHOWN, MovesSeen
from brokerwise.runtime.process.state_file import Sql


@pytest.fixture
def sql(states: States) -> Sql:
    return states(plain_seed(2))


def request(sql: Sql, user: str = "ann") -> moves.Move:
    return moves.request_move(sql, user, "b0", "b1")


def look(seen: MovesSeen) -> list[tuple[int, MoveState]]:
    return [(move.id, move.state) for move in seen.look()]


def test_what_was_there_before_is_no_news(sql: Sql) -> None:
    request(sql)
    assert look(MovesSeen(sql)) == []


def test_a_move_is_seen_at_each_of_its_steps_once(sql: Sql) -> None:
    seen = MovesSeen(sql)
    move = request(sql)
    assert look(seen) == [(1, MoveState.REQUESTED)]
    assert look(seen) == []
    agreed = moves.take_answer(sql, move, "accepted")
    assert look(seen) == [(1, MoveState.ACCEPTED)]
    assert look(seen) == []
    assert agreed is not None
    moves.take_answer(sql, agreed, "moved")
    assert look(seen) == [], "it has not been noticed yet"
    seen.end(moves.notice_ended(sql, 5.0))
    assert look(seen) == [(1, MoveState.DONE)]
    assert look(seen) == []


def test_one_that_is_over_between_two_looks_is_seen_as_that_only(sql: Sql) -> None:
    seen = MovesSeen(sql)
    moves.take_answer(sql, request(sql), "declined")
    assert look(seen) == []
    seen.end(moves.notice_ended(sql, 5.0))
    assert look(seen) == [(1, MoveState.DECLINED)]


def test_of_very_many_the_newest_are_shown_newest_first(sql: Sql) -> None:
    seen = MovesSeen(sql)
    for number in range(3 * MOVES_SHOWN):
        moves.take_answer(sql, request(sql, f"u{number}"), "absent")
    for number in range(10):
        request(sql, f"v{number}")
    seen.end(moves.notice_ended(sql, 5.0))
    found = look(seen)
    last = 3 * MOVES_SHOWN + 10
    assert [number for number, _ in found] == list(range(last, last - MOVES_SHOWN, -1))
    assert [state for _, state in found[:11]] == [
        *([MoveState.REQUESTED] * 10),
        MoveState.DONE,
    ]
