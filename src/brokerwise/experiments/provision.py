"""The experiment of Setty et al. (ICDCS 2014), figures 2 to 12, with ours beside it.

On each trace one capacity holds: c3.large carries what makes the naive plan (random
selection, first-fit packing) need 100 VMs at threshold 100, c3.xlarge twice that. The
paper's own capacities would need one VM for such traces, though it reports about a
hundred. Prices stay as they are, per VM and hour and per gigabyte; what share of the
cost is bandwidth follows from the capacity, so VMs and bandwidth are shown apart: a
saving of cost lies between theirs at any prices.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brokerwise.experiments.provision_capacity import find_capacity
from brokerwise.experiments.provision_cells import plan_cell, selection_seconds
from brokerwise.experiments.provision_facts import TWITTER_FACTS, trace_facts
from brokerwise.experiments.provision_published import (
    AIMS,
    NAIVE_VMS,
    PUBLISHED,
    THRESHOLDS,
    VM_TYPES,
    VmType,
)
from brokerwise.experiments.provision_traces import Trace, prepare
from brokerwise.experiments.resume import Cells, Result
from brokerwise.experiments.running import write_all
from brokerwise.model.workload import Workload
from brokerwise.pipeline.profile import profile_workload
from brokerwise.pipeline.progress import Progress
from brokerwise.pipeline.session import Session
from brokerwise.planners.provision.portfolio import Options
from brokerwise.planners.provision.solve import Problem, solve
from brokerwise.report.page import write_page
from brokerwise.report.reports import render
from brokerwise.report.reproduce_provision import summary
from brokerwise.storage.place import Place
from brokerwise.storage.workload import WorkloadHeader, read_workload

EXPERIMENT = "provision"
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
) -> Result:
    """Run what is not yet in `out`, and write results, summary and reports there.

    Interrupting it loses the cell that is being computed and nothing else. Holds one
    workload in memory at a time; Spark runs only while traces are made.
    """
    cells = Cells.open(out, EXPERIMENT, fresh=force)
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
        "kind": f"reproduce {EXPERIMENT}",
        "status": "violated" if problems else "ok",
        "problems": problems,
        "traces": found,
        "seed": experiment.seed,
        "command": experiment.command,
        "version": version("brokerwise"),
        "cells": {"computed": cells.made, "kept": cells.taken},
        "cells_of_other_code": cells.outdated,
    }
    write_all(result, out, summary(result))
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

    def result(self) -> Result:
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
        self, name: str, inputs: dict[str, Any], make: Callable[[Workload], Result]
    ) -> Result:
        def made() -> Result:
            workload = self._workload
            with self.progress.stage(f"{self.trace.name}: {name}"):
                return make(workload)

        known = {"workload": self.header.digest, **inputs}
        return self.cells.get(f"{self.trace.key}-{name}", known, made)

    def _capacity(self) -> Result:
        seed, largest = self.experiment.seed, max(self.experiment.thresholds)

        def make(workload: Workload) -> Result:
            found = asdict(find_capacity(workload, seed, largest))
            return {"target": NAIVE_VMS, **found}

        return self._cell("capacity", {"seed": seed, "largest": largest}, make)

    def _selections(self, threshold: int, capacity: int) -> Result:
        seed = self.experiment.seed

        def make(workload: Workload) -> Result:
            seconds = selection_seconds(workload, threshold, capacity, seed)
            return {"threshold": threshold, "seconds": seconds}

        inputs = {"capacity": capacity, "seed": seed}
        return self._cell(f"{threshold}-selections", inputs, make)

    def _planned(self, threshold: int, kind: VmType, capacity: int) -> Result:
        seed = self.experiment.seed

        def make(workload: Workload) -> Result:
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

    def _published(self) -> Result | None:
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
