"""One request of Figures 3 and 4: planned by every algorithm, and simulated."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from brokerwise.experiments.colocate_checks import (
    brokers_of,
    plan_problems,
    request_problems,
)
from brokerwise.experiments.colocate_data import run_of
from brokerwise.experiments.colocate_published import PROCESSING_MS, TARGET_MS
from brokerwise.experiments.colocate_settings import PlanCell
from brokerwise.latency.design import Configuration
from brokerwise.latency.models import LatencyModel
from brokerwise.latency.queueing import simulate_targets
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.names import Names
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.heuristics import Effort, descending, ffd, hybrid, lfs
from brokerwise.planners.colocate.problem import Demand, Options, Problem
from brokerwise.planners.colocate.solve import solve

Record = dict[str, Any]

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
        plan = solve(problem, Options(**options, stop=clock.over, stage=clock.stage))
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


def seconds_of(problem: Problem, options: Mapping[str, Any]) -> float:
    """What one of the paper's algorithms takes, without the bound that it does not
    have: the median of a few times."""
    algorithm, opening = options["algorithm"], options.get("open", 0)
    taken = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        oracle = Oracle(problem, Demand.of(problem))
        order = descending(oracle, list(problem.topics.names))
        if algorithm == "ffd":
            ffd(oracle, order)
        elif algorithm == "lfs":
            lfs(oracle, order, Effort())
        else:
            hybrid(oracle, order, opening, Effort())
        taken.append(time.perf_counter() - start)
    return median(taken)


def _algorithms(cell: PlanCell) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "ffd", {"algorithm": "ffd"}
    yield "lfs", {"algorithm": "lfs"}
    for opening in cell.openings:
        yield f"hybrid {opening}", {"algorithm": "hybrid", "open": opening}
    yield "search", {"algorithm": "search"}


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
