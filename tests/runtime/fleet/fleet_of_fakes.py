"""A fleet of fake processes that says ready, until SIGTERM: STATE FAKES."""

import asyncio
import signal
import sys
from pathlib import Path

from tests.runtime.fleet.fakes import Fakes

from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.supervisor import running_fleet


async def fleet(state: Path, fakes: Fakes) -> None:
    seed = seed_of_count(2, "round-robin", {})
    async with running_fleet(seed, state=state, settings=fakes.settings()):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def main() -> None:
    work = asyncio.create_task(fleet(Path(sys.argv[1]), Fakes(Path(sys.argv[2]))))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    await asyncio.gather(work, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
