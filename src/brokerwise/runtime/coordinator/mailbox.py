"""Lines on their way to one watcher, who may be slower than they come."""

import asyncio
from collections import deque

from brokerwise.runtime.coordinator.watch.memory import KEPT_EVENTS


class Mailbox:
    """What waits is bounded: of each kind of line only the newest, and some events.

    It is read by iterating over it, by one reader: each item is all that waits. The
    iteration ends once it is closed and empty. Cancelling it loses nothing.
    """

    def __init__(self) -> None:
        self._first: list[bytes] = []
        self._events: deque[bytes] = deque(maxlen=KEPT_EVENTS)
        self._newest: dict[str, bytes] = {}
        self._filled = asyncio.Event()
        self._closed = False

    def begin(self, line: bytes) -> None:
        """A line that comes before all others, and is never left out."""
        self._first.append(line)
        self._filled.set()

    def put(self, kind: str, line: bytes) -> None:
        """It takes the place of one of its kind that waits still."""
        self._newest[kind] = line
        self._filled.set()

    def put_event(self, line: bytes) -> None:
        self._events.append(line)
        self._filled.set()

    def close(self) -> None:
        """What waits is still read, then it is over."""
        self._closed = True
        self._filled.set()

    def __aiter__(self) -> "Mailbox":
        return self

    async def __anext__(self) -> bytes:
        await self._filled.wait()
        content = b"".join([*self._first, *self._events, *self._newest.values()])
        if not content:
            raise StopAsyncIteration
        self._first.clear()
        self._events.clear()
        self._newest.clear()
        if not self._closed:
            self._filled.clear()
        return content
