"""The balancer: decides when sessions move. No I/O, no clock.

The coordinator of a running fleet and the simulator run the same one.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Rebalancing
from brokerwise.model.units import checked_count
from brokerwise.planners.balance.problem import Options, Problem
from brokerwise.planners.balance.solve import solve as solve_balance
from brokerwise.runtime.balancing.events import (
    Command,
    Event,
    Key,
    LoadReported,
    MoveEnded,
    MoveOrdered,
    Paused,
    Rebalance,
    Resumed,
    Verdict,
)

Solve = Callable[[Problem, Options], Rebalancing]

BUDGET_SECONDS = 3_600.0  # what `hourly_moves` is counted over
_NUMBER = re.compile(r"[\d.,]*\d")


@dataclass(frozen=True)
class BalancerSettings:
    """What is asked of the planner, and the hysteresis around it.

    Attributes
    ----------
    window_seconds
        How long a session that was moved stays where it is.
    confirm
        How many reports in a row must call for moves before some are ordered.
    hourly_moves
        How many moves at most are ordered within any hour; None: any number.
    remembered
        How many verdicts can be listed; the oldest go first.
    """

    options: Options = field(default_factory=Options)
    window_seconds: float = 300.0
    confirm: int = 2
    hourly_moves: int | None = None
    remembered: int = 1_000

    def __post_init__(self) -> None:
        if not (isfinite(self.window_seconds) and self.window_seconds >= 0):
            raise InputError(
                f"window_seconds: found {self.window_seconds!r}, expected 0 or more"
            )
        checked_count(self.confirm, "confirm", least=1)
        if self.hourly_moves is not None:
            checked_count(self.hourly_moves, "hourly_moves")
        checked_count(self.remembered, "remembered", least=1)


class Balancer:
    """Turns reports into verdicts, with hysteresis.

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

    def __init__(
        self, settings: BalancerSettings, solve: Solve = solve_balance
    ) -> None:
        self.settings = settings
        self._solve = solve
        self._recent = RecentMoves(settings.window_seconds)
        self._verdicts: deque[Verdict] = deque(maxlen=settings.remembered)
        self._status = "no report yet"
        self._number = 0
        self._seen = 0
        self._ended: list[bool] = []
        self._spent: deque[tuple[float, int]] = deque()
        self._paused = False
        self._last_measured = float("-inf")

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The last ones, the oldest first."""
        return tuple(self._verdicts)

    @property
    def status(self) -> str:
        """What it concluded last, in words."""
        return self._status

    @property
    def under_way(self) -> int:
        """How many moves have been ordered and have not ended."""
        return len(self._recent.under_way)

    def handle(self, event: Event) -> list[Command]:
        match event:
            case LoadReported():
                return self._judge(event)
            case MoveOrdered(_, key):
                self._recent.order(key)
            case MoveEnded(at, key, broker):
                self._end(at, key, broker)
            case Paused(at):
                self._paused, self._seen = True, 0
                self._note(at, "paused: sessions stay where they are")
            case Resumed(at):
                if self._paused:
                    self._paused = False
                    self._note(at, "resumed: waiting for reports")
        return []

    def change(self, settings: BalancerSettings) -> None:
        """Go by other settings from now on; what is known of moves is kept."""
        self.settings = settings
        self._recent.window_seconds = settings.window_seconds
        self._verdicts = deque(self._verdicts, maxlen=settings.remembered)
        self._seen = 0

    def dry_run(self, report: LoadReported, options: Options) -> Verdict:
        """What it would decide on this report alone; nothing changes by it."""
        problem = self.problem(report)
        return self._verdict(0, report, problem, self._solve(problem, options))

    def problem(self, report: LoadReported) -> Problem:
        """The report as corrected by what is known of moves since, with the sessions
        that have to stay."""
        return self._recent.problem(report)

    def _judge(self, report: LoadReported) -> list[Command]:
        if report.measured < self._last_measured:
            return []
        self._last_measured = report.measured
        self._recent.forget(report)
        if self._paused:
            return []
        if self.under_way:
            self._seen = 0
            waiting = _many(self.under_way, "move")
            self._note(report.heard, f"waiting for {waiting} under way")
            return []
        return self._plan(report)

    def _plan(self, report: LoadReported) -> list[Command]:
        options = self._within_budget(report.heard)
        if options is None:
            self._seen = 0
            most = _many(self.settings.hourly_moves or 0, "move")
            self._note(report.heard, f"the budget of {most} an hour is used up")
            return []
        problem = self.problem(report)
        answer = self._solve(problem, options)
        verdict = self._verdict(self._number + 1, report, problem, answer)
        if not answer.moves:
            self._seen = 0
            self._note(report.heard, verdict.reason, answer)
            return []
        self._seen += 1
        if self._seen < self.settings.confirm:
            self._note(
                report.heard,
                f"unbalanced in {self._seen} of {self.settings.confirm} reports "
                f"needed to act: cov {answer.cov_before:.2f}",
                answer,
            )
            return []
        return [self._order(verdict, problem)]

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

    def _order(self, verdict: Verdict, problem: Problem) -> Command:
        self._seen = 0
        self._spent.append((verdict.at, len(verdict.moves)))
        self._number = verdict.number
        self._status = verdict.reason
        self._verdicts.append(verdict)
        for key, _, _ in verdict.moves:
            self._recent.order(key)
        return Rebalance(verdict, problem)

    def _end(self, at: float, key: Key, broker: Key | None) -> None:
        known = self._recent.end(at, key, broker)
        if not known:  # repeated after a restart, or ordered by an operator
            self._spent.append((at, int(broker is not None)))
            return
        self._ended.append(broker is not None)
        if not self.under_way:
            done, all_ = sum(self._ended), len(self._ended)
            self._ended = []
            said = (
                _many(all_, "move") if done == all_ else f"{done:,} of {all_:,} moves"
            )
            self._note(at, f"{said} done: waiting for reports")

    def _verdict(
        self, number: int, report: LoadReported, problem: Problem, answer: Rebalancing
    ) -> Verdict:
        keys, names = report.keys, report.names
        sessions = answer.sessions.tolist()
        sources = problem.snapshot.places[answer.sessions].tolist()
        moves = tuple(
            (keys[session], names[source], names[target])
            for session, source, target in zip(
                sessions, sources, answer.targets.tolist(), strict=True
            )
        )
        reason = answer.reason + self._resting(report)
        return Verdict(number, report.heard, answer.policy, answer, moves, reason)

    def _resting(self, report: LoadReported) -> str:
        count = self._recent.resting(report)
        if not count:
            return ""
        verb = "stays" if count == 1 else "stay"
        return (
            f"; {_many(count, 'session')} {verb}, moved less than "
            f"{self.settings.window_seconds:g} s ago"
        )

    def _note(self, at: float, reason: str, answer: Rebalancing | None = None) -> None:
        """Note a verdict without moves; the same words with other numbers are not a
        new one."""
        self._status = reason
        if self._verdicts and _words(self._verdicts[-1].reason) == _words(reason):
            return
        self._number += 1
        policy = self.settings.options.policy
        self._verdicts.append(Verdict(self._number, at, policy, answer, (), reason))


def _words(reason: str) -> str:
    return _NUMBER.sub("#", reason).split(";")[0]


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class _RecentMove:
    at: float
    broker: Key


class RecentMoves:
    """Sessions that move, and sessions that moved not long ago.

    Keeps a move until its session may move again and reports show it.
    """

    def __init__(self, window_seconds: float) -> None:
        self.window_seconds = window_seconds
        self._moved: dict[Key, _RecentMove] = {}
        self.under_way: set[Key] = set()

    def order(self, key: Key) -> None:
        self.under_way.add(key)

    def end(self, at: float, key: Key, broker: Key | None) -> bool:
        """True if the move was known to be under way."""
        known = key in self.under_way
        self.under_way.discard(key)
        if broker is not None:
            self._moved[key] = _RecentMove(at, broker)
        return known

    def forget(self, report: LoadReported) -> None:
        self._moved = {
            key: move
            for key, move in self._moved.items()
            if self._rests(move, report) or move.at >= report.measured
        }

    def resting(self, report: LoadReported) -> int:
        """How many sessions of the report moved within the window."""
        return sum(self._rests(move, report) for _, move in self._found(report))

    def problem(self, report: LoadReported) -> Problem:
        """The report with every session where it is now, as far as is known."""
        numbers = {name: number for number, name in enumerate(report.names)}
        places = report.snapshot.places.copy()
        held = np.zeros(len(places), np.bool_)
        if report.held is not None:
            held |= report.held
        for session, move in self._found(report):
            held[session] |= self._rests(move, report)
            if move.at >= report.measured and move.broker in numbers:
                places[session] = numbers[move.broker]
        for session, key in enumerate(report.keys) if self.under_way else ():
            held[session] |= key in self.under_way
        snapshot = replace(report.snapshot, places=places)
        return Problem(snapshot, held, report.open, report.closing)

    def _found(self, report: LoadReported) -> Iterator[tuple[int, _RecentMove]]:
        if not self._moved:
            return
        for session, key in enumerate(report.keys):
            move = self._moved.get(key)
            if move is not None:
                yield session, move

    def _rests(self, move: _RecentMove, report: LoadReported) -> bool:
        return report.heard - move.at < self.window_seconds
