"""The integer program of a small network, for HiGHS: which user is on which broker.

What brokers forward is added to it by those who know how.
"""

from dataclasses import dataclass
from math import ceil, inf, isfinite
from typing import Any

import highspy
import numpy as np

from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.planners.control import Stop
from brokerwise.planners.highs import run, silent
from brokerwise.planners.overlay.demand import Demand

_LARGEST = 1e6  # coefficient of the objective: solvers calculate best with such
_ROUNDING = 1e-9  # of what HiGHS calculates, with the tolerance that it gets here
_OPTIONS: dict[str, Any] = {
    "mip_rel_gap": 0.0,
    "mip_feasibility_tolerance": _ROUNDING,
    "primal_feasibility_tolerance": _ROUNDING,
    "dual_feasibility_tolerance": _ROUNDING,
}


@dataclass(frozen=True, eq=False)
class Solution:
    """What HiGHS found.

    Attributes
    ----------
    broker
        Of each user, or None.
    cost
        Of it, as HiGHS adds it up.
    bound
        No wiring costs less, or less than the limit that was set.
    ended
        The search was not stopped.
    """

    broker: Int32s | None
    cost: float
    bound: int
    ended: bool


class Program:
    """Columns `x[user, broker]` say who is where; -1 where a user cannot be."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._highs = silent(**_OPTIONS)
        self._charges: list[tuple[Int64s, Int64s]] = []
        self._unit = 0
        fits = demand.load[:, None] <= demand.capacity[None, :]
        there = (demand.access >= 0) & fits
        self.x = self.columns(there, whole=True)
        self.charge(self.x[there], (demand.load[:, None] * demand.access)[there])
        for user in range(demand.users):
            self.row(1, 1, (self.x[user], 1))
        self._limit_loads()

    def _limit_loads(self) -> None:
        unit = max(int(np.gcd.reduce(self._demand.load)), 1)
        loads = self._demand.load // unit
        rooms = np.minimum(self._demand.capacity // unit, loads.sum())
        for broker, room in enumerate(rooms):
            self.row(-inf, float(room), (self.x[:, broker], loads))

    def columns(self, some: Bools, whole: bool = False) -> Int64s:
        """New columns from 0 to 1, where there should be `some`; -1 elsewhere."""
        first, count = self._highs.getNumCol(), int(some.sum())
        found = np.full(some.shape, -1, np.int64)
        found[some] = np.arange(first, first + count)
        if count:
            self._highs.addVars(count, np.zeros(count), np.ones(count))
        if count and whole:
            kinds = np.full(count, highspy.HighsVarType.kInteger)
            new = found[some].astype(np.int32)
            self._highs.changeColsIntegrality(count, new, kinds)
        return found

    def row(self, least: float, most: float, *parts: tuple[Int64s, Any]) -> None:
        """least <= sum of parts (columns, coefficients) <= most; -1 is no column."""
        columns = np.concatenate([columns for columns, _ in parts])
        values = np.concatenate([np.broadcast_to(v, c.shape) for c, v in parts])
        there = (columns >= 0) & (values != 0)
        self._highs.addRow(
            least,
            most,
            int(there.sum()),
            columns[there].astype(np.int32),
            values[there].astype(np.float64),
        )

    def charge(
        self, columns: Int64s, costs: Int64s, grain: Int64s | None = None
    ) -> None:
        """What columns cost. Their shares cost multiples of `grain`, if any may be
        taken in part; else they are taken or not."""
        self._charges.append((columns, costs))
        grains = costs if grain is None else grain
        self._unit = int(np.gcd.reduce(grains, initial=self._unit))

    def solve(
        self, stop: Stop, *, limit: int | None = None, begin: Int32s | None = None
    ) -> Solution:
        """The cheapest wiring; with a `limit`, it need not look for one that costs as
        much. `begin` is a wiring to start from."""
        columns = np.concatenate([columns for columns, _ in self._charges])
        costs = np.concatenate([costs for _, costs in self._charges])
        unit = max(self._unit, 1)
        scale = max(unit, int(costs.max(initial=0)) / _LARGEST)
        self._highs.changeColsCost(
            len(columns), columns.astype(np.int32), costs / scale
        )
        below = inf if limit is None else (limit - unit / 2) / scale
        self._highs.setOptionValue("objective_bound", below)
        self._highs.setOptionValue("mip_abs_gap", max(unit / scale / 2, 1e-6))
        self._start(begin)
        run(self._highs, stop)
        while self._forbid_overfull():
            run(self._highs, stop)
        cost = self._highs.getInfo().objective_function_value * scale
        return Solution(self._broker(), cost, self._bound(unit, scale), self._ended())

    def _start(self, begin: Int32s | None) -> None:
        if begin is not None:
            there = self.x >= 0
            taken = np.arange(self._demand.brokers)[None, :] == begin[:, None]
            columns, values = self.x[there].astype(np.int32), taken[there]
            self._highs.setSolution(len(columns), columns, values.astype(np.float64))

    def _broker(self) -> Int32s | None:
        found = self._highs.getSolution()
        if not found.value_valid:
            return None
        values = np.append(np.array(found.col_value), 0.0)
        broker: Int32s = np.argmax(values[self.x], axis=1).astype(np.int32)
        return broker

    def _forbid_overfull(self) -> bool:
        """Whether a broker has more than it can carry, in whole numbers, which to
        HiGHS may look as if it fitted: then not the same users may be there again."""
        broker, demand = self._broker(), self._demand
        if broker is None:
            return False
        overfull = False
        for number in range(demand.brokers):
            users = np.flatnonzero(broker == number)
            if demand.load[users].sum() > demand.capacity[number]:
                self.row(-inf, len(users) - 1, (self.x[users, number], 1))
                overfull = True
        return overfull

    def _bound(self, unit: int, scale: float) -> int:
        dual = float(self._highs.getInfo().mip_dual_bound) * scale / unit
        if not isfinite(dual):
            return 0
        return max(ceil(dual - abs(dual) * _ROUNDING - _ROUNDING), 0) * unit

    def _ended(self) -> bool:
        status = self._highs.getModelStatus()
        known = highspy.HighsModelStatus
        return status in (known.kOptimal, known.kInfeasible, known.kObjectiveBound)
