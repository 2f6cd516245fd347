"""Operators drain brokers, restart them one by one, scale in and out: no loss."""

import asyncio
from pathlib import Path

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
            while await _state(load, "b1") != ("drained", 0):  # by its next heartbeat
                await asyncio.sleep(0.05)
            await load.operator.activate("b1")
            assert await _state(load, "b1") == ("up", 0)

    asyncio.run(asyncio.wait_for(scenario(), 120))
