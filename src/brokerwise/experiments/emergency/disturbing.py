"""Killing processes of a fleet while a scenario is played."""

import asyncio
import os
import signal
import time
from dataclasses import dataclass

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.fleet.supervisor import RunningFleet

DATA_CLUSTER, COORDINATOR = "data-cluster", "coordinator"  # others are brokers
BACK_SECONDS = 120.0
_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Kill:
    """`part` is killed `at` so many seconds after the beginning, but not before so
    many results were `handed` over."""

    at: float
    part: str
    handed: int = 0


@dataclass(frozen=True)
class Killed:
    """Seconds since 1970; `back`: when it could be used again."""

    part: str
    at: float
    back: float


class NotBackError(BrokerwiseError):
    """A process that was killed did not come back."""


class Disturbing:
    def __init__(self, fleet: RunningFleet, client: DataClient) -> None:
        self._fleet, self._client = fleet, client

    async def kill(self, part: str) -> Killed:
        """kill -9, and wait until it is back. Raises NotBackError."""
        pid = self._pid(part)
        if pid is None:
            raise NotBackError(f"{part} is not there to be killed")
        os.kill(pid, signal.SIGKILL)
        at = time.time()
        while not await self._is_back(part, pid):
            if time.time() > at + BACK_SECONDS:
                raise NotBackError(f"{part} was not back after {BACK_SECONDS:g} s")
            await asyncio.sleep(_LOOK_SECONDS)
        return Killed(part, at, time.time())

    def _pid(self, part: str) -> int | None:
        if part == DATA_CLUSTER:
            return self._fleet.data_cluster_pid
        if part == COORDINATOR:
            return self._fleet.coordinator_pid
        return self._fleet.pids.get(part)

    async def _is_back(self, part: str, former: int) -> bool:
        """The data cluster is when its Spark is."""
        if self._pid(part) in (None, former):
            return False
        if part != DATA_CLUSTER:
            return True
        try:
            return (await self._client.status()).spark == "up"
        except BrokerwiseError:
            return False
