"""A worker process as its broker sees it: messages in, replies out, in order."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.processing_worker import Reply

START_SECONDS = 30.0  # a worker that is not ready by then is ended
STOP_SECONDS = 2.0  # one that has been asked to end is killed after this long
_MODULE = "brokerwise.runtime.broker.processing_worker"
_decoder = msgspec.json.Decoder(Reply)


class StepStartError(BrokerwiseError):
    """A worker process ended, or said nothing, before it was ready."""

    def __init__(self, spec: str, reason: str) -> None:
        self.spec, self.reason = spec, reason
        super().__init__(f"step {spec!r} cannot be started: {reason}")


class StepWorker(asyncio.SubprocessProtocol):
    """A running worker; `started_worker` makes one.

    `ended` is done, with the exit code, once the process has ended and all that it
    had answered has been handed on. A worker that answers what it was not asked, or
    that closes its input, is killed.
    """

    def __init__(self, on_reply: Callable[[Reply], None]) -> None:
        loop = asyncio.get_running_loop()
        self.loaded: asyncio.Future[Reply | None] = loop.create_future()
        self.ended: asyncio.Future[int | None] = loop.create_future()
        self.answers = 0
        self._asked = 0
        self._on_reply = on_reply
        self._partial = bytearray()

    async def stop(self) -> None:
        """End it: terminate, wait, kill. Cancelled, it is killed at once."""
        try:
            self._signal(signal.SIGTERM)
            async with asyncio.timeout(STOP_SECONDS):
                await asyncio.shield(self.ended)
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await asyncio.shield(self.ended)
        except asyncio.CancelledError:
            self._signal(signal.SIGKILL)
            raise

    def send(self, data: bytes) -> None:
        """A JSON value; line feeds between its parts mean nothing and become spaces."""
        self._asked += 1
        if not self._input.is_closing():
            self._input.write(data.replace(b"\n", b" ") + b"\n")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        pipe = self._transport.get_pipe_transport(0)
        self._input = cast(asyncio.WriteTransport, pipe)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self._partial) + lines[0]
            self._partial.clear()
        self._partial += rest
        for line in lines:
            self._answered(line)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """As a rule the process is about to end; if not, it is of no more use."""
        loop = asyncio.get_running_loop()
        loop.call_later(STOP_SECONDS, self._signal, signal.SIGKILL)

    def process_exited(self) -> None:
        """Something that it started may hold the pipes open: do not wait for that."""
        asyncio.get_running_loop().call_later(STOP_SECONDS, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.loaded.done():
            self.loaded.set_result(None)
        if not self.ended.done():
            self.ended.set_result(self._transport.get_returncode())
        self._transport.close()

    def _answered(self, line: bytes) -> None:
        try:
            reply = _decoder.decode(line)
        except msgspec.DecodeError:
            self._signal(signal.SIGKILL)
            return
        if not self.loaded.done():
            self.loaded.set_result(reply)
        elif self.answers < self._asked:
            self.answers += 1
            self._on_reply(reply)
        else:
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        # Not by the transport: that would collect the exit code of a process that
        # has just ended, for which the event loop then waits in vain.
        if self._transport.get_returncode() is None:
            with suppress(ProcessLookupError):
                os.kill(self._transport.get_pid(), number)


async def started_worker(spec: str, on_reply: Callable[[Reply], None]) -> StepWorker:
    """A worker that is ready. Raises StepStartError; then, and when cancelled, none
    is left running."""
    loop = asyncio.get_running_loop()
    _, worker = await loop.subprocess_exec(
        lambda: StepWorker(on_reply),
        *(sys.executable, "-m", _MODULE, spec),
        stderr=None,  # as ours: what a step prints is in the broker's log
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            reply = await asyncio.shield(worker.loaded)
    except TimeoutError:
        reason = f"it was not ready within {START_SECONDS:g} s"
    except asyncio.CancelledError:
        await worker.stop()
        raise
    else:
        if reply is not None and not reply.problem:
            return worker
        reason = reply.problem if reply else "its process ended before it was ready"
    await worker.stop()
    raise StepStartError(spec, reason)
