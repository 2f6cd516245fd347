"""The connections of a broker: who may log in, whose turn it is, who is cut off.

A connection is refused here (no room: `ConnectionLimit`; wrong token, name or version:
`check_login`; no login in time: `Connections.tick`), a slow reader is cut off here
(`overflowed`), and so is one that does not acknowledge (`keep_alive`). Frames of
sessions that have logged in go to `SessionHandler`, in turns.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.router import MessageRouter
from brokerwise.runtime.broker.sessions import (
    Session,
    SessionConnection,
    may_publish_as,
)
from brokerwise.runtime.broker.subscriptions import Commands, SessionHandler
from brokerwise.runtime.net.connection import frame_text
from brokerwise.runtime.process.logs import limited
from brokerwise.runtime.process.open_files import OpenFiles
from brokerwise.runtime.protocol.fleet import UserLoad
from brokerwise.runtime.protocol.frames import (
    Beat,
    CloseCode,
    Forward,
    FrameError,
    FromClient,
    Login,
    Publish,
    Published,
    Welcome,
    decode_from_client,
    encode,
)
from brokerwise.runtime.protocol.limits import (
    ACK_PATIENCE_SECONDS,
    BYTES_PER_TURN,
    DELIVERIES_PER_TURN,
    LOGIN_SECONDS,
    MAX_UNACKNOWLEDGED,
    MESSAGES_PER_TURN,
    PUBLISH_RATE,
    VERSION,
)
from brokerwise.runtime.protocol.tokens import Keys, Role

REPORT_SECONDS = 10.0  # between two lines of the log on connections refused as full
MOST_REASON_BYTES = 120  # of a close frame
_CONGESTED_PAUSE = 0.01  # seconds between checks whether readers have caught up

log = logging.getLogger(__name__)


class RefusedLoginError(BrokerwiseError):
    """A login with a wrong token, or with a name that the token is not for."""


def check_login(keys: Keys, login: Login) -> Role:
    """The role that a login has: a user's, or another broker's. Raises
    RefusedLoginError. The messages of another broker keep their source."""
    holder = keys.holder(login.token)
    if holder is None or holder.name != login.user or holder.role is Role.OPERATOR:
        raise RefusedLoginError(f"wrong token for {login.user!r}")
    if login.version != VERSION:
        raise RefusedLoginError(
            f"found protocol version {login.version}, expected {VERSION}"
        )
    if login.source and not may_publish_as(login.user, login.source):
        raise RefusedLoginError(
            f"found source {login.source!r}, expected {login.user!r} or "
            f"{login.user}/..."
        )
    return holder.role


class ConnectionLimit:
    """Refuses connections before files run out, so that what the fleet itself needs
    can always be opened (runtime.net.server.Door).

    Once the reserve is reached, only the coordinator, other brokers and the data
    cluster come in, by a broker's token, and requests for /health. Half of the
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
        self._reported, self._reported_at = 0, float("-inf")

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
        """Log what was refused since the last line, every REPORT_SECONDS at most:
        strangers must not fill the log."""
        count, now = self.refused - self._reported, self._clock()
        if count and now - self._reported_at >= REPORT_SECONDS:
            self._reported, self._reported_at = self.refused, now
            log.warning(
                "connections refused: %s, as %s files are open of %s, and the rest is "
                "for the fleet itself; raise the limit (ulimit -n) or add brokers",
                *(f"{count:,}", f"{self._files.open_to_all:,}"),
                f"{self._files.limit:,}",
            )


class IncomingConnection(SessionConnection, Protocol):
    """What we need of a connection beyond what a session does. `peer` is the address
    and port of the other end."""

    owner: Any
    opened_at: float
    peer: str

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


@dataclass(slots=True)
class _Turn:
    """What has been published since `_end_turn` was last called."""

    began_with: int  # deliveries
    messages: int = 0
    bytes: int = 0

    def is_over(self, deliveries: int) -> bool:
        return (
            self.messages > MESSAGES_PER_TURN
            or self.bytes > BYTES_PER_TURN
            or deliveries - self.began_with > DELIVERIES_PER_TURN
        )


