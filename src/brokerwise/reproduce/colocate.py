"""The experiments of Khare et al. (SEC 2018), ours beside theirs.

Figure 1 (what latency depends on), Table I and Figure 2 (how well it is predicted), and
Figures 3 and 4 (plans), on a simulated broker; Table I also on measured data, if there
is any. Models are learned first, then plans are made with them.
"""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from brokerwise.latency.drawing import Configuration
from brokerwise.latency.models import PAPER, UNIFIED, LatencyModel, PaperModel
from brokerwise.latency.queueing import simulate_targets
from brokerwise.model.colocation import ColocationPlan
from brokerwise.model.names import Names
from brokerwise.model.topic_table import TopicTable
from brokerwise.planners.colocate.demand import Demand
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.first_fit import descending, ffd
from brokerwise.planners.colocate.largest import Effort, hybrid, lfs
from brokerwise.planners.colocate.options import ALGORITHMS, Options
from brokerwise.planners.colocate.problem import DEFAULT_MARGIN, Problem
from brokerwise.planners.colocate.solve import solve
from brokerwise.reproduce.account import judged, matching
from brokerwise.reproduce.checks import (
    brokers_of,
    monotone_problems,
    plan_problems,
    request_problems,
)
from brokerwise.reproduce.colocate_claims import CLAIMS
from brokerwise.reproduce.colocate_models import (
    learn,
    learn_measured,
    mark_of,
    measured_cells,
    regressor_of,
    run_of,
    sensitivity,
    unified_of,
)
from brokerwise.reproduce.colocate_page import account
from brokerwise.reproduce.colocate_settings import (
    ACCURACY,
    BACKGROUND_MS,
    CURVE_ERROR,
    KINDS,
    LEARNED,
    MISSED,
    MOST_RATES,
    PROCESSING_MS,
    QUICK,
    TARGET_MS,
    THRESHOLDS,
    Cell,
    LearnCell,
    MeasuredCell,
    PlanCell,
    SensitivityCell,
    Setting,
    first_cells,
    plan_cells,
    plans_of,
    work,
)
from brokerwise.reproduce.runner import Part, Record, Runner, Watch, Work, origin
from brokerwise.reproduce.workers import cores

# One request of Figures 3 and 4: planned by every algorithm, and simulated


LIMIT_SECONDS = 60.0
"""After which an algorithm is told to stop."""

_TIMES = 3  # that an algorithm is timed
_TRUTH = 100_000_000  # numbers of configurations that nothing was learned from
_REQUESTS = 10_000  # between the numbers of one request and those of the next


def request_of(cell: PlanCell) -> TopicTable:
    """Topics at random, the same for all algorithms and models."""
    random = np.random.default_rng([cell.seed, cell.topics, cell.request])
    picks = random.integers(0, len(PROCESSING_MS), cell.topics)
    rates = 1 + np.floor(random.random(cell.topics) * np.array(cell.most)[picks])
    return TopicTable(
        Names.numbered(cell.topics),
        np.array(PROCESSING_MS)[picks],
        rates,
        np.full(cell.topics, TARGET_MS),
    )


def plan_request(cell: PlanCell, model: LatencyModel) -> Record:
    topics = request_of(cell)
    problem = Problem(topics, model, cell.setting.k)
    _ask_once(model, topics, cell.setting.k)
    runs, problems = [], []
    for label, options in _algorithms(cell):
        clock = _Clock()
        plan = solve(problem, replace(options, stop=clock.over, stage=clock.stage))
        problems += [
            f"{label}: {problem}"
            for problem in plan_problems(plan, topics, model, cell.setting.k)
        ]
        if plan.objective is None:
            break
        found = {"label": label, **_found(plan), **_true(cell, topics, plan)}
        seconds = clock.total if label == "search" else seconds_of(problem, options)
        runs.append(found | {"seconds": round(seconds, 5)})
    problems += request_problems(runs)
    load = float(topics.processing_ms @ topics.rate_per_second) / 1000
    return {
        **cell.inputs(),
        "load": round(load, 3),
        "alone": _simulated(cell, topics, [[topic] for topic in range(len(topics))]),
        "runs": runs,
        "problems": problems,
    }


def _ask_once(model: LatencyModel, topics: TopicTable, k: int) -> None:
    """Whatever a model does when it is first asked is no planning."""
    for size in range(1, k + 1):
        some = np.arange(size)[None, :] % len(topics)
        model.p90_ms(topics.processing_ms[some], topics.rate_per_second[some])


def seconds_of(problem: Problem, options: Options) -> float:
    """What one of the paper's algorithms takes, without the bound that it does not
    have: the median of a few times."""
    taken = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        oracle = Oracle(problem, Demand.of(problem))
        order = descending(oracle, list(problem.topics.names))
        if options.algorithm == "ffd":
            ffd(oracle, order)
        elif options.algorithm == "lfs":
            lfs(oracle, order, Effort())
        else:
            hybrid(oracle, order, options.open, Effort())
        taken.append(time.perf_counter() - start)
    return median(taken)


