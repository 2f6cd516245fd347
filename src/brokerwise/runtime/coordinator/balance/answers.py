"""The balancer and its decisions as operators are shown them: the bodies of answers.

Loads are bytes a second.
"""

from collections import Counter
from typing import Any

from brokerwise.model.snapshot import imbalance
from brokerwise.model.units import HOURS_PER_MONTH
from brokerwise.runtime.coordinator.balance.execution import many, wanted_brokers
from brokerwise.runtime.coordinator.balance.loads import FleetLoads
from brokerwise.runtime.coordinator.balance.options import BalanceMode
from brokerwise.runtime.coordinator.balance.proposals import (
    DIGEST_SHOWN,
    BrokerChange,
    Decision,
    DecisionState,
    Proposal,
    newest_decisions,
)
from brokerwise.runtime.coordinator.moves import count_unfinished, moves_of
from brokerwise.runtime.coordinator.status import MoveStatus, move_status
from brokerwise.runtime.process.state_file import Sql

PATIENCE_SECONDS = 600.0  # an older proposal that was asked for is not waited for


def balancer_status(sql: Sql, mode: BalanceMode, status: str, now: float) -> str:
    """What the balancer is doing, in a line; `status` is what it found last."""
    waiting = count_unfinished(sql, decided=True)
    if mode.paused:
        held = f": {many(waiting, 'move')} to do" if waiting else ""
        return f"paused{held}"
    missing = wanted_brokers(sql)
    if missing:
        return f"waiting for {', '.join(missing)} to come up"
    if waiting:
        return f"moving {many(waiting, 'session')}"
    for proposed in newest_decisions(sql, 1, DecisionState.PROPOSED):
        is_fresh = now - proposed.at < PATIENCE_SECONDS and not mode.automatic
        if proposed.automatic or is_fresh:
            return f"waiting for approval of {proposed.digest[:DIGEST_SHOWN]}"
    return (
        f"automatic: {status}" if mode.automatic else "manual: decides only when asked"
    )


def balance_answer(
    sql: Sql, mode: BalanceMode, status: str, loads: FleetLoads | None, problem: str
) -> dict[str, Any]:
    """`problem` is why there are no loads."""
    return {
        "mode": mode.name,
        "paused": mode.paused,
        "mind": status,
        "options": mode.options,
        "moves_under_way": count_unfinished(sql),
        "problem": problem,
        **_loads_answer(loads),
    }


def decision_answer(decision: Decision, sql: Sql) -> dict[str, Any]:
    """`moves` counts those that were planned, `states` those that were begun."""
    found = decision.proposal
    begun = moves_of(sql, decision.number) if decision.begun else []
    return {
        "number": decision.number,
        "digest": decision.digest,
        "at": decision.at,
        "state": decision.state,
        "automatic": decision.automatic,
        "policy": decision.policy,
        "reason": decision.reason,
        "begun": decision.begun,
        "ended": decision.ended,
        "outcome": decision.outcome,
        "states": Counter(move.state for move in begun),
        "proposal": None if found is None else _proposal_answer(found),
    }


def moves_answer(decision: Decision, sql: Sql) -> list[MoveStatus]:
    """The moves of a decision as they are, or as they are planned."""
    begun = moves_of(sql, decision.number)
    if begun:
        return [move_status(move) for move in begun]
    planned = decision.proposal.moves if decision.proposal else ()
    return [
        MoveStatus(0, move.user, move.source, move.target, "planned", "")
        for move in planned
    ]


def _loads_answer(fleet: FleetLoads | None) -> dict[str, Any]:
    if fleet is None:
        nothing = {"measured": None, "max_load": None, "mean_load": None, "cov": None}
        return {"brokers": [], **nothing}
    snapshot = fleet.report.snapshot
    loads = snapshot.loads()
    sessions = Counter(snapshot.places.tolist())
    seconds = snapshot.period_seconds
    return {
        "brokers": [
            {
                "broker": broker.name,
                "load": int(loads[number]) / seconds,
                "sessions": sessions[number],
            }
            for number, broker in enumerate(fleet.stored.brokers)
        ],
        "measured": fleet.report.measured,
        "max_load": int(loads.max(initial=0)) / seconds,
        "mean_load": int(loads.sum()) / seconds / max(1, len(loads)),
        "cov": imbalance(loads),
    }


def _proposal_answer(found: Proposal) -> dict[str, Any]:
    seconds = found.period_seconds
    leaving = Counter(move.source for move in found.moves)
    arriving = Counter(move.target for move in found.moves)

    def broker(change: BrokerChange) -> dict[str, Any]:
        name = change.broker
        return {
            "broker": name,
            "load": change.before / seconds,
            "load_after": change.after / seconds,
            "arriving": arriving[name],
            "leaving": leaving[name],
        }

    return {
        "kind": found.kind,
        "brokers": list(map(broker, found.brokers)),
        "added": found.added,
        "closing": found.closing,
        "max_load": found.max_before / seconds,
        "max_load_after": found.max_after / seconds,
        "bound": found.bound / seconds,
        "cov": found.cov_before,
        "cov_after": found.cov_after,
        "moves": len(found.moves),
        "state_bytes": found.state_bytes,
        "capacity": found.capacity,
        "cost": _cost_answer(found),
    }


def _cost_answer(found: Proposal) -> dict[str, float] | None:
    """In dollars; a month has 730 hours."""
    if found.broker_hour is None:
        return None
    before = len(found.brokers) - len(found.added)
    after = len(found.brokers) - len(found.closing)
    return {
        "hour": before * found.broker_hour,
        "hour_after": after * found.broker_hour,
        "month": before * found.broker_hour * HOURS_PER_MONTH,
        "month_after": after * found.broker_hour * HOURS_PER_MONTH,
    }
