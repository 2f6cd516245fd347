"""The steps of a planned move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.coordinator.moving import (
    STEPS,
    UNFINISHED,
    MoveState,
    answered,
)

ANSWERS = ["accepted", "declined", "moved", "absent", "timeout", "refused", "", "?"]


def test_a_move_that_goes_well() -> None:
    accepted = answered(MoveState.REQUESTED, "request_to_move", "accepted")
    assert accepted.state is MoveState.ACCEPTED
    done = answered(accepted.state, "connect", "moved")
    assert (done.state, done.reason) == (MoveState.DONE, "")


def test_a_user_that_is_not_connected_has_moved() -> None:
    for state in UNFINISHED:
        found = answered(state, STEPS[state], "absent")
        assert found.state is MoveState.DONE
        assert "not connected" in found.reason


def test_the_reason_of_a_client_is_kept() -> None:
    found = answered(MoveState.REQUESTED, "request_to_move", "declined", "busy")
    assert (found.state, found.reason) == (MoveState.DECLINED, "busy")


def test_an_answer_that_there_is_not_fails_the_move_and_is_named() -> None:
    found = answered(MoveState.ACCEPTED, "connect", "accepted")
    assert found.state is MoveState.FAILED
    assert "'accepted'" in found.reason


@pytest.mark.parametrize("state", MoveState)
@given(step=st.sampled_from([*STEPS.values(), ""]), answer=st.sampled_from(ANSWERS))
def test_only_the_step_that_a_move_is_at_changes_it_and_it_never_goes_back(
    state: MoveState, step: str, answer: str
) -> None:
    after = answered(state, step, answer).state
    if STEPS.get(state) != step:
        assert after is state
    else:
        assert after is not state
        assert after is not MoveState.REQUESTED
