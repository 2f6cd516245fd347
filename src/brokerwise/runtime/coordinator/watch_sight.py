"""What those who watch see of the stored state, read once a second."""

from dataclasses import dataclass
from typing import Any

from brokerwise.runtime.coordinator.balance_views import state_of_mind
from brokerwise.runtime.coordinator.balancing import Balancing
from brokerwise.runtime.coordinator.brokers import all_brokers
from brokerwise.runtime.coordinator.decisions import DecisionState
from brokerwise.runtime.coordinator.moves import count_moves
from brokerwise.runtime.coordinator.store import is_planned, setting
from brokerwise.runtime.coordinator.watch_events import DecisionSeen, Sight
from brokerwise.runtime.coordinator.wishes import read_mode
from brokerwise.runtime.process.state_file import Sql

_DECISIONS_SEEN = 20


def read_sight(sql: Sql) -> Sight:
    rows = sql.execute(
        "SELECT number, coalesce(ended, begun, at), state, policy, reason, outcome"
        " FROM decisions ORDER BY number DESC LIMIT ?",
        (_DECISIONS_SEEN,),
    )
    seen = [DecisionSeen(n, at, DecisionState(s), *rest) for n, at, s, *rest in rows]
    return Sight(
        {broker.name: broker for broker in all_brokers(sql)},
        {decision.number: decision for decision in seen},
        read_mode(sql).automatic,
    )


def read_fleet(sql: Sql) -> dict[str, Any]:
    """What does not change while a fleet runs."""
    return {
        "plan": setting(sql, "plan"),
        "plan_kind": setting(sql, "kind"),
        "digest": setting(sql, "digest"),
        "placement": setting(sql, "placement"),
        "period_seconds": int(setting(sql, "period_seconds")),
    }


def read_targets(sql: Sql) -> dict[str, float]:
    """Milliseconds, of the topics that have a target: they do not change either."""
    return dict(
        sql.execute("SELECT name, target_ms FROM topics WHERE target_ms IS NOT NULL")
    )


def read_last_move(sql: Sql) -> float | None:
    """When the last move that was done was seen to be."""
    (at,) = sql.execute("SELECT max(ended) FROM moves WHERE state = 'done'").fetchone()
    return None if at is None else float(at)


def count_topics(sql: Sql) -> tuple[int, int]:
    """How many topics there are, and how many of them somebody carries."""
    table = "topics" if is_planned(sql) else "routes"
    (count,) = sql.execute(f"SELECT count(*) FROM {table}").fetchone()
    (carried,) = sql.execute("SELECT count(DISTINCT topic) FROM carriers").fetchone()
    return int(count), int(carried)


@dataclass(frozen=True)
class Balance:
    """The balancer in words, its mode, and how many moves are in each state."""

    mind: str
    mode: str
    paused: bool
    moves: dict[str, int]


def read_balance(sql: Sql, balancing: Balancing) -> Balance:
    mode = balancing.mode
    return Balance(
        state_of_mind(sql, mode, balancing.words, balancing.now()),
        "automatic" if mode.automatic else "manual",
        mode.paused,
        count_moves(sql),
    )
