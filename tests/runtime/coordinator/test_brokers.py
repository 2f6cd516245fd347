"""The states of a broker."""

import pytest

from brokerwise.runtime.coordinator.brokers import state_after_end, state_after_start
from brokerwise.runtime.protocol.fleet import BrokerState, Then

UP, DRAINING, DRAINED = BrokerState.UP, BrokerState.DRAINING, BrokerState.DRAINED
LOST, STOPPED = BrokerState.LOST, BrokerState.STOPPED


@pytest.mark.parametrize(
    ("then", "state", "after"),
    [
        (None, UP, None),
        (Then.RESTART, UP, None),
        (Then.STAY, DRAINING, Then.STAY),
        (Then.STOP, DRAINING, Then.STOP),
    ],
)
def test_a_drain_that_is_not_over_goes_on_after_a_start(
    then: Then | None, state: BrokerState, after: Then | None
) -> None:
    assert state_after_start(then) == (state, after)


@pytest.mark.parametrize(
    ("state", "then", "graceful", "after"),
    [
        (UP, None, False, (LOST, None)),
        (UP, None, True, (LOST, None)),
        (DRAINING, Then.STAY, True, (LOST, Then.STAY)),
        (DRAINED, Then.STAY, False, (LOST, Then.STAY)),
        (DRAINING, Then.STOP, False, (LOST, Then.STOP)),
        (DRAINING, Then.STOP, True, (STOPPED, None)),
        (DRAINED, Then.STOP, False, (STOPPED, None)),
        (DRAINED, Then.RESTART, True, (LOST, None)),
        (DRAINING, Then.RESTART, False, (LOST, None)),
    ],
)
def test_what_is_left_to_do_with_a_broker_that_has_gone(
    state: BrokerState,
    then: Then | None,
    graceful: bool,
    after: tuple[BrokerState, Then | None],
) -> None:
    assert state_after_end(state, then, graceful) == after
