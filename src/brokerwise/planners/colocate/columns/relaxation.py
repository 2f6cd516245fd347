"""How few brokers there could be, if sets could be used in fractions.

Let every replica have a worth, and let no feasible set be worth more than v in all. A
plan puts every replica into one feasible set, so its sets are worth as much as all
replicas together, and each at most v: it has at least total / v of them. The linear
program over the sets known so far says what replicas are worth; looking through all
sets says v. The bound holds whatever the program's numbers are.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s
from brokerwise.planners.colocate.columns.classes import Classes
from brokerwise.planners.colocate.columns.enumeration import Enumeration, Sets
from brokerwise.planners.colocate.columns.master import Master
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.control import Stop

TOLERANCE = 1e-6
EVERY = 1_000_000  # sets of a size that are pursued, if all are wanted
_ROUNDS = 300  # of the linear program
_BEST = 40  # sets that are added at once, besides the best of each class
_WIDTHS = (300, 3_000)
_STEPS = (1.15, 1.05, 1.0)
"""What sets may be worth for the bound, where looking for less would be too much."""


@dataclass
class Relaxation:
    """Sets for the linear program, and what was proven with it.

    Attributes
    ----------
    pool
        Feasible sets that are known, filled up with the number of classes.
    least
        Brokers that any plan has at least, not rounded; 0 if nothing is known.
    solved
        Whether the program cannot be improved: no feasible set is worth more than 1.
    """

    oracle: Oracle
    classes: Classes
    master: Master
    pool: Int32s
    least: float = 0.0
    solved: bool = False

    @classmethod
    def of(cls, oracle: Oracle, classes: Classes, rows: Int32s) -> "Relaxation":
        """Begins with these sets, which must have every class."""
        master = Master(classes.number)
        master.add(rows)
        return cls(oracle, classes, master, np.unique(rows, axis=0))

    @property
    def bound(self) -> int:
        return ceil(self.least - TOLERANCE)

    def improve(self, enough: int, most_rows: int, stop: Stop) -> None:
        """Add sets until the program is solved, the bound is enough, or the oracle has
        been asked for so many rows."""
        for _ in range(_ROUNDS):
            if stop() or self.oracle.rows >= most_rows:
                return
            worth = self.worth()
            if self._from_pool(worth) or self._look_around(worth, most_rows):
                continue
            if not self._prove(worth, enough, most_rows, stop):
                return

    def worth(self) -> Float64s:
        """What a replica of each class is worth."""
        return self.master.solve()[0]

    def values(self, worth: Float64s) -> Float64s:
        """What the sets of the pool are worth."""
        value: Float64s = np.append(worth, 0.0)[self.pool].sum(axis=1)
        return value

    def look(
        self, worth: Float64s, threshold: float, width: int, most_rows: int
    ) -> Sets:
        """Find sets that are worth more than a threshold; they join the pool."""
        found = Enumeration(self.oracle, self.classes, worth, threshold).run(
            width, most_rows
        )
        if len(found.rows):
            self.pool = np.unique(np.concatenate((self.pool, found.rows)), axis=0)
        return found

    def _from_pool(self, worth: Float64s) -> bool:
        """Add the sets that are worth most, of those known; whether there are any."""
        value = self.values(worth)
        good = np.flatnonzero(value > 1.0 + TOLERANCE)
        if not len(good):
            return False
        order = good[np.argsort(-value[good], kind="stable")]
        chosen = {*order[:_BEST].tolist()}
        for column in range(self.pool.shape[1]):
            _, first = np.unique(self.pool[order, column], return_index=True)
            chosen.update(order[first].tolist())
        return self.master.add(self.pool[sorted(chosen)]) > 0

    def _look_around(self, worth: Float64s, most_rows: int) -> bool:
        """Look for some sets, not for all; whether there are any."""
        for width in _WIDTHS:
            if len(self.look(worth, 1.0 + TOLERANCE, width, most_rows).value):
                return True
        return False

    def _prove(self, worth: Float64s, enough: int, most_rows: int, stop: Stop) -> bool:
        """Look through all sets, first for those that are worth much; whether there
        are any that improve the program."""
        total = float(worth @ self.classes.number)
        for most in _STEPS:
            found = self.look(worth, most + TOLERANCE, EVERY, most_rows)
            if not found.complete:
                return False
            most_found = max(most + TOLERANCE, float(found.value.max(initial=0.0)))
            self.least = max(self.least, total / most_found)
            if len(found.value):
                return True
            if stop() or self.bound >= enough:
                return False
        self.solved = True
        return False
