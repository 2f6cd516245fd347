"""A process that is told what to do on its standard input, and reports on its standard
output, in lines."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

STOP_SECONDS = 10.0
_LIMIT = 1 << 20  # bytes of a report
_KEPT = 5  # lines of what else it said


class ReportingProcess:
    """One that has been started. What it says on its standard error is kept, a little
    of it, for the case that it fails."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._said: deque[bytes] = deque(maxlen=_KEPT)

    @classmethod
    async def start(cls, command: Sequence[str], task: bytes) -> "ReportingProcess":
        """`task` is its first line. The caller stops it."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=_LIMIT
        )
        started = cls(process)
        started.tell(task)
        return started

    @property
    def exit_code(self) -> int | None:
        """None while it runs; below 0: the signal that ended it."""
        return self._process.returncode

    def tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)

    def keep(self, line: bytes) -> None:
        """A line that is no report, but may say why there is none."""
        if line.strip():
            self._said.append(line)

    async def follow(self, take: Callable[[bytes], None]) -> str:
        """Hand its reports on until it ends; returns how it did."""
        assert self._process.stdout is not None
        talk = asyncio.ensure_future(self._listen())
        while line := await self._process.stdout.readline():
            take(line)
        await talk
        code = await self._process.wait()
        last = self._said[-1].decode(errors="replace").strip() if self._said else ""
        return f"ended with {code}: {last}"

    async def stop(self) -> None:
        """End of input, wait, kill."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self.keep(line)
