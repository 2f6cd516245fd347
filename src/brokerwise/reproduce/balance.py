"""The experiments of Nguyen et al. (DEBS 2019), ours beside theirs.

Figures 5 to 12 with the emergency city, 13 and 14 with the paper's simulation, and ours
against LDM over many seeds; and, if asked, the emergency city on real processes. Each
run is kept as soon as it is over: simulated, counted again, and thinned out.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from brokerwise.planners.balance.options import Options
from brokerwise.reproduce.account import judged
from brokerwise.reproduce.balance_claims import CLAIMS, Runs
from brokerwise.reproduce.balance_page import account
from brokerwise.reproduce.balance_settings import (
    CITY,
    GAMMA,
    GIVEN,
    MATCHED,
    NEAREST,
    OURS,
    PACED,
    PAPER,
    PAPERS,
    POLICIES,
    REPEATED,
    STEP,
    Cell,
    LiveCell,
    Setting,
    figure,
)
from brokerwise.reproduce.checks import simulation_problems
from brokerwise.reproduce.emergency.rates import emergency_world
from brokerwise.reproduce.emergency.scenario import Settings as ScenarioSettings
from brokerwise.reproduce.emergency.scenario import generate
from brokerwise.reproduce.runner import Part, Record, Runner, Watch, Work, origin, timed
from brokerwise.runtime.balancing.settings import Settings
from brokerwise.runtime.simulation.paper import Paper, paper_world
from brokerwise.runtime.simulation.result import SimulationResult
from brokerwise.runtime.simulation.simulator import SimulationOptions, simulate
from brokerwise.runtime.simulation.world import World

# One run: simulated, counted again, and thinned out


KEPT_SECONDS = 30.0
"""Between two moments that are kept of a run."""


@dataclass(frozen=True)
class Task:
    cell: Cell

    def __str__(self) -> str:
        return f"{self.cell.title}, seed {self.cell.seed}"


def measure(task: Task) -> Record:
    """Loads, cov and moves over time, and what they come to."""
    cell = task.cell
    world = _world(cell.setting, cell.seed)
    run, seconds = timed(partial(simulate, world, simulation_of(cell, world)))
    return {**cell.inputs(), **_record(run), "seconds": round(seconds, 3)}


def simulation_of(cell: Cell, world: World) -> SimulationOptions:
    """Thresholds in bytes per period of the world. A policy that is given the moves of
    another is run after that one."""
    policy, _, other = cell.policy.partition(GIVEN)
    beta = cell.beta * world.period_seconds
    options = Options(policy, cell.alpha, beta, GAMMA, beta)
    settings = Settings(options)
    if other:
        given = simulate(world, simulation_of(replace(cell, policy=other), world))
        step = max(1, round(STEP * world.users))
        options = Options(policy, cell.alpha, max_moves=step)
        settings = Settings(options, hourly_moves=len(given.moves))
    return SimulationOptions(cell.placement, settings, seed=cell.seed)


def warm_up() -> None:
    """Compile, or load, all that is used."""
    small = replace(PAPER, brokers=4, subscribers=200, minutes=2, beta=0.0)
    for policy in POLICIES:
        cell = Cell(small, NEAREST, policy, small.alpha, small.beta, 0)
        measure(Task(cell))


@lru_cache(maxsize=2)
def _world(setting: Setting, seed: int) -> World:
    """Cells of a world come one after the other."""
    if setting.key == CITY.key:
        asked = replace(ScenarioSettings(), users=setting.subscribers)
        asked = replace(asked, seed=asked.seed + seed).lasting(setting.minutes * 60)
        return emergency_world(generate(asked), setting.brokers)
    paper = Paper(
        brokers=setting.brokers,
        subscribers=setting.subscribers,
        seconds=setting.minutes * 60,
    )
    return paper_world(paper, seed)


def _record(run: SimulationResult) -> Record:
    """In bytes a second, whatever the world counts in."""
    per_second = 1 / run.period_seconds
    kept = _kept(run)
    moves = np.cumsum(run.moves_at)
    return {
        "problems": simulation_problems(run),
        "times": run.times[kept].tolist(),
        "loads": _rounded(run.loads[kept] * per_second),
        "sessions": run.sessions[-1].tolist(),
        "cov_over_time": [round(float(value), 5) for value in run.cov[kept]],
        "moves_over_time": moves[kept].tolist(),
        "cov": round(float(run.cov.mean()), 6),
        "cov_end": round(float(run.cov[-1]), 6),
        "max_load": round(float(run.max_load.mean()) * per_second),
        "max_load_end": round(float(run.max_load[-1]) * per_second),
        "mean_load": round(float(run.mean_load.mean()) * per_second),
        "mean_load_end": round(float(run.mean_load[-1]) * per_second),
        "bound": round(run.bound * per_second),
        "gap": round(run.gap, 6),
        "moves": len(run.moves),
        "first_moves": sum(move.at == run.moves[0].at for move in run.moves),
        "decisions": sum(bool(decision.moves) for decision in run.decisions),
        "last_move": max((move.at for move in run.moves), default=None),
    }


def _kept(run: SimulationResult) -> list[int]:
    """The moments that are kept: the first, the last, and some between."""
    steps = len(run.times) - 1
    every = max(1, round(KEPT_SECONDS / (run.times[1] - run.times[0]))) if steps else 1
    return sorted({*range(0, steps + 1, every), steps})


def _rounded(loads: Any) -> list[list[int]]:
    found: list[list[int]] = np.rint(loads).astype(np.int64).tolist()
    return found


# Seconds of a run at least, and more at 10,000 subscribers, on an idle core: without
# balancing, and with a policy.
_NONE, _POLICY = (0.2, 3.0), (0.5, 6.0)


def guess(task: Task) -> float:
    """Seconds of a run."""
    setting = task.cell.setting
    size = setting.subscribers / PAPER.subscribers * setting.minutes / PAPER.minutes
    least, more = _NONE if task.cell.policy == "none" else _POLICY
    return least + more * size


def kind_of(task: Task) -> Hashable:
    return task.cell.setting.key, task.cell.policy


_KEYS = ("cov", "max_load", "moves")


# Ours against the paper's migration, over many seeds


def over_seeds(records: Sequence[Record], paper: str, ours: Sequence[str]) -> Record:
    """Seed by seed what each came to, of seeds that all of them have; for each of
    ours, in how many seeds cov, averaged over time, is lower than the paper's, and in
    how many of those with no more moves."""
    by_seed: dict[int, dict[str, Record]] = {}
    for one in records:
        by_seed.setdefault(one["seed"], {})[one["policy"]] = one
    rows = [
        {
            "seed": seed,
            **{name: {key: found[name][key] for key in _KEYS} for name in found},
        }
        for seed, found in sorted(by_seed.items())
        if {paper, *ours} <= found.keys()
    ]
    return {
        "paper": paper,
        "ours": list(ours),
        "rows": rows,
        "compared": {name: _compared(rows, paper, name) for name in ours},
    }


def _compared(rows: Sequence[Record], paper: str, ours: str) -> Record:
    lower = [row for row in rows if row[ours]["cov"] < row[paper]["cov"]]
    return {
        "lower_cov": len(lower),
        "lower_cov_no_more_moves": sum(
            row[ours]["moves"] <= row[paper]["moves"] for row in lower
        ),
        **{f"{key}_over_papers": _ratio(rows, paper, ours, key) for key in _KEYS},
    }


def _ratio(rows: Sequence[Record], paper: str, ours: str, key: str) -> float | None:
    """The mean of ours over the mean of the paper's."""
    theirs = fmean(row[paper][key] for row in rows) if rows else 0.0
    return fmean(row[ours][key] for row in rows) / theirs if theirs else None


