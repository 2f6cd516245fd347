"""Dry runs, approvals and the automatic mode of a live fleet."""

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.coordinator.balance.fleet import USERS, Fleet, beating, skewed
from tests.runtime.coordinator.fakes import (
    Running,
    broker,
    plain_seed,
    running,
    until,
)
from tests.runtime.coordinator.seeds import OVERLAY, PLANNED
from tests.runtime.coordinator.watching import in_state, place, where

from brokerwise.runtime.protocol.fleet import MoveAnswer
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession


async def test_a_dry_run_shows_loads_before_and_after_and_moves_nobody(
    tmp_path: Path,
) -> None:
    async with skewed(tmp_path) as fleet:
        found = await fleet.plan()
        proposal = found["proposal"]
        loads = [(b["load"], b["load_after"]) for b in proposal["brokers"]]
        assert loads == [(1200.0, 600.0), (0.0, 600.0)]
        assert [b["leaving"] for b in proposal["brokers"]] == [3, 0]
        assert [b["arriving"] for b in proposal["brokers"]] == [0, 3]
        assert (proposal["moves"], proposal["state_bytes"]) == (3, 300)
        assert (proposal["max_load"], proposal["max_load_after"]) == (1200, 600)
        assert proposal["bound"] == 600
        assert (proposal["cov"], proposal["cov_after"]) == (1.0, 0.0)
        assert found["state"] == "proposed"
        assert len(found["digest"]) == 64
        assert fleet.counts() == [6, 0]
        assert fleet.brokers[0].orders == []
        again = await fleet.plan()
        assert (again["digest"], again["number"]) == (found["digest"], 1)


async def test_what_was_approved_is_done_once_and_its_result_kept(
    tmp_path: Path,
) -> None:
    async with skewed(tmp_path) as fleet:
        found = await fleet.plan()
        planned = {
            (m["user"], m["from"], m["to"])
            for m in (await fleet.decision(found["number"]))["moves"]
        }
        status, answer = await fleet.approve(found["digest"][:6])
        assert (status, answer["begins"]) == (200, True)
        over = await fleet.over(found["number"])
        assert (over["state"], over["states"]) == ("done", {"done": 3})
        assert over["outcome"] == "3 moves: 3 done"
        done = {(m["user"], m["from"], m["to"]) for m in over["moves"]}
        assert done == planned
        assert fleet.counts() == [3, 3]
        status, answer = await fleet.approve(found["digest"])
        assert (status, answer["begins"], answer["state"]) == (200, False, "done")
        assert len(fleet.brokers[0].orders) == 6


async def test_a_fleet_with_nothing_to_improve_is_told_so_and_why(
    tmp_path: Path,
) -> None:
    async with skewed(tmp_path) as fleet:
        found = await fleet.plan(alpha=2)
        assert (found["state"], found["digest"]) == ("noted", "")
        assert found["proposal"] is None
        assert "cov" in found["reason"]


async def test_an_approval_is_refused_if_the_fleet_has_changed(tmp_path: Path) -> None:
    async with skewed(tmp_path) as fleet:
        b0, b1 = fleet.brokers
        found = await fleet.plan()
        mover = (await fleet.decision(found["number"]))["moves"][0]["user"]

        async def refused() -> str:
            status, answer = await fleet.approve(found["digest"])
            assert status == 409
            return str(answer["error"])

        async with broker("b2", fleet.running) as b2:
            assert "broker 'b2' has come" in await refused()
            body = {"broker": "b2", "epoch": b2.epoch}
            await fleet.running.as_broker("/leaving", body)
        b1.hold["request_to_move"] = b0.hold["request_to_move"] = asyncio.Event()
        move = {"user": "u0", "from": "b0", "to": "b1"}
        await fleet.running.done("/moves", move)
        assert "1 move is under way" in await refused()
        b0.hold.pop("request_to_move").set()
        await until(lambda: where(fleet.running, "u0") == ["b1"])
        if mover != "u0":
            move = {"user": mover, "from": "b0", "to": "b1"}
            await fleet.running.done("/moves", move)
            await until(lambda: where(fleet.running, mover) == ["b1"])
        assert f"the session of user {mover!r} has left 'b0'" in await refused()
        await b1.register(fleet.running)
        assert "broker 'b1' has restarted" in await refused()
        await fleet.running.as_broker("/leaving", {"broker": "b1", "epoch": b1.epoch})
        assert "broker 'b1' is lost" in await refused()
        assert (await fleet.decision(found["number"]))["state"] == "proposed"


