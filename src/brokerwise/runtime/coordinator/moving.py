"""The steps of a planned move. Pure: a state and an answer give the next state."""

from dataclasses import dataclass
from enum import StrEnum


class MoveState(StrEnum):
    REQUESTED = "requested"
    ACCEPTED = "accepted"
    DONE = "done"
    DECLINED = "declined"
    FAILED = "failed"


STEPS = {
    MoveState.REQUESTED: "request_to_move",
    MoveState.ACCEPTED: "connect",
}
UNFINISHED = tuple(STEPS)

# An order may reach a broker a second time, after the client has gone further than
# we remember: that it has moved, or is no longer there, ends the move at any step.
TRANSITIONS = {
    (MoveState.REQUESTED, "accepted"): MoveState.ACCEPTED,
    (MoveState.REQUESTED, "declined"): MoveState.DECLINED,
    (MoveState.REQUESTED, "moved"): MoveState.DONE,
    (MoveState.REQUESTED, "absent"): MoveState.DONE,
    (MoveState.REQUESTED, "timeout"): MoveState.FAILED,
    (MoveState.ACCEPTED, "declined"): MoveState.DECLINED,
    (MoveState.ACCEPTED, "moved"): MoveState.DONE,
    (MoveState.ACCEPTED, "absent"): MoveState.DONE,
    (MoveState.ACCEPTED, "timeout"): MoveState.FAILED,
}
REASONS = {
    "absent": "the user was not connected: assigned without asking",
    "timeout": "the client did not answer in time",
}


@dataclass(frozen=True)
class Progress:
    """Where a move stands, and why if that needs a word."""

    state: MoveState
    reason: str = ""


def answered(state: MoveState, step: str, answer: str, reason: str = "") -> Progress:
    """What an answer to a step makes of a move.

    An answer to a step that the move is not at (any more) changes nothing; one that
    the step does not have ends the move.
    """
    if STEPS.get(state) != step:
        return Progress(state, reason)
    following = TRANSITIONS.get((state, answer))
    if following is None:
        return Progress(MoveState.FAILED, reason or f"the broker answered {answer!r}")
    return Progress(following, reason or REASONS.get(answer, ""))
