"""What is remembered of a fleet for those who watch it, or will. Reports, sights and
moves in, events out; no I/O and no clock."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from brokerwise.runtime.coordinator.moves import Move, MoveState
from brokerwise.runtime.coordinator.status import Reports
from brokerwise.runtime.coordinator.watch_events import (
    KEPT_EVENTS,
    Happening,
    Sight,
    happenings,
)
from brokerwise.runtime.coordinator.watch_flow import Flow, Rate
from brokerwise.runtime.coordinator.watch_history import (
    DIGITS,
    History,
    Spread,
    spread,
)
from brokerwise.runtime.protocol.control import Heartbeat


class Watch:
    """Kept whether or not anybody watches.

    Attributes
    ----------
    at
        When it was looked last; before that, when it all began. Seconds since 1970.
    rate, shared
        Messages a second of all brokers, and how load is shared out, as of then.
    last_move
        When the last session was seen to have moved, if any has.
    events
        The last ones, the newest last.
    """

    def __init__(self, started: float, last_move: float | None) -> None:
        self.at = started
        self.rate, self.shared = Rate(), Spread(0.0, 0.0, 0.0)
        self.last_move = last_move
        began = Happening(started, "coordinator up", "The coordinator has started.")
        self.events: deque[Happening] = deque([began], maxlen=KEPT_EVENTS)
        self._history, self._flow = History(), Flow()
        self._sight: Sight | None = None
        self._done = 0

    def hear(self, report: Heartbeat, now: float) -> None:
        """`now` is in seconds of a clock that does not go back."""
        self._flow.hear(report, now)

    def end_moves(self, moves: Iterable[Move], at: float) -> None:
        """These are over."""
        done = sum(move.state is MoveState.DONE for move in moves)
        if done:
            self._done += done
            self.last_move = at

    def look(self, sight: Sight, reports: Reports, at: float) -> list[Happening]:
        """Note the fleet as it is now, once a second; returns what has happened since
        the last time. Load is shared by the brokers that sessions may be on."""
        loads = {
            name: round(report.load_per_second, DIGITS)
            for name, report in reports.items()
            if name in sight.brokers
        }
        serving = [load for name, load in loads.items() if sight.brokers[name].serving]
        self.at = at
        self.rate, self.shared = self._flow.look(reports), spread(serving)
        self._history.add(at, loads, self.shared, self.rate.received, self._done)
        self._done = 0
        new = happenings(self._sight or sight, sight, at)
        self._sight = sight
        self.events.extend(new)
        return new

    def history(self) -> dict[str, Any]:
        return self._history.shown()
