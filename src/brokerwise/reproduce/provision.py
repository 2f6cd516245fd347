"""The experiment of Setty et al. (ICDCS 2014), figures 2 to 12, with ours beside it.

On each trace one capacity holds: c3.large carries what makes the naive plan (random
selection, first-fit packing) need 100 VMs at threshold 100, c3.xlarge twice that. The
paper's own capacities would need one VM for such traces, though it reports about a
hundred. Prices stay as they are, per VM and hour and per gigabyte; what share of the
cost is bandwidth follows from the capacity, so VMs and bandwidth are shown apart: a
saving of cost lies between theirs at any prices.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from brokerwise.auditing.memory import violations
from brokerwise.kernels.selection import Rule, Topics
from brokerwise.model.arrays import Int64s
from brokerwise.model.fleet import Prices
from brokerwise.model.plan import gap
from brokerwise.model.workload import Workload
from brokerwise.pipeline.profile import profile_workload
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.pipeline.session import Session
from brokerwise.planners.control import never
from brokerwise.planners.provision.bound import Bound
from brokerwise.planners.provision.choice import Choice, carried, choose, dearness
from brokerwise.planners.provision.draft import Draft
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand, Packing
from brokerwise.planners.provision.portfolio import SELECTIONS, Options
from brokerwise.planners.provision.scan import MemoryScan
from brokerwise.planners.provision.solve import (
    OURS,
    STEPS,
    Problem,
    Provisioning,
    solve,
)
from brokerwise.reproduce.checks import (
    Lists,
    cost_problems,
    count_served,
    placement_problems,
)
from brokerwise.reproduce.provision_page import account
from brokerwise.reproduce.provision_settings import (
    AIMS,
    NAIVE_THRESHOLD,
    NAIVE_VMS,
    PUBLISHED,
    SPARE_VMS,
    THRESHOLDS,
    TWITTER_FACTS,
    VM_TYPES,
    Trace,
    VmType,
    prepare,
    trace_facts,
)
from brokerwise.reproduce.runner import Cells, Record, timed, write_all
from brokerwise.show.page import write_page
from brokerwise.show.reports import render
from brokerwise.storage.place import Place
from brokerwise.storage.workload import WorkloadHeader, read_workload

# The capacity at which the naive plan needs a given number of VMs


MOST_TRIES = 16
_DIGITS = 4  # of a capacity: people can write it down, and a VM is still 10 steps


@dataclass(frozen=True)
class Found:
    """A capacity, the VMs it takes, all (capacity, VMs) tried, and `least`, below
    which some subscriber's need could not be met."""

    capacity: int
    vms: int
    tried: tuple[tuple[int, int], ...]
    least: int