async def test_a_digest_that_nobody_proposed_is_not_found(tmp_path: Path) -> None:
    async with skewed(tmp_path) as fleet:
        assert (await fleet.approve("0123456789ab"))[0] == 404
        assert (await fleet.approve("01234"))[0] == 422
        assert (await fleet.approve("zzzzzz"))[0] == 422


async def test_a_plan_that_was_approved_before_another_puts_that_away(
    tmp_path: Path,
) -> None:
    async with skewed(tmp_path) as fleet:
        one, two = await fleet.plan(), await fleet.plan(max_moves=1)
        assert one["digest"] != two["digest"]
        assert (await fleet.approve(two["digest"]))[0] == 200
        await fleet.over(two["number"])
        status, answer = await fleet.approve(one["digest"])
        assert status == 409
        assert "outdated" in answer["error"]
        assert fleet.counts() == [5, 1]


async def test_paused_moves_wait_until_they_are_resumed_also_over_a_restart(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as fakes:
        async with running(tmp_path, plain_seed(2)) as first:
            b0 = await fakes.enter_async_context(broker("b0", first))
            await place(first, *USERS)
            b1 = await fakes.enter_async_context(broker("b1", first))
            fleet = Fleet(first, [b0, b1])
            async with beating(first, b0, b1):
                found = await fleet.plan()
            await first.done("/balance/pause", {})
            await fleet.approve(found["digest"])
            await first.done("/moves", {"user": "u5", "from": "b0", "to": "b1"})
            await until(lambda: where(first, "u5") == ["b1"])
            waiting = (await fleet.decision(found["number"]))["moves"]
            assert {m["state"] for m in waiting} == {"requested"}
        async with running(tmp_path) as second:
            fleet = Fleet(second, [b0, b1])
            assert (
                "paused: 3 moves" in (await second.done("/balance"))["balancer_status"]
            )
            assert len(b0.orders) == 2
            await second.done("/balance/resume", {})
            assert (await fleet.over(found["number"]))["state"] == "done"


async def test_clients_that_decline_are_counted(tmp_path: Path) -> None:
    async with skewed(tmp_path) as fleet:
        found = await fleet.plan()
        fleet.brokers[0].answers["request_to_move"] = MoveAnswer("declined", "no")
        await fleet.approve(found["digest"])
        over = await fleet.over(found["number"])
        assert (over["state"], over["outcome"]) == (*("failed", "3 moves: 3 declined"),)
        assert fleet.counts() == [6, 0]


async def test_the_automatic_mode_moves_sessions_by_itself_and_then_is_content(
    tmp_path: Path,
) -> None:
    async with skewed(tmp_path) as fleet:
        mode = {"automatic": True, "every_seconds": 0.1}
        await fleet.running.done("/balance/mode", mode)
        await until(lambda: fleet.counts() == [3, 3])
        fleet.follow(*USERS)

        async def content() -> bool:
            found = await fleet.running.done("/balance")
            return "automatic: balanced" in str(found["balancer_status"])

        while not await content():
            await asyncio.sleep(0.05)
        listed = (await fleet.running.done("/balance/decisions"))["decisions"]
        (moved,) = [d for d in listed if d["proposal"]]
        assert moved["automatic"]
        assert moved["outcome"] == "3 moves: 3 done"
        assert all(d["reason"] for d in listed)
        await fleet.running.done("/balance/mode", {"automatic": False})
        assert (await fleet.running.done("/balance"))["mode"] == "manual"


async def test_the_automatic_mode_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with AsyncExitStack() as fakes:
        async with running(tmp_path, plain_seed(2)) as first:
            b0 = await fakes.enter_async_context(broker("b0", first))
            await place(first, *USERS)
            b1 = await fakes.enter_async_context(broker("b1", first))
            mode = {"automatic": True, "every_seconds": 0.1, "confirm": 1}
            await first.done("/balance/mode", mode)
        async with running(tmp_path) as second, beating(second, b0, b1):
            fleet = Fleet(second, [b0, b1])
            fleet.follow(*USERS)
            await until(lambda: fleet.counts() == [3, 3])


async def test_a_session_that_just_moved_rests_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as fakes:
        async with running(tmp_path, plain_seed(2)) as first:
            b0 = await fakes.enter_async_context(broker("b0", first))
            await place(first, *USERS)
            b1 = await fakes.enter_async_context(broker("b1", first))
            for user in USERS:
                move = {"user": user, "from": "b0", "to": "b1"}
                await first.done("/moves", move)
            fleet = Fleet(first, [b0, b1])
            await until(lambda: fleet.counts() == [0, 6])
            await until(lambda: all_noticed(first))
        async with running(tmp_path) as second, beating(second, b0, b1):
            found = await Fleet(second, [b0, b1]).plan()
            assert found["proposal"] is None
            assert "6 sessions stay" in found["reason"]


def all_noticed(fleet: Running) -> bool:
    (left,) = fleet.coordinator.sql.execute(
        "SELECT count(*) FROM moves WHERE ended IS NULL"
    ).fetchone()
    return bool(left == 0)


async def test_a_planned_session_is_at_home_where_the_balancer_put_it(
    tmp_path: Path,
) -> None:
    seed = Seed(
        (SeedBroker("b0", 500), SeedBroker("b1", 500)),
        "plan",
        kind="provision",
        sessions=tuple(SeedSession(user, "b0", (f"t{user[1:]}",)) for user in USERS),
        rates={f"t{number}": 1 for number in range(6)},
    )

    async with (
        running(tmp_path, seed) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet) as b1,
        beating(fleet, b0, b1),
    ):
        both = Fleet(fleet, [b0, b1])
        found = await both.plan()
        await both.approve(found["digest"])
        assert (await both.over(found["number"]))["outcome"] == "3 moves: 3 done"
        await b1.register(fleet)  # whoever were away from home would be asked back
        await b0.register(fleet)
        await fleet.call("/moves", {"user": "nobody", "from": "b0", "to": "b1"})
        homes = fleet.coordinator.sql.execute(
            "SELECT count(*) FROM sessions WHERE home = broker"
        ).fetchone()
        assert homes == (6,)
        assert both.counts() == [3, 3]


