"""A session: a connection of a user, or of another broker, that has logged in; and its
move to another broker.

`connections` decides who may log in and who is cut off, `subscriptions` answers what a
session asks for, and `router` writes messages to it. The coordinator orders each step
of a move over HTTP (`http`, `process.move`); the client's answer comes as a frame
(`subscriptions`).
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
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


@dataclass(eq=False, slots=True)
class Session:
    """What a broker remembers of a session.

    `acknowledged_at` is when it last acknowledged, at first when it logged in.
    `sent` and `acknowledged` count messages to the client; `published` those from it,
    of which it has been told `confirmed`. `allowance` is how many more it may publish
    this second. `congested_at` is when its backlog grew large. `closing` is
    the code that the broker hung up with, 0 before, and `close_reason` why.
    `announced` is the generation of each topic's route that it was last told.
    """

    connection: SessionConnection
    user: str
    source: str
    acknowledged_at: float
    is_peer: bool = False
    topics: set[str] = field(default_factory=set)
    sent: int = 0
    sent_at_keep_alive: int = 0
    acknowledged: int = 0
    congested_at: float | None = None
    published: int = 0
    confirmed: int = 0
    allowance: float = PUBLISH_RATE
    closing: int = 0
    close_reason: str = ""
    cursors: dict[tuple[str, str], Position] = field(default_factory=dict)
    announced: dict[str, int] = field(default_factory=dict)
    write: Callable[[bytes], None] = field(init=False)

    def __post_init__(self) -> None:
        self.write = self.connection.write

    def send(self, frame: Frame) -> None:
        self.connection.send(encode(frame))

    def close(self, code: int, reason: str) -> None:
        """Hang up; what the other end sends before it reads that still comes."""
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
        """The client's answer to a step; False if it was not asked."""
        step = "connect" if answer.answer == "moved" else "request_to_move"
        key = (move, step)
        if self._moving.get(move) is not session or key not in self._waiting:
            return False
        if step == "connect" or answer.answer == "declined":
            del self._moving[move]
        self._finish(key, answer)
        return True

    def forget(self, session: Session) -> None:
        """A client has gone in the middle of a move: it will ask the coordinator."""
        for move in [m for m, s in self._moving.items() if s is session]:
            del self._moving[move]
            log.warning("move %d failed: %r has gone", move, session.user)
            for step in ("request_to_move", "connect"):
                for answered in self._waiting.pop((move, step), ()):
                    answered(ABSENT)

    def give_up(self, order: MoveOrder, reason: str) -> None:
        """No answer in time: the session stays. A later answer is ignored."""
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
