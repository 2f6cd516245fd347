"""Planned moves of real sessions between real processes, under load."""

import asyncio
import random
from pathlib import Path

from brokerwise.runtime.protocol.fleet import MoveStatus

from .load import Load, Subscriber, loaded_fleet, until


async def moved(load: Load, subscriber: Subscriber, target: str) -> MoveStatus:
    """Move one session, and wait until that is over."""
    number = await load.operator.move(subscriber.user, subscriber.broker(), target)
    while not (status := await load.operator.move_status(number)).is_over:
        await asyncio.sleep(0.02)
    if status.state == "done":
        await until(lambda: subscriber.broker() == target, 5)
    return status


async def move_around(load: Load, moves: int, at_once: int) -> list[str]:
    """So many moves, each to another broker; returns how they ended."""
    chance = random.Random(1)
    states: list[str] = []
    while len(states) < moves:
        chosen = chance.sample(load.subscribers, at_once)
        targets = [
            chance.choice([b for b in load.fleet.pids if b != s.broker()])
            for s in chosen
        ]
        found = await asyncio.gather(
            *(moved(load, s, t) for s, t in zip(chosen, targets, strict=True))
        )
        states += [status.state for status in found]
    return states


def test_a_hundred_moves_lose_nothing_show_nothing_twice_and_keep_the_order(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with loaded_fleet(tmp_path) as load:
            states = await move_around(load, 100, 5)
            assert states == ["done"] * 100
            await load.finish()
            assert load.faults() == []
            assert load.total() > 300

    asyncio.run(asyncio.wait_for(scenario(), 120))