@pytest.mark.parametrize(
    ("seed", "text"), [(OVERLAY, "overlay plan fixes"), (PLANNED, "differ in capacity")]
)
async def test_a_fleet_that_cannot_be_balanced_says_so(
    tmp_path: Path, seed: Seed, text: str
) -> None:
    async with (
        running(tmp_path, seed) as fleet,
        broker("b0", fleet),
        broker("b1", fleet),
    ):
        status, answer = await fleet.call("/balance/plan", {})
        assert status == 409
        assert text in answer["error"]


async def test_loads_are_shown_as_they_are_or_why_they_are_not(tmp_path: Path) -> None:
    async with skewed(tmp_path, 3) as fleet:
        found = await fleet.running.done("/balance")
        assert [b["load"] for b in found["brokers"]] == [1200.0, 0.0, 0.0]
        assert [b["sessions"] for b in found["brokers"]] == [6, 0, 0]
        assert (found["max_load"], found["mean_load"]) == (1200.0, 400.0)
        assert found["cov"] == pytest.approx(2**0.5)
        fleet.brokers[1].refusing = True
        while not (found := await fleet.running.done("/balance"))["problem"]:
            await asyncio.sleep(0.05)
        assert found["brokers"] == []
        assert "'b1' does not say" in found["problem"]
        status, answer = await fleet.running.call("/balance/plan", {})
        assert (status, "not today" in answer["error"]) == (503, True)


SMALL = {"capacity": 700, "broker_hour": 0.5}  # six users at 200 bytes a second
LARGE = {"capacity": 4_000, "broker_hour": 0.5}


async def wanted(fleet: Fleet) -> list[str]:
    found: list[str] = (await fleet.running.done("/balance/wanted"))["brokers"]
    return found


async def test_a_fleet_that_is_too_small_grows_when_that_is_approved(
    tmp_path: Path,
) -> None:
    async with skewed(tmp_path) as fleet:
        found = await fleet.plan(**SMALL)
        proposal = found["proposal"]
        assert (proposal["kind"], proposal["added"]) == ("scale-out", ["b2"])
        assert proposal["max_load_after"] <= 0.65 * 700
        assert proposal["cost"] == {
            **{"hour": 1.0, "hour_after": 1.5},
            **{"month": 730.0, "month_after": 1095.0},
        }
        assert "capacity" in found["reason"]
        assert await wanted(fleet) == []
        status, answer = await fleet.approve(found["digest"])
        assert (status, answer["state"]) == (200, "starting")
        assert await wanted(fleet) == ["b2"]
        assert (
            "waiting for b2"
            in (await fleet.running.done("/balance"))["balancer_status"]
        )
        assert fleet.counts() == [6, 0]
        async with (
            broker("b2", fleet.running) as b2,
            beating(fleet.running, b2),
        ):
            over = await fleet.over(found["number"])
            assert over["outcome"] == "4 moves: 4 done"
            assert await wanted(fleet) == []
            assert Fleet(fleet.running, [*fleet.brokers, b2]).counts() == [2, 2, 2]


