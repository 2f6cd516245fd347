"""What the parts of one client share, and the timer that all clients of an event loop
do, however many there are."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.coordinator import CoordinatorClient
from brokerwise.runtime.client.errors import LinkLostError
from brokerwise.runtime.client.events import Notice, OnEvent, Received
from brokerwise.runtime.client.links import Links
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.tasks import Backoff, Signal
from brokerwise.runtime.protocol.limits import ACK_SECONDS

log = logging.getLogger(__name__)

T = TypeVar("T")

TICK_SECONDS = 0.5
_LATEST_ACK_SECONDS = 2.0  # a broker waits for five times as long
_ACK_SHARE = 10  # a loop spends at most a tenth of its time on acknowledgements


@dataclass(frozen=True)
class ClientOptions:
    """What few applications need.

    Attributes
    ----------
    on_event
        Called with each event as soon as it comes, which costs less than to wait for
        them; `Client.events` then gives none, and only tells what ends the client.
    on_needless
        Called with messages that a broker should not have sent: of topics that are
        not wanted, or that had come already, or after a later one of their source.
        They are dropped.
    window
        Messages that may be unconfirmed at a broker, if fewer than it allows: so that
        a publisher without pause does not fill queues.
    epoch
        Of the messages that are published: above that of every earlier client with
        this source. The time in milliseconds, unless given.
    """

    on_event: OnEvent | None = None
    on_needless: Callable[[Received], None] | None = None
    window: int | None = None
    epoch: int | None = None


DEFAULT_OPTIONS = ClientOptions()


_timers: "WeakKeyDictionary[asyncio.AbstractEventLoop, SharedTimer]" = (
    WeakKeyDictionary()
)


class SharedTimer:
    """Calls what `watch` was given every half second, and what `soon` was given once,
    within ACK_SECONDS. It costs nothing while there is nothing to call.

    Where acknowledging takes more than a tenth of the loop's time, because many clients
    share it, they do so less often. They share connections to the coordinator, too
    (`http`)."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watching: dict[Callable[[float], None], None] = {}
        self._owing: dict[Callable[[], None], None] = {}
        self._ticking: asyncio.TimerHandle | None = None
        self._ack_seconds = ACK_SECONDS
        self.http = HttpClient(repeatable=True)

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> "SharedTimer":
        """The timer of a loop, one for all clients on it."""
        found = _timers.get(loop)
        if found is None:
            found = _timers[loop] = cls(loop)
        return found

    def watch(self, tick: Callable[[float], None]) -> None:
        self._watching[tick] = None
        if self._ticking is None:
            self.http = HttpClient(keeps=True, repeatable=True)
            self._ticking = self._loop.call_later(TICK_SECONDS, self._tick)

    def unwatch(self, tick: Callable[[float], None]) -> None:
        self._watching.pop(tick, None)
        if not self._watching and self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None

    async def leave(self) -> None:
        """A client has closed; the last one closes connections that are kept."""
        if self._ticking is None:
            await self.http.close()

    def soon(self, settle: Callable[[], None]) -> None:
        if not self._owing:
            self._loop.call_later(self._ack_seconds, self._settle)
        self._owing[settle] = None

    def _tick(self) -> None:
        self._ticking = self._loop.call_later(TICK_SECONDS, self._tick)
        now = self._loop.time()
        for tick in list(self._watching):
            tick(now)

    def _settle(self) -> None:
        owing, self._owing = self._owing, {}
        began = time.perf_counter()
        for settle in owing:
            settle()
        taken = (time.perf_counter() - began) * _ACK_SHARE
        self._ack_seconds = min(max(taken, ACK_SECONDS), _LATEST_ACK_SECONDS)


async def wait_at_most(
    seconds: float, condition: Callable[[], bool], signal: Signal
) -> None:
    """Returns once the condition holds, or after this time; it is checked whenever the
    signal is notified. Cancelling it loses nothing."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while not condition() and loop.time() < until:
        await signal.wait(until - loop.time())


@dataclass
class ClientContext:
    """What the parts of a client share: its user, its connections, what has ended it.

    `changed` is notified when subscriptions or connections have changed. `failure` is
    the error that has ended the client, if one has."""

    user: str
    coordinator: CoordinatorClient
    links: Links
    options: ClientOptions
    tell: Callable[[Notice], None]
    on_failure: Callable[[BrokerwiseError], None]
    changed: Signal = field(default_factory=Signal)
    failure: BrokerwiseError | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def check(self) -> None:
        """Raise the error that has ended the client, if one has."""
        if self.failure is not None:
            raise self.failure

    def fail(self, error: BrokerwiseError) -> None:
        if self.failure is None:
            self.failure = error
            log.info("client of %r ends: %s", self.user, error)
            self.on_failure(error)
            self.changed.notify()

    async def wait_until(self, condition: Callable[[], bool], signal: Signal) -> None:
        """Returns once the condition holds; it is checked whenever the signal is
        notified. Raises the error that has ended the client. Cancelling it loses
        nothing."""
        while not condition():
            self.check()
            await signal.wait()

    async def retry(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeat a call until the coordinator, or the broker, can be reached and
        answers. Raises RefusedError if it answers that the request is wrong, and the
        error that has ended the client. Cancelling it loses nothing."""
        backoff = Backoff()
        while True:
            self.check()
            try:
                return await call()
            except (UnreachableError, LinkLostError):
                pass
            except RefusedError as error:
                if error.status < 500:
                    raise
            await asyncio.sleep(backoff.pause())

    def start(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """Run a task; if it fails, the client does."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def stop(self) -> None:
        """Cancel all tasks and wait for their end. Cancelling it leaves some of them to
        the loop."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, BrokerwiseError):
            self.fail(error)
        elif error is not None:
            failure = BrokerwiseError(f"the client failed: {error!r}")
            failure.__cause__ = error
            self.fail(failure)
