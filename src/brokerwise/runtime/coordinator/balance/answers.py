"""The balancer and its decisions as operators are shown them.

What is stored counts loads by the period, as planners do, and has every move; what is
shown has bytes a second and sums. This is the one way from the one to the other.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import asdict, replace

from brokerwise.model.snapshot import imbalance
from brokerwise.model.units import HOURS_PER_MONTH
from brokerwise.runtime.coordinator.balance.execution import many, wanted_brokers
from brokerwise.runtime.coordinator.balance.loads import FleetLoads
from brokerwise.runtime.coordinator.balance.options import BalanceMode
from brokerwise.runtime.coordinator.balance.proposals import (
    DIGEST_SHOWN,
    DecisionRecord,
    ProposalRecord,
    newest_decisions,
)
from brokerwise.runtime.coordinator.moves import count_unfinished, moves_of
from brokerwise.runtime.coordinator.status import move_status
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.balance import (
    Approval,
    Balance,
    BrokerChange,
    BrokerLoad,
    Cost,
    Decision,
    DecisionDetails,
    DecisionState,
    Proposal,
)
from brokerwise.runtime.protocol.fleet import PlannedMove

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


def balance(
    sql: Sql, mode: BalanceMode, status: str, loads: FleetLoads | None, problem: str
) -> Balance:
    """`problem` is why there are no loads."""
    found = Balance(
        mode=mode.name,
        paused=mode.paused,
        balancer_status=status,
        options=mode.options,
        moves_under_way=count_unfinished(sql),
        problem=problem,
    )
    return found if loads is None else _with_loads(found, loads)


def decision(record: DecisionRecord, sql: Sql) -> Decision:
    begun = moves_of(sql, record.number) if record.begun else []
    return Decision(
        number=record.number,
        digest=record.digest,
        at=record.at,
        state=record.state,
        automatic=record.automatic,
        policy=record.policy,
        reason=record.reason,
        begun=record.begun,
        ended=record.ended,
        outcome=record.outcome,
        states=dict(Counter(move.state.value for move in begun)),
        proposal=None if record.proposal is None else proposal(record.proposal),
    )


def approval(record: DecisionRecord, sql: Sql, *, begins: bool) -> Approval:
    return Approval(**asdict(decision(record, sql)), begins=begins)


def decision_details(
    record: DecisionRecord, sql: Sql, *, paused: bool
) -> DecisionDetails:
    """With its moves as they are, or as they are planned."""
    begun = moves_of(sql, record.number)
    planned = record.proposal.moves if record.proposal else ()
    moves: Iterable[PlannedMove] = map(move_status, begun)
    if not begun:
        moves = (
            PlannedMove(0, move.user, move.source, move.target, "planned")
            for move in planned
        )
    shown = asdict(decision(record, sql))
    return DecisionDetails(**shown, moves=tuple(moves), paused=paused)


def proposal(record: ProposalRecord) -> Proposal:
    """What was proposed, by the second and without its sessions."""
    seconds = record.period_seconds
    leaving = Counter(move.source for move in record.moves)
    arriving = Counter(move.target for move in record.moves)
    changes = (
        BrokerChange(
            broker=each.broker,
            load=each.before / seconds,
            load_after=each.after / seconds,
            arriving=arriving[each.broker],
            leaving=leaving[each.broker],
        )
        for each in record.brokers
    )
    return Proposal(
        kind=record.kind,
        brokers=tuple(changes),
        added=record.added,
        closing=record.closing,
        max_load=record.max_before / seconds,
        max_load_after=record.max_after / seconds,
        bound=record.bound / seconds,
        cov=record.cov_before,
        cov_after=record.cov_after,
        moves=len(record.moves),
        state_bytes=record.state_bytes,
        capacity=record.capacity,
        cost=_cost(record),
    )


def _with_loads(found: Balance, fleet: FleetLoads) -> Balance:
    snapshot = fleet.report.snapshot
    loads = snapshot.loads()
    sessions = Counter(snapshot.places.tolist())
    seconds = snapshot.period_seconds
    return replace(
        found,
        brokers=tuple(
            BrokerLoad(broker.name, int(loads[number]) / seconds, sessions[number])
            for number, broker in enumerate(fleet.stored.brokers)
        ),
        measured=fleet.report.measured,
        max_load=int(loads.max(initial=0)) / seconds,
        mean_load=int(loads.sum()) / seconds / max(1, len(loads)),
        cov=imbalance(loads),
    )


def _cost(record: ProposalRecord) -> Cost | None:
    """In dollars; a month has 730 hours."""
    price = record.broker_hour
    if price is None:
        return None
    before = len(record.brokers) - len(record.added)
    after = len(record.brokers) - len(record.closing)
    return Cost(
        hour=before * price,
        hour_after=after * price,
        month=before * price * HOURS_PER_MONTH,
        month_after=after * price * HOURS_PER_MONTH,
    )
