"""A session: a connection of a user, or of another broker, that has logged in.

Who may log in and who is cut off is decided in `connections`; what becomes of what a
session asks for, in `subscriptions`; messages are written to sessions by `router`.
"""

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
    """What a broker remembers of a session.

    `sent` and `acknowledged` count messages to the client; `published` those from it,
    of which it has been told `confirmed`. `allowance` is how many more it may publish
    this second. `congested_at` is when much began to wait for it to read. `closing` is
    the code that the broker hung up with, 0 before, and `close_reason` why.
    `announced` is the generation of each topic's route that it was last told.
    """

    __slots__ = (
        "acknowledged",
        "acknowledged_at",
        "allowance",
        "announced",
        "close_reason",
        "closing",
        "confirmed",
        "congested_at",
        "connection",
        "cursors",
        "is_peer",
        "published",
        "sent",
        "sent_at_keep_alive",
        "source",
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
        self.sent_at_keep_alive = 0
        self.acknowledged = 0
        self.acknowledged_at = now
        self.congested_at: float | None = None
        self.published = 0
        self.confirmed = 0
        self.allowance = float(PUBLISH_RATE)
        self.closing = 0
        self.close_reason = ""
        self.cursors: dict[tuple[str, str], Position] = {}
        self.announced: dict[str, int] = {}

    def send(self, frame: Frame) -> None:
        self.connection.send(encode(frame))

    def close(self, code: int, reason: str) -> None:
        """Hang up; what the other end has sent until it hears of it still comes."""
        if not self.closing:
            self.closing, self.close_reason = code, reason
            self.connection.close(code, reason)


def may_publish_as(user: str, source: str) -> bool:
    """True for the user's own name, and for names below it: `user/...`."""
    return source == user or source.startswith(f"{user}/")
