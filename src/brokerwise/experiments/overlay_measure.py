"""One network of the experiment: drawn, wired by each algorithm, checked."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from brokerwise.experiments.overlay_checks import (
    Traffic,
    access_problems,
    core_problems,
    order_problems,
)
from brokerwise.experiments.overlay_settings import REGIMES, Cell
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import BrokerwiseError
from brokerwise.model.network import Network
from brokerwise.pipeline.networks.generate import generate
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.evaluate import Costs, costs_of
from brokerwise.planners.overlay.heuristics import BY_NAME, HEURISTICS
from brokerwise.planners.overlay.options import Options
from brokerwise.planners.overlay.placing import Unplaced
from brokerwise.planners.overlay.search import Answer, search

T = TypeVar("T")
Record = dict[str, Any]

LITERAL = "steiner_literal"
CORELESS = ("random", "greedy", "clustering")
"""Algorithms that do not look at core costs: one wiring serves all ratios."""
CHECKED = 10
"""Samples of each cell, the first ones, whose core costs are counted again, too."""


@dataclass(frozen=True)
class Task:
    """A sample of a cell, of this number."""

    cell: Cell
    number: int
    seed: int

    @property
    def local(self) -> bool:
        return self.number < self.cell.local

    def __str__(self) -> str:
        return f"{self.cell.title}, sample {self.number}"


@dataclass(frozen=True, eq=False)
class Wired:
    """A wiring, its cost, and the seconds that it took to find."""

    broker: Int32s
    costs: Costs
    seconds: float


@dataclass(frozen=True, eq=False)
class _Sample:
    """A network, and the wirings that serve all ratios, with their seconds."""

    task: Task
    seed: int
    network: Network
    demand: Demand
    traffic: Traffic
    coreless: dict[str, tuple[Int32s, float]]

    @classmethod
    def of(cls, task: Task) -> "_Sample":
        cell = task.cell
        seed = instance_seed(task.seed, task.number, cell)
        network = generate(cell.settings(cell.ratios[0]), seed)
        demand, traffic = Demand.of(network), Traffic.of(network)
        coreless = {
            name: _timed(partial(wired, name, demand, seed)) for name in CORELESS
        }
        return cls(task, seed, network, demand, traffic, coreless)

    def at(self, ratio: float) -> tuple[Record, list[str]]:
        """What was measured at a ratio, and what is wrong with it."""
        core = core_at(self.task.cell, ratio, self.seed)
        demand = replace(self.demand, core=core)
        found = dict(self._heuristics(demand, ratio))
        answer = None
        if self.task.local:
            answer, seconds = _timed(partial(best, demand, self.seed))
            found["local"] = Wired(answer.found.broker, answer.found.costs, seconds)
        wrong = [*self._problems(found, core), *_order(found, answer)]
        said = [f"ratio {ratio:g}, {problem}" for problem in wrong]
        return _record(found, answer), said

    def _heuristics(self, demand: Demand, ratio: float) -> Iterator[tuple[str, Wired]]:
        literal = self.task.cell.is_literal(self.task.number, ratio)
        for name in (*HEURISTICS, LITERAL) if literal else HEURISTICS:
            broker, seconds = self.coreless.get(name) or _timed(
                partial(wired, name, demand, self.seed)
            )
            yield name, Wired(broker, costs_of(demand, broker), seconds)

    def _problems(self, found: dict[str, Wired], core: Int64s) -> Iterator[str]:
        network, traffic = self.network, self.traffic
        for name, one in found.items():
            broker, costs = one.broker, one.costs
            for problem in access_problems(network, traffic, broker, costs.access):
                yield f"{name}: {problem}"
            if self.task.number < CHECKED:
                for problem in core_problems(core, traffic, broker, costs.core):
                    yield f"{name}: {problem}"


def measure(task: Task) -> Record:
    """What each algorithm's wiring costs at each ratio, in thousandths: access, core.

    Networks of a number are those that `generate network` makes with the record's
    seed, and wirings those of `overlay` with that seed.
    """
    sample = _Sample.of(task)
    found = {f"{ratio:g}": sample.at(ratio) for ratio in task.cell.ratios}
    return {
        "number": task.number,
        "seed": sample.seed,
        "ratios": {ratio: record for ratio, (record, _) in found.items()},
        "problems": [problem for _, problems in found.values() for problem in problems],
    }


def instance_seed(seed: int, number: int, cell: Cell) -> int:
    """The same for all regimes: networks of a number and a size differ in links or
    interests only."""
    key = (seed, number, cell.users, cell.brokers)
    return int(np.random.SeedSequence(key).generate_state(1)[0])


def core_at(cell: Cell, ratio: float, seed: int) -> Int64s:
    """The core costs that `generate` gives at a ratio.

    Brokers are placed before users are, so a network of one user has the same.
    """
    return generate(replace(cell.settings(ratio), users=1), seed).core


def wired(name: str, demand: Demand, seed: int) -> Int32s:
    """The wiring of an algorithm of the paper, or of our variant of one."""
    found = BY_NAME[name](demand, seed)
    if isinstance(found, Unplaced):
        raise BrokerwiseError(f"{name}: {found.reason}")
    return found


def best(demand: Demand, seed: int) -> Answer:
    """What `local` finds, with the bound."""
    found = search(demand, Options("local", seed=seed))
    if isinstance(found, Unplaced):
        raise BrokerwiseError(f"local: {found.reason}")
    return found


def warm_up() -> None:
    """Compile, or load, all that is used: small networks that are not trivial."""
    for regime in REGIMES:
        cell = Cell(regime, 300, (regime.ratio,), samples=1, local=1, literal=1)
        measure(Task(cell, 0, 0))


def _record(found: dict[str, Wired], answer: Answer | None) -> Record:
    record: Record = {
        "costs": {n: [w.costs.access, w.costs.core] for n, w in found.items()},
        "seconds": {n: round(w.seconds, 4) for n, w in found.items()},
    }
    if answer is not None:
        record |= {
            "bound": answer.bound.total,
            "start": answer.found.start,
            "moves": answer.found.moves,
        }
    return record


def _order(found: dict[str, Wired], answer: Answer | None) -> Iterator[str]:
    totals = {name: one.costs.total for name, one in found.items()}
    yield from order_problems(totals, None if answer is None else answer.bound.total)
    for name, costs in (answer.costs if answer else {}).items():
        if costs != found[name].costs:
            yield f"{name} costs {totals[name]:,}, but {costs.total:,} within local"


def _timed(way: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    found = way()
    return found, time.perf_counter() - start
