"""Operators drain brokers, restart them one by one, scale in and out: no loss."""

import asyncio
from pathlib import Path
from typing import Any

from brokerwise.runtime.net.http import ask
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession

from .load import Load, loaded_fleet, until


def test_a_rolling_restart_of_all_brokers_loses_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with loaded_fleet(tmp_path) as load:
            before = load.fleet.pids
            for broker in sorted(before):
                await load.operator.drain(broker, "restart")
                await until(lambda b=broker: _is_new(load, b, before), 30)  # type: ignore[misc]
                await load.more(100)
            await load.finish()
            assert load.faults() == []
            assert not set(before.values()) & set(load.fleet.pids.values())

    asyncio.run(asyncio.wait_for(scenario(), 120))


def planned_seed() -> Seed:
    """Two users for each two brokers, with a topic at each; every topic is shared."""
    names = ("b0", "b1", "b2")
    sessions = tuple(
        SeedSession(f"u{number}", broker, (f"t{names.index(broker)}",))
        for number in range(6)
        for broker in names
        if broker != names[number % 3]
    )
    return Seed(
        brokers=tuple(SeedBroker(name, 1000) for name in names),
        placement="plan",
        kind="provision",
        sessions=sessions,
        rates={"t0": 10, "t1": 10, "t2": 10},
    )


def test_after_a_rolling_restart_a_plan_runs_as_planned_again(tmp_path: Path) -> None:
    seed = planned_seed()
    planned = {s.broker: {} for s in seed.sessions}  # type: dict[str, dict[str, Any]]
    for session in seed.sessions:
        planned[session.broker][session.user] = sorted(session.topics)

    async def where_all_are(load: Load) -> dict[str, dict[str, Any]]:
        found = {}
        for status in (await load.operator.status()).brokers:
            url = "http" + status.url.removeprefix("ws") + "/sessions"
            token = load.fleet.file.broker_token
            pages = await ask(url, None, dict[str, Any], method="GET", token=token)
            users = {user: page["topics"] for user, page in pages.items()}
            found[status.broker] = {u: topics for u, topics in users.items() if topics}
        return found

    async def scenario() -> None:
        async with loaded_fleet(
            *(tmp_path,),
            seed=seed,
            subscribers=6,
            topics=3,
            wants=lambda number: (k for k in range(3) if k != number % 3),
        ) as load:
            assert await where_all_are(load) == planned
            before = load.fleet.pids
            for broker in sorted(before):
                await load.operator.drain(broker, "restart")
                await until(lambda b=broker: _is_new(load, b, before), 30)  # type: ignore[misc]
                await load.more(100)
            while await where_all_are(load) != planned:
                await asyncio.sleep(0.05)
            await load.more(100)
            await load.finish()
            assert load.faults() == []

    asyncio.run(asyncio.wait_for(scenario(), 60))


def _is_new(load: Load, broker: str, before: dict[str, int]) -> bool:
    return load.fleet.pids.get(broker, before[broker]) != before[broker]


async def _state(load: Load, broker: str) -> tuple[str, int]:
    found = (await load.operator.status()).broker(broker)
    assert found is not None
    return found.state, found.sessions


def test_a_broker_that_is_drained_has_no_session_and_takes_none(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with loaded_fleet(tmp_path) as load:
            await load.operator.drain("b1")
            await until(lambda: all(s.broker() != "b1" for s in load.subscribers), 30)
            await load.more(100)
            await load.finish()
            assert load.faults() == []
            # Sessions are those of its last heartbeat, and none before the first.
            while await _state(load, "b1") != ("drained", 0):
                await asyncio.sleep(0.05)
            await load.operator.activate("b1")
            while await _state(load, "b1") != ("up", 0):
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(scenario(), 120))
