"""The content space of an overlay as clients and brokers see it: which sub-channel, and
so which topic, a point is in, and which ones a box touches.

An interval of an axis holds its lower edge; the last one both. Sub-channels are counted
row by row, the last axis fastest.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.fleet import Axis

PREFIX = "subchannel/"

Point = Mapping[str, float]
Box = Mapping[str, tuple[float, float]]


class WrongRangeError(InputError):
    """Ranges, or a point, that do not fit the content of the fleet."""


def is_subchannel(axes: Sequence[Axis], topic: str) -> bool:
    """Whether there is a sub-channel of this name."""
    name = topic.removeprefix(PREFIX)
    number = int(name) if name.isascii() and name.isdecimal() else -1
    cells = prod(len(axis.edges) - 1 for axis in axes)
    return topic == f"{PREFIX}{number}" and 0 <= number < cells


def topic_of(axes: Sequence[Axis], point: Point) -> str:
    """The sub-channel that holds a point.

    Raises WrongRangeError for a point that lacks an attribute, has one too many or
    lies outside.
    """
    _refuse_unknown(axes, point)
    cell = []
    for axis in axes:
        value = point.get(axis.attribute)
        if value is None:
            raise WrongRangeError(f"content lacks attribute {axis.attribute!r}")
        low, high = axis.edges[0], axis.edges[-1]
        if not low <= value <= high:
            raise WrongRangeError(
                f"content has {axis.attribute!r} at {value:g}, expected {low:g} to "
                f"{high:g}"
            )
        cell.append(_interval(axis, value))
    return _name(axes, cell)


def topics_of(axes: Sequence[Axis], box: Box) -> list[str]:
    """The sub-channels that a box touches; an attribute left out is unbounded.

    Raises WrongRangeError for a box that is upside down, reaches outside or has an
    attribute that there is not.
    """
    _refuse_unknown(axes, box)
    along = []
    for axis in axes:
        least, most = axis.edges[0], axis.edges[-1]
        low, high = box.get(axis.attribute, (least, most))
        if not least <= low <= high <= most:
            raise WrongRangeError(
                f"range of {axis.attribute!r}: found {low:g} to {high:g}, expected "
                f"within {least:g} to {most:g}"
            )
        along.append(range(_interval(axis, low), _interval(axis, high) + 1))
    return [_name(axes, cell) for cell in product(*along)]


def _refuse_unknown(axes: Sequence[Axis], given: Mapping[str, object]) -> None:
    for unknown in sorted(given.keys() - {axis.attribute for axis in axes}):
        raise WrongRangeError(f"found attribute {unknown!r}, which nobody has")


def _interval(axis: Axis, value: float) -> int:
    return min(bisect_right(axis.edges, value), len(axis.edges) - 1) - 1


def _name(axes: Sequence[Axis], cell: Sequence[int]) -> str:
    number = 0
    for axis, interval in zip(axes, cell, strict=True):
        number = number * (len(axis.edges) - 1) + interval
    return f"{PREFIX}{number}"
