"""When channels run. Pure: no clock, no I/O.

A channel's beats are `period` apart, counted from its creation. At a beat it becomes
due; of those that are due, the one that waits longest starts, at most so many at once.
A beat that finds the channel still running, or still waiting for its turn, is skipped:
the run that is to come covers what has come since.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor

RUNS_AT_ONCE = 2
_EARLY = 1e-6  # of a period: a clock that shows the beat's own time counts as there

# A channel's name and when it was created: one that is dropped and created again is
# another one.
Key = tuple[str, float]


@dataclass
class _Beating:
    created: float
    period: float
    handled: int = 0  # the last beat that was seen
    due: float | None = None  # since when it waits for its turn

    def last_beat(self, now: float) -> int:
        return floor((now - self.created) / self.period + _EARLY)

    def time_of(self, beat: int) -> float:
        return self.created + beat * self.period


class Agenda:
    """The channels, and which of them run. Times are seconds since 1970."""

    def __init__(self, at_once: int = RUNS_AT_ONCE) -> None:
        self._at_once = at_once
        self._beating: dict[Key, _Beating] = {}
        self._running: set[Key] = set()

    def add(self, key: Key, period: float, now: float) -> None:
        """Its first beat is a period after its creation. One that was created before
        is due at once if a beat has passed: whatever kept us from it, that is over."""
        channel = _Beating(key[1], period)
        channel.handled = max(0, channel.last_beat(now) - 1)
        self._beating[key] = channel

    def remove(self, key: Key) -> None:
        """A run that is under way keeps its place until it is finished."""
        self._beating.pop(key, None)

    def tick(self, now: float) -> Mapping[Key, int]:
        """Let beats pass. How many were skipped, of which channels."""
        skipped = {key: self._pass_beats(key, now) for key in self._beating}
        return {key: beats for key, beats in skipped.items() if beats}

    def start(self, now: float) -> Key | None:
        """The channel whose turn it is, which now counts as running; None if there is
        none or as many run as may."""
        due = [(at, key) for key, at in self._waiting() if at <= now]
        if not due or self._is_full():
            return None
        _, key = min(due)
        self._beating[key].due = None
        self._running.add(key)
        return key

    def finish(self, key: Key, again: float | None = None) -> None:
        """The run is over. With `again` the channel is not done: it wants its next
        turn at that time, behind those who wait already."""
        self._running.discard(key)
        if key in self._beating:
            self._beating[key].due = again

    def next_time(self) -> float | None:
        """When something is to be done next, if no run ends before."""
        times = [one.time_of(one.handled + 1) for one in self._beating.values()]
        if not self._is_full():
            times += [at for _, at in self._waiting()]
        return min(times, default=None)

    def _waiting(self) -> list[tuple[Key, float]]:
        everyone = self._beating.items()
        return [(key, one.due) for key, one in everyone if one.due is not None]

    def _is_full(self) -> bool:
        return len(self._running) >= self._at_once

    def _pass_beats(self, key: Key, now: float) -> int:
        """The beats that are skipped up to now."""
        channel = self._beating[key]
        beats = channel.last_beat(now) - channel.handled
        if beats <= 0:
            return 0
        channel.handled += beats
        if key in self._running or channel.due is not None:
            return beats
        channel.due = channel.time_of(channel.handled)
        return beats - 1
