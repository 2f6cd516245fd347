"""The experiments of Khare et al. (SEC 2018), ours beside theirs.

Figure 1 (what latency depends on), Table I and Figure 2 (how well it is predicted), and
Figures 3 and 4 (plans), on a simulated broker; Table I also on measured data, if there
is any. Models are learned first, then plans are made with them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brokerwise.experiments.colocate_checks import monotone_problems
from brokerwise.experiments.colocate_claims import judged_claims
from brokerwise.experiments.colocate_forecast import forecast, plan_seconds
from brokerwise.experiments.colocate_learned import mark_of, regressor_of, unified_of
from brokerwise.experiments.colocate_measure import (
    Record,
    Task,
    measure,
    warm_up,
    warm_up_plans,
)
from brokerwise.experiments.colocate_measured import measured_cells
from brokerwise.experiments.colocate_published import (
    ACCURACY,
    BACKGROUND_MS,
    CURVE_ERROR,
    MISSED,
    MOST_RATES,
    PROCESSING_MS,
    TARGET_MS,
    THRESHOLDS,
)
from brokerwise.experiments.colocate_settings import (
    Cell,
    LearnCell,
    MeasuredCell,
    PlanCell,
    SensitivityCell,
    Setting,
    first_cells,
    plan_cells,
    plans_of,
)
from brokerwise.experiments.colocate_statistics import alone, averaged
from brokerwise.experiments.resume import Cells, Result
from brokerwise.experiments.running import Moment, Watch, computed, write_all
from brokerwise.experiments.workers import cores
from brokerwise.latency.models import PAPER, UNIFIED, LatencyModel, PaperModel
from brokerwise.planners.colocate.problem import DEFAULT_MARGIN
from brokerwise.report.reproduce_colocate import summary

EXPERIMENT = "colocate"


@dataclass(frozen=True)
class Experiment:
    """What is run. `measured` is a directory of latency data, None if there is none."""

    setting: Setting
    measured: Path | None = None
    seed: int = 0
    command: str = ""

    def cells(self) -> list[Cell]:
        """All but plans."""
        cells = first_cells(self.setting, self.seed)
        if self.measured is not None:
            cells += measured_cells(self.measured, self.setting.splits, self.seed)
        return cells


def reproduce(
    experiment: Experiment, out: Path, *, watch: Watch, force: bool = False
) -> Result:
    """Run what is not yet in `out`, on all cores, and write what there is there.

    Interrupting it loses what is under way; results, summary and report are then of
    what is complete, and say so.
    """
    cells = experiment.cells()
    store = Cells.open(out, EXPERIMENT, fresh=force)
    run = _Run(experiment, cells, store, watch)
    try:
        run.finish()
    finally:
        result = run.result()
        if run.found:
            write_all(result, out, summary(result))
    return result


@dataclass
class _Run:
    """An experiment, and the records found so far."""

    experiment: Experiment
    cells: Sequence[Cell]
    store: Cells
    watch: Watch
    found: dict[Cell, Record] = field(default_factory=dict)
    plans: Sequence[PlanCell] = ()

    @property
    def total(self) -> int:
        return len(self.cells) + plans_of(self.experiment.setting)

    def finish(self) -> None:
        setting = self.experiment.setting
        missing = [Task(cell) for cell in self._missing(self.cells)]
        later = plan_seconds(setting) / max(1, cores())
        self._compute(missing, warm_up, later)
        models = self._models()
        marks = {kind: mark_of(plain) for kind, plain in self._plain().items()}
        most = most_planned(self._learned())
        self.plans = plan_cells(setting, self.experiment.seed, most, marks)
        tasks = [Task(cell, models[cell.kind]) for cell in self._missing(self.plans)]
        self._compute(tasks, warm_up_plans, 0.0)

    def _missing(self, cells: Iterable[Any]) -> list[Any]:
        missing = []
        for cell in cells:
            kept = self.store.kept(cell.name, cell.inputs())
            if kept is None:
                missing.append(cell)
            else:
                self.found[cell] = kept
        return missing

    def _compute(self, tasks: Sequence[Task], prepare: Any, later: float) -> None:
        if not tasks:
            return
        prepare()  # once, so that workers find all compiled
        done = len(self.found)
        answers = computed(
            tasks,
            measure,
            prepare=prepare,
            forecast=forecast,
            watch=lambda moment: self.watch(_among(moment, done, self.total, later)),
        )
        with closing(answers):
            for task, record in answers:
                cell = task.cell
                self.found[cell] = self.store.keep(cell.name, cell.inputs(), record)

    def _learned(self) -> list[Record]:
        return [
            record
            for cell, record in self.found.items()
            if isinstance(cell, LearnCell) and not cell.size
        ]

    def _plain(self) -> dict[str, Any]:
        """What plans are made with, as JSON: by kind."""
        parts = {
            r["topics"]: r["model"]
            for r in self._learned()
            if r["kind"] in (PAPER, UNIFIED)
        }
        return {
            PAPER: [parts[k] for k in sorted(parts) if k],
            UNIFIED: parts[0],
        }

    def _models(self) -> dict[str, LatencyModel]:
        plain = self._plain()
        parts = {k: regressor_of(one) for k, one in enumerate(plain[PAPER], start=1)}
        return {PAPER: PaperModel(parts), UNIFIED: unified_of(plain[UNIFIED])}

    def result(self) -> Result:
        """All that is complete."""
        experiment, store = self.experiment, self.store
        plans = [self.found[cell] for cell in self.plans if cell in self.found]
        made: Result = {
            "sensitivity": {r["part"]: r for r in self._records(SensitivityCell)},
            "learned": [_short(record) for record in self._records(LearnCell)],
            "measured": self._records(MeasuredCell),
            "requests": plans,
            "plans": averaged(plans),
            "alone": alone(plans),
            "setting": self._setting(),
        }
        problems = list(self._problems())
        missing = self.total - len(self.found)
        status = "partial" if missing else "ok"
        return {
            "kind": f"reproduce {EXPERIMENT}",
            "status": "violated" if problems else status,
            "problems": problems,
            **made,
            "most_planned": _named(most_planned(self._learned())),
            "published": published(),
            "claims": judged_claims(made),
            "cells": self.total,
            "cells_missing": missing,
            "cells_computed": store.made,
            "cells_kept": store.taken,
            "cells_of_other_code": store.outdated,
            "processes": cores(),
            "seed": experiment.seed,
            "command": experiment.command,
            "version": version("brokerwise"),
        }

    def _records(self, what: type) -> list[Record]:
        cells = [cell for cell in self.cells if isinstance(cell, what)]
        return [self.found[cell] for cell in cells if cell in self.found]

    def _problems(self) -> Iterator[str]:
        for cell, record in self.found.items():
            for problem in record["problems"]:
                yield f"{cell.title}: {problem}"
        for record in self._learned():
            if record["kind"] == UNIFIED:
                most = [record["single"]["most"][f"{p:g}"] for p in PROCESSING_MS]
                model = unified_of(record["model"])
                yield from monotone_problems(model, PROCESSING_MS, most, 0)

    def _setting(self) -> Result:
        setting = self.experiment.setting
        return {
            "cores": setting.cores,
            "messages": setting.messages,
            "factor": setting.factor,
            "k": setting.k,
            "alone": setting.alone,
            "each": setting.each,
            "validation": setting.validation,
            "requests": setting.requests,
            "target_ms": TARGET_MS,
            "margin": DEFAULT_MARGIN,
        }


def most_planned(learned: Iterable[Mapping[str, Any]]) -> dict[float, int]:
    """The largest rate that both kinds predict to stay within the target less the
    margin, by processing time: so requests are the same for both, and feasible."""
    most = [r["single"]["most_planned"] for r in learned if r["single"]]
    if not most:
        return {}
    return {p: max(1, min(each[f"{p:g}"] for each in most)) for p in PROCESSING_MS}


def _among(moment: Moment, before: int, total: int, later: float) -> Moment:
    """A moment of a part of the cells, as one of all of them."""
    return replace(
        moment,
        done=before + moment.done,
        of=total,
        seconds_left=moment.seconds_left + later,
    )


def _short(record: Record) -> Record:
    return {key: value for key, value in record.items() if key != "model"}


def _named(most: Mapping[float, int]) -> dict[str, int]:
    return {f"{p:g}": rate for p, rate in most.items()}


def published() -> Result:
    return {
        "accuracy": {
            str(k): dict(zip(("train", "test", "validation"), found, strict=True))
            for k, found in ACCURACY.items()
        },
        "most": {f"{p:g}": rate for p, rate in MOST_RATES.items()},
        "thresholds": {str(count): rate for count, rate in THRESHOLDS.items()},
        "background_ms": list(BACKGROUND_MS),
        "curve_error": CURVE_ERROR,
        "missed": {figure: list(shares) for figure, shares in MISSED.items()},
    }
