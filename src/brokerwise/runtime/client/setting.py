"""What the parts of a client share."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.coordinator import Coordinator
from brokerwise.runtime.client.events import Notice
from brokerwise.runtime.client.links import Links
from brokerwise.runtime.net.waiting import Signal


@dataclass
class Setting:
    """`changed` tells whoever waits that something is not as it was. `failure` is the
    error that has ended the client, if one has."""

    user: str
    coordinator: Coordinator
    links: Links
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
