"""Worker processes: users are played in processes of their own, so that thousands of
them do not disturb the process that measures, and can use more than one core.

A worker reads its task from the first line of its standard input; each further line
lets it go on with its next part. It reports in lines on its standard output, and ends
when its input does: then the process that started it has gone.
"""

import asyncio
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, TypeVar

import msgspec
import uvloop

from brokerwise.model.errors import BrokerwiseError

STOP_SECONDS = 10.0
_LINE_BYTES = 1 << 20  # of a report at most
_KEPT = 5  # lines of other output of a worker

T = TypeVar("T")
Final = TypeVar("Final")


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    """The task cannot go on."""

    message: str


class WorkerError(BrokerwiseError):
    """A worker could not do its task."""


# In the worker

GoOn = Callable[[], Awaitable[object]]
Work = Callable[[bytes, GoOn], Awaitable[None]]


def run_worker(work: Work) -> None:
    """Do the task that standard input brings: `work` is called with it, and with what
    returns when the next part may begin. A BrokerwiseError is reported; `work` is
    cancelled when the input ends."""
    # Ctrl-C in a terminal reaches us too; the process that started us ends us in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task = sys.stdin.buffer.readline()
    if task:
        uvloop.run(_work(work, task))


def tell(report: msgspec.Struct) -> None:
    """Report to the process that started this worker."""
    sys.stdout.buffer.write(_line(report))
    sys.stdout.buffer.flush()


async def _work(work: Work, task: bytes) -> None:
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    working = asyncio.ensure_future(work(task, lines.get))
    reading = asyncio.ensure_future(_read(lines))
    try:
        await asyncio.wait((working, reading), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    except BrokerwiseError as error:
        tell(Failure(error.message))
    finally:
        for each in (working, reading):
            each.cancel()
            with suppress(asyncio.CancelledError, BrokerwiseError):
                await each


async def _read(lines: "asyncio.Queue[bytes]") -> None:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while line := await reader.readline():
            lines.put_nowait(line)
    finally:
        transport.close()


def _line(content: msgspec.Struct) -> bytes:
    return msgspec.json.encode(content) + b"\n"


# In the process that starts workers


class _Process:
    """One worker, as far as it has told: the last report of each kind. What is no
    report, or is on its standard error, is kept for the case that it fails."""

    def __init__(
        self, process: asyncio.subprocess.Process, decoder: msgspec.json.Decoder[Any]
    ) -> None:
        self.reports: dict[type, Any] = {}
        self.ended = ""
        self._process, self._decoder = process, decoder
        self._output: deque[bytes] = deque(maxlen=_KEPT)

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)

    async def follow(self, changed: Callable[[], None]) -> None:
        """Take in its reports until it ends."""
        assert self._process.stdout is not None
        listening = asyncio.ensure_future(self._listen())
        while line := await self._process.stdout.readline():
            try:
                report = self._decoder.decode(line)
                self.reports[type(report)] = report
            except msgspec.DecodeError:
                self._keep(line)
            changed()
        await listening
        code = await self._process.wait()
        last = self._output[-1].decode(errors="replace").strip() if self._output else ""
        self.ended = f"ended with {code}: {last}"
        changed()

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
            self._keep(line)

    def _keep(self, line: bytes) -> None:
        if line.strip():
            self._output.append(line)


class Workers(Generic[Final]):
    """Workers that run. Each has done its task once it has made a `final` report;
    `name` is what one is called if it fails."""

    def __init__(
        self, processes: Sequence[_Process], final: type[Final], name: str
    ) -> None:
        self._processes, self._final, self._name = processes, final, name
        self._changed = asyncio.Event()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def latest(self, kind: type[T]) -> list[T]:
        """The last report of a kind, of each worker that has made one."""
        found = (process.reports.get(kind) for process in self._processes)
        return [report for report in found if report is not None]

    def have_all(self, kind: type) -> bool:
        """True if every worker has made a report of a kind."""
        return len(self.latest(kind)) == len(self._processes)

    def go_on(self) -> None:
        """Let all workers begin with their next part."""
        for process in self._processes:
            process.write(b"\n")

    def check(self) -> None:
        """Raises WorkerError if a worker has failed, or ended too early."""
        for process in self._processes:
            if Failure in process.reports:
                raise WorkerError(process.reports[Failure].message)
            if process.ended and self._final not in process.reports:
                raise WorkerError(f"{self._name} {process.ended}")

    async def until(self, happened: Callable[[], bool], quiet: float = 0.0) -> bool:
        """Wait for something that reports tell. False if none has come for `quiet`
        seconds. Raises WorkerError. Cancelling it loses nothing."""
        while True:
            self.check()
            if happened():
                return True
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), quiet or None)
            except TimeoutError:
                return False

    async def finished(self) -> list[Final]:
        """What came of all tasks. Raises WorkerError, as `until` does."""
        await self.until(lambda: self.have_all(self._final))
        return self.latest(self._final)

    async def follow(self) -> None:
        """Take in reports until all have ended."""
        works = [process.follow(self._changed.set) for process in self._processes]
        await asyncio.gather(*works)


@asynccontextmanager
async def started_workers(
    command: Sequence[str],
    tasks: Sequence[msgspec.Struct],
    reports: Any,
    final: type[Final],
    name: str = "a worker",
) -> AsyncIterator[Workers[Final]]:
    """A process for each task, which reports structs of the types `reports`. They have
    ended when the context is left."""
    decoder, pipe = msgspec.json.Decoder(reports | Failure), asyncio.subprocess.PIPE
    processes: list[_Process] = []
    following: asyncio.Future[None] | None = None
    try:
        for task in tasks:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=_LINE_BYTES
            )
            processes.append(_Process(process, decoder))
            processes[-1].write(_line(task))
        workers = Workers(processes, final, name)
        following = asyncio.ensure_future(workers.follow())
        yield workers
    finally:
        await asyncio.gather(*(process.stop() for process in processes))
        if following is not None:
            await following
