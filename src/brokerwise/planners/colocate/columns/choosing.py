"""Sets in whole numbers: a plan with fewer brokers, or proof that there is none."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerwise.model.arrays import Int32s
from brokerwise.planners.colocate.columns.classes import Classes
from brokerwise.planners.colocate.columns.cover import cover
from brokerwise.planners.colocate.columns.relaxation import (
    EVERY,
    TOLERANCE,
    Relaxation,
)
from brokerwise.planners.colocate.first_fit import Packing
from brokerwise.planners.control import Stop

_MOST_SETS = 4_000  # of an integer program


@dataclass(frozen=True)
class Fewer:
    """A packing with fewer brokers; None if none was found, of which `impossible` says
    that there is none."""

    packing: Packing | None
    impossible: bool


def fewer(
    relaxation: Relaxation, most: int, most_rows: int, asks: int, stop: Stop
) -> Fewer:
    """A packing on at most so many brokers, by an integer program over sets.

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
