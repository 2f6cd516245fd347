"""From the loads of the fleet to a proposal. Planning takes time: for a thread.

Imports the planners, and with them their compiler: load it when it is needed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from brokerwise.auditing.rebalancing import violations
from brokerwise.model.snapshot import Rebalancing
from brokerwise.planners.balance.problem import Problem
from brokerwise.planners.balance.scaling import MOST_TIMES, Resizing, propose_size
from brokerwise.runtime.balancing.balancer import Balancer, BalancerSettings
from brokerwise.runtime.balancing.events import (
    Event,
    Key,
    MoveEnded,
    MoveOrdered,
    Paused,
    Resumed,
)
from brokerwise.runtime.coordinator.balance.loads import FleetLoads
from brokerwise.runtime.coordinator.balance.options import (
    PERIOD_SECONDS,
    balancer_settings,
    planner_options,
    sizing_of,
)
from brokerwise.runtime.coordinator.balance.proposals import (
    BrokerRecord,
    MoveRecord,
    ProposalRecord,
)
from brokerwise.runtime.net.errors import UnavailableError
from brokerwise.runtime.protocol.balance import AutomaticOptions
from brokerwise.runtime.protocol.names import next_broker


@dataclass(frozen=True)
class Advice:
    """A proposal, or (None) only the reason why there is none.

    `orders`: sessions to be moved at once; a proposal without any waits for approval.
    """

    policy: str
    reason: str
    proposal: ProposalRecord | None = None
    orders: tuple[Key, ...] = ()


class BalancePlanner:
    """The balancer's core with the fleet's own names, and proposals to resize it. What
    is done with its advice is up to the caller."""

    def __init__(self, settings: BalancerSettings) -> None:
        self._core = Balancer(settings)
        self._noted = 0
        self._sized: tuple[str, ...] = ()
        self._sized_times = 0

    @property
    def status(self) -> str:
        """What it found last, in words."""
        return self._core.status

    def handle(self, events: Iterable[Event]) -> None:
        for event in events:
            self._core.handle(event)
            if isinstance(event, Paused | Resumed):  # stored when it happened
                self._noted = self._core.verdicts[-1].number

    def propose(self, loads: FleetLoads, options: AutomaticOptions) -> Advice:
        """What it would do now with these options; nothing changes by it."""
        report = loads.report
        resize = self._resize(loads, options)
        if resize is not None:
            return resize
        verdict = self._core.dry_run(report, planner_options(options))
        assert verdict.rebalancing is not None
        problem = self._core.problem(report)
        proposal = _proposal(loads, problem, verdict.rebalancing, options)
        reason = verdict.reason + _on_size(verdict.rebalancing, options)
        return Advice(verdict.policy, reason, proposal)

    def advise(self, loads: FleetLoads, options: AutomaticOptions) -> list[Advice]:
        """What to do in the automatic mode, and what else has become known."""
        report, settings = loads.report, balancer_settings(options)
        if settings != self._core.settings:
            self._core.change(settings)
        self.handle(MoveOrdered(report.heard, key) for key in loads.stored.moving)
        commands = self._core.handle(report)
        advice = list(self._notes())
        for command in commands:
            verdict, problem = command.verdict, command.problem
            assert verdict.rebalancing is not None
            proposal = _proposal(loads, problem, verdict.rebalancing, options)
            keys = tuple(key for key, _, _ in verdict.moves)
            advice.append(Advice(verdict.policy, verdict.reason, proposal, keys))
        if not commands and not self._core.under_way:
            advice += self._confirmed(self._resize(loads, options), settings)
        return advice

    def cancel(self, advice: Advice, now: float) -> None:
        """What was ordered was not done: no session has moved."""
        self.handle(MoveEnded(now, key, None) for key in advice.orders)

    def _notes(self) -> Iterator[Advice]:
        """Verdicts without moves since the last time."""
        for verdict in self._core.verdicts:
            if verdict.number > self._noted and not verdict.moves:
                yield Advice(verdict.policy, verdict.reason)
        self._noted = max((d.number for d in self._core.verdicts), default=0)

    def _resize(self, loads: FleetLoads, options: AutomaticOptions) -> Advice | None:
        """A fleet of another size, if this one is too small or too large. Sessions that
        moved not long ago may move for it: it is not done without approval."""
        sizing, held = sizing_of(options), loads.report.held
        if sizing is None or held is None:
            return None
        problem = replace(self._core.problem(loads.report), held=held)
        found = propose_size(problem, sizing, planner_options(options))
        if found is None:
            return None
        problem = _enlarged(problem, found)
        proposal = _proposal(loads, problem, found.rebalancing, options)
        return Advice(proposal.policy, found.reason, proposal)

    def _confirmed(
        self, advice: Advice | None, settings: BalancerSettings
    ) -> list[Advice]:
        """A size is proposed when it was called for often enough in a row."""
        proposal = None if advice is None else advice.proposal
        if advice is None or proposal is None:
            self._sized, self._sized_times = (), 0
            return []
        size = (proposal.kind, *proposal.added, *proposal.closing)
        self._sized_times = self._sized_times + 1 if size == self._sized else 1
        self._sized = size
        return [advice] if self._sized_times >= settings.confirm else []


def _on_size(found: Rebalancing, options: AutomaticOptions) -> str:
    """What is to be said of the size of a fleet that stays as it is."""
    sizing = sizing_of(options)
    if sizing is None:
        return ""
    share = 100 * found.max_after / sizing.capacity
    if share > 100 * sizing.high:
        return (
            f"; a broker carries {share:.0f} % of its capacity, and more brokers (up "
            f"to {MOST_TIMES} times as many) are no remedy"
        )
    return f"; brokers carry at most {share:.0f} % of their capacity: enough of them"


def _enlarged(problem: Problem, found: Resizing) -> Problem:
    """The problem with the brokers that are to come, and those that are to go."""
    closing = np.zeros(problem.snapshot.brokers + found.added, np.bool_)
    closing[: len(found.closing)] = found.closing
    new = np.ones(found.added, np.bool_)
    return Problem(
        replace(problem.snapshot, brokers=len(closing)),
        problem.held,
        np.concatenate([problem.open, new]) & ~closing,
        closing,
    )


def _proposal(
    loads: FleetLoads, problem: Problem, found: Rebalancing, options: AutomaticOptions
) -> ProposalRecord:
    """Raises UnavailableError for a plan that does not hold what it says: that is a
    fault of ours, and nothing is done about the fleet then."""
    wrong = violations(
        problem.snapshot, problem.held, problem.open, problem.closing, found
    )
    if wrong:
        raise UnavailableError(f"a plan was made that is wrong: {'; '.join(wrong)}")
    names, epochs = _brokers(loads, problem.snapshot.brokers)
    places = problem.snapshot.places[found.sessions].tolist()
    sizes = problem.snapshot.state_bytes[found.sessions].tolist()
    sessions, targets = found.sessions.tolist(), found.targets.tolist()
    return ProposalRecord(
        policy=found.policy,
        brokers=tuple(
            map(
                BrokerRecord,
                names,
                epochs,
                found.before.tolist(),
                found.after.tolist(),
                problem.closing.tolist(),
            )
        ),
        moves=tuple(
            MoveRecord(loads.users[session], names[source], names[target], size)
            for session, source, target, size in zip(
                sessions, places, targets, sizes, strict=True
            )
        ),
        bound=found.bound,
        moves_before=loads.stored.moves_before,
        period_seconds=PERIOD_SECONDS,
        capacity=options.capacity,
        broker_hour=options.broker_hour,
    )


def _brokers(loads: FleetLoads, count: int) -> tuple[list[str], list[int]]:
    """Names and epochs; those that are to come get the next free names, and none."""
    names = [broker.name for broker in loads.stored.brokers]
    epochs = [broker.epoch for broker in loads.stored.brokers]
    taken = list(loads.stored.names)
    while len(names) < count:
        taken.append(next_broker(taken))
        names.append(taken[-1])
        epochs.append(0)
    return names, epochs
