"""From an approved decision to its moves: exactly what was approved is done.

All calls belong into a transaction.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from brokerwise.runtime.coordinator.balance.proposals import (
    DecisionRecord,
    MoveRecord,
    ProposalRecord,
    read_decision,
    set_begun,
    set_ended,
    unfinished_decisions,
)
from brokerwise.runtime.coordinator.brokers import all_brokers, find_broker
from brokerwise.runtime.coordinator.drains import begin_drain, refuse_fixed
from brokerwise.runtime.coordinator.moves import (
    Move,
    count_unfinished,
    forget_moves,
    insert_move,
    is_carried_out,
    moves_of,
)
from brokerwise.runtime.net.errors import ConflictError, RefusalError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.balance import DecisionState
from brokerwise.runtime.protocol.fleet import BrokerState, MoveState, Then

START_SECONDS = 60.0  # in which brokers that a decision waits for must come up
_OPEN = (DecisionState.STARTING, DecisionState.RUNNING, DecisionState.DONE)
_SHOWN = 3  # things of a kind

log = logging.getLogger(__name__)


def begin(sql: Sql, decision: DecisionRecord, now: float) -> bool:
    """Begin what was approved; False if that was done before.

    Raises ConflictError, and says what has changed, if the fleet is not as it was.
    """
    refuse_fixed(sql)
    if decision.state in _OPEN:
        return False
    if decision.state is not DecisionState.PROPOSED or decision.proposal is None:
        raise ConflictError(
            f"decision {decision.number} is {decision.state}: {decision.outcome}"
        )
    found = changes(sql, decision.proposal)
    if found:
        raise ConflictError(f"the fleet has changed since: {'; '.join(found)}")
    if decision.proposal.added:
        _expect_brokers(sql, decision.proposal, now)
        set_begun(sql, decision.number, DecisionState.STARTING, now)
        log.info(
            "decision %d waits for new brokers: %s",
            decision.number,
            ", ".join(map(repr, decision.proposal.added)),
        )
    else:
        _order_moves(sql, decision, decision.proposal.moves, now)
    return True


def changes(sql: Sql, proposal: ProposalRecord) -> list[str]:
    """What is different in the fleet from what a proposal was made for, in words."""
    return [
        *_shown(_broker_changes(sql, proposal)),
        *_shown(_session_changes(sql, proposal.moves)),
        *_other_work(sql),
    ]


def advance(sql: Sql, now: float) -> None:
    """Do whatever is next of the decisions that are under way."""
    for number, state in unfinished_decisions(sql):
        if state is DecisionState.STARTING:
            _wait_for_brokers(sql, read_decision(sql, number), now)
        elif is_carried_out(sql, number):
            _finish(sql, read_decision(sql, number), now)


def wanted_brokers(sql: Sql) -> list[str]:
    """Those that a decision waits for and that have not come up yet."""
    rows = sql.execute(
        "SELECT name FROM brokers WHERE state = 'expected' AND since > 0 ORDER BY name"
    )
    return [name for (name,) in rows]


def outcome_of(moves: Iterable[Move]) -> tuple[DecisionState, str]:
    """What came of the moves of a decision, which are over."""
    counts = Counter(move.state for move in moves)
    total = counts.total()
    parts = [f"{counts[state]:,} {state}" for state in MoveState if counts[state]]
    text = f"{many(total, 'move')}: {', '.join(parts)}" if total else "no moves"
    is_failed = total > 0 and not counts[MoveState.DONE]
    return DecisionState.FAILED if is_failed else DecisionState.DONE, text


def _broker_changes(sql: Sql, proposal: ProposalRecord) -> list[str]:
    then = {b.broker: b.epoch for b in proposal.brokers if not b.is_new}
    now = {b.name: b for b in all_brokers(sql)}
    found = []
    for name, epoch in then.items():
        broker = now.get(name)
        if broker is None or broker.state is not BrokerState.UP:
            found.append(f"broker {name!r} is {broker.state if broker else 'gone'}")
        elif broker.epoch != epoch:
            found.append(f"broker {name!r} has restarted")
    for name, broker in now.items():
        is_up = broker.state is BrokerState.UP
        if name not in then and (is_up or name in proposal.added):
            found.append(f"broker {name!r} has come")
    return found


def _session_changes(sql: Sql, moves: Iterable[MoveRecord]) -> list[str]:
    found = []
    for move in moves:
        places = _places(sql, move.user)
        if move.source not in places:
            found.append(f"the session of user {move.user!r} has left {move.source!r}")
        elif move.target in places:
            found.append(f"user {move.user!r} has come to have one on {move.target!r}")
    return found


def _other_work(sql: Sql) -> list[str]:
    decisions = [f"decision {n} is under way" for n, _ in unfinished_decisions(sql)]
    count = count_unfinished(sql)
    if decisions or not count:
        return decisions
    return [f"{many(count, 'move')} {'is' if count == 1 else 'are'} under way"]


def _expect_brokers(sql: Sql, proposal: ProposalRecord, now: float) -> None:
    """Brokers are to come: like those that there are."""
    capacities = {b.capacity for b in all_brokers(sql) if b.state is BrokerState.UP}
    capacity = capacities.pop() if len(capacities) == 1 else None
    sql.executemany(
        "INSERT INTO brokers (name, state, since, capacity) VALUES (?, ?, ?, ?)",
        [(name, BrokerState.EXPECTED, now, capacity) for name in proposal.added],
    )


def _order_moves(
    sql: Sql, decision: DecisionRecord, moves: Sequence[MoveRecord], now: float
) -> None:
    number = decision.number
    for move in moves:
        insert_move(sql, move.user, move.source, move.target, decision=number)
    forget_moves(sql)
    set_begun(sql, number, DecisionState.RUNNING, now)
    log.info("decision %d begun: %s", number, many(len(moves), "move"))


def _end(
    sql: Sql, decision: DecisionRecord, state: DecisionState, outcome: str, now: float
) -> None:
    set_ended(sql, decision.number, state, outcome, now)
    level = logging.WARNING if state is DecisionState.FAILED else logging.INFO
    log.log(level, "decision %d %s: %s", decision.number, state, outcome)


def _wait_for_brokers(sql: Sql, decision: DecisionRecord, now: float) -> None:
    """Sessions that have gone elsewhere in the meantime stay there."""
    assert decision.proposal is not None
    proposal = decision.proposal
    missing = [name for name in proposal.added if not _is_up(sql, name)]
    if not missing:
        there = [m for m in proposal.moves if not _session_changes(sql, [m])]
        _order_moves(sql, decision, there, now)
    elif now - (decision.begun or 0) > START_SECONDS:
        sql.executemany(
            "DELETE FROM brokers WHERE name = ? AND state = 'expected'",
            [(name,) for name in missing],
        )
        names = ", ".join(map(repr, missing))
        text = f"{names} did not come up within {START_SECONDS:g} s: nothing was moved"
        _end(sql, decision, DecisionState.FAILED, text, now)


def _finish(sql: Sql, decision: DecisionRecord, now: float) -> None:
    """Brokers that are to close are drained once all planned moves are over: that
    also moves sessions that came since, or declined."""
    assert decision.proposal is not None
    state, outcome = outcome_of(moves_of(sql, decision.number))
    ending = []
    for name in decision.proposal.closing:
        try:
            begin_drain(sql, name, Then.STOP, now)
            ending.append(name)
        except RefusalError as refusal:
            outcome += f"; {name} stays: {refusal.message}"
    if ending:
        verbs = "is emptied and ends" if len(ending) == 1 else "are emptied and end"
        outcome += f"; {', '.join(ending)} {verbs}"
    _end(sql, decision, state, outcome, now)


def _is_up(sql: Sql, name: str) -> bool:
    broker = find_broker(sql, name)
    return broker is not None and broker.state is BrokerState.UP


def _places(sql: Sql, user: str) -> set[str]:
    rows = sql.execute("SELECT broker FROM sessions WHERE user = ?", (user,))
    return {broker for (broker,) in rows}


def _shown(found: list[str]) -> list[str]:
    more = len(found) - _SHOWN
    return found if more <= 0 else [*found[:_SHOWN], f"and {more:,} more like this"]


def many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
