"""The end of a fleet, asked for from outside."""

import asyncio
import signal
from dataclasses import dataclass
from pathlib import Path

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.fleet.files import find_fleet, fleet_path, remove_fleet
from brokerwise.runtime.fleet.lock import holding, last_holder
from brokerwise.runtime.fleet.processes import ProcessName

PATIENCE_SECONDS = 30.0  # brokers 5, data cluster 10, coordinator 5: then killed
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Stopped:
    """`pid` is that of the fleet, None if there was none; `ran`: until now; `forced`:
    it had to be killed."""

    pid: int | None
    ran: bool = False
    forced: bool = False


async def stop_fleet(state: Path, seconds: float = PATIENCE_SECONDS) -> Stopped:
    """End the fleet of a state directory; nothing of it runs any more afterwards.

    One that was killed before is put away. Only the process that holds the lock is
    signalled, never another that has its id now. OrphansError if something of it
    stays, InputError if another machine keeps the fleet. Cancelling it stops the
    waiting, not the end of the fleet.
    """
    keeper = last_holder(state)
    fleet = find_fleet(state)
    if keeper is None and fleet is not None and fleet.is_elsewhere:
        raise InputError(
            f"the fleet of {state} is kept by another machine ({fleet.machine})",
            hint="End it there.",
        )
    ran = keeper is not None and keeper.send(signal.SIGTERM)
    if keeper is None or not (ran or fleet_path(state).exists()):
        return Stopped(None)
    forced = ran and not await _gone(keeper, seconds)
    if forced:
        keeper.send(signal.SIGKILL)
        if not await _gone(keeper, seconds):
            raise BrokerwiseError(f"process {keeper.pid} does not end, even by SIGKILL")
    async with holding(state):
        remove_fleet(state)
    return Stopped(keeper.pid, ran, forced)


async def _gone(keeper: ProcessName, seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while keeper.running:
        if loop.time() > deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
