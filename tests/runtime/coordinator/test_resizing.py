"""Fleets that are too small or too large for their load."""

import asyncio
from pathlib import Path
from typing import Any

from tests.runtime.coordinator.balanced import USERS, Fleet, beating, skewed
from tests.runtime.coordinator.fakes import broker, run, until
from tests.runtime.coordinator.watching import in_state, where

SMALL = {"capacity": 700, "broker_hour": 0.5}  # six users at 200 bytes a second
LARGE = {"capacity": 4_000, "broker_hour": 0.5}


async def wanted(fleet: Fleet) -> list[str]:
    found: list[str] = (await fleet.running.done("/balance/wanted"))["brokers"]
    return found


def test_a_fleet_that_is_too_small_grows_when_that_is_approved(tmp_path: Path) -> None:
    async def work() -> None:
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
            assert "waiting for b2" in (await fleet.running.done("/balance"))["mind"]
            assert fleet.counts() == [6, 0]
            async with (
                broker("b2", fleet.running) as b2,
                beating(fleet.running, b2),
            ):
                over = await fleet.over(found["number"])
                assert over["outcome"] == "4 moves: 4 done"
                assert await wanted(fleet) == []
                assert Fleet(fleet.running, [*fleet.brokers, b2]).counts() == [2, 2, 2]

    run(work())


def test_growth_fails_if_its_brokers_do_not_come(tmp_path: Path) -> None:
    async def work() -> None:
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

    run(work())


async def status(fleet: Fleet) -> dict[str, Any]:
    found: dict[str, Any] = await fleet.running.done("/status")
    return found


def test_a_fleet_that_is_too_large_moves_all_from_some_brokers_and_ends_them(
    tmp_path: Path,
) -> None:
    async def work() -> None:
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

    run(work())


def test_the_automatic_mode_proposes_a_size_but_does_not_take_it(
    tmp_path: Path,
) -> None:
    async def work() -> None:
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
            mind = (await fleet.running.done("/balance"))["mind"]
            assert mind == f"waiting for approval of {found['digest'][:12]}"
            assert await wanted(fleet) == []
            assert fleet.counts() == [6, 0]
            assert (await fleet.approve(found["digest"]))[0] == 200
            assert await wanted(fleet) == ["b2"]

    run(work())
