"""What the coordinator knows, for operators: status, and metrics for Prometheus."""

from collections.abc import Mapping
from typing import Any

import msgspec

from brokerwise.runtime.coordinator.brokers import Broker, all_brokers
from brokerwise.runtime.coordinator.membership import BrokerState
from brokerwise.runtime.coordinator.moves import Move, count_moves
from brokerwise.runtime.coordinator.store import is_planned, setting
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.control import Axis, Heartbeat

Reports = Mapping[str, Heartbeat]


def status(sql: Sql, reports: Reports) -> dict[str, Any]:
    names = ("kind", "plan", "digest", "placement")
    return {
        "brokers": [_broker_status(b, reports) for b in all_brokers(sql)],
        "moves": count_moves(sql),
        **{name: setting(sql, name) for name in names},
        "period_seconds": int(setting(sql, "period_seconds")),
    }


def move_view(move: Move) -> dict[str, Any]:
    return {
        "id": move.id,
        "user": move.user,
        "from": move.source,
        "to": move.target,
        "state": move.state,
        "reason": move.reason,
    }


def axes(sql: Sql) -> list[Axis]:
    """How an overlay's content is cut into sub-channels; none without an overlay."""
    return msgspec.json.decode(setting(sql, "axes"), type=list[Axis])


def topic_rates(sql: Sql) -> dict[str, int]:
    if is_planned(sql):
        return dict(sql.execute("SELECT name, rate FROM topics ORDER BY name"))
    return dict(sql.execute("SELECT topic, 0 FROM routes ORDER BY topic"))


def placed_topics(sql: Sql) -> tuple[dict[str, str], dict[str, float]]:
    """Homes and targets of the topics that have them."""
    homes = sql.execute("SELECT name, home FROM topics WHERE home <> '' ORDER BY name")
    targets = sql.execute(
        "SELECT name, target_ms FROM topics WHERE target_ms IS NOT NULL ORDER BY name"
    )
    return dict(homes), dict(targets)


def metrics(sql: Sql, reports: Reports) -> str:
    """In the text format of Prometheus."""
    states = [shown_state(b) for b in all_brokers(sql)]
    lines = _family("brokers", "gauge", "Brokers by state.")
    for state in BrokerState:
        if state is not BrokerState.EXPECTED:
            lines.append(_sample("brokers", states.count(state), state=state))
    lines += _family("moves", "gauge", "Moves that are remembered, by state.")
    for name, count in count_moves(sql).items():
        lines.append(_sample("moves", count, state=name))
    for name, kind, text, query in _COUNTED:
        (count,) = sql.execute(query).fetchone()
        lines += [*_family(name, kind, text), _sample(name, count)]
    lines += _family("broker_load", "gauge", "Messages a second, in and out.")
    for broker, report in sorted(reports.items()):
        lines.append(_sample("broker_load", report.load_per_second, broker=broker))
    return "\n".join(lines) + "\n"


def shown_state(broker: Broker) -> BrokerState:
    """A broker that has not come yet is not there, like one that has gone."""
    expected = broker.state is BrokerState.EXPECTED
    return BrokerState.LOST if expected else broker.state


_COUNTED = (
    (
        *("sessions", "gauge", "Sessions that have a place."),
        "SELECT count(*) FROM sessions",
    ),
    (
        *("topics_carried", "gauge", "Topics that a broker carries."),
        "SELECT count(DISTINCT topic) FROM carriers",
    ),
    (
        *("routes_untold", "gauge", "Routes that a broker has not heard of yet."),
        "SELECT count(*) FROM untold",
    ),
    (
        *("brokers_lost_total", "counter", "Leases that lapsed."),
        "SELECT value FROM counters WHERE name = 'losses'",
    ),
)


def _broker_status(broker: Broker, reports: Reports) -> dict[str, Any]:
    report = reports.get(broker.name)
    return {
        "broker": broker.name,
        "url": broker.url,
        "state": shown_state(broker),
        "epoch": broker.epoch,
        "sessions": report.sessions if report else 0,
        "topics": report.topics if report else 0,
        "received": report.received if report else 0,
        "delivered": report.delivered if report else 0,
        "load_per_second": report.load_per_second if report else 0.0,
        "capacity": broker.capacity,
        "pid": broker.pid,
        "since": broker.since,
    }


def _family(name: str, kind: str, text: str) -> list[str]:
    full = f"brokerwise_{name}"
    return [f"# HELP {full} {text}", f"# TYPE {full} {kind}"]


def _sample(name: str, value: float, **labels: str) -> str:
    inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"brokerwise_{name}{{{inner}}} {value}" if inner else _bare(name, value)


def _bare(name: str, value: float) -> str:
    return f"brokerwise_{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
