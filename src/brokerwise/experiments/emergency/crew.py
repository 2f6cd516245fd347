"""The processes that play users: started, followed, always ended."""

import asyncio
import sys
from collections import deque
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

COMMAND = (sys.executable, "-m", "brokerwise.experiments.emergency.player")
STOP_SECONDS = 10.0
_LIMIT = 1 << 20  # bytes of a report


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
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.progress = Progress(0, 0, 0)
        self.failure = ""
        self.ended = asyncio.Event()
        self._done = False
        self._said: deque[bytes] = deque(maxlen=5)

    def tell(self, content: msgspec.Struct) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(as_line(content))

    async def follow(self) -> None:
        """Take in its reports until it ends."""
        assert self.process.stdout is not None and self.process.stderr is not None
        talk = asyncio.ensure_future(self._drain(self.process.stderr))
        while line := await self.process.stdout.readline():
            self._take(line)
        await talk
        code = await self.process.wait()
        if not (self._done or self.failure):
            last = self._said[-1].decode(errors="replace").strip() if self._said else ""
            self.failure = f"a player ended with {code}: {last}"
        self.ended.set()

    def _take(self, line: bytes) -> None:
        match report_of(line):
            case Progress() as progress:
                self.progress = progress
            case Done():
                self._done = True
            case Failure(message):
                self.failure = message

    async def _drain(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            if line.strip():
                self._said.append(line)


@asynccontextmanager
async def crew_of(
    tasks: Sequence[Task], command: Sequence[str] = COMMAND
) -> AsyncIterator[Crew]:
    """A process for each task; they have ended when the context is left."""
    members: list[_Member] = []
    following: list[asyncio.Future[None]] = []
    try:
        for task in tasks:
            members.append(await _start(task, command))
            following.append(asyncio.ensure_future(members[-1].follow()))
        yield Crew(members)
    finally:
        await asyncio.gather(*(_stop(member.process) for member in members))
        await asyncio.gather(*following)


async def _start(task: Task, command: Sequence[str]) -> _Member:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=_LIMIT
    )
    member = _Member(process)
    member.tell(task)
    return member


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End of input, wait, kill."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
