"""The processes that play users: started, followed, always ended."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from brokerwise.experiments.emergency.player_tasks import (
    Done,
    Failure,
    Finish,
    Progress,
    Task,
    as_line,
    report_of,
)
from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.process.reporting import ReportingProcess

COMMAND = (sys.executable, "-m", "brokerwise.experiments.emergency.player")


class PlayerError(BrokerwiseError):
    """A player could not do its task."""


class Crew:
    """All players of a scenario."""

    def __init__(self, members: "Sequence[_Member]") -> None:
        self._members = members

    @property
    def progress(self) -> Progress:
        return Progress(
            sum(m.progress.online for m in self._members),
            sum(m.progress.subscribed for m in self._members),
            sum(m.progress.handed for m in self._members),
        )

    def check(self) -> None:
        """Raises PlayerError if a player has failed."""
        for member in self._members:
            if member.failure:
                raise PlayerError(member.failure)

    async def finish(self) -> None:
        """Returns when all have written their diaries. Raises PlayerError."""
        for member in self._members:
            member.tell(Finish())
        await asyncio.gather(*(member.ended.wait() for member in self._members))
        self.check()


class _Member:
    def __init__(self, process: ReportingProcess) -> None:
        self.process = process
        self.progress = Progress(0, 0, 0)
        self.failure = ""
        self.ended = asyncio.Event()
        self._done = False

    def tell(self, content: msgspec.Struct) -> None:
        self.process.tell(as_line(content))

    async def follow(self) -> None:
        """Take in its reports until it ends."""
        ended = await self.process.follow(self._take)
        if not (self._done or self.failure):
            self.failure = f"a player {ended}"
        self.ended.set()

    def _take(self, line: bytes) -> None:
        match report_of(line):
            case Progress() as progress:
                self.progress = progress
            case Done():
                self._done = True
            case Failure(message):
                self.failure = message


@asynccontextmanager
async def crew_of(
    tasks: Sequence[Task], command: Sequence[str] = COMMAND
) -> AsyncIterator[Crew]:
    """A process for each task; they have ended when the context is left."""
    members: list[_Member] = []
    following: list[asyncio.Future[None]] = []
    try:
        for task in tasks:
            process = await ReportingProcess.start(command, as_line(task))
            members.append(_Member(process))
            following.append(asyncio.ensure_future(members[-1].follow()))
        yield Crew(members)
    finally:
        await asyncio.gather(*(member.process.stop() for member in members))
        await asyncio.gather(*following)
