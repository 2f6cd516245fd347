"""One process of the fleet: started, watched, started again, and always ended.

`running_child` is one life of a process; a `Keeper` starts it again when it dies, after
the pause that `Restarts` gives. `StartError` says why one did not come up.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import urlsplit

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.process.launch import EXIT_RESTART, Launch, Ready
from brokerwise.runtime.process.logs import bounded_log, message_in, rotate

START_SECONDS = 60.0  # a process that has not announced itself by then is given up
STOP_SECONDS = 5.0  # one that was asked to end and has not by then is killed
FIRST_SECONDS = 0.5
MOST_SECONDS = 10.0
STEADY_SECONDS = 10.0  # one that lived so long failed for a reason of its own
_MAX_LINE_BYTES = 1 << 16
_TAIL_BYTES = 4096
_SHOWN = 300  # letters of its last line

Tell = Callable[[str], None]
log = logging.getLogger(__name__)


class StartError(BrokerwiseError):
    """A process of the fleet was not ready in time; `exit_code` is None if it did
    not end either."""

    def __init__(
        self, program: "Program", exit_code: int | None, last_line: str
    ) -> None:
        self.name, self.exit_code, self.last_line = program.name, exit_code, last_line
        happened = (
            f"was not ready within {program.start_seconds:g} s"
            if exit_code is None
            else f"exited with {exit_code} before it was ready"
        )
        said = f"last output: {last_line!r}" if last_line else "it said nothing"
        super().__init__(
            f"{program.subject} {happened}; {said}", hint=f"All it said: {program.log}"
        )


@dataclass(frozen=True)
class Program:
    """What to run, and how: `launch` goes to its standard input as one JSON line.

    `subject` is what messages call it. `keep_open` are file descriptors that it
    inherits. What it says on stderr, and on stdout but for the line that announces it,
    is added to `log`. `lasting`: it is to be there as long as the fleet, on the port
    that it had first.
    """

    command: tuple[str, ...]
    launch: Launch
    subject: str
    log: Path
    keep_open: tuple[int, ...] = ()
    lasting: bool = False
    start_seconds: float = START_SECONDS
    stop_seconds: float = STOP_SECONDS

    @property
    def name(self) -> str:
        return self.launch.name


class Child:
    """A process that has announced itself."""

    def __init__(self, ready: Ready, pid: int, exited: "asyncio.Future[int]") -> None:
        self.ready, self.pid = ready, pid
        self._exited = exited

    async def ended(self) -> int:
        """Its exit code (below 0: the signal that ended it), once it has ended.
        Cancelling this loses nothing."""
        return await asyncio.shield(self._exited)


@asynccontextmanager
async def running_child(program: Program) -> AsyncIterator[Child]:
    """The process, once it is ready; it has ended when the context is left.

    Ending is: close its input and terminate, wait, kill; also when start-up fails
    (StartError) or is cancelled. It is in a session of its own, so that Ctrl-C in a
    terminal reaches only us, and we end it in order.
    """
    program.log.parent.mkdir(parents=True, exist_ok=True)
    rotate(program.log)
    with program.log.open("ab", buffering=0) as output:
        said_before = os.fstat(output.fileno()).st_size
        try:
            transport, watch = await _start(program, output)
        except OSError as cause:
            raise StartError(program, None, str(cause)) from cause
        try:
            ready = await _announced(program, watch, said_before)
            async with bounded_log(program.log):
                yield Child(ready, transport.get_pid(), watch.exited)
        finally:
            await _stop(program, transport, watch)


async def _start(
    program: Program, output: BinaryIO
) -> tuple[asyncio.SubprocessTransport, "_Watch"]:
    transport, watch = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Watch(output),
        *program.command,
        stderr=output,
        start_new_session=True,
        pass_fds=program.keep_open,
    )
    stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    stdin.write(msgspec.json.encode(program.launch) + b"\n")
    return transport, watch


async def _announced(program: Program, watch: "_Watch", said_before: int) -> Ready:
    await asyncio.wait(
        (watch.ready, watch.exited),
        timeout=program.start_seconds,
        return_when=asyncio.FIRST_COMPLETED,
    )
    if watch.ready.done():
        return watch.ready.result()
    code = watch.exited.result() if watch.exited.done() else None
    raise StartError(program, code, _last_line(program.log, said_before))


def _last_line(log: Path, start: int) -> str:
    """The message of the last line that is not empty, of what was added to a log since
    it was `start` bytes long."""
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(start, size - _TAIL_BYTES))
        lines = file.read().decode(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return message_in(said)[:_SHOWN]


async def _stop(
    program: Program, transport: asyncio.SubprocessTransport, watch: "_Watch"
) -> None:
    """Cancelling it kills the process at once."""
    try:
        if watch.exited.done():  # by itself
            return
        stdin = transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        transport.terminate()
        await asyncio.wait((watch.exited,), timeout=program.stop_seconds)
        if not watch.exited.done():
            log.warning(
                "%s (process %d) did not end within %g s: killed",
                *(program.name, transport.get_pid(), program.stop_seconds),
            )
            transport.kill()
            await asyncio.wait((watch.exited,))
        code = watch.exited.result()
        log.info("%s was ended by us, exit code %d", program.name, code)
    finally:
        transport.close()


class _Watch(asyncio.SubprocessProtocol):
    """Finds the line that announces a process; all else it says goes to the log.

    `exited` is set when the process ends, even if a child of its own still holds
    its output open.
    """

    def __init__(self, output: BinaryIO) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[Ready] = loop.create_future()
        self.exited: asyncio.Future[int] = loop.create_future()
        self._output, self._held = output, b""
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self.ready.done():
            self._keep(data)
            return
        *lines, self._held = (self._held + data).split(b"\n")
        for number, line in enumerate(lines):
            if self._announces(line):
                rest = b"\n".join([*lines[number + 1 :], self._held])
                self._held = b""
                self._keep(rest)
                return
            self._keep(line + b"\n")
        if len(self._held) > _MAX_LINE_BYTES:
            self._keep(self._held)
            self._held = b""

    def process_exited(self) -> None:
        assert self._transport is not None
        self._keep(self._held)
        self._held = b""
        code = self._transport.get_returncode()
        if not self.exited.done():
            self.exited.set_result(-1 if code is None else code)

    def _announces(self, line: bytes) -> bool:
        try:
            self.ready.set_result(msgspec.json.decode(line, type=Ready))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        return True

    def _keep(self, data: bytes) -> None:
        if data and not self._output.closed:
            self._output.write(data)


@dataclass
class Restarts:
    """Counts failures in a row: 0.5 s before the next start, doubling up to 10 s.

    A process that ends with 0 was told to, and stays out, unless `always`. One that
    ends with EXIT_RESTART is started at once.
    """

    always: bool = False
    first: float = FIRST_SECONDS
    most: float = MOST_SECONDS
    failures: int = 0

    def pause(self, code: int | None, lived: float) -> float | None:
        """Seconds before the next start; None: there is none.

        `code` is None for a process that did not come up and had to be killed.
        """
        if lived >= STEADY_SECONDS:
            self.failures = 0
        if code == EXIT_RESTART:
            return 0.0
        if code == 0 and not self.always:
            return None
        seconds = self.first * 2.0 ** min(self.failures, 30)
        self.failures += 1
        return min(seconds, self.most)


class Keeper:
    """A process that is to run. `run` ends when it has ended and stays out.

    The first start has to succeed, later ones are tried again and again. One that is
    to last comes back on the port that it had, whatever it ended with: all others
    know it by that. `tell` is given a line whenever it has ended or is up again.
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
        except Exception as error:  # also one that is not expected
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
