"""Fewer brokers: load spread over a given number of them, and brokers emptied, a
neighbourhood at a time.

Spreading is good where k limits, not latency; and among plans with as many brokers it
gives the one that leaves most room for the errors of models.
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.heuristics import Packing
from brokerwise.planners.control import Stop

_BATCH = 8

ATTEMPTS = 16
_NOISE = 0.3  # of the order by load, in logarithms
_NONE = -1

_NEAREST = 48  # brokers that are asked to take a replica, the least loaded first
_MOST_TOGETHER = 5  # brokers that are packed anew beside the one to be emptied
_IDLE = 0.3  # how often a change that brings nothing is taken: to go on from there


def spread(oracle: Oracle, brokers: int) -> Packing | None:
    """Replicas, heaviest first, each to the least loaded of the brokers that stays
    feasible; None if one of them fits nowhere."""
    demand = oracle.demand
    members: Packing = [[] for _ in range(brokers)]
    load, size = np.zeros(brokers), np.zeros(brokers, np.int64)
    for replica in np.argsort(-demand.load, kind="stable").tolist():
        order = np.argsort(load, kind="stable")
        home = _first_home(oracle, replica, members, order[size[order] < oracle.k])
        if home is None:
            return None
        members[home].append(replica)
        load[home] += demand.load[replica]
        size[home] += 1
    return [held for held in members if held]


def _first_home(
    oracle: Oracle, replica: int, members: Packing, order: Int64s
) -> int | None:
    """The first broker in this order that the replica may join."""
    batch, first = _BATCH, 0
    while first < len(order):
        some = order[first : first + batch].tolist()
        joins = joining(oracle, replica, [members[b] for b in some])
        if joins.any():
            return int(some[int(np.argmax(joins))])
        first, batch = first + batch, 2 * batch
    return None


def joining(oracle: Oracle, replica: int, brokers: Packing) -> Bools:
    """Whether a replica may join each of these brokers: a batch for each size."""
    sizes = np.array([len(held) for held in brokers])
    found = np.zeros(len(brokers), np.bool_)
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        sets = np.array([[*brokers[b], replica] for b in at], np.int32)
        found[at] = oracle.feasible(sets)
    return found


def fewest_by_spreading(oracle: Oracle, least: int, most: int) -> Packing | None:
    """The smallest number of brokers found, from `least` to `most`, that spreading
    does with; halves what is between."""
    best = None
    low, high = least, most
    while low <= high:
        middle = (low + high) // 2
        found = spread(oracle, middle)
        if found is None:
            low = middle + 1
        else:
            best, high = found, len(found) - 1
    return best


def tightness(oracle: Oracle, packing: Packing) -> float:
    """How much of its limit a replica is predicted to use, on the mean."""
    used = 0.0
    for size in sorted({len(members) for members in packing}):
        members = [sorted(held) for held in packing if len(held) == size]
        sets = np.array(members, np.int32)
        used += float((oracle.p90_ms(sets) / oracle.demand.limit_ms[sets]).sum())
    return used / max(1, len(oracle.demand))


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
    """Replicas on at most `brokers` brokers, anew; None if no attempt succeeds.

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


@dataclass
class Emptying:
    """A packing that is made to use fewer brokers.

    Two ways in turn. The least loaded broker is emptied: its replicas join others, or
    take the place of a lighter one there, which joins a third. And a few brokers are
    packed anew together, many ways at once, in the hope for one less.
    """

    oracle: Oracle
    packing: Packing
    rng: np.random.Generator

    def run(self, enough: int, most_rows: int, most_rounds: int, stop: Stop) -> None:
        """Until no more than `enough` are used, or the oracle has been asked for so
        many rows, or so many rounds are over."""
        best = [list(members) for members in self.packing]
        for _ in range(most_rounds):
            if len(best) <= enough or stop() or self.oracle.rows >= most_rows:
                break
            if not self._empty_one():
                self._pack_anew()
            if len(self.packing) < len(best):
                best = [list(members) for members in self.packing]
        self.packing = best

    def _loads(self) -> Float64s:
        load = self.oracle.demand.load
        return np.array([load[members].sum() for members in self.packing])

    def _empty_one(self) -> bool:
        """Empty one of the least loaded brokers, if all that it has goes elsewhere."""
        order = np.argsort(self._loads(), kind="stable")
        victim = int(order[min(int(self.rng.geometric(0.5)) - 1, len(order) - 1)])
        brokers = [list(members) for members in self.packing]
        leaving = sorted(brokers[victim], key=lambda r: -self.oracle.demand.load[r])
        brokers[victim] = []
        near = order[order != victim][:_NEAREST].tolist()
        for replica in leaving:
            if not (
                self._join(replica, brokers, near)
                or self._replace(replica, brokers, near)
            ):
                return False
        self.packing = [members for members in brokers if members]
        return True

    def _join(self, replica: int, brokers: Packing, near: list[int]) -> bool:
        """Put a replica on the fullest broker that takes it."""
        open_ = [b for b in near if len(brokers[b]) < self.oracle.k]
        joins = joining(self.oracle, replica, [brokers[b] for b in open_])
        if not joins.any():
            return False
        load = self.oracle.demand.load
        able = [b for b, may in zip(open_, joins, strict=True) if may]
        home = max(able, key=lambda b: (load[brokers[b]].sum(), -b))
        brokers[home].append(replica)
        return True

    def _replace(self, replica: int, brokers: Packing, near: list[int]) -> bool:
        """Put a replica in the place of a lighter one, which joins another broker."""
        load = self.oracle.demand.load
        swaps = [
            (b, out) for b in near for out in brokers[b] if load[out] < load[replica]
        ]
        rest = [[r for r in brokers[b] if r != out] for b, out in swaps]
        may = joining(self.oracle, replica, rest)
        able = [swap for swap, ok in zip(swaps, may, strict=True) if ok]
        for home, out in sorted(able, key=lambda swap: (load[swap[1]], swap))[:4]:
            others = [b for b in near if b != home]
            if self._join(out, brokers, others):
                brokers[home].remove(out)
                brokers[home].append(replica)
                return True
        return False

    def _pack_anew(self) -> None:
        """Pack some brokers together anew; what is no worse may be kept."""
        together = self._together()
        old = [self.packing[b] for b in together]
        replicas = np.array([r for members in old for r in members], np.int32)
        found = repacked(self.oracle, replicas, len(old), self.rng)
        if found is None:
            return
        if (
            len(found) < len(old)
            or self.rng.random() < _IDLE
            or self._better(found, old)
        ):
            kept = [m for b, m in enumerate(self.packing) if b not in set(together)]
            self.packing = kept + found

    def _together(self) -> list[int]:
        """The least loaded broker, or another one, and some more."""
        weight = 1.0 / (1e-9 + self._loads() ** 2)
        count = min(len(self.packing), 2 + int(self.rng.integers(_MOST_TOGETHER)))
        chosen: Int64s = self.rng.choice(
            len(self.packing), count, replace=False, p=weight / weight.sum()
        )
        return sorted(chosen.tolist())

    def _better(self, found: Packing, old: Packing) -> bool:
        """Whether loads differ more: then some broker is easier to empty."""
        load = self.oracle.demand.load
        sums = [sum(load[m].sum() ** 2 for m in p) for p in (found, old)]
        return bool(sums[0] > sums[1])
