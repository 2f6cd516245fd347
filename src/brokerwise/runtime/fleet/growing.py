"""A fleet grows: brokers that an approved decision waits for are started."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.fleet.balancing import BalanceOperator
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.keeper import Keeper, Tell
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.programs import Programs

POLL_SECONDS = 1.0
log = logging.getLogger(__name__)


@asynccontextmanager
async def growing(
    file: FleetFile, programs: Programs, tell: Tell, brokers: list[Keeper]
) -> AsyncIterator[None]:
    """Ask the coordinator what is wanted, and start it; it is added to `brokers`.

    Whatever was started has ended when the context is left.
    """
    growth = _Growth(file, programs, tell, brokers)
    asking = asyncio.create_task(growth.run())
    try:
        yield
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await growth.end()


class _Growth:
    def __init__(
        self, file: FleetFile, programs: Programs, tell: Tell, brokers: list[Keeper]
    ) -> None:
        self._operator = BalanceOperator(Operator(file))
        self._file, self._programs, self._tell = file, programs, tell
        self._brokers = brokers
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """What cannot be known now is asked again: the coordinator may be starting."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                wanted = await self._operator.wanted()
            except BrokerwiseError:
                continue
            for name in wanted:
                task = self._running.get(name)
                if task is None or task.done():
                    self._start(name)

    async def end(self) -> None:
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _start(self, name: str) -> None:
        line = f"{name} is wanted: starting it"
        log.info("%s", line)
        self._tell(line)
        program = self._programs.broker(
            name, self._file.coordinator, self._file.data_cluster
        )
        keeper = self._programs.keeper(program, self._tell)
        self._running[name] = asyncio.create_task(self._keep(keeper))

    async def _keep(self, keeper: Keeper) -> None:
        """Until it has ended and stays out. One that does not come up is tried again
        as long as it is wanted."""
        self._brokers.append(keeper)
        try:
            await keeper.run()
            await keeper.came_up()
        except BrokerwiseError as error:
            self._tell(error.message)
        finally:
            self._brokers.remove(keeper)
