"""Proposals of the balancer and the decisions about them, as they are stored.

A `ProposalRecord` is what the planner makes, what is audited, stored and approved by
its digest: exactly this is done, or nothing. A `DecisionRecord` is the record of it, or
of why there was nothing to do; what is still to be done of it is read off the stored
state, so that it goes on after a restart. What operators are shown of them has no
sessions, and loads by the second: `answers.py`. All calls belong into a transaction.
"""

import logging
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Literal

import msgspec
import numpy as np

from brokerwise.model.snapshot import imbalance
from brokerwise.runtime.net.errors import ConflictError, NotFoundError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.balance import DecisionState

DIGEST_SHOWN = 12  # characters
KEPT_DECISIONS = 1_000  # of those that are not under way
_COLUMNS = (
    "number, digest, at, state, automatic, policy, reason, proposal, begun, ended,"
    " outcome"
)
_UNDER_WAY = "state IN ('starting', 'running')"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MoveRecord:
    """A user's session on a broker goes to another, with `state_bytes` to be copied."""

    user: str
    source: str
    target: str
    state_bytes: int = 0


@dataclass(frozen=True)
class BrokerRecord:
    """A broker and its load, in bytes a period; one that is to be started has epoch 0,
    and one that is to be ended is `closing`."""

    broker: str
    epoch: int
    before: int
    after: int
    closing: bool = False

    @property
    def is_new(self) -> bool:
        return not self.epoch


@dataclass(frozen=True)
class ProposalRecord:
    """Moves, with the loads before and after them.

    `bound`: no placement has a lower maximum load. `moves_before` is the number of the
    last move when it was made. With a `broker_hour` the price of a fleet is known.
    """

    policy: str
    brokers: tuple[BrokerRecord, ...]
    moves: tuple[MoveRecord, ...]
    bound: int
    moves_before: int
    period_seconds: int
    capacity: float | None = None
    broker_hour: float | None = None

    @property
    def kind(self) -> Literal["moves", "scale-out", "scale-in"]:
        if any(broker.is_new for broker in self.brokers):
            return "scale-out"
        return "scale-in" if self.closing else "moves"

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(b.broker for b in self.brokers if b.is_new)

    @property
    def closing(self) -> tuple[str, ...]:
        return tuple(b.broker for b in self.brokers if b.closing)

    @property
    def is_empty(self) -> bool:
        return not (self.moves or self.added or self.closing)

    @property
    def state_bytes(self) -> int:
        return sum(move.state_bytes for move in self.moves)

    @property
    def max_before(self) -> int:
        return max((b.before for b in self.brokers), default=0)

    @property
    def max_after(self) -> int:
        return max((b.after for b in self.brokers), default=0)

    @property
    def cov_before(self) -> float:
        return _cov([b.before for b in self.brokers if not b.is_new])

    @property
    def cov_after(self) -> float:
        return _cov([b.after for b in self.brokers if not b.closing])

    @cached_property
    def digest(self) -> str:
        """Of all that an approval is given for: which brokers, at which epochs and
        with which loads, and which moves, in which order."""
        content = {
            "brokers": [(b.broker, b.epoch, b.before, b.closing) for b in self.brokers],
            "moves": [(m.user, m.source, m.target) for m in self.moves],
            "moves_before": self.moves_before,
        }
        return sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


def _cov(loads: list[int]) -> float:
    return imbalance(np.array(loads, np.int64))


@dataclass(frozen=True)
class DecisionRecord:
    """`automatic`: nobody asked for it. Times are seconds since 1970; `outcome` says
    what came of it."""

    number: int
    digest: str
    at: float
    state: DecisionState
    automatic: bool
    policy: str
    reason: str
    proposal: ProposalRecord | None
    begun: float | None
    ended: float | None
    outcome: str


def store_proposal(
    sql: Sql,
    proposal: ProposalRecord,
    reason: str,
    now: float,
    *,
    automatic: bool = False,
) -> DecisionRecord:
    """Store what may be approved. If the same is proposed already, that decision."""
    if proposal.is_empty:
        return store_note(sql, proposal.policy, reason, now, automatic=automatic)
    row = sql.execute(
        f"SELECT {_COLUMNS} FROM decisions WHERE digest = ? AND state = 'proposed'",
        (proposal.digest,),
    ).fetchone()
    if row is not None:
        return _decision(*row)
    content = msgspec.json.encode(proposal).decode()
    return _insert(
        sql,
        (
            *(proposal.digest, now, DecisionState.PROPOSED, automatic),
            *(proposal.policy, reason, content),
        ),
    )


def store_note(
    sql: Sql, policy: str, reason: str, now: float, *, automatic: bool = False
) -> DecisionRecord:
    """Store that there is nothing to do, and why."""
    return _insert(sql, ("", now, DecisionState.NOTED, automatic, policy, reason, None))


def read_decision(sql: Sql, number: int) -> DecisionRecord:
    row = sql.execute(
        f"SELECT {_COLUMNS} FROM decisions WHERE number = ?", (number,)
    ).fetchone()
    if row is None:
        raise NotFoundError(f"there is no decision {number}")
    return _decision(*row)


def find_decision(sql: Sql, prefix: str) -> DecisionRecord:
    """The newest with a digest that begins with `prefix`. Raises NotFoundError, or
    ConflictError if several digests do."""
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
) -> list[DecisionRecord]:
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM decisions WHERE ?1 IS NULL OR state = ?1"
        " ORDER BY number DESC LIMIT ?2",
        (state, limit),
    )
    return [_decision(*row) for row in rows]


def unfinished_decisions(sql: Sql) -> list[tuple[int, DecisionState]]:
    """Numbers and states of those that were begun and are not over. Without their
    proposals, which can be long."""
    rows = sql.execute(
        f"SELECT number, state FROM decisions WHERE {_UNDER_WAY} ORDER BY number"
    ).fetchall()
    return [(number, DecisionState(state)) for number, state in rows]


def set_begun(sql: Sql, number: int, state: DecisionState, now: float) -> None:
    """All other proposals are outdated: they are not for the fleet as it will be."""
    outdated = sql.execute(
        "UPDATE decisions SET state = 'outdated', ended = ?1, outcome = ?2"
        " WHERE state = 'proposed' AND number <> ?3",
        (now, f"decision {number} was carried out instead", number),
    ).rowcount
    if outdated:
        log.info("proposals outdated by decision %d: %d", number, outdated)
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


def _insert(
    sql: Sql, values: tuple[str, float, DecisionState, bool, str, str, str | None]
) -> DecisionRecord:
    row = sql.execute(
        "INSERT INTO decisions (digest, at, state, automatic, policy, reason, proposal)"
        f" VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING {_COLUMNS}",
        values,
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
) -> DecisionRecord:
    content = msgspec.json.decode(proposal, type=ProposalRecord) if proposal else None
    return DecisionRecord(
        number=number,
        digest=digest,
        at=at,
        state=DecisionState(state),
        automatic=bool(automatic),
        policy=policy,
        reason=reason,
        proposal=content,
        begun=begun,
        ended=ended,
        outcome=outcome,
    )
