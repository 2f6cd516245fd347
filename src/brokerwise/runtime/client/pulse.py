"""One timer for all the clients of an event loop, however many there are."""

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

from brokerwise.runtime.protocol.limits import ACK_SECONDS

TICK_SECONDS = 0.5

_pulses: "WeakKeyDictionary[asyncio.AbstractEventLoop, Pulse]" = WeakKeyDictionary()


class Pulse:
    """Calls those who watch every half second, and those who owe an acknowledgement
    soon: within ACK_SECONDS, once. It costs nothing while nobody does."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watching: dict[Callable[[float], None], None] = {}
        self._owing: dict[Callable[[], None], None] = {}
        self._ticking: asyncio.TimerHandle | None = None

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> "Pulse":
        """The pulse of a loop; everyone on it shares it."""
        found = _pulses.get(loop)
        if found is None:
            found = _pulses[loop] = cls(loop)
        return found

    @property
    def is_ticking(self) -> bool:
        return self._ticking is not None

    def watch(self, tick: Callable[[float], None]) -> None:
        self._watching[tick] = None
        if self._ticking is None:
            self._ticking = self._loop.call_later(TICK_SECONDS, self._tick)

    def unwatch(self, tick: Callable[[float], None]) -> None:
        self._watching.pop(tick, None)
        if not self._watching and self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None

    def soon(self, settle: Callable[[], None]) -> None:
        if not self._owing:
            self._loop.call_later(ACK_SECONDS, self._settle)
        self._owing[settle] = None

    def _tick(self) -> None:
        self._ticking = self._loop.call_later(TICK_SECONDS, self._tick)
        now = self._loop.time()
        for tick in list(self._watching):
            tick(now)

    def _settle(self) -> None:
        owing, self._owing = self._owing, {}
        for settle in owing:
            settle()
