"""Moves, step by step, whatever happens in between."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.coordinator.fakes import (
    TwoBrokers,
    broker,
    plain_seed,
    run,
    running,
    until,
)
from tests.runtime.coordinator.watching import in_state, move_ended, place, where

from brokerwise.runtime.coordinator import moves
from brokerwise.runtime.coordinator.moves import STEPS, UNFINISHED, apply_answer
from brokerwise.runtime.coordinator.sessions import put_session, sessions_of
from brokerwise.runtime.coordinator.store import new_state
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import MoveAnswer, MoveState
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession

ANSWERS = ["accepted", "declined", "moved", "absent", "timeout", "refused", "", "?"]


def test_a_move_that_goes_well() -> None:
    accepted = apply_answer(MoveState.REQUESTED, "request_to_move", "accepted")
    assert accepted.state is MoveState.ACCEPTED
    done = apply_answer(accepted.state, "connect", "moved")
    assert (done.state, done.reason) == (MoveState.DONE, "")


def test_a_user_that_is_not_connected_has_moved() -> None:
    for state in UNFINISHED:
        found = apply_answer(state, STEPS[state], "absent")
        assert found.state is MoveState.DONE
        assert "not connected" in found.reason


def test_the_reason_of_a_client_is_kept() -> None:
    found = apply_answer(MoveState.REQUESTED, "request_to_move", "declined", "busy")
    assert (found.state, found.reason) == (MoveState.DECLINED, "busy")


def test_an_answer_that_there_is_not_fails_the_move_and_is_named() -> None:
    found = apply_answer(MoveState.ACCEPTED, "connect", "accepted")
    assert found.state is MoveState.FAILED
    assert "'accepted'" in found.reason


@pytest.mark.parametrize("state", MoveState)
@given(step=st.sampled_from([*STEPS.values(), ""]), answer=st.sampled_from(ANSWERS))
def test_only_the_step_that_a_move_is_at_changes_it_and_it_never_goes_back(
    state: MoveState, step: str, answer: str
) -> None:
    after = apply_answer(state, step, answer).state
    if STEPS.get(state) != step:
        assert after is state
    else:
        assert after is not state
        assert after is not MoveState.REQUESTED


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
    return [(session.home, session.broker) for session in sessions_of(sql, "ann")]


def test_a_session_is_at_home_where_a_decision_put_it(sql: Sql) -> None:
    assert moved(sql, "b0", "b2", 1).session == "news"
    assert places(sql) == [("b1", "b1"), ("b2", "b2")]


def test_a_session_that_somebody_else_moved_still_belongs_home(sql: Sql) -> None:
    moved(sql, "b0", "b2", None)
    assert places(sql) == [("b0", "b2"), ("b1", "b1")]


def test_two_sessions_of_a_user_never_have_one_home(sql: Sql) -> None:
    away = next(session for session in sessions_of(sql, "ann") if session.home == "b1")
    put_session(sql, away, "b3")
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


async def test_a_move_goes_through_its_steps(two_brokers: TwoBrokers) -> None:
    async with two_brokers() as (fleet, b0, b1):
        await place(fleet, "ann")
        assert where(fleet, "ann") == ["b1"]
        await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
        assert (await move_ended(fleet))["state"] == "done"
        assert [order.step for order in b1.orders] == ["request_to_move", "connect"]
        assert {(o.move, o.user, o.to.broker, o.to.url) for o in b1.orders} == {
            (1, "ann", "b0", b0.url)
        }
        assert b0.orders == []
        assert where(fleet, "ann") == ["b0"]


@pytest.mark.parametrize(
    ("step", "answer", "state", "moved"),
    [
        ("request_to_move", "declined", "declined", False),
        ("request_to_move", "timeout", "failed", False),
        ("request_to_move", "absent", "done", True),
        ("connect", "timeout", "failed", False),
        ("connect", "absent", "done", True),
        ("connect", "nonsense", "failed", False),
    ],
)
async def test_what_a_broker_answers_decides_where_the_session_is(
    two_brokers: TwoBrokers, step: str, answer: str, state: str, moved: bool
) -> None:
    async with two_brokers() as (fleet, _, b1):
        await place(fleet, "ann")
        b1.answers[step] = MoveAnswer(answer, "so it said")
        await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
        move = await move_ended(fleet)
        assert (move["state"], move["reason"]) == (state, "so it said")
        assert where(fleet, "ann") == ["b0" if moved else "b1"]


def test_no_more_than_32_moves_are_under_way_at_once(tmp_path: Path) -> None:
    users = [f"u{i}" for i in range(80)]

    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b1", fleet) as b1,
        ):
            await place(fleet, *users)
            b1.hold["request_to_move"] = asyncio.Event()
            async with broker("b0", fleet):
                assert await fleet.done("/drain", {"broker": "b1"}) == {"moves": 80}
                await until(lambda: len(b1.orders) == 32)
                await b1.beat(fleet)
                await place(fleet, *users[:5])
                assert len(b1.orders) == 32
                b1.hold["request_to_move"].set()
                await until(in_state(fleet, "b1", "drained"))
                assert all(where(fleet, user) == ["b0"] for user in users)

    run(work(), debug=False)


async def test_a_move_ends_when_one_of_its_brokers_is_lost(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, b0, b1):
        await place(fleet, "ann")
        b1.hold["connect"] = asyncio.Event()
        await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
        await until(lambda: len(b1.orders) == 2)
        await fleet.as_broker("/leaving", {"broker": "b0", "epoch": b0.epoch})
        b1.hold["connect"].set()
        move = await move_ended(fleet)
        assert (move["state"], move["reason"]) == ("failed", "broker 'b0' has left")
        assert where(fleet, "ann") == ["b1"]


@pytest.mark.parametrize("step", ["request_to_move", "connect"])
async def test_a_restart_in_the_middle_of_a_move_resumes_it_at_its_step(
    tmp_path: Path, step: str
) -> None:
    async with AsyncExitStack() as fakes:
        async with running(tmp_path, plain_seed(2)) as fleet:
            await fakes.enter_async_context(broker("b0", fleet))
            b1 = await fakes.enter_async_context(broker("b1", fleet))
            await place(fleet, "ann")
            b1.hold[step] = asyncio.Event()
            await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
            await until(lambda: b1.orders and b1.orders[-1].step == step)
        ordered = len(b1.orders)
        b1.hold.pop(step).set()
        async with running(tmp_path) as fleet:
            assert (await move_ended(fleet))["state"] == "done"
            assert b1.orders[ordered].step == step
            assert len({order.move for order in b1.orders}) == 1
            assert where(fleet, "ann") == ["b0"]


async def test_a_broker_that_refuses_an_order_ends_the_move(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, _, b1):
        await place(fleet, "ann")
        b1.refusing = True
        await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
        move = await move_ended(fleet)
        assert move["state"] == "failed"
        assert "not today" in move["reason"]
        assert where(fleet, "ann") == ["b1"]


async def test_an_order_that_did_not_arrive_is_given_again(tmp_path: Path) -> None:
    async with (
        running(tmp_path, plain_seed(2)) as fleet,
        broker("b0", fleet),
    ):
        async with broker("b1", fleet) as gone:
            await place(fleet, "ann")
        await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
        async with broker("b1", fleet) as b1:
            assert (await move_ended(fleet))["state"] == "done"
            assert len(b1.orders) == 2
        assert gone.orders == []


async def test_moves_and_orders_that_a_broker_does_not_take_are_logged(
    two_brokers: TwoBrokers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "brokerwise.runtime.coordinator")
    async with two_brokers() as (fleet, _, b1):
        await place(fleet, "ann")
        order = {"user": "ann", "from": "b1", "to": "b0"}
        b1.refusing = True
        await fleet.done("/moves", order)
        await move_ended(fleet, 1)
        b1.refusing = False
        await fleet.done("/moves", order)
        await move_ended(fleet, 2)
        await until(lambda: "done" in caplog.text)
    said = [record.getMessage() for record in caplog.records]
    moved = "of user 'ann' from 'b1' to 'b0'"
    assert f"move 1 {moved} begun at 'request_to_move'" in said
    assert any(line.startswith(f"move 1 {moved} failed: ") for line in said)
    assert f"move 2 {moved} done" in said
    refused = [line for line in said if "did not take /control/move" in line]
    assert len(refused) == 1
    assert "broker 'b1' takes /control/move again" in said
