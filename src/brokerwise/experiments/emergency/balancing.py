"""Watches the loads of a fleet while a scenario is played against it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.fleet.operator import BalanceOperator
from brokerwise.runtime.protocol.balance import Balance

LOOK_SECONDS = 5.0  # between two looks


@dataclass(frozen=True)
class Sample:
    """Loads in bytes a second and sessions of each broker, by name; `at` in seconds
    since 1970."""

    at: float
    loads: tuple[float, ...]
    sessions: tuple[int, ...]
    cov: float

    @classmethod
    def of(cls, balance: Balance) -> "Sample | None":
        """Nothing if loads could not be had."""
        if balance.measured is None or balance.cov is None:
            return None
        brokers = sorted(balance.brokers, key=lambda one: one.broker)
        loads = tuple(one.load for one in brokers)
        sessions = tuple(one.sessions for one in brokers)
        return cls(balance.measured, loads, sessions, balance.cov)


@dataclass
class LoadWatch:
    """Looks every few seconds; looks that fail are counted and left out."""

    balancing: BalanceOperator
    samples: list[Sample] = field(default_factory=list)
    failed: int = 0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self._run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            began = time.monotonic()
            await self._look()
            left = LOOK_SECONDS - (time.monotonic() - began)
            await asyncio.sleep(max(0.0, left))

    async def _look(self) -> None:
        try:
            sample = Sample.of(await self.balancing.look())
        except BrokerwiseError:
            sample = None
        if sample is None:
            self.failed += 1
        elif not self.samples or sample.at > self.samples[-1].at:
            self.samples.append(sample)
