"""A planner that is simple enough to be right, and shares nothing with the audit."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import numpy as np

from brokerwise.model.fleet import Bandwidth, BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.workload import PLAIN, Weights, Workload
from brokerwise.storage.place import Place
from brokerwise.storage.plan import write_plan
from brokerwise.storage.workload import write_workload

HOUR_USD = 1 / 240
"""A broker costs one dollar for a period of ten days."""


class FirstFit:
    """Each pair goes to the first broker with room for it, of those that are there or
    else of those that can be had, of these capacities in turn."""

    def __init__(self, capacities: Iterator[int]) -> None:
        self.more = capacities
        self.capacities: list[int] = []
        self.loads: list[int] = []
        self.runs: dict[tuple[int, int], int] = {}

    def place(self, topic: int, rate: int) -> bool:
        broker = 0
        while broker < len(self.loads) or self._open():
            need = rate if (topic, broker) in self.runs else 2 * rate
            if self.loads[broker] + need <= self.capacities[broker]:
                self.loads[broker] += need
                self.runs[topic, broker] = self.runs.get((topic, broker), 0) + 1
                return True
            broker += 1
        return False

    def _open(self) -> bool:
        capacity = next(self.more, None)
        if capacity is not None:
            self.capacities.append(capacity)
            self.loads.append(0)
        return capacity is not None


def enough(workload: Workload, threshold: int) -> Iterator[tuple[int, int]]:
    """(topic, subscriber) pairs, largest rates first, until thresholds are met."""
    for subscriber in range(workload.subscribers):
        need = threshold
        if workload.thresholds is not None and workload.thresholds[subscriber] >= 0:
            need = int(workload.thresholds[subscriber])
        for topic in workload.interests.of(subscriber).tolist():
            if need > 0 and workload.rates[topic] > 0:
                need -= int(workload.rates[topic])
                yield topic, subscriber


def provisioned(
    workload: Workload,
    *,
    threshold: int,
    capacity: int,
    gigabyte_usd: float = 0.0,
    gigabyte_in_usd: float | None = None,
) -> Plan:
    """As many brokers as it takes; `capacity` must be twice the largest rate."""
    pairs = sorted(enough(workload, threshold))
    packed = FirstFit(repeat(capacity))
    fleet = Fleet(
        (BrokerType("plain", capacity, hour_usd=HOUR_USD),),
        gigabyte_usd,
        gigabyte_in_usd,
    )
    plan = replace(_plan(workload, fleet, pairs, packed), threshold=threshold)
    return _priced(plan, fleet, workload)


def filled(
    workload: Workload,
    *,
    brokers: int,
    capacity: int,
    smaller: tuple[int, int] | None = None,
    weights: Weights = PLAIN,
    bandwidth: Bandwidth | None = None,
) -> Plan:
    """As many pairs as fit, in the order of topics, whatever they are worth.

    `smaller` is count and capacity of brokers of another type, `bandwidth` what the
    fleet is said to be a split of.
    """
    types = [BrokerType("plain", capacity, brokers)]
    if smaller is not None:
        types.append(BrokerType("small", smaller[1], smaller[0]))
    fleet = Fleet(tuple(types))
    sizes = [kind.capacity for kind in fleet for _ in range(kind.count or 0)]
    pairs = [(topic, owner) for owner, topic in _listed(workload.interests)]
    plan = _plan(workload, fleet, sorted(pairs), FirstFit(iter(sizes)))
    return _valued(plan, workload, weights, bandwidth)


def saved(plan: Plan, workload: Workload, folder: Path) -> Path:
    """The plan in `folder`/plan, its workload in `folder`/workload."""
    header = write_workload(workload, Place(str(folder / "workload")))
    write_plan(
        plan,
        Place(str(folder / "plan")),
        workload=Place(str(folder / "workload")),
        workload_digest=header.digest,
    )
    return folder / "plan"


def _priced(plan: Plan, fleet: Fleet, workload: Workload) -> Plan:
    """The plan with what it costs, and half of that as its bound."""
    gigabyte = 10**9 / workload.message_bytes  # in messages
    rent = len(plan.brokers) * HOUR_USD * workload.period_seconds / 3600
    bandwidth = plan.figures["incoming"] / gigabyte * fleet.incoming_usd
    bandwidth += plan.figures["outgoing"] / gigabyte * fleet.gigabyte_usd
    cost = rent + bandwidth
    stated = {"cost": cost, "cost_brokers": rent, "cost_bandwidth": bandwidth}
    return replace(
        plan,
        fleet=fleet,
        objective=cost,
        bound=cost / 2,
        figures={**plan.figures, **stated},
    )


def _listed(pairs: Interests) -> list[tuple[int, int]]:
    """(subscriber, topic)."""
    return list(zip(pairs.owners().tolist(), pairs.topics.tolist(), strict=True))


def _valued(
    plan: Plan, workload: Workload, weights: Weights, bandwidth: Bandwidth | None
) -> Plan:
    """The plan with what it delivers, and all there is to deliver as its bound."""
    rates = workload.rates.tolist()

    def value(pairs: list[tuple[int, int]]) -> int:
        total = 0
        for subscriber, topic in pairs:
            worth = rates[topic]
            if weights.topics is not None:
                worth *= int(weights.topics[topic])
            if weights.subscribers is not None:
                worth *= int(weights.subscribers[subscriber])
            total += worth
        return total

    wanted, served = _listed(workload.interests), _listed(plan.selected)
    capacity = sum(kind.capacity * (kind.count or 0) for kind in plan.fleet)
    largest = plan.fleet.largest_capacity
    if bandwidth is not None:
        capacity, largest = bandwidth.total, min(bandwidth.total, bandwidth.max_broker)
    objective, rate = value(served), sum(rates[topic] for _, topic in wanted)
    paper = value(wanted) if not weights.plain else min(capacity, rate)
    outgoing = plan.figures["outgoing"]
    figures = {
        **plan.figures,
        "delivered": outgoing,
        "delivered_percent": 100 * outgoing / rate if rate else 100.0,
        "wanted": rate,
        "left_out": len({t for _, t in wanted if 2 * rates[t] > largest}),
        "bound_paper": paper,
        **({"gap_paper": (paper - objective) / objective} if objective else {}),
        **({} if weights.plain else {"weighted_wanted": value(wanted)}),
    }
    booked = bandwidth and {
        "total_bandwidth": bandwidth.total,
        "max_broker": bandwidth.max_broker,
    }
    return replace(
        plan,
        kind="fill",
        objective=objective,
        bound=value(wanted),
        figures=figures,
        options=booked or {},
        weights=weights,
    )


def _plan(
    workload: Workload, fleet: Fleet, pairs: list[tuple[int, int]], packed: FirstFit
) -> Plan:
    """The pairs that fit, on the brokers that carry any."""
    placed = [(s, t) for t, s in pairs if packed.place(t, int(workload.rates[t]))]
    runs = sorted(packed.runs)
    used = sorted({broker for _, broker in runs})
    capacities = [packed.capacities[broker] for broker in used]
    sizes = [kind.capacity for kind in fleet]
    outgoing = sum(int(workload.rates[t]) for _, t in placed)
    incoming = sum(int(workload.rates[t]) for t, _ in runs)
    figures = {"incoming": incoming, "outgoing": outgoing}
    return Plan(
        kind="provision",
        algorithm="naive",
        status=Status.FEASIBLE,
        objective=outgoing,
        bound=2 * outgoing,
        fleet=fleet,
        brokers=Brokers(
            np.array([sizes.index(capacity) for capacity in capacities], np.int32),
            np.array(capacities, np.int64),
            np.array([packed.loads[broker] for broker in used], np.int64),
        ),
        selection=_selection(workload.subscribers, sorted(placed)),
        placement=Placement(
            np.array([t for t, _ in runs], np.int32),
            np.array([used.index(b) for _, b in runs], np.int32),
            np.array([packed.runs[run] for run in runs], np.int64),
        ),
        figures=figures,
    )


def _selection(subscribers: int, placed: list[tuple[int, int]]) -> Interests:
    owners = np.array([s for s, _ in placed], np.int64)
    offsets = np.searchsorted(owners, np.arange(subscribers + 1))
    return Interests(
        offsets.astype(np.int64), np.array([t for _, t in placed], np.int32)
    )
