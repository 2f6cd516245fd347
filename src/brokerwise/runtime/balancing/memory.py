"""What the balancer knows of moves that reports may not show yet."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from brokerwise.planners.balance.problem import Problem
from brokerwise.runtime.balancing.events import Key, Measured


@dataclass(frozen=True)
class _Moved:
    at: float
    broker: Key


class Memory:
    """Sessions that move, and sessions that moved not long ago.

    Keeps a move until its session may move again and reports show it.
    """

    def __init__(self, window_seconds: float) -> None:
        self.window_seconds = window_seconds
        self._moved: dict[Key, _Moved] = {}
        self.under_way: set[Key] = set()

    def order(self, key: Key) -> None:
        self.under_way.add(key)

    def end(self, at: float, key: Key, broker: Key | None) -> bool:
        """Whether the move was known to be under way."""
        known = key in self.under_way
        self.under_way.discard(key)
        if broker is not None:
            self._moved[key] = _Moved(at, broker)
        return known

    def forget(self, report: Measured) -> None:
        self._moved = {
            key: move
            for key, move in self._moved.items()
            if self._rests(move, report) or move.at >= report.measured
        }

    def resting(self, report: Measured) -> int:
        """How many sessions of the report moved within the window."""
        return sum(self._rests(move, report) for _, move in self._found(report))

    def problem(self, report: Measured) -> Problem:
        """The report with every session where it is now, as far as is known."""
        numbers = {name: number for number, name in enumerate(report.names)}
        places = report.snapshot.places.copy()
        held = np.zeros(len(places), np.bool_)
        if report.held is not None:
            held |= report.held
        for session, move in self._found(report):
            held[session] |= self._rests(move, report)
            if move.at >= report.measured and move.broker in numbers:
                places[session] = numbers[move.broker]
        for session, key in enumerate(report.keys) if self.under_way else ():
            held[session] |= key in self.under_way
        snapshot = replace(report.snapshot, places=places)
        return Problem(snapshot, held, report.open, report.closing)

    def _found(self, report: Measured) -> Iterator[tuple[int, _Moved]]:
        if not self._moved:
            return
        for session, key in enumerate(report.keys):
            move = self._moved.get(key)
            if move is not None:
                yield session, move

    def _rests(self, move: _Moved, report: Measured) -> bool:
        return report.heard - move.at < self.window_seconds
