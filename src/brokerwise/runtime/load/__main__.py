"""A process that loads a fleet: its task on stdin, its reports on stdout.

`python -m brokerwise.runtime.load replay` is a worker of a replay, which is told what
to do line by line; `... measure` sends and receives for one trial. Either ends when its
input does: then the process that started it has gone.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

import msgspec
import uvloop

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.load import crew, generator
from brokerwise.runtime.load.generator import Generator
from brokerwise.runtime.load.worker import Worker
from brokerwise.runtime.process.launch import set_scheduling

LINE_BYTES = 1 << 26  # of a command at most


def main() -> None:
    # Ctrl-C in a terminal reaches us too; the process that started us ends us in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = sys.stdin.buffer.readline()
    if not line:
        return
    if sys.argv[1] == "replay":
        uvloop.run(_replay(crew.task_of(line)))
        return
    task = generator.task_of(line)
    os.setsid()
    set_scheduling(task.cores, task.nice)
    uvloop.run(_measure(task))


async def _replay(task: crew.Task) -> None:
    commands: asyncio.Queue[crew.Command] = asyncio.Queue()
    work = asyncio.ensure_future(Worker(task, _tell).run(commands.get))
    reading = asyncio.ensure_future(
        _read(lambda line: commands.put_nowait(crew.command_of(line)))
    )
    await _until_one_ends(work, reading)


async def _measure(task: generator.Task) -> None:
    async def work() -> None:
        report: generator.Report = generator.Written()
        try:
            await Generator(task).run()
        except BrokerwiseError as error:
            report = generator.Failure(error.message)
        _tell(report)

    reading = asyncio.ensure_future(_read(lambda line: None))
    await _until_one_ends(asyncio.ensure_future(work()), reading)


async def _until_one_ends(*tasks: "asyncio.Future[None]") -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _read(take: Callable[[bytes], None]) -> None:
    """Hand lines on until the input ends."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=LINE_BYTES)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while line := await reader.readline():
            take(line)
    finally:
        transport.close()


def _tell(report: msgspec.Struct) -> None:
    sys.stdout.buffer.write(crew.as_line(report))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
