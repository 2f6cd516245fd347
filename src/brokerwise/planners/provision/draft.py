"""A plan but for the lists of pairs: all that is decided about it, or why there is
none, in words and numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brokerwise.kernels.selection import Survey, Topics
from brokerwise.model.arrays import Int64s
from brokerwise.model.fleet import Fleet, Prices, per_month
from brokerwise.model.interests import Interests
from brokerwise.model.load import broker_loads
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status, gap
from brokerwise.planners.provision.bound import ROUNDING, Bound
from brokerwise.planners.provision.choice import Choice
from brokerwise.planners.provision.cover import fewest_brokers
from brokerwise.planners.provision.packing.pieces import Packing
from brokerwise.planners.provision.scan import Scan


@dataclass(frozen=True)
class Refusal:
    """No plan. If it is `proven` there is none, else none was found.

    `tried` are the ways that were tried, such as `shared+tight`; `figures` are what is
    known: `load_bound` and `brokers_bound` of every plan, and `brokers_found`, the
    fewest brokers that were found to do if there were enough of each type.
    """

    reason: str
    proven: bool = True
    tried: tuple[str, ...] = ()
    figures: Mapping[str, int] = field(default_factory=dict)


def out_of_reach(scan: Scan, survey: Survey, fleet: Fleet) -> Refusal:
    """Some subscriber cannot do without a topic that no broker can carry."""
    largest = fleet.largest_capacity
    subscriber = survey.example
    need, wanted = scan.wanted(subscriber)
    rates = scan.rates[wanted]
    need = min(need, int(rates.sum()))
    # From the least rate up: the first topic with which the need is reached.
    enough = int(np.argmax(np.cumsum(rates[::-1]) >= need))
    topic, rate = int(wanted[::-1][enough]), int(rates[::-1][enough])
    others = survey.unreachable - 1
    also = f", and so it is for {others:,} more" if others else ""
    return Refusal(
        f'subscriber "{scan.subscriber_name(subscriber)}" needs topic '
        f'"{scan.topic_name(topic)}" (rate {rate:,}), which no broker can carry: it '
        f"needs {2 * rate:,}, the largest broker has {largest:,}{also}\n"
        f"The smallest capacity that works is {2 * survey.needed_rate:,}."
    )


def too_small(bound: Bound, fleet: Fleet) -> Refusal | None:
    """The brokers have less capacity than every plan needs: of all types together, or
    of those that large topics need. None if that is not so, which proves nothing."""
    room = _room(fleet, 0)
    if room is not None and bound.load > room:
        reason = f"the load is at least {bound.load:,}, all brokers together have "
        return Refusal(f"{reason}{room:,}", figures={"load_bound": bound.load})
    for capacity, load in bound.reserved:
        room = _room(fleet, capacity + 1)
        if room is not None and load > room:
            return Refusal(
                f"topics that brokers of {capacity:,} cannot carry have a load of at "
                f"least {load:,}, all larger brokers together have {room:,}",
                figures={"load_bound": bound.load},
            )
    return None


def not_found(
    bound: Bound,
    fleet: Fleet,
    tried: Sequence[str],
    enough: Sequence[int] | None,
    *,
    stopped: bool,
) -> Refusal:
    """Nothing is proven, and no way into the fleet's limits was found.

    `enough` is how many brokers of each type were found to do without the limits.
    """
    fewest, room = fewest_brokers(bound.load, fleet), _room(fleet, 0)
    figures = {"load_bound": bound.load}
    has = "not every type of broker is limited"
    if room is not None:
        has = f"all brokers together have {room:,}"
    reason = (
        "no plan was found, which does not prove that there is none: the load is at "
        f"least {bound.load:,}, {has}"
    )
    if fewest is not None:
        figures["brokers_bound"] = fewest
        reason += f"; at least {_brokers(fewest)} {_verb(fewest)} needed"
    if enough is not None:
        figures["brokers_found"] = sum(enough)
        reason += f", the fewest found to do are {sum(enough):,}"
    reason += f"\nTried: {_ways(tried)}."
    if stopped:
        reason += " The time of --seconds was over before all had been tried."
    if enough is not None:
        each = [f"{n:,} {t.name}" for n, t in zip(enough, fleet, strict=True) if n]
        reason += f"\nIt works with {' and '.join(each)}."
    return Refusal(reason, False, tuple(tried), figures)


def _room(fleet: Fleet, least: int) -> int | None:
    """The capacity of all brokers of at least this size; None if there is no limit."""
    types = [t for t in fleet if t.capacity >= least]
    if any(t.count is None for t in types):
        return None
    return sum(t.capacity * (t.count or 0) for t in types)


def _ways(tried: Sequence[str]) -> str:
    """`shared and exact selection, tight packing`."""
    both = [way.split("+") for way in tried]
    selections, packings = (
        list(dict.fromkeys(names)) for names in zip(*both, strict=True)
    )
    return (
        f"selection {_listed(selections)}; packing {_listed(packings)} "
        f"({len(tried):,} {'way' if len(tried) == 1 else 'ways'} in all)"
    )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _brokers(number: int) -> str:
    return f"{number:,} broker{'' if number == 1 else 's'}"


def _verb(number: int) -> str:
    return "is" if number == 1 else "are"


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
