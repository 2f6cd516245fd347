"""The states of a broker. Pure: what it was, and what happened, give what it is."""

from enum import StrEnum


class BrokerState(StrEnum):
    """`expected`: to be started with the fleet, and not heard of yet; `stopped`: it
    was told to end, and has."""

    EXPECTED = "expected"
    UP = "up"
    DRAINING = "draining"
    DRAINED = "drained"
    LOST = "lost"
    STOPPED = "stopped"


class Then(StrEnum):
    """What a broker does once it is drained."""

    STAY = "stay"
    STOP = "stop"
    RESTART = "restart"


ALIVE = (BrokerState.UP, BrokerState.DRAINING, BrokerState.DRAINED)
SERVING = (BrokerState.UP, BrokerState.DRAINING)
GONE = (BrokerState.LOST, BrokerState.STOPPED)


def registered(then: Then | None) -> tuple[BrokerState, Then | None]:
    """A broker has (re)started. A drain that was not over goes on, but for a restart,
    which this is."""
    if then in (Then.STAY, Then.STOP):
        return BrokerState.DRAINING, then
    return BrokerState.UP, None


def gone(
    state: BrokerState, then: Then | None, graceful: bool
) -> tuple[BrokerState, Then | None]:
    """What a broker is that has left or is lost, and what is still to be done with it
    if it comes back: it stays drained if it was to stay so; a stop that was ordered is
    over, but not if it crashed before."""
    if then is Then.STOP and (graceful or state is BrokerState.DRAINED):
        return BrokerState.STOPPED, None
    return BrokerState.LOST, None if then is Then.RESTART else then
