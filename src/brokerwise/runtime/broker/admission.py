"""Who may come in: whether there is room, and the first frame of a connection."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.process.open_files import OpenFiles
from brokerwise.runtime.protocol.frames import Login
from brokerwise.runtime.protocol.limits import VERSION
from brokerwise.runtime.protocol.tokens import Keys, Role

SAY_SECONDS = 10.0  # between two lines of the log on connections that were refused
_log = logging.getLogger(__name__)


class RefusedLoginError(BrokerwiseError):
    """A login with a wrong token, or with a name that the token is not for."""


@dataclass(frozen=True)
class Admitted:
    user: str
    source: str
    is_peer: bool


def admit(keys: Keys, login: Login) -> Admitted:
    """Who has logged in. A peer's messages keep the source that they came with."""
    holder = keys.holder(login.token)
    if holder is None or holder.name != login.user or holder.role is Role.OPERATOR:
        raise RefusedLoginError(f"wrong token for {login.user!r}")
    if login.version != VERSION:
        raise RefusedLoginError(
            f"found protocol version {login.version}, expected {VERSION}"
        )
    source = login.source or login.user
    if not may_publish_as(login.user, source):
        raise RefusedLoginError(
            f"found source {source!r}, expected {login.user!r} or {login.user}/..."
        )
    return Admitted(login.user, source, holder.role is Role.BROKER)


def may_publish_as(user: str, source: str) -> bool:
    return source == user or source.startswith(f"{user}/")


class Door:
    """Refuses connections before files run out, so that what the fleet itself needs
    can always be opened (runtime.net.server.Door).

    Once the reserve is reached, only the coordinator, other brokers and the data
    cluster come in, by a broker's token, and whoever asks for /health. Half of the
    reserve is left to what this broker opens.
    """

    def __init__(
        self,
        keys: Keys,
        files: OpenFiles,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.refused = 0
        self._keys = keys
        self._files = files
        self._clock = clock
        self._said, self._said_at = 0, float("-inf")

    def is_open_to_all(self, descriptor: int) -> bool:
        return descriptor < self._files.open_to_all

    def is_open(self, descriptor: int) -> bool:
        return descriptor < self._files.own

    def lets_in(self, path: str, token: str) -> bool:
        if path == "/health":
            return True
        holder = self._keys.holder(token)
        return holder is not None and holder.role is Role.BROKER

    def refuse(self) -> str:
        self.refused += 1
        self.report()
        return "this broker is full: it can take no more connections now"

    def report(self) -> None:
        """Log what was refused since the last line, now and then: strangers must not
        fill the log."""
        count, now = self.refused - self._said, self._clock()
        if count and now - self._said_at >= SAY_SECONDS:
            self._said, self._said_at = self.refused, now
            _log.warning(
                "connections refused: %s, as %s files are open of %s, and the rest is "
                "for the fleet itself; raise the limit (ulimit -n) or add brokers",
                *(f"{count:,}", f"{self._files.open_to_all:,}"),
                f"{self._files.limit:,}",
            )
