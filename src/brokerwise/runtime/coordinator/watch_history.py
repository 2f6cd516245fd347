"""The last quarter of an hour of a fleet, a point a second. No clock: times come in."""

from array import array
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

KEPT_POINTS = 900
DIGITS = 3  # behind the point: less than that of a message a second is none


@dataclass(frozen=True)
class Spread:
    """How load is shared out: `cov` is its standard deviation over its mean, 0 without
    load."""

    max_load: float
    mean_load: float
    cov: float


def spread(loads: Collection[float]) -> Spread:
    mean = sum(loads) / len(loads) if loads else 0.0
    if not mean:
        return Spread(0.0, 0.0, 0.0)
    deviation = sqrt(sum((load - mean) ** 2 for load in loads) / len(loads))
    return Spread(
        *(round(value, DIGITS) for value in (max(loads), mean, deviation / mean))
    )


@dataclass(frozen=True, slots=True)
class _Point:
    at: float
    brokers: tuple[str, ...]
    loads: "array[float]"
    spread: Spread
    messages_per_second: float
    moves: int


class History:
    """Loads are messages a second. 100 brokers take 1 MB."""

    def __init__(self) -> None:
        self._points: deque[_Point] = deque(maxlen=KEPT_POINTS)
        self._brokers: tuple[str, ...] = ()

    def add(
        self,
        at: float,
        loads: Mapping[str, float],
        shared: Spread,
        messages_per_second: float,
        moves: int,
    ) -> None:
        """Of one second: `loads` of the brokers that there are, how load is `shared`
        out, and how many moves were done."""
        if tuple(loads) != self._brokers:
            self._brokers = tuple(loads)  # the same one for all points until it changes
        values = array("d", loads.values())
        self._points.append(
            _Point(at, self._brokers, values, shared, messages_per_second, moves)
        )

    def shown(self) -> dict[str, Any]:
        """All of it, in columns; None where a broker was not there."""
        points = self._points
        return {
            "at": [p.at for p in points],
            "max_load": [p.spread.max_load for p in points],
            "mean_load": [p.spread.mean_load for p in points],
            "cov": [p.spread.cov for p in points],
            "loads": self._loads(),
            "moves": [[p.at, p.moves] for p in points if p.moves],
            "messages_per_second": [p.messages_per_second for p in points],
        }

    def _loads(self) -> dict[str, list[float | None]]:
        count = len(self._points)
        names = sorted({name for point in self._points for name in point.brokers})
        found: dict[str, list[float | None]] = {name: [None] * count for name in names}
        for place, point in enumerate(self._points):
            for name, load in zip(point.brokers, point.loads, strict=True):
                found[name][place] = load
        return found