async def test_growth_fails_if_its_brokers_do_not_come(tmp_path: Path) -> None:
    async with skewed(tmp_path) as fleet:
        found = await fleet.plan(**SMALL)
        await fleet.approve(found["digest"])
        fleet.running.clock.added_to_day += 61
        over = await fleet.over(found["number"])
        assert over["state"] == "failed"
        assert over["outcome"] == (
            "'b2' did not come up within 60 s: nothing was moved"
        )
        assert await wanted(fleet) == []
        names = [b["broker"] for b in (await status(fleet))["brokers"]]
        assert names == ["b0", "b1"]
        assert fleet.counts() == [6, 0]


async def status(fleet: Fleet) -> dict[str, Any]:
    found: dict[str, Any] = await fleet.running.done("/status")
    return found


async def test_a_fleet_that_is_too_large_moves_all_from_some_brokers_and_ends_them(
    tmp_path: Path,
) -> None:
    async with skewed(tmp_path, 3) as fleet:
        first = await fleet.plan()
        await fleet.approve(first["digest"])
        await fleet.over(first["number"])
        assert fleet.counts() == [2, 2, 2]
        fleet.running.clock.added_to_day += 301  # who has moved has rested
        found = await fleet.plan(**LARGE)
        proposal = found["proposal"]
        assert proposal["kind"] == "scale-in"
        closing = proposal["closing"]
        assert len(closing) == 2
        assert proposal["cost"]["hour_after"] == 0.5
        await fleet.approve(found["digest"])
        over = await fleet.over(found["number"])
        assert over["state"] == "done"
        assert over["outcome"].startswith("4 moves: 4 done; ")
        ended = [fake for fake in fleet.brokers if fake.name in closing]
        await until(lambda: all(fake.stops == [False] for fake in ended))
        (left,) = {place for user in USERS for place in where(fleet.running, user)}
        assert left not in closing
        for name in closing:
            assert in_state(fleet.running, name, "drained")()


async def test_the_automatic_mode_proposes_a_size_but_does_not_take_it(
    tmp_path: Path,
) -> None:
    async with skewed(tmp_path) as fleet:
        mode = {"automatic": True, "every_seconds": 0.1, "policy": "none", **SMALL}
        await fleet.running.done("/balance/mode", mode)

        async def proposals() -> list[Any]:
            listed = (await fleet.running.done("/balance/decisions"))["decisions"]
            return [d for d in listed if d["state"] == "proposed"]

        while not await proposals():
            await asyncio.sleep(0.05)
        looked = fleet.running.coordinator.balancing.looks
        await until(lambda: fleet.running.coordinator.balancing.looks > looked + 3)
        (found,) = await proposals()
        assert found["automatic"]
        assert found["proposal"]["added"] == ["b2"]
        doing = (await fleet.running.done("/balance"))["balancer_status"]
        assert doing == f"waiting for approval of {found['digest'][:12]}"
        assert await wanted(fleet) == []
        assert fleet.counts() == [6, 0]
        assert (await fleet.approve(found["digest"]))[0] == 200
        assert await wanted(fleet) == ["b2"]


async def test_what_the_balancer_does_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "brokerwise.runtime.coordinator.balance")
    async with skewed(tmp_path) as fleet:
        old, found = await fleet.plan(max_moves=1), await fleet.plan()
        await fleet.approve(found["digest"])
        await fleet.over(found["number"])
        await fleet.approve(old["digest"])
        await fleet.running.done("/balance/mode", {"automatic": True, "policy": "ldm"})
        await fleet.running.done("/balance/pause", {})
        await fleet.running.done("/balance/resume", {})
        await fleet.running.done("/balance/mode", {"automatic": False})
        fleet.brokers[1].refusing = True
        for _ in range(2):
            assert (await fleet.running.call("/balance/plan", {}))[0] == 503
    lines = [(record.levelname, record.getMessage()) for record in caplog.records]

    def logged(level: str, *parts: str) -> int:
        return sum(
            name == level and all(part in line for part in parts)
            for name, line in lines
        )

    number, digest = found["number"], found["digest"][:12]
    assert logged("INFO", f"decision {number} (planned, asked for)", digest, "3 moves:")
    assert logged("INFO", f"approval of decision {number}")
    assert logged("INFO", f"decision {number} begun: 3 moves")
    assert logged("INFO", f"decision {number} done: 3 moves: 3 done")
    assert logged("INFO", f"proposals outdated by decision {number}: 1")
    assert logged("WARNING", f"approval of {old['digest']!r} refused: ", "outdated")
    assert logged("INFO", "balancer is automatic, policy 'ldm'")
    assert logged("INFO", "balancer paused") == 1
    assert logged("INFO", "balancer resumed") == 1
    assert logged("INFO", "balancer is manual")
    assert logged("WARNING", "broker 'b1' does not say what it carries") == 1
