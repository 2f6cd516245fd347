"""A problem laid out for the kernels, and the answer read from it again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.balance_state import BYTES, MOVES, WORD, State, settle
from brokerwise.model.arrays import INT64_MAX, Int32s, Int64s, read_only
from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Rebalancing, Snapshot
from brokerwise.planners.balance.problem import Options, Problem, lower_bound

MOST_CELLS = 2**30
MOST_BITS = 2**33


@dataclass(frozen=True, eq=False)
class Workspace:
    """A problem with sessions that can be moved about, and its loads as they were.

    Needs 5 bytes for each topic and broker, and a bit for each session and broker.
    """

    problem: Problem
    state: State
    before: Int64s

    @classmethod
    def of(cls, problem: Problem, options: Options) -> "Workspace":
        _refuse_too_large(problem.snapshot)
        state = _laid_out(problem, options)
        settle(state)
        return cls(problem, state, state.loads.copy())

    @property
    def brokers(self) -> int:
        """Those that count: all that do not close."""
        return int(self.state.counted.sum())

    @property
    def mean(self) -> float:
        return int(self.state.tally[0]) / max(1, self.brokers)

    @property
    def moves(self) -> int:
        return int(self.state.tally[MOVES])

    @property
    def spent(self) -> bool:
        """Whether some budget is used up."""
        used = self.state.tally >= self.state.limits
        return bool(used[MOVES] or used[BYTES])

    def answer(self, policy: str, reason: str) -> Rebalancing:
        """Where sessions are now, as moves from where they were."""
        snapshot, places = self.problem.snapshot, self.state.places
        sessions = np.flatnonzero(places != snapshot.places).astype(np.int32)
        # Those that close count as long as somebody cannot leave them.
        carrying = int((self.state.counted | (self.state.loads > 0)).sum())
        return Rebalancing(
            policy,
            sessions,
            places[sessions].astype(np.int32),
            self.before,
            self.state.loads.copy(),
            lower_bound(snapshot, carrying),
            reason,
        )


def _refuse_too_large(snapshot: Snapshot) -> None:
    for what, count, most in (
        ("topics", len(snapshot.rates), MOST_CELLS),
        ("sessions", snapshot.sessions, MOST_BITS),
    ):
        if count * snapshot.brokers > most:
            raise InputError(
                f"{what}: found {count:,} on {snapshot.brokers:,} brokers, expected "
                f"at most {most // snapshot.brokers:,}",
                hint="Balance parts of the fleet one by one.",
            )


def _laid_out(problem: Problem, options: Options) -> State:
    snapshot = problem.snapshot
    sessions, brokers = snapshot.sessions, snapshot.brokers
    own = snapshot.own_loads()
    order = np.argsort(-own, kind="stable")
    rank = np.empty(sessions, np.int32)
    rank[order] = np.arange(sessions, dtype=np.int32)
    words = -(-sessions // WORD)
    return State(
        rates=_contiguous(snapshot.rates),
        offsets=_contiguous(snapshot.wanted.offsets),
        topics=_contiguous(snapshot.wanted.topics),
        fans=_starts(snapshot),
        fan=np.empty(snapshot.wanted.pairs, np.int32),
        order=order,
        rank=rank,
        ranked=own[order],
        state_bytes=_contiguous(snapshot.state_bytes),
        origin=snapshot.places.astype(np.int64),
        relative=_relatives(snapshot.users),
        movable=(own > 0) & ~problem.held,
        open=_contiguous(problem.open),
        counted=~problem.closing,
        places=snapshot.places.astype(np.int64),
        counts=np.zeros((len(snapshot.rates), brokers), np.int32),
        absent=np.ones((len(snapshot.rates), brokers), np.bool_),
        loads=np.zeros(brokers, np.int64),
        words=np.zeros((brokers, words), np.uint32),
        sums=np.zeros((brokers, -(-words // WORD)), np.uint32),
        tally=np.zeros(4, np.int64),
        limits=_limits(options),
    )


def _starts(snapshot: Snapshot) -> Int64s:
    pairs = np.bincount(snapshot.wanted.topics, minlength=len(snapshot.rates))
    return np.concatenate(([0], np.cumsum(pairs))).astype(np.int64)


def _contiguous(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """In one piece and read-only, so that kernels are compiled once."""
    return read_only(np.ascontiguousarray(values))


def _limits(options: Options) -> Int64s:
    limits = np.full(4, INT64_MAX, np.int64)
    for at, limit in ((MOVES, options.max_moves), (BYTES, options.max_bytes)):
        if limit is not None:
            limits[at] = limit
    return limits


def _relatives(users: Int32s) -> Int64s:
    """The next session of the same user; of the last one, the first."""
    order = np.argsort(users, kind="stable")
    by_user = users[order]
    starts = np.flatnonzero(np.append(True, by_user[1:] != by_user[:-1])[: len(users)])
    following = np.roll(order, -1)
    following[np.roll(starts - 1, -1)] = order[starts]
    relative = np.empty(len(users), np.int64)
    relative[order] = following
    return relative
