"""A few brokers emptied and packed anew, many ways at once."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.first_fit import Packing

ATTEMPTS = 16
_NOISE = 0.3  # of the order by load, in logarithms
_NONE = -1


@dataclass(eq=False)
class _Attempts:
    """Packings under way: `members[a, b, :size[a, b]]` are on broker b of attempt a."""

    members: Int32s
    size: Int64s
    load: Float64s
    alive: Bools

    @classmethod
    def empty(cls, brokers: int, k: int) -> "_Attempts":
        shape = (ATTEMPTS, brokers)
        return cls(
            np.full((*shape, k), _NONE, np.int32),
            np.zeros(shape, np.int64),
            np.zeros(shape),
            np.ones(ATTEMPTS, np.bool_),
        )

    def add(self, broker: Int64s, replica: Int32s, load: Float64s) -> None:
        """Put a replica of each attempt on a broker, _NONE for none: it has failed."""
        self.alive &= broker != _NONE
        at = np.flatnonzero(self.alive)
        home = broker[at]
        self.members[at, home, self.size[at, home]] = replica[at]
        self.size[at, home] += 1
        self.load[at, home] += load[replica[at]]


def repacked(
    oracle: Oracle, replicas: Int32s, brokers: int, rng: np.random.Generator
) -> Packing | None:
    """Replicas on at most so many brokers, anew; None if no attempt succeeds.

    Each attempt goes by descending load, with noise. Half of them fill the fullest
    broker that stays feasible, half the emptiest. Of those that succeed the one with
    fewest brokers is taken, then the one whose loads differ most: that leaves room.
    """
    order = _orders(oracle.demand.load[replicas], rng)
    state = _Attempts.empty(brokers, oracle.k)
    for step in range(len(replicas)):
        replica = replicas[order[:, step]]
        joins = _joins(oracle, state, replica)
        state.add(_choose(state, joins), replica, oracle.demand.load)
        if not state.alive.any():
            return None
    used = (state.size > 0).sum(axis=1) - (state.load**2).sum(axis=1) * 1e-6
    best = int(np.argmin(np.where(state.alive, used, np.inf)))
    held = zip(state.members[best], state.size[best], strict=True)
    return [members[:size].tolist() for members, size in held if size]


def _orders(load: Float64s, rng: np.random.Generator) -> Int64s:
    noise = rng.normal(0.0, _NOISE, (ATTEMPTS, len(load)))
    noise[0] = noise[ATTEMPTS // 2] = 0.0
    return np.argsort(-np.log(load) - noise, axis=1, kind="stable")


def _joins(oracle: Oracle, state: _Attempts, replica: Int32s) -> Bools:
    """Whether each attempt's replica may join each of its brokers. Of brokers that
    are empty only the first is asked."""
    open_ = (state.size > 0) & (state.size < oracle.k)
    first_empty = np.argmin(state.size, axis=1)
    rows = np.flatnonzero(state.size[np.arange(ATTEMPTS), first_empty] == 0)
    open_[rows, first_empty[rows]] = True
    open_ &= state.alive[:, None]
    found = np.zeros(open_.shape, np.bool_)
    for size in np.unique(state.size[open_]).tolist():
        at, broker = np.nonzero(open_ & (state.size == size))
        sets = np.empty((len(at), size + 1), np.int32)
        sets[:, :size], sets[:, size] = state.members[at, broker, :size], replica[at]
        found[at, broker] = oracle.feasible(sets)
    return found


def _choose(state: _Attempts, joins: Bools) -> Int64s:
    """The fullest broker, or the emptiest, of those that the replica may join."""
    fullest = np.argmax(np.where(joins, state.load, -np.inf), axis=1)
    emptiest = np.argmin(np.where(joins, state.load, np.inf), axis=1)
    half = np.arange(ATTEMPTS) < ATTEMPTS // 2
    return np.where(joins.any(axis=1), np.where(half, fullest, emptiest), _NONE)
