"""Moves, step by step, whatever happens in between."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.runtime.coordinator.fakes import (
    broker,
    plain_seed,
    run,
    running,
    until,
)
from tests.runtime.coordinator.watching import in_state, move_ended, place, where

from brokerwise.runtime.protocol.control import MoveAnswer


def test_a_move_goes_through_its_steps(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
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

    run(work())


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
def test_what_a_broker_answers_decides_where_the_session_is(
    tmp_path: Path, step: str, answer: str, state: str, moved: bool
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet),
            broker("b1", fleet) as b1,
        ):
            await place(fleet, "ann")
            b1.answers[step] = MoveAnswer(answer, "so it said")
            await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
            move = await move_ended(fleet)
            assert (move["state"], move["reason"]) == (state, "so it said")
            assert where(fleet, "ann") == ["b0" if moved else "b1"]

    run(work())


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


def test_a_move_ends_when_one_of_its_brokers_is_lost(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            await place(fleet, "ann")
            b1.hold["connect"] = asyncio.Event()
            await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
            await until(lambda: len(b1.orders) == 2)
            await fleet.as_broker("/leaving", {"broker": "b0", "epoch": b0.epoch})
            b1.hold["connect"].set()
            move = await move_ended(fleet)
            assert (move["state"], move["reason"]) == ("failed", "broker 'b0' has left")
            assert where(fleet, "ann") == ["b1"]

    run(work())


@pytest.mark.parametrize("step", ["request_to_move", "connect"])
def test_a_restart_in_the_middle_of_a_move_resumes_it_at_its_step(
    tmp_path: Path, step: str
) -> None:
    async def work() -> None:
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

    run(work())


def test_a_broker_that_refuses_an_order_ends_the_move(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet),
            broker("b1", fleet) as b1,
        ):
            await place(fleet, "ann")
            b1.refusing = True
            await fleet.done("/moves", {"user": "ann", "from": "b1", "to": "b0"})
            move = await move_ended(fleet)
            assert move["state"] == "failed"
            assert "not today" in move["reason"]
            assert where(fleet, "ann") == ["b1"]

    run(work())


def test_an_order_that_did_not_arrive_is_given_again(tmp_path: Path) -> None:
    async def work() -> None:
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

    run(work())
