"""A coordinator among brokers: leases, moves, drains, and its own restart."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.coordinator.fakes import (
    BROKER,
    Running,
    broker,
    plain_seed,
    run,
    running,
    until,
)

from brokerwise.runtime.control import MoveAnswer
from brokerwise.runtime.coordinator.seats import seats_of
from brokerwise.runtime.seed import Seed, SeedBroker, SeedSession

PLANNED = Seed(
    tuple(SeedBroker(f"b{i}", capacity=c) for i, c in enumerate((500, 500, 100))),
    "plan",
    kind="fill",
    sessions=(
        SeedSession("ann", "b0", ("news",)),
        SeedSession("ben", "b0", ("sport",)),
        SeedSession("ben", "b1", ("art",)),
        SeedSession("cid", "b1", ("news",)),
    ),
    rates={"news": 10, "sport": 5, "art": 1},
)


def where(fleet: Running, user: str) -> list[str]:
    return [seat.broker for seat in seats_of(fleet.coordinator.sql, user)]


async def place(fleet: Running, *users: str) -> None:
    for user in users:
        await fleet.done("/requestbroker", {"user": user})


async def move_ended(fleet: Running, number: int = 1) -> dict[str, Any]:
    while True:
        move: dict[str, Any] = await fleet.done(f"/moves/{number}")
        if move["state"] not in ("requested", "accepted"):
            return move
        await asyncio.sleep(0.02)


def in_state(fleet: Running, name: str, state: str) -> Callable[[], bool]:
    def check() -> bool:
        row = fleet.coordinator.sql.execute(
            "SELECT state FROM brokers WHERE name = ?", (name,)
        ).fetchone()
        return bool(row[0] == state)

    return check


def test_a_broker_that_is_silent_is_lost_its_routes_and_sessions_go_on(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            await b0.join(fleet, "news", "sport")
            await b1.join(fleet, "news")
            await place(fleet, "ann", "ben")
            assert sorted(where(fleet, "ann") + where(fleet, "ben")) == ["b0", "b1"]
            fleet.pass_time(2)
            await b1.beat(fleet)
            fleet.pass_time(2)
            assert (await fleet.broker("b0"))["state"] == "lost"
            assert where(fleet, "ann") == where(fleet, "ben") == ["b1"]
            await until(lambda: b1.members("news") == ["b1"])
            found = await fleet.done("/routes", {"topics": ["sport"]})
            (carrier,) = found["routes"][0]["brokers"]
            assert carrier["broker"] == "b1"
            assert found["routes"][0]["generation"] == 3

    run(work())


def test_a_frozen_broker_that_wakes_is_told_that_it_is_lost_and_comes_back(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            broker("b0", fleet) as b0,
        ):
            await place(fleet, "ann")
            fleet.pass_time(4)
            assert (await b0.beat(fleet))["lost"] is True
            body = {"broker": "b0", "epoch": b0.epoch, "topics": ["news"]}
            assert (await fleet.call("/join", body, token=BROKER))[0] == 409
            assert (await fleet.call("/requestbroker", {"user": "ann"}))[0] == 503
            old = b0.epoch
            await b0.register(fleet)
            assert b0.epoch > old
            assert (await b0.beat(fleet))["lost"] is False
            await place(fleet, "ann")
            assert where(fleet, "ann") == ["b0"]

    run(work())


def test_sessions_that_nobody_could_take_go_to_the_first_that_comes(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(2)) as fleet:
            async with broker("b0", fleet) as b0:
                await place(fleet, "ann")
                leaving = {"broker": "b0", "epoch": b0.epoch}
                assert await fleet.as_broker("/leaving", leaving) == {}
                assert await fleet.as_broker("/leaving", leaving) == {}
            async with broker("b1", fleet):
                assert where(fleet, "ann") == ["b1"]

    run(work())


def test_a_broker_that_starts_again_at_once_keeps_its_sessions_but_no_routes(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            await place(fleet, "ann", "ben", "cid", "dan")
            before = {user: where(fleet, user) for user in ("ann", "ben", "cid", "dan")}
            await b0.join(fleet, "news")
            await b1.join(fleet, "news")
            await b0.register(fleet)
            assert {user: where(fleet, user) for user in before} == before
            await until(lambda: b1.members("news") == ["b1"])

    run(work())


def test_nobody_is_lost_until_one_lease_after_a_restart(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            broker("b0", fleet) as b0,
        ):
            assert (await fleet.broker("b0"))["state"] == "up"
        async with running(tmp_path) as fleet:
            fleet.pass_time(2.5)
            assert (await fleet.broker("b0"))["state"] == "up"
            assert (await b0.beat(fleet))["lost"] is False
            fleet.pass_time(4)
            assert (await fleet.broker("b0"))["state"] == "lost"

    run(work())


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


def test_a_restart_in_the_middle_of_a_drain_finishes_it(tmp_path: Path) -> None:
    users = [f"u{i}" for i in range(6)]

    async def work() -> None:
        async with AsyncExitStack() as fakes:
            async with running(tmp_path, plain_seed(2)) as fleet:
                await fakes.enter_async_context(broker("b0", fleet))
                b1 = await fakes.enter_async_context(broker("b1", fleet))
                await place(fleet, *users)
                b1.hold["connect"] = asyncio.Event()
                await fleet.done("/drain", {"broker": "b1", "then": "stop"})
                await until(lambda: len(b1.orders) == 6)
            b1.hold.pop("connect").set()
            async with running(tmp_path) as fleet:
                await until(lambda: b1.stops == [False])
                assert {tuple(where(fleet, user)) for user in users} == {("b0",)}

    run(work())


def test_a_drain_moves_all_hands_routes_over_and_stops_the_broker(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            await place(fleet, "ann", "ben", "cid", "dan")
            await b1.join(fleet, "alone", "both")
            await b0.join(fleet, "both")
            drain = {"broker": "b1", "then": "restart"}
            assert await fleet.done("/drain", drain) == {"moves": 2}
            await until(in_state(fleet, "b1", "drained"))
            assert [where(fleet, u) for u in ("ann", "ben", "cid", "dan")] == [
                ["b0"]
            ] * 4
            await until(lambda: b1.stops == [True])
            for fake in (b0, b1):
                assert fake.members("alone") == fake.members("both") == ["b0"]
            await place(fleet, "eve")
            assert where(fleet, "eve") == ["b0"]
            await fleet.as_broker("/leaving", {"broker": "b1", "epoch": b1.epoch})
            await b1.register(fleet)
            assert (await fleet.broker("b1"))["state"] == "up"
            assert b1.stops == [True]

    run(work())


def test_a_user_that_declines_is_asked_again_once_then_placed_when_the_broker_stops(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet),
            broker("b1", fleet) as b1,
        ):
            await place(fleet, "ann")
            await b1.join(fleet, "news")
            b1.answers["request_to_move"] = MoveAnswer("declined", "busy")
            await fleet.done("/drain", {"broker": "b1", "then": "stop"})
            await until(lambda: b1.stops == [False])
            assert len(b1.orders) == 2
            assert where(fleet, "ann") == ["b1"]
            found = await fleet.done("/routes", {"topics": ["news"]})
            assert found["routes"][0]["brokers"][0]["broker"] == "b1"
            await fleet.as_broker("/leaving", {"broker": "b1", "epoch": b1.epoch})
            assert where(fleet, "ann") == ["b0"]

    run(work())


def test_activating_a_broker_ends_its_drain(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet),
            broker("b1", fleet) as b1,
        ):
            await place(fleet, "ann")
            b1.hold["request_to_move"] = asyncio.Event()
            await fleet.done("/drain", {"broker": "b1"})
            await until(lambda: b1.orders)
            assert (await fleet.broker("b1"))["state"] == "draining"
            await fleet.done("/activate", {"broker": "b1"})
            b1.hold["request_to_move"].set()
            move = await move_ended(fleet)
            assert (move["state"], move["reason"]) == ("failed", "the drain was ended")
            assert (await fleet.broker("b1"))["state"] == "up"
            assert where(fleet, "ann") == ["b1"]

    run(work())


def test_planned_sessions_go_where_most_room_is_and_come_home_again(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, PLANNED) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet),
            broker("b2", fleet),
        ):
            await fleet.as_broker("/leaving", {"broker": "b0", "epoch": b0.epoch})
            assert where(fleet, "ann") == ["b1"]  # the larger one
            assert where(fleet, "ben") == ["b2", "b1"]  # it is on b1 already
            await b0.register(fleet)
            await until(lambda: where(fleet, "ann") == ["b0"])
            await until(lambda: where(fleet, "ben") == ["b0", "b1"])
            assert where(fleet, "cid") == ["b1"]

    run(work())


def test_two_sessions_of_a_user_that_had_to_share_a_broker_part_when_it_asks(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, PLANNED) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            await fleet.as_broker("/leaving", {"broker": "b0", "epoch": b0.epoch})
            assert where(fleet, "ben") == ["b1", "b1"]
            shared = await fleet.done("/requestbroker", {"user": "ben"})
            assert shared["sessions"] == [
                {"broker": "b1", "url": b1.url, "topics": ["art", "sport"]}
            ]
            await b0.register(fleet)
            await until(lambda: where(fleet, "ann") == ["b0"])
            assert where(fleet, "ben") == ["b1", "b1"]
            apart = await fleet.done("/requestbroker", {"user": "ben"})
            assert [s["broker"] for s in apart["sessions"]] == ["b0", "b1"]

    run(work())


def test_a_broker_that_cannot_be_told_is_told_when_it_is_heard_again(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            await b0.join(fleet, "news")
            b0.deaf = True
            joined = await b1.join(fleet, "news")
            assert joined["cursors"] == []
            assert b0.routes == {}
            again = asyncio.get_running_loop().time()
            await b1.join(fleet, "news", "art")  # does not wait for b0 again
            assert asyncio.get_running_loop().time() - again < 0.9
            b0.deaf = False
            await b0.beat(fleet)
            await until(lambda: b0.members("news") == ["b0", "b1"])

    run(work())
