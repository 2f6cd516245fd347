"""What those who watch are sent: lines of JSON, each with its kind. Pure.

Loads are messages a second, in and out, times seconds since 1970.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.coordinator.moves import Move
from brokerwise.runtime.coordinator.status import Reports, move_status, shown_state
from brokerwise.runtime.coordinator.watch_events import Happening
from brokerwise.runtime.coordinator.watch_flow import Rate
from brokerwise.runtime.coordinator.watch_history import DIGITS, Spread
from brokerwise.runtime.coordinator.watch_sight import Balance
from brokerwise.runtime.coordinator.watch_topics import TopicRow
from brokerwise.runtime.protocol.control import Heartbeat

EVERY_SECONDS = 1.0


def line(kind: str, content: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"kind": kind, **content}) + b"\n"


def hello(
    fleet: Mapping[str, Any], brokers: int, started: float, history: Mapping[str, Any]
) -> bytes:
    """`started` is when the coordinator was, and with it the history."""
    about = {**fleet, "brokers": brokers, "started": started}
    return line(
        "hello", {"fleet": about, "every_seconds": EVERY_SECONDS, "history": history}
    )


def event(happening: Happening) -> bytes:
    return line("event", asdict(happening))


def broker_row(
    broker: Broker, report: Heartbeat | None, period_seconds: int
) -> dict[str, Any]:
    """A broker that is not there carries nothing. Capacities are stored by period."""
    capacity = None
    if broker.capacity is not None and period_seconds:
        capacity = round(broker.capacity / period_seconds, DIGITS)
    return {
        "name": broker.name,
        "state": shown_state(broker),
        "since": broker.since,
        "sessions": report.sessions if report else 0,
        "topics": report.topics if report else 0,
        "load": round(report.load_per_second, DIGITS) if report else 0.0,
        "capacity": capacity,
        "received": report.received if report else 0,
        "delivered": report.delivered if report else 0,
    }


def tick(
    at: float,
    brokers: Iterable[Broker],
    reports: Reports,
    period_seconds: int,
    *,
    rate: Rate,
    shared: Spread,
    p90_ms: float | None,
    balance: Balance,
    moved: Sequence[Move],
    last_move: float | None,
) -> bytes:
    rows = [broker_row(b, reports.get(b.name), period_seconds) for b in brokers]
    return line(
        "tick",
        {
            "at": at,
            "brokers": rows,
            "sessions": sum(row["sessions"] for row in rows),
            "messages_per_second": rate.received,
            "deliveries_per_second": rate.delivered,
            **asdict(shared),
            "p90_ms": p90_ms,
            "moved": [move_status(move) for move in moved],
            "last_move": last_move,
            **asdict(balance),
        },
    )


def topics(
    at: float, count: int, carried: int, late: int, rows: Sequence[TopicRow]
) -> bytes:
    content = {"at": at, "count": count, "carried": carried, "late": late}
    return line("topics", {**content, "topics": rows})
