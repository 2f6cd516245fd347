"""The experiment of Zhao and Wu (IEEE SECON 2011), ours beside theirs.

Figures 9 and 10 and Table I: what random wiring costs over what each algorithm's does,
by the number of users and by the ratio of access to core link costs, and run times.
Samples are kept ten by ten, or fewer where they take long, so that little is lost by an
interruption; the first of every cell come first, so that soon all of it can be seen.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import BrokerwiseError
from brokerwise.model.network import Network
from brokerwise.model.plan import gap
from brokerwise.pipeline.networks.generate import generate
from brokerwise.planners.overlay.heuristics import BY_NAME, HEURISTICS
from brokerwise.planners.overlay.placing import Unplaced
from brokerwise.planners.overlay.problem import Demand, Options
from brokerwise.planners.overlay.solve import Answer, search
from brokerwise.planners.overlay.wiring import Costs, costs_of
from brokerwise.reproduce.checks import (
    Traffic,
    access_problems,
    core_problems,
    wiring_order_problems,
)
from brokerwise.reproduce.overlay_page import account
from brokerwise.reproduce.overlay_settings import (
    LITERAL,
    MIXING,
    ORDER,
    OURS,
    PAPERS,
    REGIMES,
    SAMPLES,
    SIZES,
    TABLE_I,
    Cell,
)
from brokerwise.reproduce.runner import (
    Cells,
    Part,
    Record,
    Runner,
    Watch,
    Work,
    mean_and_error,
    origin,
    rounded,
    timed,
)

# One network: drawn, wired by each algorithm, checked


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
            name: timed(partial(wired, name, demand, seed)) for name in CORELESS
        }
        return cls(task, seed, network, demand, traffic, coreless)

    def at(self, ratio: float) -> tuple[Record, list[str]]:
        """What was measured at a ratio, and what is wrong with it."""
        core = core_at(self.task.cell, ratio, self.seed)
        demand = replace(self.demand, core=core)
        found = dict(self._heuristics(demand, ratio))
        answer = None
        if self.task.local:
            answer, seconds = timed(partial(best, demand, self.seed))
            found["local"] = Wired(answer.found.broker, answer.found.costs, seconds)
        wrong = [*self._problems(found, core), *_order(found, answer)]
        said = [f"ratio {ratio:g}, {problem}" for problem in wrong]
        return _record(found, answer), said

    def _heuristics(self, demand: Demand, ratio: float) -> Iterator[tuple[str, Wired]]:
        literal = self.task.cell.is_literal(self.task.number, ratio)
        for name in (*HEURISTICS, LITERAL) if literal else HEURISTICS:
            broker, seconds = self.coreless.get(name) or timed(
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
    yield from wiring_order_problems(
        totals, None if answer is None else answer.bound.total
    )
    for name, costs in (answer.costs if answer else {}).items():
        if costs != found[name].costs:
            yield f"{name} costs {totals[name]:,}, but {costs.total:,} within local"


# Table I: how long each algorithm takes, warm, with nothing else at work


@dataclass(frozen=True)
class Timing:
    """One network in the plane at ratio 1, and how often each algorithm wires it."""

    users: int = 10_000
    repeats: int = 5
    local_repeats: int = 5
    literal_repeats: int = 1

    def inputs(self, seed: int) -> dict[str, Any]:
        return {**asdict(self), "seed": seed}


FULL_TIMES = Timing()
QUICK_TIMES = Timing(repeats=3, local_repeats=1, literal_repeats=0)


def measure_times(timing: Timing, seed: int) -> dict[str, Any]:
    """The median seconds of each, from a network's demand to the wiring.

    Those of `local` have all that it begins with in them: the other algorithms, and
    the bound. All is compiled before.
    """
    cell = Cell(REGIMES[0], timing.users, (1.0,), samples=1, local=1)
    drawn = instance_seed(seed, 0, cell)
    demand = Demand.of(generate(cell.settings(1.0), drawn))
    seconds = {
        name: _median(partial(wired, name, demand, drawn), timing.repeats)
        for name in HEURISTICS
    }
    if timing.literal_repeats:
        literal = partial(wired, LITERAL, demand, drawn)
        seconds[LITERAL] = _median(literal, timing.literal_repeats)
    seconds["local"] = _median(partial(best, demand, drawn), timing.local_repeats)
    return {
        "users": cell.users,
        "brokers": cell.brokers,
        "repeats": timing.repeats,
        "local_repeats": timing.local_repeats,
        "literal_repeats": timing.literal_repeats,
        "seconds": seconds,
    }


def _median(work: Callable[[], object], repeats: int) -> float:
    return round(median(timed(work)[1] for _ in range(repeats)), 5)


# Seconds of a sample at least, and more at 10,000 users, on an idle core: of a network,
# of each ratio (`steiner`, costs, checks), of `local`. More goes with users squared.
_NETWORK, _RATIO = (0.03, 0.3), (0.02, 0.6)
_LOCAL_WIDE, _LOCAL_NARROW = (0.1, 4.0), (2.0, 20.0)
_LITERAL = 40.0  # at 10,000 users; goes with users to the fourth


def guess(task: Task) -> float:
    """Seconds of a sample."""
    cell = task.cell
    size = cell.users / SIZES[-1]
    local = _LOCAL_WIDE if cell.regime.width == 1 else _LOCAL_NARROW
    steps = [_RATIO, local] if task.local else [_RATIO]
    each = sum(least + more * size * size for least, more in steps)
    literal = sum(cell.is_literal(task.number, ratio) for ratio in cell.ratios)
    least, more = _NETWORK
    network = least + more * size * size
    return network + each * len(cell.ratios) + literal * _LITERAL * size**4


def kind_of(task: Task) -> Hashable:
    """Of the same cell; those with `local` or `steiner_literal` take longer."""
    return task.cell.name, task.local, task.number < task.cell.literal


# What a cell's samples come to: means, their errors, and what is proven


def cell_results(cell: Cell, records: Sequence[Record]) -> Iterator[Record]:
    """A result for each ratio, as the report wants it."""
    for ratio in cell.ratios:
        samples = [record["ratios"][f"{ratio:g}"] for record in records]
        ours = [sample for sample in samples if OURS in sample["costs"]]
        yield {
            "regime": cell.regime.key,
            "users": cell.users,
            "brokers": cell.brokers,
            "subchannels": cell.subchannels,
            "ratio": ratio,
            "width": cell.regime.width,
            "samples": len(samples),
            "crr": {name: _reduction(samples, name) for name in PAPERS},
            "core_share": {
                name: rounded(mean(_core_share(s, name) for s in samples))
                for name in ("random", *PAPERS)
            },
            "seconds": {
                name: rounded(median(s["seconds"][name] for s in samples))
                for name in ("random", *PAPERS)
            },
            "paper_order": in_order(samples, "steiner"),
            "literal": _literal([s for s in samples if LITERAL in s["costs"]]),
            "local": _ours(ours) if ours else None,
        }


def cell_problems(cell: Cell, records: Sequence[Record]) -> list[str]:
    return [
        f"{cell.title}, sample {record['number']}: {problem}"
        for record in records
        for problem in record["problems"]
    ]


def in_order(samples: Sequence[Record], mixing: str) -> bool:
    """Whether means are in the order of the paper, and all above 1, with an algorithm
    in the place of its mixing."""
    names = [mixing if name == MIXING else name for name in ORDER]
    means = [_reduction(samples, name)["mean"] for name in names] + [1.0]
    return all(a > b for a, b in pairwise(means))


def _literal(samples: Sequence[Record]) -> Record | None:
    """Of the samples that the paper's mixing has wired, what it and the others come to
    there."""
    if not samples:
        return None
    return {
        "samples": len(samples),
        **_reduction(samples, LITERAL),
        "others": {name: _reduction(samples, name) for name in PAPERS},
        "paper_order": in_order(samples, LITERAL),
        "core_share": rounded(mean(_core_share(s, LITERAL) for s in samples)),
        "seconds": rounded(median(s["seconds"][LITERAL] for s in samples)),
    }


def _ours(samples: Sequence[Record]) -> Record:
    """Of the samples that `local` has wired, what it and the others come to there."""
    gaps = [gap(_total(s, OURS), s["bound"]) or 0.0 for s in samples]
    possible = [_ratio(_total(s, "random"), s["bound"]) for s in samples]
    return {
        "samples": len(samples),
        **_reduction(samples, OURS),
        "others": {name: _reduction(samples, name) for name in PAPERS},
        "possible": rounded(mean(possible)),
        "gap": rounded(mean(gaps)),
        "worst_gap": rounded(max(gaps)),
        "best": sum(_is_best(sample) for sample in samples),
        "core_share": rounded(mean(_core_share(s, OURS) for s in samples)),
        "seconds": rounded(median(s["seconds"][OURS] for s in samples)),
        "worst_seconds": rounded(max(s["seconds"][OURS] for s in samples)),
    }


def _reduction(samples: Sequence[Record], name: str) -> dict[str, float]:
    """The mean cost reduction ratio, and its standard error."""
    ratios = [_ratio(_total(s, "random"), _total(s, name)) for s in samples]
    found, error = mean_and_error(ratios)
    return {"mean": found, "error": error}


def _is_best(sample: Record) -> bool:
    return all(_total(sample, OURS) <= _total(sample, name) for name in sample["costs"])


def _core_share(sample: Record, name: str) -> float:
    return _ratio(sample["costs"][name][1], _total(sample, name), of_nothing=0.0)


def _total(sample: Record, name: str) -> int:
    return int(sum(sample["costs"][name]))


def _ratio(cost: int, of: int, of_nothing: float = 1.0) -> float:
    return cost / of if of else of_nothing


# The experiment


PART_SAMPLES = 10
"""Kept together at one ratio; at several, fewer."""


@dataclass(frozen=True)
class Experiment:
    """What is run: samples 0, 1, ... of each cell, and times unless that is None."""

    cells: Sequence[Cell]
    timing: Timing | None = FULL_TIMES
    seed: int = 0
    command: str = ""

    def parts(self) -> list[Part[Task]]:
        """The first of every cell, then the second of every cell, and so on."""
        found = [
            (samples.start, self._part(cell, samples))
            for cell in self.cells
            for samples in sample_numbers(cell)
        ]
        return [part for _, part in sorted(found, key=lambda pair: pair[0])]

    def parts_of(self, cell: Cell) -> list[str]:
        """The names of a cell's parts, in order."""
        return [_part_name(cell, samples) for samples in sample_numbers(cell)]

    def _part(self, cell: Cell, samples: range) -> Part[Task]:
        counts = (("local", cell.local), ("literal", cell.literal))
        wired = {
            name: max(0, min(number, samples.stop) - samples.start)
            for name, number in counts
        }
        numbers = [samples.start, samples.stop]
        return Part(
            _part_name(cell, samples),
            {**cell.inputs(), "samples": numbers, **wired, "seed": self.seed},
            [Task(cell, number, self.seed) for number in samples],
            "samples",
        )


