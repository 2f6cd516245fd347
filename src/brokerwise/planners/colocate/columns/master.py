"""The linear program that chooses among sets, solved by HiGHS."""

import highspy
import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.planners.colocate.columns.cover import add_rows, add_sets
from brokerwise.planners.highs import silent


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
