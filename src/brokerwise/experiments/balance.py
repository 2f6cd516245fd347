"""The experiments of Nguyen et al. (DEBS 2019), ours beside theirs.

Figures 5 to 12 with the emergency city, 13 and 14 with the paper's simulation, and ours
against LDM over many seeds; and, if asked, the emergency city on real processes. Each
run is kept as soon as it is over.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from brokerwise.experiments.balance_claims import judged_claims
from brokerwise.experiments.balance_forecast import forecast
from brokerwise.experiments.balance_live_settings import LiveCell
from brokerwise.experiments.balance_measure import Record, Task, measure, warm_up
from brokerwise.experiments.balance_seeds import over_seeds
from brokerwise.experiments.balance_settings import (
    CITY,
    MATCHED,
    NEAREST,
    OURS,
    PACED,
    PAPER,
    PAPERS,
    REPEATED,
    Cell,
    figure,
)
from brokerwise.experiments.resume import Cells, Result
from brokerwise.experiments.running import Watch, computed, write_all
from brokerwise.experiments.workers import cores
from brokerwise.report.reproduce_balance import summary

EXPERIMENT = "balance"
LONG = ("times", "loads", "cov_over_time", "moves_over_time")
"""What is kept of a run that only its figures need."""

Live = Callable[[LiveCell], Record]


@dataclass(frozen=True)
class Experiment:
    """What is run: simulations, and live runs in order."""

    cells: Sequence[Cell]
    live: Sequence[LiveCell] = ()
    seed: int = 0
    command: str = ""


def reproduce(
    experiment: Experiment,
    out: Path,
    *,
    watch: Watch,
    play: Live | None = None,
    force: bool = False,
) -> Result:
    """Run what is not yet in `out`, simulations on all cores and live runs by `play`
    one after the other, and write what there is there.

    Interrupting it loses the runs that are under way; results, summary and report are
    then of those that are complete, and say so.
    """
    store = Cells.open(out, EXPERIMENT, fresh=force)
    run = _Run(experiment, store, watch, play)
    try:
        run.finish()
    finally:
        result = run.result()
        if result["figures"] or result["live"]:
            write_all(result, out, summary(result))
    return result


@dataclass
class _Run:
    """An experiment, and the records found so far."""

    experiment: Experiment
    store: Cells
    watch: Watch
    play: Live | None
    found: dict[Cell, Record] = field(default_factory=dict)
    live: dict[LiveCell, Record] = field(default_factory=dict)

    def finish(self) -> None:
        missing = []
        for cell in self.experiment.cells:
            kept = self.store.kept(cell.name, cell.inputs())
            if kept is None:
                missing.append(Task(cell))
            else:
                self.found[cell] = kept
        for each in self.experiment.live:  # so that a report has all there are
            kept = self.store.kept(each.name, each.inputs())
            if kept is not None:
                self.live[each] = kept
        if missing:
            self._compute(missing)
        for each in self.experiment.live:
            if each not in self.live and self.play is not None:
                self.live[each] = self.store.keep(
                    each.name, each.inputs(), self.play(each)
                )

    def _compute(self, tasks: Sequence[Task]) -> None:
        warm_up()  # once, so that workers find all compiled
        answers = computed(
            tasks, measure, prepare=warm_up, forecast=forecast, watch=self.watch
        )
        with closing(answers):
            for task, record in answers:
                cell = task.cell
                self.found[cell] = self.store.keep(cell.name, cell.inputs(), record)

    def result(self) -> Result:
        """All that is complete, in the order of the cells."""
        experiment, store = self.experiment, self.store
        found = {c: self.found[c] for c in experiment.cells if c in self.found}
        figures = [r for c, r in found.items() if self._is_figure(c)]
        sweep = [_short(r) for c, r in found.items() if self._is_swept(c)]
        seeds = [_short(r) for c, r in found.items() if self._is_compared(c)]
        repeats = [_short(r) for c, r in found.items() if self._is_repeated(c)]
        live = [self.live[each] for each in experiment.live if each in self.live]
        problems = _problems(found, self.live)
        missing = len(experiment.cells) - len(found)
        live_missing = len(experiment.live) - len(live)
        status = "partial" if missing or live_missing else "ok"
        return {
            "kind": f"reproduce {EXPERIMENT}",
            "status": "violated" if problems else status,
            "problems": problems,
            "figures": figures,
            "sweep": sweep,
            "seeds": over_seeds(seeds, PAPERS, (OURS, MATCHED, PACED)),
            "repeats": repeats,
            "claims": judged_claims(figures, sweep, repeats),
            "live": live,
            "runs": len(experiment.cells),
            "runs_missing": missing,
            "live_runs": len(experiment.live),
            "live_missing": live_missing,
            "runs_computed": store.made,
            "runs_kept": store.taken,
            "runs_of_other_code": store.outdated,
            "processes": cores(),
            "seed": experiment.seed,
            "command": experiment.command,
            "version": version("brokerwise"),
        }

    def _is_figure(self, cell: Cell) -> bool:
        seed = self.experiment.seed
        return cell == figure(cell.setting, cell.placement, cell.policy, seed)

    def _is_swept(self, cell: Cell) -> bool:
        """Of Figure 14, which has that of Figure 13 in it."""
        same = cell.setting.key == PAPER.key and cell.seed == self.experiment.seed
        return same and cell.placement == NEAREST and cell.policy in (PAPERS, OURS)

    def _is_repeated(self, cell: Cell) -> bool:
        """Of Figures 5 to 7, of any seed."""
        same = cell == figure(cell.setting, cell.placement, cell.policy, cell.seed)
        repeated = cell.placement != NEAREST and cell.policy in REPEATED
        return same and repeated and cell.setting.key == CITY.key

    def _is_compared(self, cell: Cell) -> bool:
        same = cell == figure(cell.setting, NEAREST, cell.policy, cell.seed)
        compared = cell.policy in (PAPERS, OURS, MATCHED, PACED)
        return same and compared and cell.setting.key == PAPER.key


def _short(record: Record) -> Record:
    return {key: value for key, value in record.items() if key not in LONG}


def _problems(found: dict[Cell, Record], live: dict[LiveCell, Record]) -> list[str]:
    said = [
        f"{cell.title}, seed {cell.seed}: {problem}"
        for cell, record in found.items()
        for problem in record["problems"]
    ]
    return said + [
        f"{each.title}: {problem}"
        for each, record in live.items()
        for problem in record["problems"]
    ]
