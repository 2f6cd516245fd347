"""Co-locating topics: how long it takes, how it grows, and against plain Python.

Topics as in the experiments of Khare et al. (2018), with time scaled by 4: processing
of 2.5, 5, 7.5 or 10 ms, publishers of 4 messages a second, as many as 1 to the most
that meet a target of 250 ms alone, all equally likely; k = 6. The model is trained in
the same run, on data simulated of a broker of one core and of one with four. With
`kinds` rates are any number, so that no two topics look alike. A JSON line for each:

- literal: `ffd`, `hybrid` and `lfs` against benchmarks/reference/colocate_literal.py:
  the paper's algorithms line by line, one prediction for each topic of each set, as
  long as that can be waited for. Both sides must use the same number of brokers.
- growth: every algorithm from 10 to 70 topics, all but `lfs` up to 5,000: seconds of
  the algorithm, of the whole plan with its bound, brokers, the bound, sets predicted.

    python -m benchmarks.colocate [--parts literal growth] [--most-topics 5000]
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
from benchmarks.measuring import print_line
from benchmarks.reference import colocate_literal

from brokerwise.latency.design import draw, draw_loaded, up_to_load
from brokerwise.latency.models import UnifiedModel
from brokerwise.latency.queueing import Overhead, simulate
from brokerwise.latency.samples import Subject
from brokerwise.latency.training import CANDIDATES, fit_unified
from brokerwise.model.colocation import TopicTable
from brokerwise.model.names import Names
from brokerwise.planners.colocate.alone import alone
from brokerwise.planners.colocate.problem import Options, Problem
from brokerwise.planners.colocate.solve import solve

SEED = 1
PROCESSING = (2.5, 5.0, 7.5, 10.0)
RATE_EACH = 4.0
TARGET_MS = 250.0
MARGIN = 0.1
K, OPEN = 6, 3
CONFIGURATIONS = 60  # of each number of topics, to learn from
CORES = (1, 4)
LITERAL = {"ffd": (10, 30, 70, 200), "hybrid": (10, 20, 30), "lfs": (10, 15)}
GROWTH = (10, 20, 30, 40, 50, 60, 70, 200, 500, 1000, 2000, 5000)
MOST_FOR_LFS = 70
OVERHEAD = Overhead(0.05, 0.05, 0.006, 0.09, 1.02, 0.5, 0.005)
"""Of the simulated brokers: fixed, so that figures of all versions are of one task."""
AIM = "search: at most 5 s for 70 topics, minutes for 5,000"


@cache
def model_of(cores: int) -> UnifiedModel:
    """A model of a broker with so many cores, from simulated data."""
    most = up_to_load(0.95, processing=PROCESSING, rate_each=RATE_EACH)
    configurations = draw(
        CONFIGURATIONS, 1, processing=PROCESSING, most=most, seed=SEED
    )
    for k in range(2, K + 1):
        configurations += draw_loaded(
            CONFIGURATIONS,
            k,
            processing=PROCESSING,
            rate_each=RATE_EACH,
            cores=cores,
            seed=SEED,
        )
    rows = simulate(
        configurations, rate_each=RATE_EACH, cores=cores, overhead=OVERHEAD, seed=SEED
    )
    subject = Subject.of(rows, float(cores))
    return fit_unified(subject, subject.samples.every, CANDIDATES[0])


def problem_of(topics: int, cores: int, *, kinds: bool) -> Problem:
    """Topics that each meet the target alone."""
    rng = np.random.default_rng([SEED, topics, cores])
    names, targets = Names.numbered(topics), np.full(topics, TARGET_MS)
    most = _most_rates(cores)
    processing = rng.choice(PROCESSING, topics)
    limit = np.array([most[p] for p in processing.tolist()])
    rate = RATE_EACH * (1 + np.floor(rng.random(topics) * limit / RATE_EACH))
    if kinds:
        rate = RATE_EACH + rng.random(topics) * (limit - RATE_EACH)
    table = TopicTable(names, processing, np.minimum(rate, limit), targets)
    return Problem(table, model_of(cores), K, MARGIN)


@cache
def _most_rates(cores: int) -> dict[float, float]:
    """The largest rates, in steps of one publisher, that meet the target alone."""
    count = len(PROCESSING)
    table = TopicTable(
        Names.numbered(count),
        np.array(PROCESSING),
        np.ones(count),
        np.full(count, TARGET_MS),
    )
    problem = Problem(table, model_of(cores), 1, MARGIN)
    steps = np.arange(1, 200).astype(np.float64) * RATE_EACH
    found = {}
    for topic, p in enumerate(PROCESSING):
        fits = alone(problem, np.full(len(steps), topic), steps)
        found[p] = float(steps[fits][-1] if fits.all() else steps[np.argmin(fits) - 1])
    return found


@dataclass
class Stages:
    """Seconds of each stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        spent = time.perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + spent


