"""A planner that is simple enough to be right, and shares nothing with the audit."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.plan import write_plan
from brokerwise.storage.workload import write_workload

HOUR_USD = 1 / 240
"""A broker costs one dollar for a period of ten days."""


class FirstFit:
    """Brokers of one capacity; each pair goes to the first with room for it."""

    def __init__(self, capacity: int, limit: int | None) -> None:
        self.capacity, self.limit = capacity, limit
        self.loads: list[int] = []
        self.runs: dict[tuple[int, int], int] = {}

    def place(self, topic: int, rate: int) -> bool:
        for broker in range(len(self.loads) + 1):
            if broker == len(self.loads):
                if broker == self.limit:
                    return False
                self.loads.append(0)
            need = rate if (topic, broker) in self.runs else 2 * rate
            if self.loads[broker] + need <= self.capacity:
                self.loads[broker] += need
                self.runs[topic, broker] = self.runs.get((topic, broker), 0) + 1
                return True
        return False


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
    packed = FirstFit(capacity, None)
    plan = _plan(workload, "provision", pairs, packed, threshold)
    fleet = Fleet(
        (BrokerType("plain", capacity, hour_usd=HOUR_USD),),
        gigabyte_usd,
        gigabyte_in_usd,
    )
    return _priced(plan, fleet, workload)


def filled(workload: Workload, *, brokers: int, capacity: int) -> Plan:
    """As many pairs as fit, in the order of topics."""
    wanted = zip(
        workload.interests.topics.tolist(), workload.interests.owners(), strict=True
    )
    pairs = sorted((topic, int(owner)) for topic, owner in wanted)
    return _plan(workload, "fill", pairs, FirstFit(capacity, brokers), None)


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


def _plan(
    workload: Workload,
    kind: str,
    pairs: list[tuple[int, int]],
    fleet: FirstFit,
    threshold: int | None,
) -> Plan:
    placed = [(s, t) for t, s in pairs if fleet.place(t, int(workload.rates[t]))]
    runs = sorted(fleet.runs)
    used = len(fleet.loads)
    outgoing = sum(int(workload.rates[t]) for _, t in placed)
    incoming = sum(int(workload.rates[t]) for t, _ in runs)
    figures = {"incoming": incoming, "outgoing": outgoing}
    return Plan(
        kind=kind,
        algorithm="naive",
        status=Status.FEASIBLE,
        objective=outgoing,
        bound=2 * outgoing,
        fleet=Fleet((BrokerType("plain", fleet.capacity, fleet.limit),)),
        brokers=Brokers(
            np.zeros(used, np.int32),
            np.full(used, fleet.capacity, np.int64),
            np.array(fleet.loads, np.int64),
        ),
        selection=_selection(workload.subscribers, sorted(placed)),
        placement=Placement(
            np.array([t for t, _ in runs], np.int32),
            np.array([b for _, b in runs], np.int32),
            np.array([fleet.runs[run] for run in runs], np.int64),
        ),
        threshold=threshold,
        figures=figures if kind == "provision" else {"delivered": outgoing},
    )


def _selection(subscribers: int, placed: list[tuple[int, int]]) -> Interests:
    owners = np.array([s for s, _ in placed], np.int64)
    offsets = np.searchsorted(owners, np.arange(subscribers + 1))
    return Interests(
        offsets.astype(np.int64), np.array([t for _, t in placed], np.int32)
    )
