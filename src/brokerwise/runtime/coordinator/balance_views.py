"""The balancer and its decisions, for operators. Loads are bytes a second."""

from collections import Counter
from typing import Any

from brokerwise.model.snapshot import imbalance
from brokerwise.model.units import HOURS_PER_MONTH
from brokerwise.runtime.coordinator import decisions
from brokerwise.runtime.coordinator.carrying_out import wanted_brokers
from brokerwise.runtime.coordinator.decisions import Decision, DecisionState
from brokerwise.runtime.coordinator.gathering import Picture
from brokerwise.runtime.coordinator.moves import count_unfinished, moves_of
from brokerwise.runtime.coordinator.proposal import BrokerChange, Proposal
from brokerwise.runtime.coordinator.status import MoveStatus, move_status
from brokerwise.runtime.coordinator.wishes import Mode
from brokerwise.runtime.process.state_file import Sql

DIGEST_SHOWN = 12
PATIENCE_SECONDS = 600.0  # what was shown so long ago is hardly waited for any more


def state_of_mind(sql: Sql, mode: Mode, words: str, now: float) -> str:
    """What the balancer is at, in a line."""
    waiting = count_unfinished(sql, decided=True)
    if mode.paused:
        held = f": {_many(waiting, 'move')} to do" if waiting else ""
        return f"paused{held}"
    missing = wanted_brokers(sql)
    if missing:
        return f"waiting for {', '.join(missing)} to come up"
    if waiting:
        return f"moving {_many(waiting, 'session')}"
    for proposed in decisions.newest_decisions(sql, 1, DecisionState.PROPOSED):
        is_fresh = now - proposed.at < PATIENCE_SECONDS and not mode.automatic
        if proposed.automatic or is_fresh:
            return f"waiting for approval of {proposed.digest[:DIGEST_SHOWN]}"
    return (
        f"automatic: {words}" if mode.automatic else "manual: decides only when asked"
    )


def balance_view(
    sql: Sql, mode: Mode, mind: str, picture: Picture | None, problem: str
) -> dict[str, Any]:
    """`problem` is why there is no picture."""
    return {
        "mode": "automatic" if mode.automatic else "manual",
        "paused": mode.paused,
        "mind": mind,
        "options": mode.wishes,
        "moves_under_way": count_unfinished(sql),
        "problem": problem,
        **_loads_view(picture),
    }


def decision_view(decision: Decision, sql: Sql) -> dict[str, Any]:
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
        "proposal": None if found is None else _proposal_view(found),
    }


def moves_view(decision: Decision, sql: Sql) -> list[MoveStatus]:
    """The moves of a decision as they are, or as they are planned."""
    begun = moves_of(sql, decision.number)
    if begun:
        return [move_status(move) for move in begun]
    planned = decision.proposal.moves if decision.proposal else ()
    return [
        MoveStatus(0, move.user, move.source, move.target, "planned", "")
        for move in planned
    ]


def _loads_view(picture: Picture | None) -> dict[str, Any]:
    if picture is None:
        nothing = {"measured": None, "max_load": None, "mean_load": None, "cov": None}
        return {"brokers": [], **nothing}
    snapshot = picture.measured.snapshot
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
            for number, broker in enumerate(picture.known.brokers)
        ],
        "measured": picture.measured.measured,
        "max_load": int(loads.max(initial=0)) / seconds,
        "mean_load": int(loads.sum()) / seconds / max(1, len(loads)),
        "cov": imbalance(loads),
    }


def _proposal_view(found: Proposal) -> dict[str, Any]:
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
        "max_load": max((b.before for b in found.brokers), default=0) / seconds,
        "max_load_after": max((b.after for b in found.brokers), default=0) / seconds,
        "bound": found.bound / seconds,
        "cov": found.cov_before,
        "cov_after": found.cov_after,
        "moves": len(found.moves),
        "state_bytes": found.state_bytes,
        "capacity": found.capacity,
        "cost": _cost_view(found),
    }


def _cost_view(found: Proposal) -> dict[str, float] | None:
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


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
