"""A process whose children feed a state and are killed, each one step later.

crashing.py DIR: child k uses DIR/k, feeds two batches at once, and is killed with
SIGKILL at its k-th step: before and after each fsync and rename, before each statement
of SQL that changes something, and between commit and answer. The names of the batches
that were answered are in DIR/k/acknowledged. Ends with the first child that comes
through; prints the step at which each child was killed.

The children are forks of this process, which has one thread and has used nothing yet.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - pyarrow loads it at first use: once is enough
from tests.runtime.data_cluster.feeds import at, feeding, reports

ACKNOWLEDGED = "acknowledged"
BATCHES = {"r": ("reports", reports(1, 2)), "l": ("locations", at("ann", 2.0))}


class Steps:
    """Counts steps and kills this process at one of them."""

    def __init__(self, fatal: int) -> None:
        self._left = fatal

    def pass_by(self, name: str) -> None:
        self._left -= 1
        if self._left == 0:
            os.write(1, f"{name}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(self, sql: str) -> None:
        """Reading changes nothing, and is no step."""
        if not sql.startswith("SELECT"):
            self.pass_by(sql.split("(")[0].strip())

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.pass_by(f"before {name}")
            result = real(*arguments)
            self.pass_by(f"after {name}")
            return result

        return call


async def prepare(directory: Path) -> None:
    async with feeding(directory) as f:
        await f.feeder.feed("reports", reports(0), "first")
        await f.feeder.feed("locations", at("ann", 1.0), "first")


async def feed(directory: Path, fatal: int) -> None:
    async with feeding(directory, roll_seconds=0.01) as f:
        steps = Steps(fatal)
        os.fsync = steps.around("fsync", os.fsync)
        os.replace = steps.around("rename", os.replace)
        f.store.sql.set_trace_callback(steps.statement)
        feeds = (
            _acknowledged(f.feeder.feed(*BATCHES[name], name), directory, name, steps)
            for name in BATCHES
        )
        await asyncio.gather(*feeds)
        f.store.sql.set_trace_callback(None)


async def _acknowledged(feed: Any, directory: Path, name: str, steps: Steps) -> None:
    await feed
    steps.pass_by("committed")
    with (directory / ACKNOWLEDGED).open("a") as file:
        file.write(f"{name}\n")
    steps.pass_by("acknowledged")


def in_child(work: Coroutine[Any, Any, None]) -> int:
    """How it ended, as waitpid tells it."""
    child = os.fork()
    if child == 0:
        asyncio.run(work)
        os._exit(0)
    work.close()
    return os.waitpid(child, 0)[1]


def main(directory: Path) -> None:
    assert in_child(prepare(directory / "0")) == 0
    for fatal in count(1):
        shutil.copytree(directory / "0", directory / str(fatal))
        status = in_child(feed(directory / str(fatal), fatal))
        if status == 0:
            return
        if os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"child {fatal} ended by itself: {status}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
