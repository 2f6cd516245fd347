"""Processes that are killed or frozen, under load: what is promised holds."""

import asyncio
import os
import signal
from pathlib import Path

from brokerwise.runtime.protocol.limits import LEASE_SECONDS

from .load import Load, Subscriber, loaded_fleet, until

REPLACED_SECONDS = 5.0


async def served_again(load: Load, subscribers: list[Subscriber]) -> float:
    """Seconds until each of some subscribers has seen more of all its topics."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    before = {s: {key: len(seen) for key, seen in s.seen.items()} for s in subscribers}
    await until(
        lambda: all(
            len(s.seen[key]) > count
            for s in subscribers
            for key, count in before[s].items()
        ),
        30,
    )
    return loop.time() - began


def test_sessions_of_a_killed_broker_are_placed_again_within_seconds(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with loaded_fleet(tmp_path) as load:
            lost = [s for s in load.subscribers if s.broker() == "b1"]
            assert lost
            os.kill(load.fleet.pids["b1"], signal.SIGKILL)
            assert await served_again(load, lost) < REPLACED_SECONDS
            # The broker comes back; what is sent last is sent when that is over.
            await until(lambda: "b1" in load.fleet.pids, 30)
            await load.more(1_000)
            await load.finish()
            assert load.disorder() == []
            others = [s for s in load.subscribers if s not in lost]
            assert [gap for s in others for gap in s.gaps] == []

    asyncio.run(asyncio.wait_for(scenario(), 120))


def test_delivery_goes_on_while_the_coordinator_is_down(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with loaded_fleet(tmp_path) as load:
            pid = load.fleet.coordinator_pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            try:
                loop = asyncio.get_running_loop()
                until_late = loop.time() + 2 * LEASE_SECONDS
                while loop.time() < until_late:
                    await load.more(100)
            finally:
                os.kill(pid, signal.SIGKILL)
            await load.more(100)
            await until(lambda: load.fleet.coordinator_pid not in (None, pid), 20)
            status = await load.operator.status()
            assert {b.state for b in status.brokers} == {"up"}
            await load.more(100)
            await load.finish()
            assert load.faults() == []

    asyncio.run(asyncio.wait_for(scenario(), 120))


def test_a_frozen_broker_is_replaced_and_does_no_harm_when_it_wakes(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with loaded_fleet(tmp_path) as load:
            lost = [s for s in load.subscribers if s.broker() == "b1"]
            pid = load.fleet.pids["b1"]
            os.kill(pid, signal.SIGSTOP)
            try:
                assert await served_again(load, lost) < LEASE_SECONDS + REPLACED_SECONDS
                await load.more(200)
                epoch = await _until_lost(load, "b1")
            finally:
                os.kill(pid, signal.SIGCONT)
            await _until_up(load, "b1", epoch)
            await load.more(200)
            await load.finish()
            assert load.fleet.pids["b1"] == pid
            assert load.disorder() == []

    asyncio.run(asyncio.wait_for(scenario(), 120))


async def _until_lost(load: Load, broker: str) -> int:
    """Returns its epoch until then. Clients may notice before the coordinator does."""
    while True:
        found = (await load.operator.status()).broker(broker)
        if found is not None and found.state == "lost":
            return found.epoch
        await asyncio.sleep(0.05)


async def _until_up(load: Load, broker: str, after_epoch: int) -> None:
    while True:
        found = (await load.operator.status()).broker(broker)
        if found is not None and found.state == "up" and found.epoch > after_epoch:
            return
        await asyncio.sleep(0.05)


def test_a_half_finished_move_is_resumed_after_the_coordinator_was_killed(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with loaded_fleet(tmp_path) as load:
            moving = load.subscribers[:6]
            targets = [
                next(b for b in load.fleet.pids if b != s.broker()) for s in moving
            ]
            numbers = [
                await load.operator.move(s.user, s.broker(), t)
                for s, t in zip(moving, targets, strict=True)
            ]
            pid = load.fleet.coordinator_pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await until(lambda: load.fleet.coordinator_pid not in (None, pid), 20)
            for number in numbers:
                while not (status := await load.operator.move_status(number)).is_over:
                    await asyncio.sleep(0.05)
                assert status.state == "done"
            await until(lambda: [s.broker() for s in moving] == targets, 5)
            for subscriber in moving:
                moves = [
                    n for n in subscriber.notices if type(n).__name__ == "SessionMoved"
                ]
                assert len(moves) == 1
            await load.finish()
            assert load.faults() == []

    asyncio.run(asyncio.wait_for(scenario(), 120))