# The experiment


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


def _short(record: Record) -> Record:
    return {key: value for key, value in record.items() if key not in LONG}


def reproduce(
    experiment: Experiment,
    out: Path,
    *,
    watch: Watch,
    play: Live | None = None,
    force: bool = False,
) -> Record:
    """Run what is not yet in `out`, simulations on all cores and live runs by `play`
    one after the other, and write what there is there.

    Interrupting it loses the runs that are under way; results, summary and report are
    then of those that are complete, and say so.
    """
    runner = Runner.open("balance", out, watch, force)

    def finish() -> None:
        cells = experiment.cells
        missing = runner.missing(
            Part(cell.name, cell.inputs(), [Task(cell)]) for cell in cells
        )
        live = {cell.name: cell for cell in experiment.live}
        kept = [Part[Task](name, cell.inputs(), ()) for name, cell in live.items()]
        missing_live = runner.missing(kept)  # first, so that a report has all there are
        runner.compute(missing, Work(measure, warm_up, kind_of, guess))
        if play is not None:
            for part in missing_live:
                runner.keep(part.name, part.inputs, play(live[part.name]))

    return runner.run(finish, lambda: _result(experiment, runner), account)


def _result(experiment: Experiment, runner: Runner) -> Record:
    """All that is complete, in the order of the cells."""
    seed, known = experiment.seed, runner.found
    found = {cell: known[cell.name] for cell in experiment.cells if cell.name in known}
    live = {cell: known[cell.name] for cell in experiment.live if cell.name in known}
    figures = [r for c, r in found.items() if _is_figure(c) and c.seed == seed]
    sweep = [_short(r) for c, r in found.items() if _is_swept(c, seed)]
    seeds = [_short(r) for c, r in found.items() if _is_compared(c)]
    repeats = [_short(r) for c, r in found.items() if _is_repeated(c)]
    problems = [
        f"{cell.title}, seed {cell.seed}: {problem}"
        for cell, record in found.items()
        for problem in record["problems"]
    ] + [
        f"{cell.title}: {problem}"
        for cell, record in live.items()
        for problem in record["problems"]
    ]
    missing = len(experiment.cells) - len(found)
    live_missing = len(experiment.live) - len(live)
    return {
        **runner.heading(problems, missing + live_missing),
        "figures": figures,
        "sweep": sweep,
        "seeds": over_seeds(seeds, PAPERS, (OURS, MATCHED, PACED)),
        "repeats": repeats,
        "claims": judged(CLAIMS, Runs(figures, sweep, repeats)),
        "live": list(live.values()),
        "runs": len(experiment.cells),
        "runs_missing": missing,
        "live_runs": len(experiment.live),
        "live_missing": live_missing,
        **runner.counts("runs"),
        **origin(experiment.seed, experiment.command),
    }


def _is_figure(cell: Cell) -> bool:
    """With its world's own thresholds."""
    return cell == figure(cell.setting, cell.placement, cell.policy, cell.seed)


def _is_swept(cell: Cell, seed: int) -> bool:
    """Of Figure 14, which has that of Figure 13 in it."""
    same = cell.setting.key == PAPER.key and cell.seed == seed
    return same and cell.placement == NEAREST and cell.policy in (PAPERS, OURS)


def _is_repeated(cell: Cell) -> bool:
    """Of Figures 5 to 7, of any seed."""
    repeated = cell.placement != NEAREST and cell.policy in REPEATED
    return _is_figure(cell) and repeated and cell.setting.key == CITY.key


def _is_compared(cell: Cell) -> bool:
    """Of what is compared over many seeds."""
    compared = cell.placement == NEAREST and cell.policy in (
        PAPERS,
        OURS,
        MATCHED,
        PACED,
    )
    return _is_figure(cell) and compared and cell.setting.key == PAPER.key
