"""One connection of a user, or of another broker, to this broker."""

from collections.abc import Callable
from typing import Protocol

from brokerwise.runtime.protocol.frames import Frame, encode
from brokerwise.runtime.protocol.limits import PUBLISH_RATE
from brokerwise.runtime.protocol.order import Position


class SessionConnection(Protocol):
    """What a session needs of its connection."""

    @property
    def write(self) -> Callable[[bytes], None]:
        """Send bytes that are framed already."""

    def send(self, text: bytes) -> None:
        """Frame a text and send it."""

    def buffered(self) -> int:
        """Bytes that wait for the other end to read."""

    def close(self, code: int, reason: str) -> None:
        """Say why, and hang up once the other end has read it."""


class Session:
    """What a broker remembers of a connection that has logged in.

    `sent` and `acknowledged` count messages; `published` those taken in, of which
    the other end knows `confirmed`; `allowance` is how many more it may send this
    second. Since `pressed_at` much waits for it to read. `closing` is the code that it
    was hung up on with. `told` is the generation of a topic's route that it was last
    told of.
    """

    __slots__ = (
        "acknowledged",
        "acknowledged_at",
        "allowance",
        "closing",
        "confirmed",
        "connection",
        "cursors",
        "is_peer",
        "pressed_at",
        "published",
        "sent",
        "sent_at_beat",
        "source",
        "told",
        "topics",
        "user",
        "write",
    )

    def __init__(
        self,
        connection: SessionConnection,
        user: str,
        source: str,
        now: float,
        *,
        is_peer: bool = False,
    ) -> None:
        self.connection = connection
        self.write = connection.write
        self.user = user
        self.source = source
        self.is_peer = is_peer
        self.topics: set[str] = set()
        self.sent = 0
        self.sent_at_beat = 0
        self.acknowledged = 0
        self.acknowledged_at = now
        self.pressed_at: float | None = None
        self.published = 0
        self.confirmed = 0
        self.allowance = float(PUBLISH_RATE)
        self.closing = 0
        self.cursors: dict[tuple[str, str], Position] = {}
        self.told: dict[str, int] = {}

    def tell(self, frame: Frame) -> None:
        self.connection.send(encode(frame))

    def close(self, code: int, reason: str) -> None:
        """Hang up; what the other end has sent until it hears of it still comes."""
        if not self.closing:
            self.closing = code
            self.connection.close(code, reason)
