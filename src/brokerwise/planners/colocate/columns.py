"""How few brokers there could be, if sets could be used in fractions; and sets chosen
in whole numbers: fewer brokers than a plan has, or proof that there are none.

Let every replica have a worth, and let no feasible set be worth more than v in all. A
plan puts every replica into one feasible set, so its sets are worth as much as all
replicas together, and each at most v: it has at least total / v of them. The linear
program over the sets known so far says what replicas are worth; looking through all
sets says v. The bound holds whatever the program's numbers are.
"""

from dataclasses import dataclass
from math import ceil

import highspy
import numpy as np
import numpy.typing as npt

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.heuristics import Packing
from brokerwise.planners.colocate.sets import Classes, Enumeration, Sets
from brokerwise.planners.control import Stop
from brokerwise.planners.highs import run, silent

TOLERANCE = 1e-6
EVERY = 1_000_000  # sets of a size that are pursued, if all are wanted
_ROUNDS = 300  # of the linear program
_BEST = 40  # sets that are added at once, besides the best of each class
_WIDTHS = (300, 3_000)
_STEPS = (1.15, 1.05, 1.0)
"""What sets may be worth for the bound, where looking for less would be too much."""

_MOST_SETS = 4_000  # of an integer program


@dataclass(frozen=True, eq=False)
class Cover:
    """How often each set is used; None if there is no choice, or none was found:
    `proven` says which."""

    times: Int64s | None
    proven: bool


def cover(rows: Int32s, number: Int64s, most: int, asks: int, stop: Stop) -> Cover:
    """At most `most` of these sets that have every class as often as it is there.

    An integer program, given up after `asks` of HiGHS.
    """
    highs = silent(mip_rel_gap=1.0)
    count, classes = len(rows), len(number)
    add_rows(highs, number.astype(np.float64))
    add_sets(highs, rows, classes, float(most))
    highs.addRow(
        -highspy.kHighsInf,
        float(most),
        count,
        np.arange(count, dtype=np.int32),
        np.ones(count),
    )
    whole = np.full(count, highspy.HighsVarType.kInteger)
    highs.changeColsIntegrality(count, np.arange(count, dtype=np.int32), whole)
    run(highs, stop, asks)
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Cover(None, True)
    values = np.array(highs.getSolution().col_value)
    if len(values) != count or highs.getInfo().primal_solution_status != 2:
        return Cover(None, False)
    times: Int64s = np.rint(values).astype(np.int64)
    return Cover(times, False)


def add_rows(highs: highspy.Highs, least: Float64s) -> None:
    """A row for each class: it is there so often at least."""
    count = len(least)
    highs.addRows(
        count,
        least,
        np.full(count, highspy.kHighsInf),
        0,
        np.zeros(count, np.int32),
        np.zeros(0, np.int32),
        np.zeros(0),
    )


def add_sets(highs: highspy.Highs, rows: Int32s, classes: int, most: float) -> None:
    """A column for each set, with how often it has each class; each costs 1."""
    count = len(rows)
    real = rows < classes
    column = np.broadcast_to(np.arange(count)[:, None], rows.shape)[real]
    entries, times = np.unique(column * classes + rows[real], return_counts=True)
    highs.addCols(
        count,
        np.ones(count),
        np.zeros(count),
        np.full(count, most),
        len(entries),
        np.searchsorted(entries, np.arange(count) * classes).astype(np.int32),
        (entries % classes).astype(np.int32),
        times.astype(np.float64),
    )


class Master:
    """The fewest sets, in fractions, that have every class as often as it is there.

    Sets may have more than that: what is feasible stays so when replicas leave.
    """

    def __init__(self, number: Int64s) -> None:
        """`number` of replicas that each class has."""
        self._classes = len(number)
        self._known: set[bytes] = set()
        self.rows = np.zeros((0, 0), np.int32)
        # Presolve would lose the basis of the solve before.
        self._highs = silent(presolve="off", solver="simplex")
        add_rows(self._highs, number.astype(np.float64))

    def add(self, rows: Int32s) -> int:
        """Add those sets that are new; returns how many."""
        new = []
        for at, row in enumerate(rows):
            if row.tobytes() not in self._known:
                self._known.add(row.tobytes())
                new.append(at)
        if new:
            self._append(rows[new])
        return len(new)

    def solve(self) -> tuple[Float64s, Float64s]:
        """What a replica of each class is worth, and how much of each set is used."""
        self._highs.run()
        found = self._highs.getSolution()
        return np.maximum(np.array(found.row_dual), 0.0), np.array(found.col_value)

    def _append(self, rows: Int32s) -> None:
        self.rows = np.concatenate((self.rows.reshape(-1, rows.shape[1]), rows))
        add_sets(self._highs, rows, self._classes, highspy.kHighsInf)


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


@dataclass(frozen=True)
class Fewer:
    """A packing with fewer brokers; None if none was found, of which `impossible` says
    that there is none."""

    packing: Packing | None
    impossible: bool


def fewer(
    relaxation: Relaxation, most: int, most_rows: int, asks: int, stop: Stop
) -> Fewer:
    """A packing on at most `most` brokers, by an integer program over sets.

    The sets of such a plan have every replica, so they are worth no less in all than
    the value of the linear program. If that is solved none is worth more than 1, so
    none is worth less than 1 by more than `most` exceeds the value: sets that are can
    be left out, and if there is no choice among the others, there is none at all.
    """
    worth, classes = relaxation.worth(), relaxation.classes
    slack = max(0.0, most - float(worth @ classes.number))
    threshold = 1.0 - slack - 2 * TOLERANCE * (most + 1)
    found = relaxation.look(worth, threshold, EVERY, most_rows)
    value = relaxation.values(worth)
    good = np.flatnonzero(value > threshold)
    good = good[np.argsort(-value[good], kind="stable")]
    rows = maximal(relaxation.pool[good], len(classes))
    every = relaxation.solved and found.complete and len(rows) <= _MOST_SETS
    rows = rows[:_MOST_SETS]
    chosen = cover(rows, classes.number, most, asks, stop)
    if chosen.times is None:
        return Fewer(None, chosen.proven and every)
    return Fewer(packing_of(np.repeat(rows, chosen.times, axis=0), classes), False)


def rows_of(packing: Packing, classes: Classes, k: int) -> Int32s:
    """The classes of the replicas of each broker, filled up."""
    rows = np.full((len(packing), k), len(classes), np.int32)
    for row, members in zip(rows, packing, strict=True):
        row[: len(members)] = classes.of[members]
    return np.sort(rows, axis=1)


def packing_of(rows: Int32s, classes: Classes) -> Packing:
    """Replicas for sets of classes; what a class has too little of is left out."""
    left = classes.members()
    packing: Packing = []
    for row in rows.tolist():
        members = [left[c].pop() for c in row if c < len(classes) and left[c]]
        if members:
            packing.append(sorted(members))
    return packing


def maximal(rows: Int32s, classes: int) -> Int32s:
    """The sets of which no other has just one class more."""
    shorter = []
    for column in range(rows.shape[1]):
        parts = rows[rows[:, column] < classes].copy()
        parts[:, column] = classes
        shorter.append(np.sort(parts, axis=1))
    return rows[~np.isin(_keys(rows), _keys(np.concatenate(shorter)))]


def _keys(rows: Int32s) -> npt.NDArray[np.void]:
    """Each row as one value that can be compared."""
    whole = np.ascontiguousarray(rows, np.int32)
    kind = np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))
    return whole.view(kind)[:, 0]
