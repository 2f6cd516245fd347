"""The experiment of Zhao and Wu (IEEE SECON 2011), ours beside theirs.

Figures 9 and 10 and Table I: what random wiring costs over what each algorithm's does,
by the number of users and by the ratio of access to core link costs, and run times.
Samples are kept ten by ten, or fewer where they take long, so that little is lost by an
interruption; the first of every cell come first, so that soon all of it can be seen.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from brokerwise.experiments.overlay_forecast import forecast
from brokerwise.experiments.overlay_measure import (
    CHECKED,
    Record,
    Task,
    measure,
    warm_up,
)
from brokerwise.experiments.overlay_published import ORDER, SAMPLES, TABLE_I
from brokerwise.experiments.overlay_settings import Cell
from brokerwise.experiments.overlay_statistics import cell_problems, cell_results
from brokerwise.experiments.overlay_times import FULL, Timing, measure_times
from brokerwise.experiments.resume import Cells, Result
from brokerwise.experiments.running import Watch, computed, write_all
from brokerwise.experiments.workers import cores
from brokerwise.report.reproduce_overlay import summary

EXPERIMENT = "overlay"
PART_SAMPLES = 10
"""Kept together at one ratio; at several, fewer."""


@dataclass(frozen=True)
class Part:
    """Some samples of a cell, kept together."""

    cell: Cell
    numbers: range

    @property
    def name(self) -> str:
        return f"{self.cell.name}-{self.numbers.start:03d}"

    def tasks(self, seed: int) -> Iterator[Task]:
        return (Task(self.cell, number, seed) for number in self.numbers)

    def inputs(self, seed: int) -> Result:
        """All that its result depends on."""
        last = self.numbers.stop
        wired = {
            name: max(0, min(number, last) - self.numbers.start)
            for name, number in (
                ("local", self.cell.local),
                ("literal", self.cell.literal),
            )
        }
        samples = [self.numbers.start, last]
        return {**self.cell.inputs(), "samples": samples, **wired, "seed": seed}


@dataclass(frozen=True)
class Experiment:
    """What is run: samples 0, 1, ... of each cell, and times unless that is None."""

    cells: Sequence[Cell]
    timing: Timing | None = FULL
    seed: int = 0
    command: str = ""

    def parts(self) -> list[Part]:
        """The first of every cell, then the second of every cell, and so on."""
        found = [part for cell in self.cells for part in _parts(cell)]
        return sorted(found, key=lambda part: part.numbers.start)


def _parts(cell: Cell) -> Iterator[Part]:
    each = max(1, PART_SAMPLES // len(cell.ratios))
    for first in range(0, cell.samples, each):
        yield Part(cell, range(first, min(first + each, cell.samples)))


def reproduce(
    experiment: Experiment, out: Path, *, watch: Watch, force: bool = False
) -> Result:
    """Run what is not yet in `out`, on all cores, and write what there is there.

    Interrupting it loses the parts that are being computed, twenty samples at most;
    results, summary and report are then of cells with some samples, and say so.
    """
    run = _Run(experiment, Cells.open(out, EXPERIMENT, fresh=force), watch)
    try:
        run.finish()
    finally:
        result = run.result()
        if result["cells"]:
            write_all(result, out, summary(result))
    return result


@dataclass
class _Run:
    """An experiment, and the records found so far, by cell."""

    experiment: Experiment
    store: Cells
    watch: Watch
    found: dict[Cell, list[Record]] = field(default_factory=dict)
    times: Result | None = None

    def finish(self) -> None:
        missing = []
        for part in self.experiment.parts():
            kept = self.store.kept(part.name, part.inputs(self.experiment.seed))
            if kept is None:
                missing.append(part)
            else:
                self._take(part, kept)
        timing, seed = self.experiment.timing, self.experiment.seed
        if timing is not None:
            self.times = self.store.kept("times", timing.inputs(seed))
        if missing or (timing and self.times is None):
            warm_up()  # once, so that workers find all compiled
        if timing and self.times is None:  # before there are workers
            made = measure_times(timing, seed)
            self.times = self.store.keep("times", timing.inputs(seed), made)
        if missing:
            self._compute(missing)

    def _compute(self, parts: Sequence[Part]) -> None:
        seed = self.experiment.seed
        home = {task: part for part in parts for task in part.tasks(seed)}
        pending: dict[Part, list[Record]] = {part: [] for part in parts}
        answers = computed(
            list(home), measure, prepare=warm_up, forecast=forecast, watch=self.watch
        )
        with closing(answers):
            for task, record in answers:
                part = home[task]
                pending[part].append(record)
                if len(pending[part]) == len(part.numbers):
                    self._keep(part, pending.pop(part))

    def _keep(self, part: Part, records: list[Record]) -> None:
        ordered = sorted(records, key=lambda record: record["number"])
        inputs = part.inputs(self.experiment.seed)
        self._take(part, self.store.keep(part.name, inputs, {"samples": ordered}))

    def _take(self, part: Part, kept: Result) -> None:
        records = self.found.setdefault(part.cell, [])
        records += kept["samples"]
        records.sort(key=lambda record: record["number"])

    def result(self) -> Result:
        """All that is complete, in the order of the cells."""
        experiment, store = self.experiment, self.store
        found = [(c, self.found[c]) for c in experiment.cells if c in self.found]
        cells = [
            result for cell, records in found for result in cell_results(cell, records)
        ]
        problems = [p for cell, records in found for p in cell_problems(cell, records)]
        wanted = sum(cell.samples for cell in experiment.cells)
        missing = wanted - sum(len(records) for _, records in found)
        status = "violated" if problems else "partial" if missing else "ok"
        return {
            "kind": f"reproduce {EXPERIMENT}",
            "status": status,
            "problems": problems,
            "regimes": _regimes(experiment.cells),
            "cells": cells,
            "times": self.times,
            "published": {
                "order": list(ORDER),
                "samples": SAMPLES,
                "seconds": dict(TABLE_I),
            },
            "samples": wanted,
            "samples_missing": missing,
            "samples_core_checked": CHECKED,
            "parts_computed": store.made,
            "parts_kept": store.taken,
            "parts_of_other_code": store.outdated,
            "processes": cores(),
            "seed": experiment.seed,
            "command": experiment.command,
            "version": version("brokerwise"),
        }


def _regimes(cells: Sequence[Cell]) -> list[Result]:
    """Those that are run, with what tells them apart."""
    regimes = dict.fromkeys(cell.regime for cell in cells)
    return [
        {
            "key": regime.key,
            "title": regime.title,
            "ratio": regime.ratio,
            "width": regime.width,
            "costs": regime.costs,
            "sites": None if regime.sites is None else regime.sites.name,
            "site_count": 0 if regime.sites is None else len(regime.sites.latency),
        }
        for regime in regimes
    ]
