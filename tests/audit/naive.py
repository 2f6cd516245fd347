"""A planner that is simple enough to be right, and shares nothing with the audit."""

from collections.abc import Iterator
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


def provisioned(workload: Workload, *, threshold: int, capacity: int) -> Plan:
    """As many brokers as it takes; `capacity` must be twice the largest rate."""
    pairs = sorted(enough(workload, threshold))
    return _plan(workload, "provision", pairs, FirstFit(capacity, None), threshold)


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
    objective = float(used) if kind == "provision" else float(outgoing)
    bound = objective / 2 if kind == "provision" else objective * 2
    return Plan(
        kind=kind,
        algorithm="naive",
        status=Status.FEASIBLE,
        objective=objective,
        bound=bound,
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
