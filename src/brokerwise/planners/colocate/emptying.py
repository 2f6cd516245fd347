"""Fewer brokers by emptying some of them, a neighbourhood at a time."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.first_fit import Packing
from brokerwise.planners.colocate.repacking import repacked
from brokerwise.planners.colocate.spreading import joining
from brokerwise.planners.control import Stop

_NEAREST = 48  # brokers that are asked to take a replica, the least loaded first
_MOST_TOGETHER = 5  # brokers that are packed anew beside the one to be emptied
_IDLE = 0.3  # how often a change that brings nothing is taken: to go on from there


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
