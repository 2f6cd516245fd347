"""A topic's processing step: one worker process, one message after the other."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.processing_worker import Reply
from brokerwise.runtime.broker.step_worker import (
    StepStartError,
    StepWorker,
    started_worker,
)
from brokerwise.runtime.protocol.limits import STEP_QUEUE_BYTES, STEP_QUEUE_MESSAGES

Done = Callable[[bytes | None], None]

FIRST_PAUSE_SECONDS = 0.1  # before a worker that died is started again,
LONGEST_PAUSE_SECONDS = 5.0  # doubled while they die without an answer
_AHEAD = 16  # messages in the pipe: the worker need not wait for the next

_log = logging.getLogger(__name__)


class StepFullError(BrokerwiseError):
    """A step has as many messages waiting as it may."""

    def __init__(self, spec: str, waiting: int) -> None:
        self.spec, self.waiting = spec, waiting
        super().__init__(f"{waiting} messages wait for step {spec!r}: no more fit")


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
        self._waiting: deque[tuple[bytes, Done]] = deque()
        self._sent: deque[tuple[bytes, Done]] = deque()
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._worker: StepWorker | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._told = False

    async def __aenter__(self) -> "Step":
        """Raises StepStartError; then nothing is left running, as when cancelled."""
        self._worker = await started_worker(self.spec, self._answered)
        self._keeper = asyncio.create_task(self._keep(self._worker))
        self._send()  # what has lined up meanwhile
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    def submit(self, data: bytes, done: Done) -> None:
        """Put the JSON value of a message in; raises StepFullError.

        `done` is called once, from the event loop, in the order of submitting, with
        the new value, or None if the message is to be dropped; not at all if the step
        is left before.
        """
        size = len(data)
        if len(self) >= self._most_messages or self._bytes + size > self._most_bytes:
            self.counts.refused += 1
            raise StepFullError(self.spec, len(self))
        self._bytes += size
        self._waiting.append((data, done))
        self._idle.clear()
        self._send()

    async def drain(self) -> None:
        """Wait until nothing waits any more. Cancelling it loses nothing."""
        await self._idle.wait()

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
            self._tell_once(reply.problem)
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
        except Exception:  # those behind it in the line have their turn all the same
            _log.exception("step %s: what follows a message failed", self.spec)
        self._send()
        if not len(self):
            self._idle.set()

    def _tell_once(self, problem: str) -> None:
        if not self._told:
            self._told = True
            _log.warning(
                "step %s dropped a message: %s; more such are only counted",
                *(self.spec, problem),
            )

    async def _keep(self, worker: StepWorker) -> None:
        """Start a worker again whenever it has ended, for as long as this runs."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            code = await asyncio.shield(worker.ended)
            pause = FIRST_PAUSE_SECONDS if worker.answers else _longer(pause)
            _log.warning("the worker of step %s ended (%s)", self.spec, code)
            self._take_back()
            worker = await self._again(pause)
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

    async def _again(self, pause: float) -> StepWorker:
        while True:
            await asyncio.sleep(pause)
            self.counts.restarts += 1
            try:
                return await started_worker(self.spec, self._answered)
            except StepStartError as problem:
                _log.warning("%s", problem)
                pause = _longer(pause)


def _longer(pause: float) -> float:
    return min(2 * pause, LONGEST_PAUSE_SECONDS)
