"""The balancer: decides when sessions move. No I/O, no clock.

The coordinator of a running fleet and the simulator run the same one.
"""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from brokerwise.model.rebalancing import Rebalancing
from brokerwise.planners.balance.options import Options
from brokerwise.planners.balance.problem import Problem
from brokerwise.planners.balance.solve import solve as solve_balance
from brokerwise.runtime.balancing.events import (
    Command,
    Decision,
    Event,
    Key,
    Measured,
    MoveEnded,
    MoveOrdered,
    Paused,
    Rebalance,
    Resumed,
)
from brokerwise.runtime.balancing.memory import Memory
from brokerwise.runtime.balancing.settings import BUDGET_SECONDS, Settings

Solve = Callable[[Problem, Options], Rebalancing]

_NUMBER = re.compile(r"[\d.,]*\d")


class Balancer:
    """Turns reports into decisions, with hysteresis.

    - It orders nothing while moves are under way, its own or others'.
    - A session that moved stays for `window_seconds`.
    - A report that is older than a move is corrected by it, so that late reports do
      not make it move what has moved already. A report older than the last is
      ignored.
    - Moves are ordered only if `confirm` reports in a row call for some, and only as
      many as `hourly_moves` leaves.

    The same events give the same commands. What it knows of moves can be rebuilt
    after a restart by handling `MoveEnded` (and `MoveOrdered`) again. Planning is
    done in `handle`, and takes as long as the planner.
    """

    def __init__(self, settings: Settings, solve: Solve = solve_balance) -> None:
        self.settings = settings
        self._solve = solve
        self._memory = Memory(settings.window_seconds)
        self._told: deque[Decision] = deque(maxlen=settings.remembered)
        self._mind = "no report yet"
        self._number = 0
        self._seen = 0
        self._ended: list[bool] = []
        self._spent: deque[tuple[float, int]] = deque()
        self._paused = False
        self._last_measured = float("-inf")

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Decisions and changes of mind, the oldest first."""
        return tuple(self._told)

    @property
    def mind(self) -> str:
        """What it thinks now, in words."""
        return self._mind

    @property
    def under_way(self) -> int:
        """How many moves have been ordered and have not ended."""
        return len(self._memory.under_way)

    @property
    def paused(self) -> bool:
        return self._paused

    def handle(self, event: Event) -> list[Command]:
        match event:
            case Measured():
                return self._judge(event)
            case MoveOrdered(_, key):
                self._memory.order(key)
            case MoveEnded(at, key, broker):
                self._end(at, key, broker)
            case Paused(at):
                self._paused, self._seen = True, 0
                self._tell(at, "paused: sessions stay where they are")
            case Resumed(at):
                if self._paused:
                    self._paused = False
                    self._tell(at, "resumed: waiting for reports")
        return []

    def change(self, settings: Settings) -> None:
        """Go by other settings from now on; what is known of moves is kept."""
        self.settings = settings
        self._memory.window_seconds = settings.window_seconds
        self._told = deque(self._told, maxlen=settings.remembered)
        self._seen = 0

    def dry_run(self, measured: Measured, options: Options | None = None) -> Decision:
        """What it would decide on this report alone; nothing changes by it."""
        problem = self.problem(measured)
        answer = self._solve(problem, options or self.settings.options)
        return self._decision(0, measured, problem, answer)

    def problem(self, measured: Measured) -> Problem:
        """The report as corrected by what is known of moves since, with the sessions
        that have to stay."""
        return self._memory.problem(measured)

    def _judge(self, report: Measured) -> list[Command]:
        if report.measured < self._last_measured:
            return []
        self._last_measured = report.measured
        self._memory.forget(report)
        if self._paused:
            return []
        if self.under_way:
            self._seen = 0
            waiting = _many(self.under_way, "move")
            self._tell(report.heard, f"waiting for {waiting} under way")
            return []
        return self._plan(report)

    def _plan(self, report: Measured) -> list[Command]:
        options = self._within_budget(report.heard)
        if options is None:
            self._seen = 0
            most = _many(self.settings.hourly_moves or 0, "move")
            self._tell(report.heard, f"the budget of {most} an hour is used up")
            return []
        problem = self.problem(report)
        answer = self._solve(problem, options)
        decision = self._decision(self._number + 1, report, problem, answer)
        if not answer.moves:
            self._seen = 0
            self._tell(report.heard, decision.reason, answer)
            return []
        self._seen += 1
        if self._seen < self.settings.confirm:
            self._tell(
                report.heard,
                f"unbalanced in {self._seen} of {self.settings.confirm} reports "
                f"needed to act: cov {answer.cov_before:.2f}",
                answer,
            )
            return []
        return [self._order(decision, problem)]

    def _within_budget(self, now: float) -> Options | None:
        """What may be asked of the planner; None if no move is left in this hour."""
        options, most = self.settings.options, self.settings.hourly_moves
        while self._spent and self._spent[0][0] <= now - BUDGET_SECONDS:
            self._spent.popleft()
        if most is None:
            return options
        left = most - sum(count for _, count in self._spent)
        if left <= 0:
            return None
        asked = options.max_moves
        return replace(options, max_moves=left if asked is None else min(asked, left))

    def _order(self, decision: Decision, problem: Problem) -> Command:
        self._seen = 0
        self._spent.append((decision.at, len(decision.moves)))
        self._number = decision.number
        self._mind = decision.reason
        self._told.append(decision)
        for key, _, _ in decision.moves:
            self._memory.order(key)
        return Rebalance(decision, problem)

    def _end(self, at: float, key: Key, broker: Key | None) -> None:
        known = self._memory.end(at, key, broker)
        if not known:  # told again after a restart, or moved by somebody else
            self._spent.append((at, int(broker is not None)))
            return
        self._ended.append(broker is not None)
        if not self.under_way:
            done, all_ = sum(self._ended), len(self._ended)
            self._ended = []
            said = (
                _many(all_, "move") if done == all_ else f"{done:,} of {all_:,} moves"
            )
            self._tell(at, f"{said} done: waiting for reports")

    def _decision(
        self, number: int, report: Measured, problem: Problem, answer: Rebalancing
    ) -> Decision:
        keys, names = report.keys, report.names
        sessions = answer.sessions.tolist()
        sources = problem.snapshot.places[answer.sessions].tolist()
        moves = tuple(
            (keys[session], names[source], names[target])
            for session, source, target in zip(
                sessions, sources, answer.targets.tolist(), strict=True
            )
        )
        reason = answer.reason + self._resting(problem, report)
        return Decision(number, report.heard, answer.policy, answer, moves, reason)

    def _resting(self, problem: Problem, report: Measured) -> str:
        count = self._memory.resting(report)
        if not count:
            return ""
        verb = "stays" if count == 1 else "stay"
        return (
            f"; {_many(count, 'session')} {verb}, moved less than "
            f"{self.settings.window_seconds:g} s ago"
        )

    def _tell(self, at: float, reason: str, answer: Rebalancing | None = None) -> None:
        """Note a change of mind; the same words with other numbers are none."""
        self._mind = reason
        if self._told and _words(self._told[-1].reason) == _words(reason):
            return
        self._number += 1
        policy = self.settings.options.policy
        self._told.append(Decision(self._number, at, policy, answer, (), reason))


def _words(reason: str) -> str:
    return _NUMBER.sub("#", reason).split(";")[0]


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
