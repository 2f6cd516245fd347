"""One instance of the experiment: drawn, filled by each algorithm, checked, timed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any, TypeVar

import numpy as np

from brokerwise.api import uniform
from brokerwise.experiments.fill_checks import draft_problems, order_problems
from brokerwise.experiments.fill_settings import (
    HIGH,
    Cell,
    Distribution,
    Shape,
)
from brokerwise.kernels.fill_greedy import fill_greedy
from brokerwise.kernels.fill_mkp import fill_mkp
from brokerwise.model.arrays import Int64s
from brokerwise.model.weights import PLAIN
from brokerwise.pipeline.progress import deadline
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.filling import Filling, fill_brokers
from brokerwise.planners.fill.options import Options

T = TypeVar("T")
Record = dict[str, Any]

KERNELS: dict[str, Callable[..., object]] = {"greedy": fill_greedy, "mkp": fill_mkp}
REPEATS = 9
LEAST_REPEATS = 3
REPEAT_SECONDS = 0.1  # past so many, the least number of repeats will do


@dataclass(frozen=True)
class Task:
    """An instance of a cell; `seconds` limits the solver with a certificate."""

    cell: Cell
    number: int
    seed: int
    seconds: float

    @property
    def columns(self) -> bool:
        return self.cell.columns is None or self.number < self.cell.columns


def measure(task: Task) -> Record:
    """What each algorithm delivers on an instance, and how long it takes.

    `seconds` is the wall clock of `columns` from the demand to its answer; `ms` that
    of a heuristic's kernel, the median of several runs.
    """
    cell = task.cell
    seed = instance_seed(task.seed, task.number, cell.shape)
    whole = instance(cell.shape, cell.distribution, seed)
    demand, _ = whole.carried(cell.capacity)
    capacities = np.full(cell.brokers, cell.capacity, np.int64)
    found = {
        name: fill_brokers(demand, capacities, Options(name, bound="paper"))
        for name in KERNELS
    }
    record: Record = {"number": task.number, "seed": seed, "wanted": whole.total}
    for name, kernel in KERNELS.items():
        record[name] = found[name].value
        record[f"{name}_ms"] = kernel_ms(kernel, demand, capacities)
    if task.columns:
        ours, seconds = _columns(demand, capacities, task.seconds)
        found["columns"] = ours
        record |= _certified(ours, seconds)
    return record | {"problems": _problems(demand, capacities, found)}


def instance_seed(seed: int, number: int, shape: Shape) -> int:
    """The seed with which `generate uniform` makes an instance of this number.

    It is the same for all distributions, whose instances so differ in rates only.
    """
    key = (seed, number, shape.topics, shape.subscribers, shape.each)
    return int(np.random.SeedSequence(key).generate_state(1)[0])


@lru_cache(maxsize=256)
def instance(shape: Shape, distribution: Distribution, seed: int) -> Demand:
    """What is wanted in an instance: that of the workload `generate uniform` makes."""
    workload = uniform(
        topics=shape.topics,
        subscribers=shape.subscribers,
        each=shape.each,
        rates=distribution.rates,
        seed=seed,
    )
    return Demand.of(workload, PLAIN)


def kernel_ms(
    kernel: Callable[..., object], demand: Demand, capacities: Int64s
) -> float:
    """Milliseconds of a kernel that is warm: the median of several runs."""
    arrays = (demand.rates, demand.starts, demand.value, demand.pairs, capacities)
    times: list[float] = []
    while len(times) < LEAST_REPEATS or (
        len(times) < REPEATS and sum(times) < REPEAT_SECONDS
    ):
        _, seconds = _timed(lambda: kernel(*arrays))
        times.append(seconds)
    return round(1000 * median(times), 5)


def warm_up() -> None:
    """Compile, or load, all that is timed: a small instance that is not trivial."""
    cell = Cell(Shape(12, 12, 3), HIGH, capacity=60, brokers=3)
    measure(Task(cell, 0, 0, seconds=60))


def _columns(
    demand: Demand, capacities: Int64s, seconds: float
) -> tuple[Filling, float]:
    options = Options("columns", stop=deadline(seconds))
    return _timed(lambda: fill_brokers(demand, capacities, options))


def _certified(ours: Filling, seconds: float) -> Record:
    return {
        "columns": ours.value,
        "bound": ours.bound,
        "bound_paper": ours.bound_paper,
        "stopped": ours.stopped,
        "patterns": ours.patterns,
        "seconds": round(seconds, 4),
    }


def _problems(
    demand: Demand, capacities: Int64s, found: dict[str, Filling]
) -> list[str]:
    problems = [
        f"{name}: {problem}"
        for name, filling in found.items()
        for problem in draft_problems(
            demand.rates,
            demand.followers,
            capacities,
            (filling.draft.topic, filling.draft.broker, filling.draft.pairs),
            filling.value,
        )
    ]
    values = {name: filling.value for name, filling in found.items()}
    certified = found.get("columns")
    bound = certified.bound if certified else None
    return [*problems, *order_problems(values, bound)]


def _timed(way: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    found = way()
    return found, time.perf_counter() - start
