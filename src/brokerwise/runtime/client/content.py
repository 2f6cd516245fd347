"""Content of an overlay: points in a space of attributes, and boxes that hold them."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from brokerwise.runtime.client.errors import WrongRangeError
from brokerwise.runtime.client.events import Event, Received
from brokerwise.runtime.control import Axis

PREFIX = "subchannel/"
POINT, DATA = "content", "data"  # how content travels: {"content": {...}, "data": ...}

Point = Mapping[str, float]
Box = Mapping[str, tuple[float, float]]


def topic_of(axes: Iterable[Axis], point: Point) -> str:
    """The sub-channel that holds a point. An interval holds its lower edge; the last
    one of an axis both.

    Raises WrongRangeError for a point that lacks an attribute, has one too many or
    lies outside.
    """
    number, attributes = 0, set()
    for axis in axes:
        attributes.add(axis.attribute)
        number = number * (len(axis.edges) - 1) + _interval(axis, point)
    for unknown in sorted(point.keys() - attributes):
        raise WrongRangeError(f"content has attribute {unknown!r}, which nobody has")
    return f"{PREFIX}{number}"


def is_subchannel(axes: Iterable[Axis], topic: str) -> bool:
    """Whether there is a sub-channel of this name."""
    name = topic.removeprefix(PREFIX)
    number = int(name) if name.isascii() and name.isdecimal() else -1
    cells = prod(len(axis.edges) - 1 for axis in axes)
    return topic == f"{PREFIX}{number}" and 0 <= number < cells


def wrap(point: Point, data: Any) -> dict[str, Any]:
    return {POINT: dict(point), DATA: data}


def unwrap(data: Any) -> tuple[Point | None, Any]:
    """The point of a message's data, if it has one, and what came with it."""
    if isinstance(data, dict) and data.keys() == {POINT, DATA}:
        point = data[POINT]
        if isinstance(point, dict) and all(_is_number(v) for v in point.values()):
            return point, data[DATA]
    return None, data


def within(box: Box, point: Point) -> bool:
    """Whether a box holds a point; its bounds are part of it."""
    return all(
        attribute in point and low <= point[attribute] <= high
        for attribute, (low, high) in box.items()
    )


def wanted(events: Iterable[Event], boxes: Iterable[Box]) -> list[Event]:
    """Of the messages of sub-channels, those that one of the boxes holds: a
    sub-channel may reach beyond them. What has no point is kept."""
    kept: list[Event] = []
    for event in events:
        point, data = None, None
        if isinstance(event, Received) and event.topic.startswith(PREFIX):
            point, data = unwrap(event.data)
        if point is None:
            kept.append(event)
        elif any(within(box, point) for box in boxes):
            kept.append(_unwrapped(event, data))
    return kept


def _unwrapped(event: Event, data: Any) -> Event:
    assert isinstance(event, Received)
    return Received(event.topic, event.source, event.epoch, event.seq, data, event.at)


def _interval(axis: Axis, point: Point) -> int:
    value = point.get(axis.attribute)
    if value is None:
        raise WrongRangeError(f"content lacks attribute {axis.attribute!r}")
    low, high = axis.edges[0], axis.edges[-1]
    if not low <= value <= high:
        raise WrongRangeError(
            f"content has {axis.attribute!r} at {value:g}, expected {low:g} to {high:g}"
        )
    return min(bisect_right(axis.edges, value), len(axis.edges) - 1) - 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
