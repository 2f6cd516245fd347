"""The process of one worker: its task and commands on stdin, its reports on stdout.

It ends when its input does: then whoever started it has gone.
"""

import asyncio
import signal
import sys
from contextlib import suppress

import uvloop

from brokerwise.runtime.replay.tasks import (
    Command,
    Report,
    Task,
    as_line,
    command_of,
    task_of,
)
from brokerwise.runtime.replay.worker import Worker


def main() -> None:
    # Ctrl-C in a terminal reaches us too; whoever started us ends us in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = sys.stdin.buffer.readline()
    if line:
        uvloop.run(_run(task_of(line)))


async def _run(task: Task) -> None:
    commands: asyncio.Queue[Command] = asyncio.Queue()
    work = asyncio.ensure_future(Worker(task, _tell).run(commands.get))
    reading = asyncio.ensure_future(_read(commands))
    await asyncio.wait((work, reading), return_when=asyncio.FIRST_COMPLETED)
    for task_ in (work, reading):
        task_.cancel()
        with suppress(asyncio.CancelledError):
            await task_


async def _read(commands: "asyncio.Queue[Command]") -> None:
    """Pass commands on until the input ends."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 26)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while line := await reader.readline():
            commands.put_nowait(command_of(line))
    finally:
        transport.close()


def _tell(report: Report) -> None:
    sys.stdout.buffer.write(as_line(report))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
