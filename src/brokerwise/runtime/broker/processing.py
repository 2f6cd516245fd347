"""The processing steps of a broker's topics: one worker process for each step.

`TopicSteps` knows which topic goes through which step, `Step` queues the messages of
one and starts its worker again when it dies, `StepWorker` is the worker's process as
the broker sees it. The program that runs in it is `step_worker`. The router submits
messages and delivers what comes out.
"""

import asyncio
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.step_worker import Reply
from brokerwise.runtime.net.tasks import Backoff
from brokerwise.runtime.protocol.limits import STEP_QUEUE_BYTES, STEP_QUEUE_MESSAGES
from brokerwise.runtime.protocol.names import found_for, is_pattern

OnDone = Callable[[bytes | None], None]

START_SECONDS = 30.0  # a worker that is not ready by then is ended
STOP_SECONDS = 2.0  # one that has been asked to end is killed after this long
LONGEST_PAUSE_SECONDS = 5.0  # before a worker that died is started again
_DRAIN_SECONDS = 2.0
_AHEAD = 16  # messages in the pipe: the worker need not wait for the next
_MODULE = "brokerwise.runtime.broker.step_worker"
_decoder = msgspec.json.Decoder(Reply)

log = logging.getLogger(__name__)


class StepStartError(BrokerwiseError):
    """A worker process ended, or said nothing, before it was ready."""

    def __init__(self, spec: str, reason: str) -> None:
        self.spec, self.reason = spec, reason
        super().__init__(f"step {spec!r} cannot be started: {reason}")


class StepWorker(asyncio.SubprocessProtocol):
    """A running worker; `start_worker` makes one.

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
        """The process is about to end, or is useless without its pipes."""
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
        # has just ended, for which the event loop would then wait forever.
        if self._transport.get_returncode() is None:
            with suppress(ProcessLookupError):
                os.kill(self._transport.get_pid(), number)


async def start_worker(spec: str, on_reply: Callable[[Reply], None]) -> StepWorker:
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


@dataclass
class StepCounts:
    """What became of the messages of a step, since it began.

    Attributes
    ----------
    refused
        Not taken, because too many were waiting.
    passed
        Handed on with the data that the step gave.
    dropped
        The step wanted them dropped.
    failed
        The step raised an exception.
    poisonous
        The worker died of them, or while it had them.
    restarts
        Workers started after the first.
    """

    refused: int = 0
    passed: int = 0
    dropped: int = 0
    failed: int = 0
    poisonous: int = 0
    restarts: int = 0


class Step:
    """Puts the messages of a topic through a step, in order, in a process of its own.

    Use it as an async context manager: it is entered when the worker is ready, and
    left, whatever still waits being given up, when the worker has ended. `drain`
    first to lose nothing. A worker that dies is started again; the message that it
    had counts as dropped, and those after it go on in order.
    """

    def __init__(
        self,
        spec: str,
        *,
        most_messages: int = STEP_QUEUE_MESSAGES,
        most_bytes: int = STEP_QUEUE_BYTES,
    ) -> None:
        self.spec = spec
        self.counts = StepCounts()
        self._most_messages, self._most_bytes = most_messages, most_bytes
        self._bytes = 0
        self._waiting: deque[tuple[bytes, OnDone]] = deque()
        self._sent: deque[tuple[bytes, OnDone]] = deque()
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._worker: StepWorker | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._has_logged = False
        self._is_full = False  # since it was last empty, and that was logged

    async def __aenter__(self) -> "Step":
        """Raises StepStartError; then nothing is left running, as when cancelled."""
        self._worker = await start_worker(self.spec, self._answered)
        log.info("step %s started", self.spec)
        self._keeper = asyncio.create_task(self._keep(self._worker))
        self._send()  # messages submitted during the start
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancelled, it kills the worker."""
        assert self._keeper is not None
        self._keeper.cancel()
        try:
            await asyncio.wait({self._keeper})
        finally:
            worker, self._worker = self._worker, None
            self._give_up()
            if worker is not None:
                await worker.stop()

    def __len__(self) -> int:
        """How many messages wait or are being worked on."""
        return len(self._waiting) + len(self._sent)

    def submit(self, data: bytes, done: OnDone) -> bool:
        """Put the JSON value of a message in; False if too many wait already.

        `done` is called once, from the event loop, in the order of submitting, with
        the new value, or None if the message is to be dropped; not at all if the step
        is left before.
        """
        size = len(data)
        if len(self) >= self._most_messages or self._bytes + size > self._most_bytes:
            self._refuse()
            return False
        self._bytes += size
        self._waiting.append((data, done))
        self._idle.clear()
        self._send()
        return True

    async def drain(self) -> None:
        """Wait until all messages are done. Cancelling it loses nothing."""
        await self._idle.wait()

    def _refuse(self) -> None:
        self.counts.refused += 1
        if not self._is_full:
            self._is_full = True
            log.warning(
                "step %s is full: %d messages wait; more are dropped and counted",
                *(self.spec, len(self)),
            )

    def _give_up(self) -> None:
        self._waiting.clear()
        self._sent.clear()
        self._bytes = 0
        self._idle.set()

    def _send(self) -> None:
        worker = self._worker
        if worker is None:
            return
        while self._waiting and len(self._sent) < _AHEAD:
            self._sent.append(self._waiting.popleft())
            worker.send(self._sent[-1][0])

    def _answered(self, reply: Reply) -> None:
        if not self._sent:
            return  # given up
        if reply.problem:
            self.counts.failed += 1
            self._log_once(reply.problem)
            self._finish(None)
        elif reply.dropped:
            self.counts.dropped += 1
            self._finish(None)
        else:
            self.counts.passed += 1
            self._finish(bytes(reply.data))

    def _finish(self, result: bytes | None) -> None:
        """The message that is first in line is done."""
        data, done = self._sent.popleft()
        self._bytes -= len(data)
        try:
            done(result)
        except Exception:  # the messages after it are processed all the same
            log.exception("step %s: what follows a message failed", self.spec)
        self._send()
        if not len(self):
            self._idle.set()
            self._is_full = False

    def _log_once(self, problem: str) -> None:
        if not self._has_logged:
            self._has_logged = True
            log.warning(
                "step %s dropped a message: %s; more such are only counted",
                *(self.spec, problem),
            )

    async def _keep(self, worker: StepWorker) -> None:
        """Start a worker again whenever it has ended, for as long as this runs."""
        backoff = Backoff(longest=LONGEST_PAUSE_SECONDS)
        while True:
            code = await asyncio.shield(worker.ended)
            if worker.answers:
                backoff.attempts = 0
            log.warning("the worker of step %s ended (%s)", self.spec, code)
            self._take_back()
            worker = await self._start_again(backoff)
            log.info("step %s started again", self.spec)
            self._worker = worker
            self._send()

    def _take_back(self) -> None:
        """The worker is dead: drop what it died of, line up again what it had not
        begun."""
        self._worker = None
        if not self._sent:
            return
        first = self._sent.popleft()
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
        self._sent.append(first)
        self.counts.poisonous += 1
        self._finish(None)

    async def _start_again(self, backoff: Backoff) -> StepWorker:
        while True:
            await asyncio.sleep(backoff.pause())
            self.counts.restarts += 1
            try:
                return await start_worker(self.spec, self._answered)
            except StepStartError as problem:
                log.warning("%s", problem)


