"""Keeps one process running: what dies is started again."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from brokerwise.runtime.fleet.children import Child, Program, running_child
from brokerwise.runtime.fleet.restarts import Restarts
from brokerwise.runtime.fleet.starting import StartError
from brokerwise.runtime.process.launch import Ready

Tell = Callable[[str], None]
log = logging.getLogger(__name__)


class Keeper:
    """A process that is to run. `run` ends when it has ended and stays out.

    The first start has to succeed, later ones are tried again and again. One that is
    to last comes back on the port that it had, whatever it ended with: all others
    know it by that.
    """

    def __init__(self, program: Program, tell: Tell, restarts: Restarts) -> None:
        self._program, self._tell, self._restarts = program, tell, restarts
        self._first: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self.child: Child | None = None

    @property
    def name(self) -> str:
        return self._program.name

    async def came_up(self) -> Ready:
        """What it announced when it was first ready. Raises StartError if it did
        not come up. Cancelling this loses nothing."""
        return await asyncio.shield(self._first)

    async def over(self) -> None:
        """Returns once it has ended and stays out. Cancelling this loses nothing."""
        await self._over.wait()

    async def run(self) -> None:
        """Cancelling it ends the process."""
        loop = asyncio.get_running_loop()
        pause: float | None = 0.0
        try:
            while pause is not None:
                await asyncio.sleep(pause)
                since = loop.time()
                code = await self._exit_code()
                pause = self._restarts.pause(code, loop.time() - since)
                failed = pause is not None and pause > 0
                level = logging.WARNING if failed else logging.INFO
                self._say(level, _what_happened(self.name, code, pause))
        except Exception as error:  # also one that nobody thought of
            if self._first.done():
                log.exception("%s is not kept running any more", self.name)
                raise
            log.error("%s did not come up, and is given up: %s", self.name, error)
            self._first.set_exception(error)
            self._first.exception()  # nobody has to ask for it
        finally:
            self._over.set()

    async def _exit_code(self) -> int | None:
        """Of one life; None if it did not come up and had to be killed."""
        try:
            return await self._one_life()
        except StartError as error:
            if not self._first.done():
                raise
            self._say(logging.ERROR, error.message)
            return error.exit_code

    async def _one_life(self) -> int:
        try:
            async with running_child(self._program) as child:
                self.child = child
                log.info(
                    "%s is up: %s, process %d", self.name, child.ready.url, child.pid
                )
                self._note(child.ready)
                return await child.ended()
        finally:
            self.child = None

    def _say(self, level: int, line: str) -> None:
        log.log(level, "%s", line)
        self._tell(line)

    def _note(self, ready: Ready) -> None:
        if self._first.done():
            self._tell(f"{self.name} is up again: {ready.url}")
            return
        self._first.set_result(ready)
        if self._program.lasting:
            port = urlsplit(ready.url).port or 0
            fixed = replace(self._program.launch, port=port)
            self._program = replace(self._program, launch=fixed)


def _what_happened(name: str, code: int | None, pause: float | None) -> str:
    if pause is None:
        return f"{name} has stopped, as it was told to"
    if pause == 0:
        return f"{name} restarts, as it was told to"
    how = "did not come up" if code is None else f"ended with {code}"
    return f"{name} {how}; starting it again in {pause:g} s"
