"""`python -m brokerwise.runtime.broker`: started by `brokerwise up` and `join`."""

import asyncio
import logging
import sys

import uvloop

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.process import Broker
from brokerwise.runtime.process.launch import Launch
from brokerwise.runtime.process.lifecycle import announce, read_launch, stop_requested
from brokerwise.runtime.process.open_files import OpenFiles, allow_many_files

log = logging.getLogger(__name__)


async def serve(launch: Launch, files: OpenFiles) -> int:
    """Run a broker until it is told to stop; returns its exit code."""
    stop = stop_requested()
    broker = Broker(launch, files)
    announce(launch.name, await broker.start())
    return await broker.run(stop)


def main() -> int:
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s"
    )
    try:
        launch = read_launch()
        files = allow_many_files()
        log.info(
            "may have %s files open; takes connections up to %s of them",
            *(f"{files.limit:,}", f"{files.open_to_all:,}"),
        )
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(serve(launch, files))
    except BrokerwiseError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