def sample_numbers(cell: Cell) -> Iterator[range]:
    """The samples of a cell that are kept together."""
    each = max(1, PART_SAMPLES // len(cell.ratios))
    for first in range(0, cell.samples, each):
        yield range(first, min(first + each, cell.samples))


def _part_name(cell: Cell, samples: range) -> str:
    return f"{cell.name}-{samples.start:03d}"


def reproduce(
    experiment: Experiment, out: Path, *, watch: Watch, force: bool = False
) -> Record:
    """Run what is not yet in `out`, on all cores, and write what there is there.

    Interrupting it loses the parts that are being computed, twenty samples at most;
    results, summary and report are then of cells with some samples, and say so.
    """
    runner = Runner.open("overlay", out, watch, force)
    times: Record | None = None

    def finish() -> None:
        nonlocal times
        missing = runner.missing(experiment.parts())
        times = _times(experiment, runner.store)  # before there are workers
        runner.compute(missing, Work(measure, warm_up, kind_of, guess))

    return runner.run(finish, lambda: _result(experiment, runner, times), account)


def _times(experiment: Experiment, store: Cells) -> Record | None:
    """Table I: the one that is kept, or a new one."""
    timing, seed = experiment.timing, experiment.seed
    if timing is None:
        return None

    def make() -> Record:
        warm_up()
        return measure_times(timing, seed)

    return store.get("times", timing.inputs(seed), make)


def _result(experiment: Experiment, runner: Runner, times: Record | None) -> Record:
    """All that is complete, in the order of the cells."""
    found = []
    for cell in experiment.cells:
        parts = [runner.found.get(name) for name in experiment.parts_of(cell)]
        records = [record for part in parts if part for record in part["samples"]]
        if records:
            found.append((cell, records))
    problems = [p for cell, records in found for p in cell_problems(cell, records)]
    wanted = sum(cell.samples for cell in experiment.cells)
    missing = wanted - sum(len(records) for _, records in found)
    return {
        **runner.heading(problems, missing),
        "regimes": _regimes(experiment.cells),
        "cells": [
            result for cell, records in found for result in cell_results(cell, records)
        ],
        "times": times,
        "published": {
            "order": list(ORDER),
            "samples": SAMPLES,
            "seconds": dict(TABLE_I),
        },
        "samples": wanted,
        "samples_missing": missing,
        "samples_core_checked": CHECKED,
        **runner.counts("parts"),
        **origin(experiment.seed, experiment.command),
    }


def _regimes(cells: Sequence[Cell]) -> list[Record]:
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
