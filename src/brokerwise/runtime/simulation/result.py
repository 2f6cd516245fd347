"""What a simulation has seen."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.plan import gap
from brokerwise.model.snapshot import Snapshot, imbalance
from brokerwise.runtime.balancing.events import Decision


@dataclass(frozen=True)
class Move:
    """User `user` was told at `at` to go from a broker to another."""

    at: float
    user: int
    source: int
    target: int


@dataclass(frozen=True, eq=False)
class Simulated:
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
        Also changes of mind; if there were very many, the last of them.
    end
        The fleet at the last time.
    bound
        No placement of the sessions at the end has a lower maximum load.
    mind
        What the balancer thought at the end, in words.
    """

    world: str
    policy: str
    placement: str
    period_seconds: int
    times: Float64s
    loads: Int64s
    sessions: Int64s
    moves: tuple[Move, ...]
    decisions: tuple[Decision, ...]
    end: Snapshot
    bound: int
    mind: str = ""

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
        """Of one user; None if nobody moved twice."""
        last: dict[int, float] = {}
        least = None
        for move in self.moves:
            if move.user in last:
                between = move.at - last[move.user]
                least = between if least is None else min(least, between)
            last[move.user] = move.at
        return least
