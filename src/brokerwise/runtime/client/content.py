"""Content of an overlay: how it travels, and which of it an application wants."""

from collections.abc import Iterable
from typing import Any

from brokerwise.runtime.client.events import Event, Received
from brokerwise.runtime.protocol.subchannels import PREFIX, Box, Point

POINT, DATA = "content", "data"  # how content travels: {"content": {...}, "data": ...}


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


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
