"""Brokers that are emptied, and planned sessions that come home."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from tests.runtime.coordinator.fakes import (
    TwoBrokers,
    broker,
    plain_seed,
    running,
    until,
)
from tests.runtime.coordinator.seeds import SHARED
from tests.runtime.coordinator.watching import in_state, move_ended, place, where

from brokerwise.runtime.protocol.fleet import MoveAnswer
from brokerwise.runtime.protocol.seed import Seed


async def test_a_restart_in_the_middle_of_a_drain_finishes_it(tmp_path: Path) -> None:
    users = [f"u{i}" for i in range(6)]

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


async def test_a_drain_moves_all_hands_routes_over_and_stops_the_broker(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, b0, b1):
        await place(fleet, "ann", "ben", "cid", "dan")
        await b1.join(fleet, "alone", "both")
        await b0.join(fleet, "both")
        drain = {"broker": "b1", "then": "restart"}
        assert await fleet.done("/drain", drain) == {"moves": 2}
        await until(in_state(fleet, "b1", "drained"))
        assert [where(fleet, u) for u in ("ann", "ben", "cid", "dan")] == [["b0"]] * 4
        await until(lambda: b1.stops == [True])
        for fake in (b0, b1):
            assert fake.members("alone") == fake.members("both") == ["b0"]
        await place(fleet, "eve")
        assert where(fleet, "eve") == ["b0"]
        await fleet.as_broker("/leaving", {"broker": "b1", "epoch": b1.epoch})
        await b1.register(fleet)
        assert (await fleet.broker("b1"))["state"] == "up"
        assert b1.stops == [True]


async def test_a_user_that_declines_is_asked_twice_then_placed_when_the_broker_stops(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, _, b1):
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


async def test_activating_a_broker_ends_its_drain(two_brokers: TwoBrokers) -> None:
    async with two_brokers() as (fleet, _, b1):
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


async def test_planned_sessions_go_where_most_room_is_and_come_home_again(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, SHARED) as fleet,
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


def topics_at_home(seed: Seed, user: str, home: str) -> tuple[str, ...]:
    found = [s for s in seed.sessions if (s.user, s.broker) == (user, home)]
    return found[0].topics


async def test_two_sessions_of_a_user_that_had_to_share_a_broker_part_again(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, SHARED) as fleet,
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
        await until(lambda: where(fleet, "ben") == ["b0", "b1"])
        orders = [o.topics for o in b1.orders if o.user == "ben"]
        assert set(orders) == {topics_at_home(SHARED, "ben", "b0")}


async def test_a_stop_that_did_not_arrive_is_given_again(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, _, b1):
        b1.refusing = True
        await fleet.done("/drain", {"broker": "b1", "then": "stop"})
        await until(in_state(fleet, "b1", "drained"))
        b1.refusing = False
        await until(lambda: b1.stops == [False])


async def test_a_drain_waits_for_a_broker_that_can_take_the_sessions(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, plain_seed(3)) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet) as b1,
    ):
        await place(fleet, "ann")
        b1.hold["request_to_move"] = asyncio.Event()
        await fleet.done("/drain", {"broker": "b1"})
        await until(lambda: b1.orders)
        await fleet.as_broker("/leaving", {"broker": "b0", "epoch": b0.epoch})
        b1.hold["request_to_move"].set()
        assert (await move_ended(fleet))["state"] == "failed"
        assert (await fleet.broker("b1"))["state"] == "draining"
        async with broker("b2", fleet):
            await until(in_state(fleet, "b1", "drained"))
            assert where(fleet, "ann") == ["b2"]


async def test_a_planned_session_whose_broker_is_lost_goes_home_if_it_can(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, SHARED) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet) as b1,
        broker("b2", fleet),
    ):
        b1.hold["request_to_move"] = asyncio.Event()
        await fleet.as_broker("/leaving", {"broker": "b0", "epoch": b0.epoch})
        assert where(fleet, "ann") == ["b1"]
        await b0.register(fleet)
        await until(lambda: b1.orders)
        await fleet.as_broker("/leaving", {"broker": "b1", "epoch": b1.epoch})
        assert where(fleet, "ann") == ["b0"]
        b1.hold["request_to_move"].set()


async def test_who_would_not_leave_a_drained_broker_is_placed_elsewhere_when_it_asks(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, SHARED) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet),
    ):
        b0.answers["request_to_move"] = MoveAnswer("declined")
        assert await fleet.done("/drain", {"broker": "b0"}) == {"moves": 2}
        await until(in_state(fleet, "b0", "drained"))
        assert where(fleet, "ann") == ["b0"]
        found = await fleet.done("/requestbroker", {"user": "ann"})
        assert [place["broker"] for place in found["sessions"]] == ["b1"]
