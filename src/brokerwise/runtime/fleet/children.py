"""One process of the fleet: started, waited for, its output kept, always ended."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from brokerwise.runtime.fleet.starting import (
    BrokerStartError,
    StartError,
    last_line,
)
from brokerwise.runtime.process.launch import Launch, Ready

START_SECONDS = 60.0  # a process that has not announced itself by then is given up
STOP_SECONDS = 5.0  # one that was asked to end and has not by then is killed
_MAX_LINE_BYTES = 1 << 16


@dataclass(frozen=True)
class Program:
    """What to run, and how: `launch` goes to its standard input as one JSON line.

    `keep_open` are file descriptors that it inherits. What it says on stderr, and on
    stdout but for the line that announces it, is added to `log`. `lasting`: it is to
    be there as long as the fleet, on the port that it had first. `failure` is raised
    if it does not come up.
    """

    command: tuple[str, ...]
    launch: Launch
    log: Path
    keep_open: tuple[int, ...] = ()
    lasting: bool = False
    failure: type[StartError] = BrokerStartError
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
    with program.log.open("ab", buffering=0) as log:
        said_before = os.fstat(log.fileno()).st_size
        try:
            transport, watch = await _start(program, log)
        except OSError as cause:
            raise _start_error(program, None, str(cause)) from cause
        try:
            ready = await _announced(program, watch, said_before)
            yield Child(ready, transport.get_pid(), watch.exited)
        finally:
            await _stop(transport, watch, program.stop_seconds)


async def _start(
    program: Program, log: BinaryIO
) -> tuple[asyncio.SubprocessTransport, "_Watch"]:
    transport, watch = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Watch(log),
        *program.command,
        stderr=log,
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
    raise _start_error(program, code, last_line(program.log, said_before))


def _start_error(program: Program, code: int | None, said: str) -> StartError:
    return program.failure(program.name, code, said, program.start_seconds, program.log)


async def _stop(
    transport: asyncio.SubprocessTransport, watch: "_Watch", seconds: float
) -> None:
    """Cancelling it kills the process at once."""
    try:
        if not watch.exited.done():
            stdin = transport.get_pipe_transport(0)
            if stdin is not None:
                stdin.close()
            transport.terminate()
            await asyncio.wait((watch.exited,), timeout=seconds)
        if not watch.exited.done():
            transport.kill()
            await asyncio.wait((watch.exited,))
    finally:
        transport.close()


class _Watch(asyncio.SubprocessProtocol):
    """Finds the line that announces a process; all else it says goes to the log.

    `exited` is set when the process ends, even if a child of its own still holds
    its output open.
    """

    def __init__(self, log: BinaryIO) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[Ready] = loop.create_future()
        self.exited: asyncio.Future[int] = loop.create_future()
        self._log, self._held = log, b""
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
        if data and not self._log.closed:
            self._log.write(data)
