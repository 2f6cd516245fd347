"""A coordinator with fake brokers whose sessions bring load."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.runtime.coordinator.fakes import (
    FakeBroker,
    Running,
    broker,
    plain_seed,
    running,
)
from tests.runtime.coordinator.watching import place, where

USERS = tuple(f"u{number}" for number in range(6))
HUNDRED = {f"t{number}": 100.0 for number in range(6)}


class Fleet:
    """Fake brokers b0, b1, ...; each user has a topic of its own, 100 bytes a second,
    wherever it is, as far as `follow` has told the brokers."""

    def __init__(self, running: Running, brokers: list[FakeBroker]) -> None:
        self.running, self.brokers = running, brokers

    def follow(self, *users: str) -> None:
        """The users are connected where the coordinator has put them."""
        for fake in self.brokers:
            fake.rates = HUNDRED
            fake.wants = {
                user: {f"t{user[1:]}"}
                for user in users
                if fake.name in where(self.running, user)
            }

    async def plan(self, **options: object) -> dict[str, Any]:
        self.follow(*USERS)
        found: dict[str, Any] = await self.running.done("/balance/plan", options)
        return found

    async def approve(self, digest: str) -> tuple[int, Any]:
        return await self.running.call("/balance/approve", {"digest": digest})

    async def decision(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = await self.running.done(f"/balance/decisions/{number}")
        return found

    async def over(self, number: int) -> dict[str, Any]:
        under_way = ("running", "starting")
        while (found := await self.decision(number))["state"] in under_way:
            await asyncio.sleep(0.02)
        return found

    def counts(self) -> list[int]:
        places = [where(self.running, user)[0] for user in USERS]
        return [places.count(fake.name) for fake in self.brokers]


@asynccontextmanager
async def beating(
    fleet: Running, *brokers: FakeBroker, **report: float
) -> AsyncIterator[None]:
    """Planning may take longer than a lease, the first time."""

    over = asyncio.Event()

    async def beat() -> None:
        while not over.is_set():
            await asyncio.gather(*(fake.beat(fleet, **report) for fake in brokers))
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), 0.5)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def skewed(folder: Path, brokers: int = 2) -> AsyncIterator[Fleet]:
    """All users came while only b0 was up."""
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(running(folder, plain_seed(brokers)))
        fakes = [await stack.enter_async_context(broker("b0", fleet))]
        await place(fleet, *USERS)
        for number in range(1, brokers):
            name = f"b{number}"
            fakes.append(await stack.enter_async_context(broker(name, fleet)))
        await stack.enter_async_context(beating(fleet, *fakes))
        found = Fleet(fleet, fakes)
        found.follow(*USERS)
        yield found
