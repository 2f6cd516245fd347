"""What the parts of one client share, and the timer that all clients of an event loop
do, however many there are."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.coordinator import Coordinator
from brokerwise.runtime.client.events import Notice, OnEvent, Received
from brokerwise.runtime.client.links import Links
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.tasks import Signal
from brokerwise.runtime.protocol.limits import ACK_SECONDS

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5
_LATEST_ACK_SECONDS = 2.0  # a broker waits for five times as long
_ACK_SHARE = 10  # the part of its time that a loop acknowledges in: one in so many


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
        Of the messages that are published: above that of all who were this source
        before. The time in milliseconds, unless given.
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

    Where so many clients share a loop that this takes a tenth of its time, they
    acknowledge less often. Connections to the coordinator are shared, too (`http`)."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watching: dict[Callable[[float], None], None] = {}
        self._owing: dict[Callable[[], None], None] = {}
        self._ticking: asyncio.TimerHandle | None = None
        self._ack_seconds = ACK_SECONDS
        self.http = HttpClient(repeatable=True)

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> "SharedTimer":
        """The timer of a loop; everyone on it shares it."""
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


@dataclass
class ClientContext:
    """What the parts of a client share: who it is, whom it talks to, what has ended it.

    `changed` is notified when something is not as it was. `failure` is the
    error that has ended the client, if one has."""

    user: str
    coordinator: Coordinator
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

    def start(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """Do something beside; if it fails, the client does."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def stop(self) -> None:
        """End all that is done beside. Cancelling it leaves some of it to the loop."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, BrokerwiseError):
            self.fail(error)
        elif error is not None:
            told = BrokerwiseError(f"the client failed: {error!r}")
            told.__cause__ = error
            self.fail(told)