def find_capacity(workload: Workload, seed: int, largest_threshold: int) -> Found:
    """The experiment's capacity of c3.large for a trace.

    `largest_threshold` is the most that subscribers will be asked to get: every
    threshold up to it is feasible at the capacity found. Each try packs the random
    selection once.
    """
    least = _least_capacity(workload, largest_threshold)
    naive = _Naive(workload, seed)
    return search(naive.vms, max(1, naive.load // NAIVE_VMS), least, NAIVE_VMS)


def search(vms: Callable[[int], int], guess: int, least: int, target: int) -> Found:
    """A capacity, not below `least`, at which `vms` is `target`; else the nearest.

    `vms` about falls as capacity grows, like 1 / capacity. Where `least` already
    takes fewer, it is the answer.
    """
    tried: dict[int, int] = {}
    low, high = least, 0  # high 0: not known yet
    guess = max(least, _rounded(guess))
    for _ in range(MOST_TRIES):
        number = tried[guess] = vms(guess)
        if number == target or (number < target and guess == least):
            break
        if number > target:
            low = max(low, guess)
        else:
            high = min(high or guess, guess)
        guess = _next(guess, number, target, low, high)
        if guess in tried:
            break
    best = min(tried, key=lambda c: (abs(tried[c] - target), c))
    return Found(best, tried[best], tuple(tried.items()), least)


def _next(guess: int, number: int, target: int, low: int, high: int) -> int:
    """In proportion, if that is between what is known, else half way."""
    scaled = max(low, _rounded(guess * number / target))
    if scaled <= guess and number > target:
        scaled = guess + max(1, guess // 1000)
    if high and not low <= scaled < high:
        return (low + high) // 2
    return scaled


def _rounded(number: float) -> int:
    """To a few digits, from one up."""
    return max(1, round(float(f"{number:.{_DIGITS - 1}e}")))


def _least_capacity(workload: Workload, threshold: int) -> int:
    """The smallest capacity with which every need can be met."""
    rates = workload.rates
    silent = int(np.searchsorted(-rates, 0, side="left"))
    nothing = Topics(rates, silent, silent)
    needed = MemoryScan(workload, threshold).survey(nothing).needed_rate
    return max(1, 2 * needed)


class _Naive:
    """Random selection and first-fit packing, at one capacity after another."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._scan = MemoryScan(workload, NAIVE_THRESHOLD)
        self._rule = Rule("random", seed)
        self._low = -1
        self._counts: Int64s = np.zeros(0, np.int64)
        self._blocks: list[Lists] = []
        self._select(carried(workload.rates, VM_TYPES[0].fleet(2**62)))

    @property
    def load(self) -> int:
        rates, counts = self._scan.rates, self._counts
        return int(rates @ counts) + int(rates[counts > 0].sum())

    def vms(self, capacity: int) -> int:
        """How many c3.large of this capacity the naive plan needs."""
        fleet = VM_TYPES[0].fleet(capacity)
        prices = Prices.of(fleet, self._scan.period_seconds, self._scan.message_bytes)
        self._select(carried(self._scan.rates, fleet))
        demand = Demand(self._scan.rates, self._counts, lambda: iter(self._blocks))
        packing = pack("first-fit", demand, fleet, prices, never)
        assert packing is not None  # a type without a limit holds everything
        return len(packing.broker_type)

    def _select(self, topics: Topics) -> None:
        """What is selected changes only with the topics that can be carried."""
        if topics.low == self._low:
            return
        self._low = topics.low
        self._blocks = list(self._scan.lists(topics, self._rule))
        self._counts = self._scan.count(topics, self._rule)


T = TypeVar("T")


# One threshold and one VM type: the ladder, the bounds, and every check


BESIDE = (("greedy, tight", "greedy", "tight"), ("shared, custom", "shared", "custom"))
"""Neither the paper's nor what we propose: they tell the two stages of ours apart, and
hold `tight` against `custom` on the same selection."""
AUDITED_PAIRS = 15_000_000
"""Up to so many pairs our plan is built and audited whole; beyond, by its counts."""


def plan_cell(
    workload: Workload, threshold: int, kind: VmType, capacity: int, seed: int
) -> Record:
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
    problems += cost_problems(_orders(rows))
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
    return {
        name: _timed_briefly(way)[1] for name, way in {**ways, "shared": shared}.items()
    }


def _timed_briefly(way: Callable[[], T]) -> tuple[T, float]:
    found, seconds = timed(way)
    return found, round(seconds, 4)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Every step of the ladder, planned on pairs that are in memory, and checked."""

    workload: Workload
    scan: MemoryScan
    planning: Provisioning
    draft: Draft
    watch: Stopwatch

    def all(self) -> list[Record]:
        steps = (*STEPS, *BESIDE)
        by_selection = sorted(steps, key=lambda step: SELECTIONS.index(step[1]))
        rows = [
            row
            for selection, group in groupby(by_selection, lambda step: step[1])
            for row in self._of(selection, [(name, p) for name, _, p in group])
        ]
        order = [name for name, _, _ in steps]
        return sorted(rows, key=lambda row: order.index(row["name"]))

    def _of(self, selection: str, packings: list[tuple[str, str]]) -> Iterator[Record]:
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
        found, seconds = _timed_briefly(way)
        assert found is not None  # a type without a limit holds everything
        return found, seconds

    def _figures(self, found: Packing) -> Record:
        """VMs, traffic and cost of a packing, beside both bounds."""
        draft, rates = self.draft, self.draft.topics.rates
        incoming, outgoing = found.incoming(rates), found.outgoing(rates)
        cost = draft.prices.cost([len(found.broker_type)], incoming, outgoing)
        figures: Record = {
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


def _orders(rows: list[Record]) -> Iterator[tuple[str, float, str, float]]:
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
) -> Record:
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


# The experiment


FULL = {"spotify": 1.0, "twitter": 0.1}
QUICK = {"spotify": 0.02, "twitter": 0.001}


@dataclass(frozen=True)
class Experiment:
    """What is run. Each trace at each threshold, on both types of VM."""

    traces: Sequence[Trace]
    thresholds: Sequence[int] = THRESHOLDS
    seed: int = 0
    command: str = ""


def reproduce(
    experiment: Experiment,
    out: Path,
    *,
    session: Session,
    progress: Progress,
    force: bool = False,
) -> Record:
    """Run what is not yet in `out`, and write results, summary and reports there.

    Interrupting it loses the cell that is being computed and nothing else. Holds one
    workload in memory at a time; Spark runs only while traces are made.
    """
    cells = Cells.open(out, "provision", fresh=force)
    traces = list(experiment.traces)
    workloads = prepare(traces, out, session, progress, force=force)
    found = [
        _Run(experiment, trace, *workloads[trace.key], cells, progress).result()
        for trace in traces
    ]
    problems = [
        f"{trace['name']} {cell['threshold']} {cell['type']}: {problem}"
        for trace in found
        for cell in trace["cells"]
        for problem in cell["problems"]
    ]
    result = {
        "kind": "reproduce provision",
        "status": "violated" if problems else "ok",
        "problems": problems,
        "traces": found,
        "seed": experiment.seed,
        "command": experiment.command,
        "version": version("brokerwise"),
        "cells": {"computed": cells.made, "kept": cells.taken},
        "cells_of_other_code": cells.outdated,
    }
    write_all(result, out, account)
    return result


@dataclass(frozen=True)
class _Run:
    """One trace."""

    experiment: Experiment
    trace: Trace
    place: Place
    header: WorkloadHeader
    cells: Cells
    progress: Progress

    def result(self) -> Record:
        header = self.header
        capacity = self._capacity()
        return {
            "name": self.trace.name,
            "title": self.trace.title,
            "rates": self.trace.rates,
            "digest": header.digest,
            "topics": header.topics,
            "subscribers": header.subscribers,
            "pairs": header.pairs,
            "period_seconds": header.period_seconds,
            "message_bytes": header.message_bytes,
            "capacity": capacity,
            "published": self._published(),
            "aim": AIMS.get(self.trace.name),
            "profile": self._profile(),
            "facts": self._cell("facts", {}, trace_facts),
            "stage1": [
                self._selections(threshold, capacity["capacity"])
                for threshold in self.experiment.thresholds
            ],
            "cells": [
                self._planned(threshold, kind, capacity["capacity"])
                for threshold in self.experiment.thresholds
                for kind in VM_TYPES
            ],
        }

    @cached_property
    def _workload(self) -> Workload:
        """Read when the first cell needs it; so is compiled what is to be timed."""
        with self.progress.stage(f"{self.trace.name}: read"):
            _warm_up()
            return read_workload(self.place)

    def _cell(
        self, name: str, inputs: dict[str, Any], make: Callable[[Workload], Record]
    ) -> Record:
        def made() -> Record:
            workload = self._workload
            with self.progress.stage(f"{self.trace.name}: {name}"):
                return make(workload)

        known = {"workload": self.header.digest, **inputs}
        return self.cells.get(f"{self.trace.key}-{name}", known, made)

    def _capacity(self) -> Record:
        seed, largest = self.experiment.seed, max(self.experiment.thresholds)

        def make(workload: Workload) -> Record:
            found = asdict(find_capacity(workload, seed, largest))
            return {"target": NAIVE_VMS, **found}

        return self._cell("capacity", {"seed": seed, "largest": largest}, make)

    def _selections(self, threshold: int, capacity: int) -> Record:
        seed = self.experiment.seed

        def make(workload: Workload) -> Record:
            seconds = selection_seconds(workload, threshold, capacity, seed)
            return {"threshold": threshold, "seconds": seconds}

        inputs = {"capacity": capacity, "seed": seed}
        return self._cell(f"{threshold}-selections", inputs, make)

    def _planned(self, threshold: int, kind: VmType, capacity: int) -> Record:
        seed = self.experiment.seed

        def make(workload: Workload) -> Record:
            return plan_cell(workload, threshold, kind, capacity, seed)

        inputs = {"capacity": capacity, "seed": seed, **asdict(kind)}
        return self._cell(f"{threshold}-{kind.name}", inputs, make)

    def _profile(self) -> str:
        """Figures 8 to 12, in a page of their own; returns its name."""
        profile = self._cell("profile", {}, lambda w: profile_workload(w).as_json())
        name = f"profile-{self.trace.key}.html"
        shown = {
            "kind": "profile",
            "workload": self.trace.title,
            "digest": self.header.digest,
            "version": version("brokerwise"),
            "command": self.experiment.command,
            **profile,
        }
        write_page(self.cells.root / name, render(shown))
        return name

    def _published(self) -> Record | None:
        known = PUBLISHED.get(self.trace.name)
        if known is None:
            return None
        facts = TWITTER_FACTS if self.trace.name == "twitter" else {}
        return {**known.as_json(), "facts": facts}


def _warm_up() -> None:
    """Plan something tiny, so that no time measured holds that of compiling."""
    tiny = Workload.from_pairs(
        topics=[0, 1, 2, 0, 1, 2], subscribers=[0, 0, 0, 1, 1, 2], rates=[3, 2, 1]
    )
    selection_seconds(tiny, 4, 12, 0)
    plan_cell(tiny, 4, VM_TYPES[0], 12, 0)
    solve(Problem(tiny, VM_TYPES[0].fleet(12), 4), Options(rounds=1))
