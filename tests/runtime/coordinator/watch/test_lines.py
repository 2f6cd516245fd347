"""Lines of JSON for those who watch."""

import json
from dataclasses import replace

import pytest

from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.coordinator.watch.memory import LoadHistory, LoadSpread
from brokerwise.runtime.coordinator.watch.server import broker_row
from brokerwise.runtime.protocol.fleet import (
    BrokerState,
    Heartbeat,
    MoveState,
    MoveStatus,
)
from brokerwise.runtime.protocol.watch import (
    ChannelRow,
    DataLine,
    DatasetRow,
    FleetEvent,
    FleetInfo,
    HelloLine,
    Line,
    TickLine,
    TopicRow,
    TopicsLine,
    encode_line,
)

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


def hello() -> HelloLine:
    history = LoadHistory()
    history.add(1.0, {"b0": 10.0}, LoadSpread(10.0, 10.0, 0.0), 4.0, 0)
    history.add(2.0, {"b1": 3.5}, LoadSpread(3.5, 3.5, 0.0), 5.0, 3)
    fleet = FleetInfo("p", "fill", "abc", "plan", 60, 2, 0.5)
    return HelloLine(fleet, 1.0, history.columns())


MOVE = MoveStatus(3, "ann", "b0", "b1", MoveState.DONE, "")
TICK = TickLine(
    at=9.0,
    brokers=[broker_row(UP, REPORT, 60)],
    sessions=7,
    messages_per_second=1.5,
    deliveries_per_second=2.0,
    max_load=3.0,
    mean_load=2.0,
    cov=0.5,
    p90_ms=None,
    moved=[MOVE],
    last_move=8.5,
    balancer_status="manual: decides only when asked",
    mode="manual",
    paused=False,
    moves={"done": 1},
)
TOPIC = TopicRow(
    topic="news",
    broker="b0",
    received_per_second=2.0,
    p50_ms=9.0,
    p90_ms=300.0,
    target_ms=250.0,
    met=False,
)
CHANNEL = ChannelRow("near", 10.0, 4, 50.0, 456.7, 33, "", 0)
DATASET = DatasetRow("reports", "append", 70, 80, 40.0, 3, "")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            hello(),
            '{"kind":"hello","fleet":{"plan":"p","plan_kind":"fill","digest":"a'
            'bc","placement":"plan","period_seconds":60,"brokers":2,"started":0'
            '.5},"every_seconds":1.0,"history":{"at":[1.0,2.0],"max_load":[10.0'
            ',3.5],"mean_load":[10.0,3.5],"cov":[0.0,0.0],"loads":{"b0":[10.0,n'
            'ull],"b1":[null,3.5]},"moves":[[2.0,3]],"messages_per_second":[4.0'
            ",5.0]}}",
        ),
        (
            TICK,
            '{"kind":"tick","at":9.0,"brokers":[{"name":"b0","state":"up","sinc'
            'e":10.0,"sessions":7,"load":12.346,"capacity":16.667,"received":10'
            '0,"delivered":200,"topics":8}],"sessions":7,"messages_per_second":'
            '1.5,"deliveries_per_second":2.0,"max_load":3.0,"mean_load":2.0,"co'
            'v":0.5,"p90_ms":null,"moved":[{"id":3,"user":"ann","from":"b0","to'
            '":"b1","state":"done","reason":""}],"last_move":8.5,"balancer_'
            'status":"manual: decides only when asked","mode":"manual","paused"'
            ':false,"moves":{"done":1}}',
        ),
        (
            TopicsLine(9.0, 3, 2, 1, [TOPIC]),
            '{"kind":"topics","at":9.0,"count":3,"carried":2,"late":1,"topics":'
            '[{"topic":"news","received_per_second":2.0,"p50_ms":9.0,"p90_ms":3'
            '00.0,"target_ms":250.0,"met":false,"broker":"b0"}]}',
        ),
        (
            DataLine(7.0, "", [CHANNEL], [DATASET]),
            '{"kind":"data","at":7.0,"problem":"","channels":[{"name":"near","e'
            'very_seconds":10.0,"subscriptions":4,"last_run":50.0,"took_ms":456'
            '.7,"results":33,"error":"","failures":0}],"datasets":[{"name":"rep'
            'orts","kind":"append","records":70,"fed":80,"last_fed":40.0,"error'
            's":3,"error":""}]}',
        ),
    ],
)
def test_lines_are_what_pages_and_programs_expect(line: Line, text: str) -> None:
    assert encode_line(line).decode() == text + "\n"
