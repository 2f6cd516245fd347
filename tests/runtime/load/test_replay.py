"""Which fleets a plan can be replayed through."""

import msgspec
import pytest

from brokerwise.model.errors import InputError
from brokerwise.runtime.load.replay import (
    RestartedBrokerError,
    refuse_other_fleet,
    refuse_restarted,
)
from brokerwise.runtime.protocol.fleet import (
    BrokerState,
    BrokerStatus,
    FleetStatus,
    TrafficPage,
)
from brokerwise.runtime.protocol.seed import Seed, SeedBroker

SEED = Seed(
    (SeedBroker("b0"), SeedBroker("b1"), SeedBroker("b2")),
    "plan",
    "provision",
    "/plans/a",
    "digest",
)


def fleet(**states: str) -> FleetStatus:
    brokers = tuple(
        BrokerStatus(name, f"ws://{name}", BrokerState(state), 1, 0, 0, 0, 0, 0.0)
        for name, state in states.items()
    )
    return FleetStatus(brokers, {}, "provision", "/plans/a", "digest", "plan")


UP = fleet(b0="up", b1="up", b2="up")


def test_the_fleet_of_the_plan_will_do() -> None:
    refuse_other_fleet(SEED, UP)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            msgspec.structs.replace(UP, plan="", digest=""),
            "runs no plan, expected /plans/a",
        ),
        (
            msgspec.structs.replace(UP, plan="/b", digest="x"),
            "runs the plan /b, expected /plans/a",
        ),
        (
            msgspec.structs.replace(UP, digest="x"),
            "that /plans/a was before it changed",
        ),
        (fleet(b0="up", b1="lost", b2="up"), "are up: b1 is lost"),
        (fleet(b0="up"), "are up: b1 is missing, and 1 more"),
        (fleet(b0="draining"), "are up: b0 is draining, and 2 more"),
    ],
)
def test_another_fleet_is_refused(status: FleetStatus, said: str) -> None:
    with pytest.raises(InputError, match=said):
        refuse_other_fleet(SEED, status)


def test_a_broker_that_started_again_has_forgotten_its_counts() -> None:
    before = [TrafficPage("b0", 1), TrafficPage("b1", 2)]
    refuse_restarted(before, before)
    with pytest.raises(RestartedBrokerError, match="b1 has started again"):
        refuse_restarted(before, [TrafficPage("b0", 1), TrafficPage("b1", 3)])
