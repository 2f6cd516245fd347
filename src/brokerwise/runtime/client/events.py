"""What a client reports to its application: messages, gaps, changes of its sessions.

On an overlay a message holds content: a point, and what is at it. It travels as
{"content": {...}, "data": ...}; the application gets `data` alone, of the points that
it wants (`select_content`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from brokerwise.runtime.protocol.subchannels import PREFIX, Box, Point

_POINT, _DATA = "content", "data"


class Received(msgspec.Struct, frozen=True, tag_field="type", tag="message"):
    """A message. `data` is decoded JSON; `at` milliseconds since 1970 by the clock of
    its source, 0 if that did not say.

    It is also the frame that it comes in, so a message is made once.
    """

    topic: str
    source: str
    epoch: int
    seq: int
    data: Any = None
    at: float = 0.0


@dataclass(frozen=True)
class GapTold:
    """Messages of a source that were sent and will not come: `missing` of them, None
    if their number is unknown."""

    topic: str
    source: str
    missing: int | None


Event = Received | GapTold
OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class Connected:
    """Topics are served by a broker: the first time, or again."""

    broker: str
    topics: int


@dataclass(frozen=True)
class SessionMoved:
    """A session has moved to another broker, as ordered."""

    before: str
    broker: str


@dataclass(frozen=True)
class Disconnected:
    """A broker that served topics hung up or fell silent; the client looks for
    another."""

    broker: str
    reason: str


@dataclass(frozen=True)
class Retrying:
    """The client could not reach a broker; it tries again."""

    reason: str


@dataclass(frozen=True)
class RequestRefused:
    """A broker refused a request, for example a message of an unknown topic."""

    reason: str


Notice = Connected | SessionMoved | Disconnected | Retrying | RequestRefused


def wrap(point: Point, data: Any) -> dict[str, Any]:
    return {_POINT: dict(point), _DATA: data}


def select_content(events: Iterable[Event], boxes: Iterable[Box]) -> list[Event]:
    """Of the messages of sub-channels, those that one of the boxes holds: a
    sub-channel may reach beyond them. What has no point is kept."""
    kept: list[Event] = []
    for event in events:
        point = _point_of(event) if isinstance(event, Received) else None
        if point is None:
            kept.append(event)
        elif any(_holds(box, point) for box in boxes):
            assert isinstance(event, Received)
            kept.append(msgspec.structs.replace(event, data=event.data[_DATA]))
    return kept


def _point_of(message: Received) -> Point | None:
    data = message.data
    if not (message.topic.startswith(PREFIX) and isinstance(data, dict)):
        return None
    point = data.get(_POINT)
    if data.keys() != {_POINT, _DATA} or not isinstance(point, dict):
        return None
    return point if all(map(_is_number, point.values())) else None


def _holds(box: Box, point: Point) -> bool:
    """Its bounds are part of it."""
    return all(
        attribute in point and low <= point[attribute] <= high
        for attribute, (low, high) in box.items()
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
