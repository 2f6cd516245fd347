"""The worker processes of a replay: started, told what to do, always ended."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.process.reporting import ReportingProcess
from brokerwise.runtime.replay.tasks import (
    Begin,
    Command,
    Connected,
    Failure,
    Finish,
    Progress,
    Result,
    Task,
    as_line,
    report_of,
)

COMMAND = (sys.executable, "-m", "brokerwise.runtime.replay")


class WorkerError(BrokerwiseError):
    """A worker could not do its task."""


class Member:
    """One worker process, as far as it has told."""

    def __init__(self, process: ReportingProcess, task: Task) -> None:
        self.task, self.process = task, process
        self.connected = 0
        self.progress = Progress(0, 0)
        self.result: Result | None = None
        self.failure = ""

    def tell(self, command: Command) -> None:
        self.process.tell(as_line(command))

    async def follow(self, changed: Callable[[], None]) -> None:
        """Take in its reports until it ends."""

        def take(line: bytes) -> None:
            self._take(line)
            changed()

        ended = await self.process.follow(take)
        if self.result is None and not self.failure:
            self.failure = f"a worker of the replay {ended}"
        changed()

    def _take(self, line: bytes) -> None:
        try:
            report = report_of(line)
        except msgspec.DecodeError:
            self.process.keep(line)
            return
        match report:
            case Connected(lines):
                self.connected = lines
            case Progress():
                self.progress = report
            case Result():
                self.result = report
            case Failure(message):
                self.failure = message


class Crew:
    """All workers of a replay."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        self._changed = asyncio.Event()

    @property
    def connected(self) -> int:
        return sum(m.connected for m in self.members)

    @property
    def lines(self) -> int:
        return sum(len(m.task.lines) for m in self.members)

    @property
    def published(self) -> int:
        return sum(m.progress.published for m in self.members)

    @property
    def arrived(self) -> int:
        return sum(m.progress.arrived for m in self.members)

    def begin(self, generations: dict[str, int]) -> None:
        for member in self.members:
            own = {s.topic: generations.get(s.topic, 0) for s in member.task.speeches}
            member.tell(Begin(own))

    async def finish(self) -> list[Result]:
        """Raises WorkerError, as `until` does."""
        for member in self.members:
            member.tell(Finish())
        await self.until(lambda: all(m.result for m in self.members))
        return [m.result for m in self.members if m.result]

    async def until(self, happened: Callable[[], bool], quiet: float = 0.0) -> bool:
        """Wait for something that reports tell. False if none has come for `quiet`
        seconds. Raises WorkerError if a worker has failed. Cancelling it loses
        nothing."""
        while True:
            for member in self.members:
                if member.failure:
                    raise WorkerError(member.failure)
            if happened():
                return True
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), quiet or None)
            except TimeoutError:
                return False

    def note(self) -> None:
        """A report has come."""
        self._changed.set()


@asynccontextmanager
async def crew_of(
    tasks: Sequence[Task], command: Sequence[str] = COMMAND
) -> AsyncIterator[Crew]:
    """A process for each task; they have ended when the context is left."""
    members: list[Member] = []
    following: list[asyncio.Future[None]] = []
    try:
        for task in tasks:
            process = await ReportingProcess.start(command, as_line(task))
            members.append(Member(process, task))
        crew = Crew(members)
        following += [asyncio.ensure_future(m.follow(crew.note)) for m in members]
        yield crew
    finally:
        await asyncio.gather(*(member.process.stop() for member in members))
        await asyncio.gather(*following)
