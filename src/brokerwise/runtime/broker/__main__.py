"""`python -m brokerwise.runtime.broker`: started by `brokerwise up` and `join`."""

import asyncio
import logging
import sys

import uvloop

from brokerwise.runtime.broker.process import Broker
from brokerwise.runtime.process.launch import (
    Launch,
    announce,
    run_process,
    stop_requested,
)
from brokerwise.runtime.process.open_files import OpenFiles, allow_many_files

log = logging.getLogger(__name__)


async def serve(launch: Launch, files: OpenFiles) -> int:
    """Run a broker until it is told to stop; returns its exit code."""
    stop = stop_requested()
    broker = Broker(launch, files)
    announce(launch.name, await broker.start())
    return await broker.run(stop)


def main() -> int:
    return run_process(_main)


def _main(launch: Launch) -> int:
    files = allow_many_files()
    log.info(
        "may have %s files open; takes connections up to %s of them",
        *(f"{files.limit:,}", f"{files.open_to_all:,}"),
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serve(launch, files))


if __name__ == "__main__":
    sys.exit(main())
