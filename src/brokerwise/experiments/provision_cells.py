"""One threshold and one VM type: the ladder, the bounds, and every check."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import numpy as np

from brokerwise.auditing.memory import violations
from brokerwise.experiments.provision_checks import (
    count_served,
    order_problems,
    placement_problems,
)
from brokerwise.experiments.provision_published import SPARE_VMS, VM_TYPES, VmType
from brokerwise.kernels.selection import Rule
from brokerwise.model.arrays import Int64s
from brokerwise.model.fleet import Prices
from brokerwise.model.plan import gap
from brokerwise.model.workload import Workload
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.planners.control import never
from brokerwise.planners.provision.bound import Bound
from brokerwise.planners.provision.choice import Choice, carried, choose, dearness
from brokerwise.planners.provision.draft import Draft
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand, Packing
from brokerwise.planners.provision.portfolio import SELECTIONS, Options
from brokerwise.planners.provision.scan import MemoryScan
from brokerwise.planners.provision.solve import OURS, STEPS, Provisioning

T = TypeVar("T")
Cell = dict[str, Any]

BESIDE = (("greedy, tight", "greedy", "tight"), ("shared, custom", "shared", "custom"))
"""Neither the paper's nor what we propose: they tell the two stages of ours apart, and
hold `tight` against `custom` on the same selection."""
AUDITED_PAIRS = 15_000_000
"""Up to so many pairs our plan is built and audited whole; beyond, by its counts."""


def plan_cell(
    workload: Workload, threshold: int, kind: VmType, capacity: int, seed: int
) -> Cell:
    """What figures 2, 3, 6 and 7 show of one threshold and type, and ours.

    Depends on its arguments alone, but for the seconds. `problems` holds what the
    checks found, of all rows.
    """
    watch = Stopwatch()
    scan = MemoryScan(workload, threshold)
    _, selection, packing = STEPS[-1]
    options = Options(selection, packing, seed=seed, stage=watch.stage)
    planning = Provisioning(scan, threshold, options)
    draft = planning.draft(kind.fleet(capacity))
    cell = {
        "threshold": threshold,
        "type": kind.name,
        "capacity": draft.fleet.largest_capacity,
        "hour_usd": kind.hour_usd,
        "status": "planned",
        "reason": "",
    }
    if draft.refusal is not None:
        refused = draft.plan(None)
        said = {"status": str(refused.status), "reason": refused.reason}
        return cell | said | {"rows": [], "problems": []}
    rows = _Rows(workload, scan, planning, draft, watch).all()
    problems = [f"{row['name']}: {p}" for row in rows for p in row.pop("problems")]
    problems += order_problems(_orders(rows))
    found = _audited(workload, scan, draft, watch)
    problems += [f"{OURS}: {p}" for p in found.pop("audit")]
    return cell | found | {"rows": rows, "problems": problems, "seconds": watch.seconds}


def selection_seconds(
    workload: Workload, threshold: int, capacity: int, seed: int
) -> dict[str, float]:
    """Figures 4 and 5: how long each selection takes over the workload in memory.

    `shared` starts with a survey, in which the exact selection and what proves the
    plain bound are found together.
    """
    fleet = VM_TYPES[0].fleet(capacity)
    scan = MemoryScan(workload, threshold)
    topics = carried(scan.rates, fleet)
    prices = Prices.of(fleet, workload.period_seconds, workload.message_bytes)
    dear = dearness(fleet, prices)

    def shared() -> Choice:
        return choose(scan, topics, scan.survey(topics), "shared", seed, dear)

    ways: dict[str, Callable[[], object]] = {
        name: partial(scan.count, topics, Rule(name, seed))
        for name in SELECTIONS
        if name != "shared"
    }
    return {name: _timed(way)[1] for name, way in {**ways, "shared": shared}.items()}


@dataclass(frozen=True, eq=False)
class _Rows:
    """Every step of the ladder, planned on pairs that are in memory, and checked."""

    workload: Workload
    scan: MemoryScan
    planning: Provisioning
    draft: Draft
    watch: Stopwatch

    def all(self) -> list[Cell]:
        steps = (*STEPS, *BESIDE)
        by_selection = sorted(steps, key=lambda step: SELECTIONS.index(step[1]))
        rows = [
            row
            for selection, group in groupby(by_selection, lambda step: step[1])
            for row in self._of(selection, [(name, p) for name, _, p in group])
        ]
        order = [name for name, _, _ in steps]
        return sorted(rows, key=lambda row: order.index(row["name"]))

    def _of(self, selection: str, packings: list[tuple[str, str]]) -> Iterator[Cell]:
        """The rows of one selection, whose lists are made and checked once."""
        topics, choice = self.planning.choice(self.draft.fleet, selection)
        blocks = list(self.scan.lists(topics, choice.rule))
        served = count_served(self.workload, self.draft.threshold, blocks)
        problems = list(served.problems(self.workload.subscribers))
        demand = Demand(topics.rates, choice.counts, partial(iter, blocks))
        for name, packing in packings:
            found, seconds = self._packed(name, packing, demand)
            wrong = self._misplaced(served.counts, found)
            yield {
                "name": name,
                "selection": selection,
                "packing": packing,
                **self._figures(found),
                "seconds": seconds,
                "problems": [*problems, *wrong],
            }

    def _packed(self, name: str, packing: str, demand: Demand) -> tuple[Packing, float]:
        draft = self.draft
        if name == OURS and draft.packing is not None:
            return draft.packing, self.watch.seconds["pack"]
        way = partial(pack, packing, demand, draft.fleet, draft.prices, never)
        found, seconds = _timed(way)
        assert found is not None  # a type without a limit holds everything
        return found, seconds

    def _figures(self, found: Packing) -> Cell:
        """VMs, traffic and cost of a packing, beside both bounds."""
        draft, rates = self.draft, self.draft.topics.rates
        incoming, outgoing = found.incoming(rates), found.outgoing(rates)
        cost = draft.prices.cost([len(found.broker_type)], incoming, outgoing)
        figures: Cell = {
            "vms": len(found.broker_type),
            "load": incoming + outgoing,
            "incoming": incoming,
            "outgoing": outgoing,
            "cost": cost.total,
            "cost_brokers": cost.brokers,
            "cost_bandwidth": cost.bandwidth,
        }
        for suffix, bound in (("", draft.bound), ("_paper", draft.paper)):
            usd = _bound_usd(draft, bound)
            figures[f"bound{suffix}"] = usd
            figures[f"gap{suffix}"] = gap(cost.total, usd)
        return figures

    def _misplaced(self, counts: Int64s, found: Packing) -> Iterator[str]:
        capacity = self.draft.fleet.largest_capacity
        capacities = np.full(len(found.broker_type), capacity, np.int64)
        rates = self.workload.rates
        return placement_problems(rates, counts, capacities, found.placement)


def _orders(rows: list[Cell]) -> Iterator[tuple[str, float, str, float]]:
    """What may not cost more than what: bounds than plans, `tight` than `custom`."""
    for row in rows:
        for bound in ("bound", "bound_paper"):
            yield bound, row[bound], row["name"], row["cost"]
    cost = {(row["selection"], row["packing"]): row["cost"] for row in rows}
    for selection in ("greedy", "shared"):
        tight, custom = cost[selection, "tight"], cost[selection, "custom"]
        yield f"{selection}, tight", tight, f"{selection}, custom", custom


def _audited(
    workload: Workload, scan: MemoryScan, draft: Draft, watch: Stopwatch
) -> Cell:
    """Our plan's own figures, and what the audit says of it."""
    whole = workload.pairs <= AUDITED_PAIRS
    with watch.stage("audit"):
        lists = scan.selection(draft.topics, draft.choice.rule) if whole else None
        plan = draft.plan(lists)
        audit = [v.message for v in violations(plan, workload)] if whole else []
    figures = plan.figures
    return {
        "audited": whole,
        "audit": audit,
        "rounds": plan.options["rounds"],
        "modest": figures["modest"],
        "left_out": figures["left_out"],
        "load_bound": figures["load_bound"],
        "load_bound_paper": figures["load_bound_paper"],
        "vms_limit": figures["brokers_bound"] + SPARE_VMS,
        "over_load_bound": plan.load / max(1, figures["load_bound"]),
    }


def _bound_usd(draft: Draft, bound: Bound | None) -> float:
    assert bound is not None  # a draft with a packing has both
    return bound.cost(draft.fleet, draft.prices)


def _timed(way: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    found = way()
    return found, round(time.perf_counter() - start, 4)
