"""The experiment of Lambert and Sakellariou (IEEE CLOUD 2018), ours beside theirs.

Tables I to IV and Figures 2 to 13. An instance is the same for all fleets and
algorithms, and its pairs are the same for all distributions of rates.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from brokerwise.experiments.fill_forecast import forecast
from brokerwise.experiments.fill_measure import Record, Task, measure, warm_up
from brokerwise.experiments.fill_settings import Cell
from brokerwise.experiments.fill_statistics import cell_result
from brokerwise.experiments.resume import Cells, Result
from brokerwise.experiments.running import Watch, computed, write_all
from brokerwise.experiments.workers import cores
from brokerwise.report.reproduce_fill import summary

EXPERIMENT = "fill"
FULL_INSTANCES = 50
QUICK_INSTANCES = 5


@dataclass(frozen=True)
class Experiment:
    """What is run: instances 0, 1, ... of each cell, in the order of the cells.

    `seconds` limits `columns` on one instance.
    """

    cells: Sequence[Cell]
    instances: int = FULL_INSTANCES
    seconds: float = 10.0
    seed: int = 0
    command: str = ""

    def tasks(self, cell: Cell) -> Iterator[Task]:
        for number in range(self.instances):
            yield Task(cell, number, self.seed, self.seconds)

    def inputs(self, cell: Cell) -> Result:
        """All that a cell's result depends on."""
        certified = self.instances if cell.columns is None else cell.columns
        return {
            **asdict(cell),
            "columns": min(certified, self.instances),
            "instances": self.instances,
            "seconds": self.seconds,
            "seed": self.seed,
        }


def reproduce(
    experiment: Experiment, out: Path, *, watch: Watch, force: bool = False
) -> Result:
    """Run what is not yet in `out`, on all cores, and write what there is there.

    Interrupting it loses the cells that are being computed, one or two; results,
    summary and report are then of those that are complete.
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
    """An experiment, and what is found so far, by cell."""

    experiment: Experiment
    store: Cells
    watch: Watch
    found: dict[Cell, Result] = field(default_factory=dict)

    def finish(self) -> None:
        missing = []
        for cell in self.experiment.cells:
            kept = self.store.kept(cell.name, self.experiment.inputs(cell))
            if kept is None:
                missing.append(cell)
            else:
                self._take(cell, kept)
        if missing:
            warm_up()  # once, so that workers find all compiled
            self._compute(missing)

    def _compute(self, cells: Sequence[Cell]) -> None:
        tasks = [task for cell in cells for task in self.experiment.tasks(cell)]
        pending: dict[Cell, list[Record]] = {cell: [] for cell in cells}
        answers = computed(
            tasks, measure, prepare=warm_up, forecast=forecast, watch=self.watch
        )
        with closing(answers):
            for task, record in answers:
                pending[task.cell].append(record)
                if len(pending[task.cell]) == self.experiment.instances:
                    self._keep(task.cell, pending.pop(task.cell))

    def _keep(self, cell: Cell, records: list[Record]) -> None:
        ordered = sorted(records, key=lambda record: record["number"])
        inputs = self.experiment.inputs(cell)
        self._take(cell, self.store.keep(cell.name, inputs, {"instances": ordered}))

    def _take(self, cell: Cell, kept: Result) -> None:
        self.found[cell] = cell_result(cell, kept["instances"])

    def result(self) -> Result:
        """All that is complete, in the order of the cells."""
        experiment, store = self.experiment, self.store
        cells = [self.found[c] for c in experiment.cells if c in self.found]
        problems = [problem for cell in cells for problem in cell["problems"]]
        missing = len(experiment.cells) - len(cells)
        status = "violated" if problems else "partial" if missing else "ok"
        return {
            "kind": f"reproduce {EXPERIMENT}",
            "status": status,
            "problems": problems,
            "cells": cells,
            "cells_missing": missing,
            "cells_computed": store.made,
            "cells_kept": store.taken,
            "cells_of_other_code": store.outdated,
            "instances": experiment.instances,
            "limit_seconds": experiment.seconds,
            "processes": cores(),
            "seed": experiment.seed,
            "command": experiment.command,
            "version": version("brokerwise"),
        }
