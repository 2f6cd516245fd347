"""`python -m brokerwise.runtime.broker`: started by `brokerwise up` and `join`."""

import asyncio
import sys

import uvloop

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.process import Broker
from brokerwise.runtime.launch import Launch
from brokerwise.runtime.lifecycle import announce, read_launch, stop_requested


async def serve(launch: Launch) -> int:
    """Run a broker until it is told to stop; returns its exit code."""
    stop = stop_requested()
    broker = Broker(launch)
    announce(launch.name, await broker.start())
    return await broker.run(stop)


def main() -> int:
    try:
        launch = read_launch()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(serve(launch))
    except BrokerwiseError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
