"""Lines of JSON for those who watch."""

import json
from dataclasses import replace

import pytest

from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.coordinator.membership import BrokerState
from brokerwise.runtime.coordinator.watch.lines import broker_row, encode_line
from brokerwise.runtime.coordinator.watch.memory import FleetEvent
from brokerwise.runtime.protocol.control import Heartbeat

UP = Broker("b0", "ws://h", 1, BrokerState.UP, 4, 10.0, 1_000, None, None, 0)
REPORT = Heartbeat("b0", 4, 7, 8, 100, 200, 12.34567)


@pytest.mark.parametrize(
    ("capacity", "period", "shown"),
    [(1_000, 60, 16.667), (1_000, 0, None), (None, 60, None), (0, 60, 0.0)],
)
def test_capacity_is_shown_by_the_second(
    capacity: int | None, period: int, shown: float | None
) -> None:
    row = broker_row(replace(UP, capacity=capacity), REPORT, period)
    assert row.capacity == shown


def test_a_broker_that_says_nothing_carries_nothing() -> None:
    row = broker_row(replace(UP, state=BrokerState.EXPECTED), None, 60)
    assert (row.state, row.load, row.sessions) == ("lost", 0.0, 0)
    row = broker_row(UP, REPORT, 60)
    assert (row.state, row.load, row.sessions) == ("up", 12.346, 7)


def test_whatever_is_in_it_an_event_is_one_line() -> None:
    told = encode_line(FleetEvent(5.0, "broker up", 'a "b"\nc \u2028'))
    assert told.count(b"\n") == 1
    assert told.endswith(b"\n")
    assert json.loads(told) == {
        **{"kind": "event", "at": 5.0, "what": "broker up"},
        "text": 'a "b"\nc \u2028',
    }
