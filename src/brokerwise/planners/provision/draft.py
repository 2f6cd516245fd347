"""A plan but for the lists of pairs: all that is decided about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.kernels.selection import Survey, Topics
from brokerwise.model.arrays import Int64s
from brokerwise.model.cost import Prices, per_month
from brokerwise.model.fleet import Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.load import broker_loads
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status, gap
from brokerwise.planners.provision.bound import ROUNDING, Bound
from brokerwise.planners.provision.choice import Choice
from brokerwise.planners.provision.cover import fewest_brokers
from brokerwise.planners.provision.packing.pack import Packing
from brokerwise.planners.provision.refusal import Refusal


@dataclass(frozen=True, eq=False)
class Draft:
    """What is decided before any pair is written down; O(topics) numbers.

    Without a `packing` there is a `refusal`, which says why.
    """

    topics: Topics
    fleet: Fleet
    prices: Prices
    period_seconds: int
    threshold: int
    algorithm: str
    options: Mapping[str, Any]
    seed: int
    survey: Survey
    choice: Choice
    packing: Packing | None = None
    bound: Bound | None = None
    paper: Bound | None = None
    refusal: Refusal | None = None

    def plan(self, selection: Interests | None) -> Plan:
        """The plan; `selection` is None where the pairs are on disk only."""
        if self.packing is None:
            return self._refused(selection)
        rates, placement = self.topics.rates, self.packing.placement
        figures = self._figures(self.packing)
        objective = figures["cost"]
        bound = not_above(figures.pop("bound"), objective)
        types = self.packing.broker_type
        capacities = np.array([t.capacity for t in self.fleet], np.int64)
        loads = broker_loads(
            rates, placement.topic, placement.broker, placement.pairs, len(types)
        )
        return Plan(
            kind="provision",
            algorithm=self.algorithm,
            status=Status.OPTIMAL if bound == objective else Status.FEASIBLE,
            objective=objective,
            bound=bound,
            fleet=self.fleet,
            brokers=Brokers(types, capacities[types], loads),
            selection=selection,
            placement=placement,
            threshold=self.threshold,
            figures=figures,
            options=self.options,
            seed=self.seed,
        )

    def _figures(self, packing: Packing) -> dict[str, Any]:
        """Costs, traffic, and both bounds."""
        assert self.bound is not None and self.paper is not None
        rates, placement = self.topics.rates, packing.placement
        incoming = int(rates[placement.topic].sum())
        outgoing = int(rates[placement.topic] @ placement.pairs)
        number = np.bincount(packing.broker_type, minlength=len(self.prices.brokers))
        cost = self.prices.cost(number.tolist(), incoming, outgoing)
        paper = not_above(self.paper.cost(self.fleet, self.prices), cost.total)
        bound = self.bound.cost(self.fleet, self.prices)
        if self.bound.is_met_by(cost, incoming, outgoing, self.fleet, self.prices):
            bound = max(bound, cost.total)
        return {
            "cost": cost.total,
            "cost_brokers": cost.brokers,
            "cost_bandwidth": cost.bandwidth,
            "cost_month": per_month(cost.total, self.period_seconds),
            "incoming": incoming,
            "outgoing": outgoing,
            "pairs": int(placement.pairs.sum()),
            "load_bound": self.bound.load,
            "brokers_bound": fewest_brokers(self.bound.load, self.fleet),
            "bound": bound,
            "load_bound_paper": self.paper.load,
            "bound_paper": paper,
            "gap_paper": gap(cost.total, paper),
            "modest": self.survey.modest,
            "left_out": self._left_out(),
        }

    def _left_out(self) -> int:
        """Wanted topics that no broker can carry."""
        return int(np.count_nonzero(self.survey.followers[: self.topics.low]))

    def _refused(self, selection: Interests | None) -> Plan:
        assert self.refusal is not None
        empty = None
        if selection is not None:
            empty = Interests(
                np.zeros(selection.subscribers + 1, np.int64), np.zeros(0, np.int32)
            )
        nothing: Int64s = np.zeros(0, np.int64)
        return Plan(
            kind="provision",
            algorithm=self.algorithm,
            status=Status.INFEASIBLE if self.refusal.proven else Status.UNKNOWN,
            objective=None,
            bound=None,
            fleet=self.fleet,
            brokers=Brokers(nothing.astype(np.int32), nothing, nothing),
            selection=empty,
            placement=Placement(
                nothing.astype(np.int32), nothing.astype(np.int32), nothing
            ),
            threshold=self.threshold,
            figures=self.refusal.figures,
            options=self.options,
            seed=self.seed,
            reason=self.refusal.reason,
            tried=self.refusal.tried,
        )


def not_above(bound: float, cost: float) -> float:
    """The bound, lowered to the cost where only rounding puts it above."""
    if bound > cost * (1 + ROUNDING):
        raise RuntimeError(f"the bound {bound!r} is above the cost {cost!r}: a defect")
    return min(bound, cost)