class Connections:
    """Hands the frames of each connection to the session handler, in turns.

    A turn ends after some messages, bytes or deliveries: a publisher with more to
    send waits for the next, after all others. `carry_out` does what the handler's
    commands say.
    """

    def __init__(
        self,
        handler: SessionHandler,
        router: MessageRouter,
        keys: Keys,
        *,
        welcome: Callable[[], Welcome],
        carry_out: Callable[[Commands], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.sessions: dict[Session, None] = {}
        self._handler = handler
        self._router = router
        self._keys = keys
        self._welcome = welcome
        self._carry_out = carry_out
        self._loop = loop
        self._strangers: dict[IncomingConnection, None] = {}
        self._unconfirmed: dict[Session, IncomingConnection] = {}
        self._held_back: list[IncomingConnection] = []
        self._over_rate: list[IncomingConnection] = []
        self._ended: dict[str, UserLoad] = {}
        self._turn: _Turn | None = None
        self._checks_again = False
        self._keep_alive = frame_text(encode(Beat()))

    def opened(self, connection: IncomingConnection) -> None:
        self._strangers[connection] = None

    def closed(self, connection: IncomingConnection) -> None:
        self._strangers.pop(connection, None)
        session = connection.owner
        if isinstance(session, Session):
            self._close(session)
            if session in self.sessions:
                del self.sessions[session]
                _log_closed(session)
                if self._router.overlay is not None:
                    _count(session, self._ended)

    def overflowed(self, connection: IncomingConnection) -> None:
        self._refuse(connection, CloseCode.SLOW_READER, "reads too slowly")

    def received(self, connection: IncomingConnection, text: bytes) -> None:
        session: Session | None = connection.owner
        try:
            frame = decode_from_client(text)
            if session is None:
                self._log_in(connection, frame)
            elif not session.closing or _may_still_publish(session, frame):
                self._hear(connection, session, frame)
        except FrameError as error:
            self._refuse(connection, CloseCode.MALFORMED, error.message)
        except RefusedLoginError as error:
            self._refuse(connection, CloseCode.UNAUTHORIZED, error.message)

    def users(self) -> dict[str, UserLoad]:
        """How many messages each user has sent to this broker and got from it."""
        found = dict(self._ended)
        for session in self.sessions:
            _count(session, found)
        return found

    def hang_up(self, session: Session, code: int, reason: str) -> None:
        """End a session: from now on it gets nothing more."""
        self._close(session)
        session.close(code, reason)

    def hang_up_on_all(self, code: int, reason: str) -> None:
        self._end_turn()
        if self.sessions:
            count = len(self.sessions)
            log.info("hangs up on %d sessions: %s (%d)", count, reason, code)
        for session in list(self.sessions):
            self.hang_up(session, code, reason)

    def tick(self, seconds: float) -> None:
        """`seconds` have passed: read again from publishers that were over their rate,
        and refuse connections that have not logged in by now."""
        now = self._loop.time()
        late = [c for c in self._strangers if now - c.opened_at > LOGIN_SECONDS]
        for connection in late:
            self._refuse(connection, CloseCode.LOGIN_TIMEOUT, "did not log in")
        for session in self.sessions:
            more = session.allowance + PUBLISH_RATE * seconds
            session.allowance = min(PUBLISH_RATE, more)
        waiting, self._over_rate = self._over_rate, []
        for connection in waiting:
            connection.resume_reading()

    def keep_alive(self) -> None:
        """Send a sign of life to idle sessions, and hang up on those that do not
        acknowledge."""
        now = self._loop.time()
        for session in list(self.sessions):
            if session.closing:
                continue
            unacknowledged = session.sent - session.acknowledged
            if not unacknowledged:
                session.acknowledged_at = now
            late = now - session.acknowledged_at > ACK_PATIENCE_SECONDS
            if unacknowledged > MAX_UNACKNOWLEDGED or (unacknowledged and late):
                text = f"{unacknowledged} messages not acknowledged"
                self.hang_up(session, CloseCode.NOT_ACKNOWLEDGING, text)
            elif session.sent == session.sent_at_keep_alive:
                session.write(self._keep_alive)
            session.sent_at_keep_alive = session.sent

    def _log_in(self, connection: IncomingConnection, frame: FromClient) -> None:
        if not isinstance(frame, Login):
            name = type(frame).__name__.lower()
            raise FrameError(f"found {name} as the first frame, expected login")
        is_peer = check_login(self._keys, frame) is Role.BROKER
        del self._strangers[connection]
        source, now = frame.source or frame.user, self._loop.time()
        session = Session(connection, frame.user, source, now, is_peer=is_peer)
        connection.owner = session
        self.sessions[session] = None
        session.send(self._welcome())

    def _hear(
        self, connection: IncomingConnection, session: Session, frame: FromClient
    ) -> None:
        commands = self._handler.handle(session, frame, self._loop.time())
        if commands:
            self._carry_out(commands)
        if not isinstance(frame, Publish | Forward):
            return
        self._unconfirmed[session] = connection
        if self._turn is None:
            self._turn = _Turn(self._router.delivery.deliveries)
            self._loop.call_soon(self._end_turn)
        self._turn.messages += 1
        self._turn.bytes += len(frame.data)
        if self._turn.is_over(self._router.delivery.deliveries):
            connection.pause_reading()
            self._held_back.append(connection)
        elif not session.is_peer:
            session.allowance -= 1
            if session.allowance <= 0:
                connection.pause_reading()
                self._over_rate.append(connection)

    def _end_turn(self) -> None:
        """Write what was published, confirm it, and read again from publishers that
        were held back, unless subscribers have a large backlog."""
        self._turn = None
        self._router.delivery.flush()
        for session, connection in self._unconfirmed.items():
            if session.confirmed < session.published and not session.closing:
                session.confirmed = session.published
                session.send(Published(session.published))
                if self._router.is_congested():
                    connection.pause_reading()
                    self._held_back.append(connection)
        self._unconfirmed.clear()
        if not self._checks_again:
            self._resume_held_back()

    def _resume_held_back(self) -> None:
        congested = bool(self._held_back) and self._router.is_congested()
        self._checks_again = congested
        if congested:
            self._loop.call_later(_CONGESTED_PAUSE, self._resume_held_back)
            return
        waiting, self._held_back = self._held_back, []
        for connection in waiting:
            connection.resume_reading()

    def _refuse(self, connection: IncomingConnection, code: int, reason: str) -> None:
        reason = reason.encode()[:MOST_REASON_BYTES].decode(errors="ignore")
        session = connection.owner
        if isinstance(session, Session):
            self.hang_up(session, code, reason)
        else:
            limited(log, "refused").warning(
                "connection refused from %s: %r (%d)", connection.peer, reason, code
            )
            self._strangers.pop(connection, None)
            connection.owner = Session(connection, "", "", self._loop.time())
            connection.owner.close(code, reason)

    def _close(self, session: Session) -> None:
        commands = self._handler.close(session)
        if commands:
            self._carry_out(commands)


_EXPECTED = (1000, CloseCode.REPLACED)
_HANGING_UP_ON_ALL = (CloseCode.LEAVING, CloseCode.LEASE_LOST)  # one line says it


def _log_closed(session: Session) -> None:
    """One line for each session that ends, a warning if we cut it off."""
    kind = "broker" if session.is_peer else "session of"
    if not session.closing:
        log.info("%s %r disconnected", kind, session.user)
    elif session.closing not in _HANGING_UP_ON_ALL:
        level = logging.INFO if session.closing in _EXPECTED else logging.WARNING
        log.log(
            level,
            "%s %r closed: %r (%d); %d messages sent, %d acknowledged",
            *(kind, session.user, session.close_reason, session.closing),
            *(session.sent, session.acknowledged),
        )


def _may_still_publish(session: Session, frame: FromClient) -> bool:
    """A publisher that does not know yet that the broker leaves is still served."""
    leaving = session.closing == CloseCode.LEAVING
    return leaving and isinstance(frame, Publish | Forward)


def _count(session: Session, users: dict[str, UserLoad]) -> None:
    if not session.is_peer:
        found = users.get(session.user, UserLoad())
        users[session.user] = UserLoad(
            found.received + session.published, found.delivered + session.sent
        )
