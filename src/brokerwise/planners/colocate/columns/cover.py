"""Sets chosen in whole numbers: fewer brokers than a plan has, or proof that there are
none."""

from dataclasses import dataclass

import highspy
import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.planners.control import Stop
from brokerwise.planners.highs import run, silent


@dataclass(frozen=True, eq=False)
class Cover:
    """How often each set is used; None if there is no choice, or none was found:
    `proven` says which."""

    times: Int64s | None
    proven: bool


def cover(rows: Int32s, number: Int64s, most: int, asks: int, stop: Stop) -> Cover:
    """At most `most` of these sets that have every class as often as it is there.

    An integer program, given up after so many asks of HiGHS.
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
