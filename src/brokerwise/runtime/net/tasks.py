"""Waiting for something to change, and for how long before trying again."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

FIRST_SECONDS, LONGEST_SECONDS = 0.1, 1.0

T = TypeVar("T")


class Signal:
    """Wakes everyone who waits for the next change."""

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    def notify(self) -> None:
        """Costs next to nothing while nobody waits."""
        if self._waiters:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    async def wait(self, seconds: float | None = None) -> None:
        """Until the next change, or until so many seconds have passed. Cancelling it
        loses nothing."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            if seconds is None:
                await waiter
            else:
                await asyncio.wait([waiter], timeout=seconds)
        finally:
            waiter.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)


@asynccontextmanager
async def together() -> AsyncIterator[asyncio.TaskGroup]:
    """Tasks that end with the context. The first that fails ends the others; what it
    raised is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except ExceptionGroup as several:
        raise several.exceptions[0] from None


async def few_at_a_time(
    works: Iterable[Callable[[], Awaitable[T]]], most: int
) -> list[T]:
    """What each of them gives, in their order. The first that fails ends the others;
    what it raised is raised."""
    room = asyncio.Semaphore(most)

    async def one(work: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await work()

    async with together() as group:
        tasks = [group.create_task(one(work)) for work in works]
    return [task.result() for task in tasks]


@dataclass
class Backoff:
    """How long to pause before each further attempt: 0.1 s doubling to 1 s, less up
    to half of it by chance, so that not everyone comes at once."""

    first: float = FIRST_SECONDS
    longest: float = LONGEST_SECONDS
    draw: random.Random = field(default_factory=random.Random)
    attempts: int = 0

    def pause(self) -> float:
        seconds = min(self.first * 2.0 ** min(self.attempts, 30), self.longest)
        self.attempts += 1
        return seconds * (1 - self.draw.random() / 2)