def _algorithms(cell: PlanCell) -> Iterator[tuple[str, Options]]:
    yield "ffd", Options("ffd")
    yield "lfs", Options("lfs")
    for opening in cell.openings:
        yield f"hybrid {opening}", Options("hybrid", open=opening)
    yield "search", Options("search")


@dataclass
class _Clock:
    """Seconds of each stage, and when it has been too long."""

    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def over(self) -> bool:
        return time.perf_counter() - self.start > LIMIT_SECONDS

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - start


def _found(plan: ColocationPlan) -> Record:
    figures = plan.figures
    return {
        "brokers": plan.objective,
        "bound": plan.bound,
        "stopped": plan.options.get("stopped", ""),
        "predicted_sets": figures["predicted"],
        "contradicted": figures["contradicted"],
        "predicted_ms": round(float(plan.replicas.predicted_p90_ms.mean()), 2),
    }


def _true(cell: PlanCell, topics: TopicTable, plan: ColocationPlan) -> Record:
    """What becomes of the plan on simulated brokers."""
    return _simulated(cell, topics, list(brokers_of(plan).values()))


def _simulated(
    cell: PlanCell, topics: TopicTable, brokers: Sequence[Sequence[int]]
) -> Record:
    """What brokers with these topics do, with times of sending that no model has
    seen."""
    sets = [
        Configuration(
            tuple(topics.processing_ms[members].tolist()),
            tuple(topics.rate_per_second[members].astype(int).tolist()),
        )
        for members in map(list, brokers)
    ]
    first = _TRUTH + _REQUESTS * (1000 * cell.topics + cell.request)
    outcome = simulate_targets(
        sets,
        run_of(cell.setting, cell.seed),
        numbers=range(first, first + len(sets)),
        target_ms=TARGET_MS,
    )
    rows = outcome.rows
    starts = np.cumsum([0, *map(len, sets[:-1])])
    missed = rows.p90_ms > TARGET_MS
    return {
        "cpu": round(float(rows.cpu_share[starts].mean()), 5),
        "p90_ms": round(float(rows.p90_ms.mean()), 2),
        "messages_over": round(
            float(outcome.over @ rows.messages / rows.messages.sum()), 6
        ),
        "topics_over": round(float(missed.mean()), 6),
        "brokers_over": int(np.logical_or.reduceat(missed, starts).sum()),
    }


# One piece of work, whatever it is


@dataclass(frozen=True, eq=False)
class Task:
    """A cell; for a plan also the model."""

    cell: Cell
    model: LatencyModel | None = None

    def __str__(self) -> str:
        return self.cell.title


def measure(task: Task) -> Record:
    match task.cell:
        case SensitivityCell() as cell:
            return sensitivity(cell)
        case LearnCell() as cell:
            return learn(cell)
        case MeasuredCell() as cell:
            return learn_measured(cell)
        case PlanCell() as cell:
            assert task.model is not None
            return plan_request(cell, task.model)


def warm_up() -> None:
    """Compile, or load, what simulates."""
    run = run_of(replace(QUICK, messages=5), 0)
    simulate_targets([Configuration((10.0, 20.0), (1, 2))], run)


def warm_up_plans() -> None:
    """Compile, or load, what plans, too: the first plan must not pay for it."""
    warm_up()
    small = TopicTable(
        Names.numbered(9), np.full(9, 10.0), np.arange(1.0, 10), np.full(9, 1000.0)
    )
    for algorithm in ALGORITHMS:
        solve(Problem(small, _Sum(), 3), Options(algorithm))


class _Sum:
    """A predictor that is quick to ask: five times the load of all topics, in ms."""

    most_topics = 3
    monotone = True

    def p90_ms(self, processing_ms: Any, rate_per_second: Any) -> Any:
        total = (processing_ms * rate_per_second).sum(axis=1, keepdims=True)
        return 5 * total + 0 * processing_ms


def plan_seconds(setting: Setting) -> float:
    """Of all plans, on one core."""
    return sum(
        work(PlanCell(topics, 0, kind, (), (), setting, 0)) * setting.requests
        for topics in setting.topics
        for kind in KINDS
    )


def kind_of(task: Task) -> Hashable:
    cell = task.cell
    if isinstance(cell, PlanCell):
        return cell.what, cell.kind, cell.topics
    if isinstance(cell, LearnCell):
        return cell.what, cell.kind, cell.topics, cell.size
    return cell.name


# Means over requests: what Figures 3 and 4 show


MEASURES = ("brokers", "seconds", "cpu", "p90_ms", "messages_over", "topics_over")


def averaged(records: Sequence[Record]) -> list[dict[str, Any]]:
    """For each kind of model, number of topics and algorithm: the six measures and the
    bound, and how many plans were proven or stopped."""
    kinds = dict.fromkeys((r["kind"], r["topics"]) for r in records)
    return [
        _row(kind, topics, label, _runs(records, kind, topics, label))
        for kind, topics in kinds
        for label in _labels(records, kind, topics)
    ]


