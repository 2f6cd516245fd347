"""The process that sends and receives: its task on stdin, its report on stdout.

It ends when its input does: then whoever started it has gone.
"""

import asyncio
import os
import signal
import sys

import uvloop

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.measuring.generator import Generator
from brokerwise.runtime.measuring.tasks import (
    Failure,
    Report,
    Task,
    Written,
    report_line,
    task_of,
)
from brokerwise.runtime.process.launch import set_scheduling


def main() -> None:
    # Ctrl-C in a terminal reaches us too; whoever started us ends us in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = sys.stdin.buffer.readline()
    if line:
        task = task_of(line)
        os.setsid()
        set_scheduling(task.cores, task.nice)
        uvloop.run(_run(task))


async def _run(task: Task) -> None:
    work = asyncio.ensure_future(_report(task))
    watching = asyncio.ensure_future(_end_of_input())
    await asyncio.wait((work, watching), return_when=asyncio.FIRST_COMPLETED)
    for one in (work, watching):
        one.cancel()
    await asyncio.gather(work, watching, return_exceptions=True)


async def _report(task: Task) -> None:
    report: Report = Written()
    try:
        await Generator(task).run()
    except BrokerwiseError as error:
        report = Failure(error.message)
    sys.stdout.buffer.write(report_line(report))
    sys.stdout.buffer.flush()


async def _end_of_input() -> None:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while await reader.read(4096):
            pass
    finally:
        transport.close()


if __name__ == "__main__":
    main()
