"""What the balancer decided, as it is stored. All calls belong into a transaction.

A decision waits for approval, or is carried out; what is still to be done of it is
read off the stored state, so that it goes on after a restart.
"""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from brokerwise.runtime.coordinator.proposal import Proposal
from brokerwise.runtime.net.refusals import ConflictError, NotFoundError
from brokerwise.runtime.process.state_file import Sql

KEPT_DECISIONS = 1_000  # of those that are not under way
_COLUMNS = (
    "number, digest, at, state, automatic, policy, reason, proposal, begun, ended,"
    " outcome"
)
_UNDER_WAY = "state IN ('starting', 'running')"


class DecisionState(StrEnum):
    """`noted`: there is nothing to do, only to know. `starting`: it waits for brokers
    that it needs. `outdated`: something else was done."""

    NOTED = "noted"
    PROPOSED = "proposed"
    STARTING = "starting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    OUTDATED = "outdated"


@dataclass(frozen=True)
class Decision:
    """`automatic`: nobody asked for it. Times are seconds since 1970; `outcome` says
    what came of it."""

    number: int
    digest: str
    at: float
    state: DecisionState
    automatic: bool
    policy: str
    reason: str
    proposal: Proposal | None
    begun: float | None
    ended: float | None
    outcome: str


def propose(
    sql: Sql,
    proposal: Proposal,
    reason: str,
    now: float,
    *,
    automatic: bool = False,
) -> Decision:
    """Write down what may be approved; the same again is the same decision."""
    if proposal.is_empty:
        return note(sql, proposal.policy, reason, now, automatic=automatic)
    row = sql.execute(
        f"SELECT {_COLUMNS} FROM decisions WHERE digest = ? AND state = 'proposed'",
        (proposal.digest,),
    ).fetchone()
    if row is not None:
        return _decision(*row)
    return _add(
        *(sql, proposal.digest, now, DecisionState.PROPOSED, automatic),
        *(proposal.policy, reason, msgspec.json.encode(proposal).decode()),
    )


def note(
    sql: Sql, policy: str, reason: str, now: float, *, automatic: bool = False
) -> Decision:
    """Write down that there is nothing to do, and why."""
    noted = DecisionState.NOTED
    return _add(sql, "", now, noted, automatic, policy, reason, None)


def the_decision(sql: Sql, number: int) -> Decision:
    row = sql.execute(
        f"SELECT {_COLUMNS} FROM decisions WHERE number = ?", (number,)
    ).fetchone()
    if row is None:
        raise NotFoundError(f"there is no decision {number}")
    return _decision(*row)


def by_digest(sql: Sql, prefix: str) -> Decision:
    """The newest with a digest that begins so. Raises NotFoundError, or ConflictError
    if it may be one of several."""
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM decisions WHERE digest >= ?1 AND digest < ?1 || 'g'"
        " ORDER BY number DESC",
        (prefix,),
    ).fetchall()
    found = [_decision(*row) for row in rows]
    if not found:
        raise NotFoundError(f"there is no proposal {prefix}")
    if len({decision.digest for decision in found}) > 1:
        raise ConflictError(
            f"{prefix} may be one of {len(found)} proposals: give more of its digest"
        )
    return found[0]


def newest_decisions(
    sql: Sql, limit: int, state: DecisionState | None = None
) -> list[Decision]:
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM decisions WHERE ?1 IS NULL OR state = ?1"
        " ORDER BY number DESC LIMIT ?2",
        (state, limit),
    )
    return [_decision(*row) for row in rows]


def numbers_under_way(sql: Sql) -> list[tuple[int, DecisionState]]:
    """Those that were begun and are not over: what they are can be long."""
    rows = sql.execute(
        f"SELECT number, state FROM decisions WHERE {_UNDER_WAY} ORDER BY number"
    ).fetchall()
    return [(number, DecisionState(state)) for number, state in rows]


def set_begun(sql: Sql, number: int, state: DecisionState, now: float) -> None:
    """What else was proposed is not for the fleet as it will be."""
    sql.execute(
        "UPDATE decisions SET state = 'outdated', ended = ?1, outcome = ?2"
        " WHERE state = 'proposed' AND number <> ?3",
        (now, f"decision {number} was carried out instead", number),
    )
    sql.execute(
        "UPDATE decisions SET state = ?, begun = coalesce(begun, ?) WHERE number = ?",
        (state, now, number),
    )


def set_ended(
    sql: Sql, number: int, state: DecisionState, outcome: str, now: float
) -> None:
    sql.execute(
        "UPDATE decisions SET state = ?, outcome = ?, ended = ? WHERE number = ?",
        (state, outcome, now, number),
    )


def _add(
    sql: Sql,
    digest: str,
    now: float,
    state: DecisionState,
    automatic: bool,
    policy: str,
    reason: str,
    proposal: str | None,
) -> Decision:
    row = sql.execute(
        "INSERT INTO decisions (digest, at, state, automatic, policy, reason, proposal)"
        f" VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING {_COLUMNS}",
        (digest, now, state, automatic, policy, reason, proposal),
    ).fetchone()
    sql.execute(
        f"DELETE FROM decisions WHERE number <= ? AND NOT {_UNDER_WAY}",
        (row[0] - KEPT_DECISIONS,),
    )
    return _decision(*row)


def _decision(
    number: int,
    digest: str,
    at: float,
    state: str,
    automatic: int,
    policy: str,
    reason: str,
    proposal: str | None,
    begun: float | None,
    ended: float | None,
    outcome: str,
) -> Decision:
    content = proposal and msgspec.json.decode(proposal, type=Proposal)
    return Decision(
        *(number, digest, at, DecisionState(state), bool(automatic), policy, reason),
        *(content or None, begun, ended, outcome),
    )