def _row(kind: str, topics: int, label: str, runs: Sequence[Record]) -> dict[str, Any]:
    means = {name: round(fmean(r[name] for r in runs), 6) for name in MEASURES}
    return {
        "kind": kind,
        "topics": topics,
        "label": label,
        **means,
        "bound": round(fmean(r["bound"] for r in runs), 6),
        "requests": len(runs),
        "proven": sum(r["brokers"] == r["bound"] for r in runs),
        "stopped": sum(bool(r["stopped"]) for r in runs),
        "contradicted": sum(r["contradicted"] for r in runs),
        "brokers_over": sum(r["brokers_over"] for r in runs),
    }


def alone(records: Sequence[Record]) -> dict[str, float]:
    """What misses the target if every topic has a broker of its own: shares of the
    messages and of the topics, means over requests."""
    found = {(r["topics"], r["request"]): r["alone"] for r in records}
    if not found:
        return {}
    return {
        name: round(fmean(one[name] for one in found.values()), 6)
        for name in ("messages_over", "topics_over")
    }


def _runs(
    records: Iterable[Record], kind: str, topics: int, label: str
) -> list[Record]:
    same = matching(records, kind=kind, topics=topics)
    return [run for r in same for run in r["runs"] if run["label"] == label]


def _labels(records: Iterable[Record], kind: str, topics: int) -> list[str]:
    same = matching(records, kind=kind, topics=topics)
    return list(dict.fromkeys(run["label"] for r in same for run in r["runs"]))


# The experiment


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
) -> Record:
    """Run what is not yet in `out`, on all cores, and write what there is there.

    Interrupting it loses what is under way; results, summary and report are then of
    what is complete, and say so.
    """
    cells = experiment.cells()
    run = _Run(experiment, cells, Runner.open("colocate", out, watch, force))
    return run.runner.run(run.finish, run.result, account)


@dataclass
class _Run:
    """An experiment, and its plans, which are known once models are learned."""

    experiment: Experiment
    cells: Sequence[Cell]
    runner: Runner
    plans: Sequence[PlanCell] = ()

    @property
    def total(self) -> int:
        return len(self.cells) + plans_of(self.experiment.setting)

    def finish(self) -> None:
        setting = self.experiment.setting
        later = plan_seconds(setting) / max(1, cores())
        self._do([Task(cell) for cell in self.cells], warm_up, later)
        models = self._models()
        marks = {kind: mark_of(plain) for kind, plain in self._plain().items()}
        most = most_planned(self._learned())
        self.plans = plan_cells(setting, self.experiment.seed, most, marks)
        self._do([Task(cell, models[cell.kind]) for cell in self.plans], warm_up_plans)

    def _do(
        self, tasks: Sequence[Task], warm: Callable[[], None], later: float = 0.0
    ) -> None:
        missing = self.runner.missing(
            Part(task.cell.name, task.cell.inputs(), [task]) for task in tasks
        )
        self.runner.compute(
            missing,
            Work(measure, warm, kind_of, lambda task: work(task.cell)),
            before=len(self.runner.found),
            of=self.total,
            later=later,
        )

    def _found(self, cells: Iterable[Cell]) -> Iterator[tuple[Cell, Record]]:
        known = self.runner.found
        return ((cell, known[cell.name]) for cell in cells if cell.name in known)

    def _learned(self) -> list[Record]:
        """Models of all configurations."""
        whole = [c for c in self.cells if isinstance(c, LearnCell) and not c.size]
        return [record for _, record in self._found(whole)]

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

    def result(self) -> Record:
        """All that is complete."""
        experiment = self.experiment
        plans = [record for _, record in self._found(self.plans)]
        made: Record = {
            "sensitivity": {r["part"]: r for r in self._records(SensitivityCell)},
            "learned": [_short(record) for record in self._records(LearnCell)],
            "measured": self._records(MeasuredCell),
            "requests": plans,
            "plans": averaged(plans),
            "alone": alone(plans),
            "setting": self._setting(),
        }
        missing = self.total - len(self.runner.found)
        return {
            **self.runner.heading(list(self._problems()), missing),
            **made,
            "most_planned": _named(most_planned(self._learned())),
            "published": published(),
            "claims": judged(CLAIMS, made),
            "cells": self.total,
            "cells_missing": missing,
            **self.runner.counts("cells"),
            **origin(experiment.seed, experiment.command),
        }

    def _records(self, what: type) -> list[Record]:
        of_kind = [cell for cell in self.cells if isinstance(cell, what)]
        return [record for _, record in self._found(of_kind)]

    def _problems(self) -> Iterator[str]:
        for cell, record in self._found([*self.cells, *self.plans]):
            for problem in record["problems"]:
                yield f"{cell.title}: {problem}"
        for record in self._learned():
            if record["kind"] == UNIFIED:
                most = [record["single"]["most"][f"{p:g}"] for p in PROCESSING_MS]
                model = unified_of(record["model"])
                yield from monotone_problems(model, PROCESSING_MS, most, 0)

    def _setting(self) -> Record:
        setting = self.experiment.setting
        return {
            **setting.chosen(LEARNED),
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


def _short(record: Record) -> Record:
    return {key: value for key, value in record.items() if key != "model"}


def _named(most: Mapping[float, int]) -> dict[str, int]:
    return {f"{p:g}": rate for p, rate in most.items()}


def published() -> Record:
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
