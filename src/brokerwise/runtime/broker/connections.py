"""The connections of a broker: logins, turns, beats, and who is hung up on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from brokerwise.runtime.broker.admission import RefusedLoginError, admit
from brokerwise.runtime.broker.hub import Hub
from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.session import Line, Session
from brokerwise.runtime.net.connection import frame_text
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
)
from brokerwise.runtime.protocol.tokens import Keys

_PRESSED_PAUSE = 0.01  # seconds between looks at whether readers have caught up
MOST_REASON_BYTES = 120  # of a close frame


class Wire(Line, Protocol):
    """What we need of a connection beyond what a session does."""

    owner: Any
    opened_at: float

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
    """Hands the frames of each connection to the hub, in turns.

    A turn ends after so many messages, bytes or deliveries: a publisher with more to
    say waits for the next, in which everyone else is heard too.
    """

    def __init__(
        self,
        hub: Hub,
        passage: Passage,
        keys: Keys,
        welcome: Callable[[], Welcome],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.sessions: dict[Session, None] = {}
        self._hub = hub
        self._passage = passage
        self._keys = keys
        self._welcome = welcome
        self._loop = loop
        self._strangers: dict[Wire, None] = {}
        self._unconfirmed: dict[Session, Wire] = {}
        self._held_back: list[Wire] = []
        self._over_rate: list[Wire] = []
        self._ended: dict[str, dict[str, int]] = {}
        self._turn: _Turn | None = None
        self._looks_again = False
        self._beat = frame_text(encode(Beat()))

    def opened(self, wire: Wire) -> None:
        self._strangers[wire] = None

    def closed(self, wire: Wire) -> None:
        self._strangers.pop(wire, None)
        session = wire.owner
        if isinstance(session, Session):
            self._hub.close(session)
            if session in self.sessions:
                del self.sessions[session]
                if self._passage.overlay is not None:
                    _count(session, self._ended)

    def overflowed(self, wire: Wire) -> None:
        self._refuse(wire, CloseCode.SLOW_READER, "reads too slowly")

    def received(self, wire: Wire, text: bytes) -> None:
        session: Session | None = wire.owner
        try:
            frame = decode_from_client(text)
            if session is None:
                self._log_in(wire, frame)
            elif not session.closing or _is_heard_out(session, frame):
                self._hear(wire, session, frame)
        except FrameError as error:
            self._refuse(wire, CloseCode.MALFORMED, error.message)
        except RefusedLoginError as error:
            self._refuse(wire, CloseCode.UNAUTHORIZED, error.message)

    def users(self) -> dict[str, dict[str, int]]:
        """How many messages each user has sent to this broker and got from it."""
        found = {user: dict(counts) for user, counts in self._ended.items()}
        for session in self.sessions:
            _count(session, found)
        return found

    def hang_up(self, session: Session, code: int, reason: str) -> None:
        """End a session: from now on it gets nothing more."""
        self._hub.close(session)
        session.close(code, reason)

    def hang_up_on_all(self, code: int, reason: str) -> None:
        self._end_turn()
        for session in list(self.sessions):
            self.hang_up(session, code, reason)

    def tick(self, seconds: float) -> None:
        """So much time has passed: let in those who were held back."""
        now = self._loop.time()
        for wire in [w for w in self._strangers if now - w.opened_at > LOGIN_SECONDS]:
            self._refuse(wire, CloseCode.LOGIN_TIMEOUT, "did not log in")
        for session in self.sessions:
            more = session.allowance + PUBLISH_RATE * seconds
            session.allowance = min(PUBLISH_RATE, more)
        waiting, self._over_rate = self._over_rate, []
        for wire in waiting:
            wire.resume_reading()

    def beat(self) -> None:
        """Be heard by all, and hang up on those who never acknowledge."""
        now = self._loop.time()
        for session in list(self.sessions):
            if session.closing:
                continue
            unheard = session.sent - session.acknowledged
            if not unheard:
                session.acknowledged_at = now
            late = now - session.acknowledged_at > ACK_PATIENCE_SECONDS
            if unheard > MAX_UNACKNOWLEDGED or (unheard and late):
                text = f"{unheard} messages not acknowledged"
                self.hang_up(session, CloseCode.NOT_ACKNOWLEDGING, text)
            elif session.sent == session.sent_at_beat:
                session.write(self._beat)
            session.sent_at_beat = session.sent

    def _log_in(self, wire: Wire, frame: FromClient) -> None:
        if not isinstance(frame, Login):
            name = type(frame).__name__.lower()
            raise FrameError(f"found {name} as the first frame, expected login")
        admitted = admit(self._keys, frame)
        del self._strangers[wire]
        session = Session(
            wire,
            admitted.user,
            admitted.source,
            self._loop.time(),
            is_peer=admitted.is_peer,
        )
        wire.owner = session
        self.sessions[session] = None
        session.tell(self._welcome())

    def _hear(self, wire: Wire, session: Session, frame: FromClient) -> None:
        self._hub.handle(session, frame, self._loop.time())
        if not isinstance(frame, Publish | Forward):
            return
        self._unconfirmed[session] = wire
        if self._turn is None:
            self._turn = _Turn(self._passage.delivery.deliveries)
            self._loop.call_soon(self._end_turn)
        self._turn.messages += 1
        self._turn.bytes += len(frame.data)
        if self._turn.is_over(self._passage.delivery.deliveries):
            wire.pause_reading()
            self._held_back.append(wire)
        elif not session.is_peer:
            session.allowance -= 1
            if session.allowance <= 0:
                wire.pause_reading()
                self._over_rate.append(wire)

    def _end_turn(self) -> None:
        """Write what was published, confirm it, and let in those who were held back;
        not while subscribers who do read have much to read."""
        self._turn = None
        self._passage.delivery.flush()
        for session, wire in self._unconfirmed.items():
            if session.confirmed < session.published and not session.closing:
                session.confirmed = session.published
                session.tell(Published(session.published))
                if self._passage.delivery.is_pressed():
                    wire.pause_reading()
                    self._held_back.append(wire)
        self._unconfirmed.clear()
        if not self._looks_again:
            self._let_in()

    def _let_in(self) -> None:
        pressed = bool(self._held_back) and self._passage.delivery.is_pressed()
        self._looks_again = pressed
        if pressed:
            self._loop.call_later(_PRESSED_PAUSE, self._let_in)
            return
        waiting, self._held_back = self._held_back, []
        for wire in waiting:
            wire.resume_reading()

    def _refuse(self, wire: Wire, code: int, reason: str) -> None:
        reason = reason.encode()[:MOST_REASON_BYTES].decode(errors="ignore")
        session = wire.owner
        if isinstance(session, Session):
            self.hang_up(session, code, reason)
        else:
            self._strangers.pop(wire, None)
            wire.owner = Session(wire, "", "", self._loop.time())
            wire.owner.close(code, reason)


def _is_heard_out(session: Session, frame: FromClient) -> bool:
    """A publisher that has not heard yet that we leave still gets through."""
    leaving = session.closing == CloseCode.LEAVING
    return leaving and isinstance(frame, Publish | Forward)


def _count(session: Session, users: dict[str, dict[str, int]]) -> None:
    if not session.is_peer:
        found = users.setdefault(session.user, {"received": 0, "delivered": 0})
        found["received"] += session.published
        found["delivered"] += session.sent
