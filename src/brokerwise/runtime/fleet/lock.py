"""One fleet at a time in a state directory, also over crashes.

The lock is handed down to the processes of a fleet, and is free once the last of
them has gone: whoever has it may replace what they used.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.fleet.processes import ProcessName

ORPHAN_SECONDS = 15.0  # processes whose fleet was killed have gone by then
_NAME = "lock"
_POLL_SECONDS = 0.05


class FleetRunsError(InputError):
    """A fleet runs with this state directory already."""

    def __init__(self, state: Path, pid: int) -> None:
        self.state, self.pid = state, pid
        super().__init__(
            f"a fleet runs in {state} already (process {pid})",
            hint=f"End it with: brokerwise down --state {state}, "
            "or start another with --state DIR.",
        )


class OrphansError(BrokerwiseError):
    """The fleet was killed, and something of it does not end."""

    def __init__(self, state: Path) -> None:
        self.state = state
        super().__init__(
            f"the fleet of {state} was killed, and a process of it is still there "
            f"after {ORPHAN_SECONDS:g} s",
            hint=f"Find it with: fuser {state / _NAME}",
        )


@asynccontextmanager
async def holding(state: Path) -> AsyncIterator[int]:
    """The lock of a state directory, as a file descriptor to hand down.

    Raises FleetRunsError if a fleet runs. Waits for the last processes of one that
    was killed, OrphansError if they stay.
    """
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(state / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        await _take(descriptor, state)
        us = ProcessName.ours()
        _note(descriptor, f"{us.pid} {us.started}\n")
        try:
            yield descriptor
        finally:
            _note(descriptor, "")
    finally:
        os.close(descriptor)


def _note(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)


async def _take(descriptor: int, state: Path) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ORPHAN_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = last_holder(state)
            if holder is not None and holder.running:
                raise FleetRunsError(state, holder.pid) from None
            if loop.time() > deadline:
                raise OrphansError(state) from None
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return


def last_holder(state: Path) -> ProcessName | None:
    """The process that has the lock, or was killed when it had; None if it was given
    back."""
    try:
        words = (state / _NAME).read_bytes().split()
    except OSError:
        return None
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return None
    return ProcessName(int(words[0]), int(words[1]))
