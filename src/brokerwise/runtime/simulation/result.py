"""The result of a simulated run, and its figures for JSON, tables and reports."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.plan import gap
from brokerwise.model.snapshot import Snapshot, imbalance
from brokerwise.runtime.balancing.events import Verdict


@dataclass(frozen=True)
class SimulatedMove:
    """User `user` was ordered at `at` to move from broker `source` to `target`."""

    at: float
    user: int
    source: int
    target: int


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """A run, moment by moment.

    Attributes
    ----------
    times
        When it was looked at, every `report_seconds` from 0 to the end.
    loads, sessions
        Of each broker at each time: by the true rates, in bytes per `period_seconds`;
        and how many users were online there. Moves ordered at a time show from the
        next on.
    moves
        All that were ordered and happened.
    decisions
        Also those without moves; if there were very many, the last of them.
    end
        The fleet at the last time.
    bound
        No placement of the sessions at the end has a lower maximum load.
    status
        What the balancer concluded last, in words.
    """

    world: str
    policy: str
    placement: str
    period_seconds: int
    times: Float64s
    loads: Int64s
    sessions: Int64s
    moves: tuple[SimulatedMove, ...]
    decisions: tuple[Verdict, ...]
    end: Snapshot
    bound: int
    status: str = ""

    @cached_property
    def cov(self) -> Float64s:
        return np.array([imbalance(row) for row in self.loads])

    @cached_property
    def max_load(self) -> Int64s:
        found: Int64s = self.loads.max(axis=1)
        return found

    @cached_property
    def mean_load(self) -> Float64s:
        found: Float64s = self.loads.mean(axis=1)
        return found

    @cached_property
    def moves_at(self) -> Int64s:
        """How many moves were ordered at each time."""
        at = np.searchsorted(self.times, [move.at for move in self.moves])
        return np.bincount(at, minlength=len(self.times)).astype(np.int64)

    @property
    def gap(self) -> float:
        """Of the maximum load at the end to the bound; 0 without load."""
        return gap(int(self.max_load[-1]), self.bound) or 0.0

    def least_seconds_between_moves(self) -> float | None:
        """Between two moves of the same user; None if no user moved twice."""
        last: dict[int, float] = {}
        least = None
        for move in self.moves:
            if move.user in last:
                between = move.at - last[move.user]
                least = between if least is None else min(least, between)
            last[move.user] = move.at
        return least


_LISTED = 200  # decisions that a report lists


def figures(run: SimulationResult) -> dict[str, Any]:
    """The figures of a run. Loads are in bytes a second; `max_load`, `mean_load` and
    `cov` are means over time, what ends in `_end` is of the last moment."""
    moved = len({move.user for move in run.moves})
    return {
        "policy": run.policy,
        "placement": run.placement,
        "max_load": _rounded(run, float(run.max_load.mean())),
        "mean_load": _rounded(run, float(run.mean_load.mean())),
        "cov": float(run.cov.mean()),
        "max_load_end": _rounded(run, int(run.max_load[-1])),
        "mean_load_end": _rounded(run, float(run.mean_load[-1])),
        "cov_end": float(run.cov[-1]),
        "moves": len(run.moves),
        "moved_users": moved,
        "decisions": sum(bool(decision.moves) for decision in run.decisions),
        "seconds_between_moves": run.least_seconds_between_moves(),
        "bound": _rounded(run, run.bound),
        "gap": run.gap,
        "load": _rounded(run, int(run.loads[-1].sum())),
        "balancer_status": run.status,
        **_sizes(run),
    }


def over_time(run: SimulationResult) -> dict[str, Any]:
    """What plots are made from; loads in bytes a second, times in minutes."""
    return {
        "minutes": (run.times / 60).round(4).tolist(),
        "loads": (run.loads.T / run.period_seconds).round(1).tolist(),
        "mean": (run.mean_load / run.period_seconds).round(1).tolist(),
        "cov": run.cov.round(6).tolist(),
        "moves": run.moves_at.tolist(),
        "sessions_begin": run.sessions[0].tolist(),
        "sessions_end": run.sessions[-1].tolist(),
        "decisions": [_decision_row(d) for d in run.decisions[-_LISTED:]],
    }


def _sizes(run: SimulationResult) -> dict[str, Any]:
    end = run.end
    _, _, pairs = end.runs(end.places)
    wanted = len(np.unique(end.wanted.topics))
    return {
        "brokers": end.brokers,
        "sessions": end.sessions,
        "topics": wanted,
        "pairs": end.wanted.pairs,
        # to how many brokers a topic comes, on average
        "spread": len(pairs) / wanted if wanted else 0.0,
    }


def _decision_row(decision: Verdict) -> dict[str, Any]:
    answer = decision.rebalancing
    return {
        "at": decision.at,
        "moves": len(decision.moves),
        "reason": decision.reason,
        "cov_before": None if answer is None else answer.cov_before,
        "cov_after": None if answer is None else answer.cov_after,
    }


def _rounded(run: SimulationResult, load: float) -> float:
    """In bytes a second; whole where the period is one."""
    return (
        round(load) if run.period_seconds == 1 else round(load / run.period_seconds, 3)
    )
