"""A process that loads a fleet: `python -m brokerwise.runtime.load replay` is a worker
of a replay, `... measure` sends and receives for one trial. Each imports only what it
needs."""

import os
import sys

import msgspec

from brokerwise.runtime.load.processes import GoOn, run_worker, tell


async def _replay(line: bytes, go_on: GoOn) -> None:
    from brokerwise.runtime.load.worker import ReplayTask, Worker

    await Worker(msgspec.json.decode(line, type=ReplayTask), tell).run(go_on)


async def _measure(line: bytes, go_on: GoOn) -> None:
    from brokerwise.runtime.load.generator import Generator, LogWritten, TrialTask
    from brokerwise.runtime.process.launch import set_scheduling

    task = msgspec.json.decode(line, type=TrialTask)
    os.setsid()
    set_scheduling(task.cores, task.nice)
    await Generator(task).run()
    tell(LogWritten())


if __name__ == "__main__":
    run_worker({"replay": _replay, "measure": _measure}[sys.argv[1]])
