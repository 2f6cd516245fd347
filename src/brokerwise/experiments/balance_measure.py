"""One run of the balance experiment: simulated, counted again, and thinned out."""

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from brokerwise.experiments.balance_checks import problems
from brokerwise.experiments.balance_settings import (
    CITY,
    GAMMA,
    GIVEN,
    STEP,
    Cell,
    Setting,
)
from brokerwise.experiments.emergency.generating import generate
from brokerwise.experiments.emergency.scenario import Settings as ScenarioSettings
from brokerwise.experiments.emergency.simulating import emergency_world
from brokerwise.planners.balance.problem import Options
from brokerwise.runtime.balancing.settings import Settings
from brokerwise.runtime.simulation.paper import Paper, paper_world
from brokerwise.runtime.simulation.result import SimulationResult
from brokerwise.runtime.simulation.simulator import SimulationOptions, simulate
from brokerwise.runtime.simulation.world import World

Record = dict[str, Any]

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
    start = time.perf_counter()
    run = simulate(world, simulation_of(cell, world))
    seconds = time.perf_counter() - start
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
    from brokerwise.experiments.balance_settings import NEAREST, PAPER, POLICIES

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
        "problems": problems(run),
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