class TopicSteps:
    """One step for each topic that has one, or for all topics of a pattern together.

    Without `limited`, any number of messages may wait for a step.
    """

    def __init__(self, *, limited: bool = True) -> None:
        self._limited = limited
        self._steps: dict[str, Step] = {}
        self._of_patterns: dict[str, Step] = {}
        self._later: dict[str, str] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()

    async def start(
        self, specs: Mapping[str, str], later: Mapping[str, str] | None = None
    ) -> None:
        """Start the steps that do not run yet; those of `later` when they are needed:
        what comes meanwhile waits."""
        for topic, spec in specs.items():
            if topic not in self._steps:
                step = self._step(spec)
                self._steps[topic] = await self._stack.enter_async_context(step)
        self._of_patterns = {t: s for t, s in self._steps.items() if is_pattern(t)}
        self._later = {t: s for t, s in (later or {}).items() if t not in self._steps}

    def find(self, topic: str) -> Step | None:
        """The router asks this for each message, most of which have no step."""
        if topic in self._later:
            return self._begin(topic)
        step = self._steps.get(topic)
        if step is None and self._of_patterns:
            return found_for(topic, self._of_patterns)
        return step

    def counts(self) -> dict[str, dict[str, Any]]:
        return {
            topic: {"waiting": len(step), **msgspec.to_builtins(step.counts)}
            for topic, step in self._steps.items()
        }

    async def close(self) -> None:
        """Let what waits come out, for a moment, and end the workers."""
        if self._starting:  # a start that is cancelled may never end
            await asyncio.wait(self._starting)
        draining = [step.drain() for step in self._steps.values()]
        if draining:
            tasks = [asyncio.ensure_future(d) for d in draining]
            _, late = await asyncio.wait(tasks, timeout=_DRAIN_SECONDS)
            for task in late:
                task.cancel()
        await self._stack.aclose()

    def _step(self, spec: str) -> Step:
        if self._limited:
            return Step(spec)
        return Step(spec, most_messages=sys.maxsize, most_bytes=sys.maxsize)

    def _begin(self, topic: str) -> Step:
        """A step that is started while messages line up for it."""
        step = self._steps[topic] = self._step(self._later.pop(topic))
        task = asyncio.ensure_future(self._enter(topic, step))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        return step

    async def _enter(self, topic: str, step: Step) -> None:
        try:
            await self._stack.enter_async_context(step)
        except StepStartError as problem:
            log.warning("%s; messages of topic %r are not processed", problem, topic)
