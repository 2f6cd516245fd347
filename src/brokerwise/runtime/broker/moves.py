"""The moves of sessions away from this broker: what was asked, what was answered.

The coordinator orders each step over HTTP (`http`, `process.move`); the client's word
comes as a frame (`subscriptions`).
"""

import logging
from collections import OrderedDict
from collections.abc import Callable

from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.protocol.control import MoveAnswer, MoveOrder
from brokerwise.runtime.protocol.frames import Connect, RequestToMove

REMEMBERED = 10_000
ABSENT = MoveAnswer("absent")
_GOOD = ("accepted", "moved")

Answered = Callable[[MoveAnswer], None]

log = logging.getLogger(__name__)


class Moves:
    """Passes the steps of a move to its client, and the client's word back.

    Each step of a move is asked of the client once, however often the coordinator
    orders it, and has one answer, which is remembered: so a coordinator that starts
    again resumes where it was, and nothing is done twice.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[int, str], MoveAnswer] = OrderedDict()
        self._waiting: dict[tuple[int, str], list[Answered]] = {}
        self._moving: dict[int, Session] = {}

    def order(
        self, order: MoveOrder, session: Session | None, answered: Answered
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
        """Nobody answered in time: the session stays. A later word is not heard."""
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
