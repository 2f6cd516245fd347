"""A session: a connection of a user, or of another broker, that has logged in; and its
move to another broker.

Who may log in and who is cut off is decided in `connections`; what becomes of what a
session asks for, in `subscriptions`; messages are written to sessions by `router`. The
coordinator orders each step of a move over HTTP (`http`, `process.move`); what the
client says to it comes as a frame (`subscriptions`).
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from brokerwise.runtime.protocol.fleet import MoveAnswer, MoveOrder
from brokerwise.runtime.protocol.frames import Connect, Frame, RequestToMove, encode
from brokerwise.runtime.protocol.limits import PUBLISH_RATE
from brokerwise.runtime.protocol.order import Position

REMEMBERED = 10_000  # answers to steps of moves
ABSENT = MoveAnswer("absent")
_GOOD = ("accepted", "moved")

OnAnswer = Callable[[MoveAnswer], None]

log = logging.getLogger(__name__)


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


class Moves:
    """The moves of sessions away from this broker: passes each step to the client, and
    the client's answer back.

    Each step of a move is asked of the client once, however often the coordinator
    orders it, and has one answer, which is remembered: so a coordinator that starts
    again resumes where it was, and nothing is done twice.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[int, str], MoveAnswer] = OrderedDict()
        self._waiting: dict[tuple[int, str], list[OnAnswer]] = {}
        self._moving: dict[int, Session] = {}

    def order(
        self, order: MoveOrder, session: Session | None, answered: OnAnswer
    ) -> None:
        """Carry out a step; `answered` is called with its answer, now or later."""
        key = (order.move, order.step)
        known = self._answers.get(key)
        if known is not None:
            answered(known)
        elif session is None:
            answered(ABSENT)
        elif key in self._waiting:
            self._waiting[key].append(answered)
        else:
            self._waiting[key] = [answered]
            self._moving[order.move] = session
            kind = Connect if order.step == "connect" else RequestToMove
            topics = order.topics or ()
            log.info(
                "move %d: asks %r for %s to broker %r",
                *(order.move, session.user, order.step, order.to.broker),
            )
            session.send(kind(order.move, order.to.broker, order.to.url, topics))

    def answer(self, session: Session, move: int, answer: MoveAnswer) -> bool:
        """What a client says about a step; False if nobody has asked it."""
        step = "connect" if answer.answer == "moved" else "request_to_move"
        key = (move, step)
        if self._moving.get(move) is not session or key not in self._waiting:
            return False
        if step == "connect" or answer.answer == "declined":
            del self._moving[move]
        self._finish(key, answer)
        return True

    def forget(self, session: Session) -> None:
        """A client has gone in the middle of a move: it will ask where to go."""
        for move in [m for m, s in self._moving.items() if s is session]:
            del self._moving[move]
            log.warning("move %d failed: %r has gone", move, session.user)
            for step in ("request_to_move", "connect"):
                for answered in self._waiting.pop((move, step), ()):
                    answered(ABSENT)

    def give_up(self, order: MoveOrder, reason: str) -> None:
        """Nobody answered in time: the session stays. A later answer is ignored."""
        key = (order.move, order.step)
        if key in self._waiting:
            self._moving.pop(order.move, None)
            self._finish(key, MoveAnswer("timeout", reason))

    def _finish(self, key: tuple[int, str], answer: MoveAnswer) -> None:
        level = logging.INFO if answer.answer in _GOOD else logging.WARNING
        reason = f": {answer.reason!r}" if answer.reason else ""
        log.log(level, "move %d, %s: %s%s", *key, answer.answer, reason)
        self._answers[key] = answer
        while len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)
        for answered in self._waiting.pop(key, ()):
            answered(answer)
