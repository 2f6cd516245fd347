"""Lines of a made-up fleet, as a coordinator sends them. The same each time."""

from collections.abc import Mapping, Sequence
from math import sin, sqrt
from typing import Any

START = 1_760_000_000.0
CAPACITY = 1_000.0
_MOVES = (598, 599, 600, 603, 790)


def load(broker: int, second: float) -> float:
    """The first broker is hot until second 600, then shares."""
    own = 260 + 90 * sin(broker * 1.7) + 35 * sin(second / 40 + broker)
    hot = 420 if broker == 0 and second < 600 else 0
    return round(own + hot + 12 * sin(second * 1.3 + 5 * broker), 3)


def hello(brokers: int, seconds: int = 900, plan: str = "") -> dict[str, Any]:
    spreads = [spread([load(b, s) for b in range(brokers)]) for s in range(seconds)]
    return {
        "kind": "hello",
        "fleet": {
            "plan": plan,
            "plan_kind": "provision" if plan else "",
            "digest": "9f31c2a07be4" if plan else "",
            "placement": "round-robin",
            "period_seconds": 60,
            "brokers": brokers,
            "started": START,
        },
        "every_seconds": 1,
        "history": {
            "at": [START + s for s in range(seconds)],
            **{
                name: [each[name] for each in spreads]
                for name in ("max_load", "mean_load", "cov")
            },
            "loads": {
                f"b{b}": [load(b, s) for s in range(seconds)] for b in range(brokers)
            },
            "moves": [[START + s, 3 + s % 5] for s in _MOVES if s < seconds],
            "messages_per_second": [812.5] * seconds,
        },
    }


def tick(
    brokers: int,
    second: float,
    lost: Sequence[int] = (),
    draining: Sequence[int] = (),
    **changed: Any,
) -> dict[str, Any]:
    rows = [_row(b, second, b in lost, b in draining) for b in range(brokers)]
    return {
        "kind": "tick",
        "at": START + second,
        "brokers": rows,
        "sessions": sum(row["sessions"] for row in rows),
        "messages_per_second": 812.5,
        "deliveries_per_second": 6_120.25,
        **spread([row["load"] for row in rows if row["state"] != "lost"]),
        "p90_ms": 3.14,
        "moves": {"done": 24},
        "moved": [],
        "last_move": START + 790,
        "balancer_status": "manual: decides only when asked",
        "mode": "manual",
        "paused": False,
        **changed,
    }


def topics(count: int, brokers: int) -> dict[str, Any]:
    rows = [_topic(t, brokers) for t in range(count)]
    late = sum(row["met"] is False for row in rows)
    return {
        "kind": "topics",
        "at": START,
        "count": 2_200,
        "carried": 1_950,
        "late": late,
        "topics": rows,
    }


def event(second: float, what: str, text: str) -> dict[str, Any]:
    return {"kind": "event", "at": START + second, "what": what, "text": text}


def data() -> dict[str, Any]:
    channel = {
        "name": "fires",
        "every_seconds": 5.0,
        "subscriptions": 12,
        "last_run": START + 895,
        "took_ms": 412.0,
        "results": 31,
        "error": "",
        "failures": 0,
    }
    suspended = "column area: expected text, found a number"
    other = {**channel, "name": "shelters", "error": suspended, "failures": 2}
    dataset = {
        "name": "reports",
        "kind": "append",
        "records": 48_113,
        "fed": 50_000,
        "last_fed": START + 897,
        "errors": 17,
        "error": "x: expected a number, found text",
    }
    return {
        "kind": "data",
        "at": START + 898,
        "problem": "",
        "channels": [channel, other],
        "datasets": [dataset],
    }


def proposal(brokers: int) -> dict[str, Any]:
    """What a dry run answers."""
    changes = [_change(b, brokers) for b in range(brokers)]
    return {
        "number": 7,
        "digest": "9f31c2a07be4d1",
        "at": START + 900,
        "state": "proposed",
        "automatic": False,
        "policy": "planned",
        "reason": "cov 0.31 is above 0.10; max load within 1 % of the mean",
        "begun": None,
        "ended": None,
        "outcome": "",
        "states": {},
        "proposal": {
            "kind": "moves",
            "brokers": changes,
            "added": [],
            "closing": [],
            "max_load": 412_000.0,
            "max_load_after": 301_000.0,
            "bound": 298_000.0,
            "cov": 0.31,
            "cov_after": 0.02,
            "moves": 37,
            "state_bytes": 1_100,
            "capacity": None,
            "cost": None,
        },
    }


def spread(loads: Sequence[float]) -> dict[str, float]:
    mean = sum(loads) / len(loads)
    deviation = sqrt(sum((value - mean) ** 2 for value in loads) / len(loads))
    found: Mapping[str, float] = {
        "max_load": max(loads),
        "mean_load": mean,
        "cov": deviation / mean,
    }
    return {name: round(value, 3) for name, value in found.items()}


def _row(broker: int, second: float, lost: bool, draining: bool) -> dict[str, Any]:
    gone = {"sessions": 0, "topics": 0, "load": 0.0, "received": 0, "delivered": 0}
    there = {
        "sessions": 100 + 7 * broker % 60,
        "topics": 240 + broker,
        "load": load(broker, second),
        "received": 120_000 + second,
        "delivered": 910_000 + 7 * second,
    }
    return {
        "name": f"b{broker}",
        "state": "lost" if lost else "draining" if draining else "up",
        "since": START + 812 if lost else START,
        "capacity": CAPACITY,
        **(gone if lost else there),
    }


def _topic(number: int, brokers: int) -> dict[str, Any]:
    p90 = round(290 * 0.96**number + 2, 1)
    return {
        "topic": f"city/area-{number}/reports",
        "broker": f"b{number % brokers}",
        "received_per_second": round(400 / (number + 1), 2),
        "p50_ms": round(p90 / 2, 1),
        "p90_ms": p90,
        "target_ms": 250.0,
        "met": p90 <= 250,
    }


def _change(broker: int, brokers: int) -> dict[str, Any]:
    hot = broker == 0
    share = 111_000 / max(1, brokers - 1)
    before = 412_000.0 if hot else 300_000.0 - share
    return {
        "broker": f"b{broker}",
        "load": before,
        "load_after": 301_000.0 if hot else before + share,
        "arriving": 0 if hot else 37 // max(1, brokers - 1),
        "leaving": 37 if hot else 0,
    }