def literal(most_topics: int) -> None:
    for name, sizes in LITERAL.items():
        for topics in (n for n in sizes if n <= most_topics):
            problem = problem_of(topics, CORES[0], kinds=False)
            stages = Stages()
            ours = solve(problem, Options(name, OPEN, stage=stages))
            start = time.perf_counter()
            theirs, asked = _literal(name, problem)
            literal_seconds = time.perf_counter() - start
            if ours.objective != theirs:
                sys.exit(f"{name}: {ours.objective} and {theirs} brokers: a defect")
            seconds = stages.seconds[name] + stages.seconds["alone"]
            print_line(
                benchmark="colocate literal",
                algorithm=name,
                topics=topics,
                brokers=theirs,
                seconds=seconds,
                literal_seconds=literal_seconds,
                literal_predictions=asked,
                ratio=literal_seconds / seconds,
                cores=os.cpu_count(),
            )


def _literal(name: str, problem: Problem) -> tuple[int, int]:
    """Brokers by an algorithm as it is printed, and predictions that it asked for."""
    model = colocate_literal.Model(
        problem.topics, problem.predictor, MARGIN, parts=False
    )
    order = model.in_order()
    run: dict[str, Callable[[], colocate_literal.Brokers]] = {
        "ffd": partial(colocate_literal.ffd, order, K, model.feasible),
        "lfs": partial(colocate_literal.lfs, order, K, model.feasible),
        "hybrid": partial(colocate_literal.hybrid, order, K, OPEN, model.feasible),
    }
    return len(run[name]()), model.asked


def growth(most_topics: int) -> None:
    for cores in CORES:
        for kinds in (False, True):
            for topics in (n for n in GROWTH if n <= most_topics):
                problem = problem_of(topics, cores, kinds=kinds)
                for name in ("ffd", "hybrid", "lfs", "search"):
                    if name != "lfs" or topics <= MOST_FOR_LFS:
                        timed(problem, name, broker_cores=cores, kinds=kinds)


def timed(problem: Problem, name: str, **more: object) -> None:
    stages = Stages()
    start = time.perf_counter()
    plan = solve(problem, Options(name, OPEN, stage=stages))
    whole = time.perf_counter() - start
    print_line(
        benchmark="colocate growth",
        algorithm=name,
        topics=len(problem.topics),
        **more,
        seconds=stages.seconds.get(name, whole),
        plan_seconds=whole,
        brokers=plan.objective,
        bound=plan.bound,
        gap=plan.gap,
        sets=plan.figures["predicted"],
        stopped=plan.options.get("stopped"),
        aim=AIM,
        cores=os.cpu_count(),
    )


PARTS = {"literal": literal, "growth": growth}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--most-topics", type=int, default=max(GROWTH))
    arguments = parser.parse_args()
    for cores in CORES:  # compiled, and trained, before anything is timed
        solve(problem_of(40, cores, kinds=True), Options())
    for part in arguments.parts:
        PARTS[part](arguments.most_topics)


if __name__ == "__main__":
    main()
