"""What a broker knows of the overlay that it is part of."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import product

from brokerwise.model.errors import InputError
from brokerwise.runtime.control import OverlayPart

PREFIX = "subchannel/"


class Overlay:
    """Sub-channels as topics, and where content goes on to."""

    def __init__(self, part: OverlayPart) -> None:
        self._axes = part.axes
        self._cells = 1
        for axis in part.axes:
            self._cells *= len(axis.edges) - 1
        self._branches = {(b.origin, b.topic): b.brokers for b in part.branches}

    def branches(self, origin: str, topic: str) -> tuple[str, ...]:
        """The brokers that content from `origin` goes to next."""
        return self._branches.get((origin, topic), ())

    def knows(self, topic: str) -> bool:
        number = topic.removeprefix(PREFIX)
        return (
            number != topic
            and number.isascii()
            and number.isdecimal()
            and str(int(number)) == number
            and int(number) < self._cells
        )

    def topics_of(self, ranges: Mapping[str, tuple[float, float]]) -> list[str]:
        """The sub-channels that a box touches; an attribute left out is unbounded.

        Raises InputError for a box that is upside down, outside of the space or has
        an attribute that there is not.
        """
        for attribute in ranges.keys() - {axis.attribute for axis in self._axes}:
            raise InputError(f"ranges: found attribute {attribute!r}, which nobody has")
        along = []
        for axis in self._axes:
            low, high = ranges.get(axis.attribute, (axis.edges[0], axis.edges[-1]))
            if not axis.edges[0] <= low <= high <= axis.edges[-1]:
                raise InputError(
                    f"range of {axis.attribute!r}: found {low:g} to {high:g}, expected "
                    f"within {axis.edges[0]:g} to {axis.edges[-1]:g}"
                )
            along.append(
                range(_interval(axis.edges, low), _interval(axis.edges, high) + 1)
            )
        return [f"{PREFIX}{self._number(cell)}" for cell in product(*along)]

    def _number(self, cell: tuple[int, ...]) -> int:
        number = 0
        for axis, interval in zip(self._axes, cell, strict=True):
            number = number * (len(axis.edges) - 1) + interval
        return number


def _interval(edges: tuple[float, ...], value: float) -> int:
    return min(bisect_right(edges, value), len(edges) - 1) - 1
