"""What waits for the application: a bounded queue of events."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.events import Event, Received
from brokerwise.runtime.net.waiting import Signal
from brokerwise.runtime.protocol.names import SOURCE

MOST_EVENTS = 10_000
LOW_MARK = MOST_EVENTS // 2


class Inbox(AsyncIterator[Event]):
    """Hands events to whoever iterates, in order. `on_full` and `on_room` tell those
    who fill it when to pause: what they were about to add still fits. `on_handled` is
    called with a channel's result once the next event is asked for.

    Cancelling a wait for the next event loses none.
    """

    def __init__(
        self,
        on_full: Callable[[], None],
        on_room: Callable[[], None],
        on_handled: Callable[[Received], None] = lambda message: None,
    ) -> None:
        self.is_full = False
        self._events: deque[Event] = deque()
        self._arrived = Signal()
        self._on_full = on_full
        self._on_room = on_room
        self._on_handled = on_handled
        self._handed_out: Event | None = None
        self._failure: BrokerwiseError | None = None
        self._closed = False

    def add(self, events: Iterable[Event]) -> None:
        self._events.extend(events)
        self._arrived.notify()
        if not self.is_full and len(self._events) >= MOST_EVENTS:
            self.is_full = True
            self._on_full()

    def close(self, failure: BrokerwiseError | None = None) -> None:
        """Nothing more comes; whoever iterates gets the rest, then the failure."""
        if not self._closed:
            self._closed, self._failure = True, failure
            self._arrived.notify()

    def settle(self) -> None:
        """Whoever iterates has dealt with what it got last."""
        last, self._handed_out = self._handed_out, None
        if isinstance(last, Received) and last.source == SOURCE:
            self._on_handled(last)

    async def __anext__(self) -> Event:
        self.settle()
        events = self._events
        while not events:
            if self._failure is not None:
                raise self._failure
            if self._closed:
                raise StopAsyncIteration
            await self._arrived.wait()
        event = self._handed_out = events.popleft()
        if self.is_full and len(events) <= LOW_MARK:
            self.is_full = False
            self._on_room()
        return event
