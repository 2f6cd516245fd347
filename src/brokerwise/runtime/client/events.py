"""What a client tells its application: messages, gaps, and how its sessions fare."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec


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
    if nobody can count them."""

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
class Moved:
    """A planned move is done."""

    before: str
    broker: str


@dataclass(frozen=True)
class Disconnected:
    """A broker that served topics hung up or fell silent; another is looked for."""

    broker: str
    reason: str


@dataclass(frozen=True)
class Retrying:
    """Looking for a broker failed; it is tried again."""

    reason: str


@dataclass(frozen=True)
class Refused:
    """A broker did not do what it was asked; a message was not taken, perhaps."""

    reason: str


Notice = Connected | Moved | Disconnected | Retrying | Refused
