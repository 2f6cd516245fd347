"""What the balancer thinks of the fleet. Planning takes time: for a thread.

Imports the planners, and with them their compiler: load it when it is needed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from brokerwise.auditing.rebalancing import violations
from brokerwise.model.rebalancing import Rebalancing
from brokerwise.planners.balance.problem import Problem
from brokerwise.planners.balance.scaling import MOST_TIMES, Resizing, propose_size
from brokerwise.runtime.balancing.balancer import Balancer
from brokerwise.runtime.balancing.events import (
    Event,
    Key,
    MoveEnded,
    MoveOrdered,
    Paused,
    Resumed,
)
from brokerwise.runtime.balancing.settings import Settings
from brokerwise.runtime.coordinator.gathering import Picture
from brokerwise.runtime.coordinator.proposal import (
    BrokerChange,
    PlannedMove,
    Proposal,
)
from brokerwise.runtime.coordinator.wishes import PERIOD_SECONDS, Wishes
from brokerwise.runtime.net.refusals import UnavailableError
from brokerwise.runtime.protocol.names import next_broker


@dataclass(frozen=True)
class Thought:
    """What to do, or (without a proposal) what there is to know.

    `orders`: sessions that it moves at once; a proposal without any waits for approval.
    """

    policy: str
    reason: str
    proposal: Proposal | None = None
    orders: tuple[Key, ...] = ()


class Mind:
    """The balancer of a fleet, whatever is done with what it thinks."""

    def __init__(self, settings: Settings) -> None:
        self._core = Balancer(settings)
        self._noted = 0
        self._sized: tuple[str, ...] = ()
        self._sized_times = 0

    @property
    def words(self) -> str:
        return self._core.mind

    def hear(self, events: Iterable[Event]) -> None:
        for event in events:
            self._core.handle(event)
            if isinstance(event, Paused | Resumed):  # written down when it happened
                self._noted = self._core.decisions[-1].number

    def propose(self, picture: Picture, wishes: Wishes) -> Thought:
        """What it would do now, if that were wished; nothing changes by it."""
        report, options = picture.measured, wishes.options()
        resized = self._resized(picture, wishes)
        if resized is not None:
            return resized
        decision = self._core.dry_run(report, options)
        assert decision.rebalancing is not None
        problem = self._core.problem(report)
        proposal = _proposal(picture, problem, decision.rebalancing, wishes)
        reason = decision.reason + _on_size(decision.rebalancing, wishes)
        return Thought(decision.policy, reason, proposal)

    def judge(self, picture: Picture, wishes: Wishes) -> list[Thought]:
        """What there is to do, or new to know, by a report."""
        report, settings = picture.measured, wishes.settings()
        if settings != self._core.settings:
            self._core.change(settings)
        self.hear(MoveOrdered(report.heard, key) for key in picture.known.moving)
        commands = self._core.handle(report)
        thoughts = list(self._notes())
        for command in commands:
            decision, problem = command.decision, command.problem
            assert decision.rebalancing is not None
            proposal = _proposal(picture, problem, decision.rebalancing, wishes)
            keys = tuple(key for key, _, _ in decision.moves)
            thoughts.append(Thought(decision.policy, decision.reason, proposal, keys))
        if not commands and not self._core.under_way:
            thoughts += self._confirmed(self._resized(picture, wishes), settings)
        return thoughts

    def refused(self, thought: Thought, now: float) -> None:
        """What it ordered was not done: nobody has moved."""
        self.hear(MoveEnded(now, key, None) for key in thought.orders)

    def _notes(self) -> Iterator[Thought]:
        """Changes of mind since the last time."""
        for decision in self._core.decisions:
            if decision.number > self._noted and not decision.moves:
                yield Thought(decision.policy, decision.reason)
        self._noted = max((d.number for d in self._core.decisions), default=0)

    def _resized(self, picture: Picture, wishes: Wishes) -> Thought | None:
        """A fleet of another size, if this one is too small or too large. Sessions that
        moved not long ago may move for it: it is not done without approval."""
        sizing, held = wishes.sizing(), picture.measured.held
        if sizing is None or held is None:
            return None
        problem = replace(self._core.problem(picture.measured), held=held)
        found = propose_size(problem, sizing, wishes.options())
        if found is None:
            return None
        problem = _enlarged(problem, found)
        proposal = _proposal(picture, problem, found.rebalancing, wishes)
        return Thought(proposal.policy, found.reason, proposal)

    def _confirmed(self, thought: Thought | None, settings: Settings) -> list[Thought]:
        """A size is proposed when it was called for often enough in a row."""
        proposal = None if thought is None else thought.proposal
        if thought is None or proposal is None:
            self._sized, self._sized_times = (), 0
            return []
        size = (proposal.kind, *proposal.added, *proposal.closing)
        self._sized_times = self._sized_times + 1 if size == self._sized else 1
        self._sized = size
        return [thought] if self._sized_times >= settings.confirm else []


def _on_size(found: Rebalancing, wishes: Wishes) -> str:
    """What is to be said of the size of a fleet that stays as it is."""
    sizing = wishes.sizing()
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
    picture: Picture, problem: Problem, found: Rebalancing, wishes: Wishes
) -> Proposal:
    """Raises UnavailableError for a plan that does not hold what it says: that is a
    fault of ours, and nothing is done about the fleet then."""
    wrong = violations(
        problem.snapshot, problem.held, problem.open, problem.closing, found
    )
    if wrong:
        raise UnavailableError(f"a plan was made that is wrong: {'; '.join(wrong)}")
    names, epochs = _brokers(picture, problem.snapshot.brokers)
    places = problem.snapshot.places[found.sessions].tolist()
    sizes = problem.snapshot.state_bytes[found.sessions].tolist()
    sessions, targets = found.sessions.tolist(), found.targets.tolist()
    return Proposal(
        policy=found.policy,
        brokers=tuple(
            map(
                BrokerChange,
                names,
                epochs,
                found.before.tolist(),
                found.after.tolist(),
                problem.closing.tolist(),
            )
        ),
        moves=tuple(
            PlannedMove(picture.users[session], names[source], names[target], size)
            for session, source, target, size in zip(
                sessions, places, targets, sizes, strict=True
            )
        ),
        bound=found.bound,
        moves_before=picture.known.moves_before,
        period_seconds=PERIOD_SECONDS,
        capacity=wishes.capacity,
        broker_hour=wishes.broker_hour,
    )


def _brokers(picture: Picture, count: int) -> tuple[list[str], list[int]]:
    """Names and epochs; those that are to come get the next free names, and none."""
    names = [broker.name for broker in picture.known.brokers]
    epochs = [broker.epoch for broker in picture.known.brokers]
    taken = list(picture.known.names)
    while len(names) < count:
        taken.append(next_broker(taken))
        names.append(taken[-1])
        epochs.append(0)
    return names, epochs
