"""Balancing a fleet: how long it takes, how it grows, and against plain Python.

Sessions want 10 to 30 topics each, popular ones more often; rates are normal; brokers
are skewed as nearest placement leaves them, the fullest with many times the sessions of
most. A JSON line for each:

- literal: `ldm` and `sdm` against benchmarks/reference/balance_literal.py, Algorithm 1
  in plain Python, where that can be waited for. Both sides must move the same.
- growth: all policies from 1,000 sessions on 10 brokers to 1,000,000 on 1,000, with 20
  pairs each: seconds, moves, loads, the bound; `planned` also with as many moves as
  `ldm` makes. For the largest the peak of memory.

    python -m benchmarks.balance [--parts literal growth] [--most-sessions 1000000]
"""

import argparse
import os
import sys
import time
from functools import partial
from typing import Any

import numpy as np
from benchmarks.measuring import median_seconds, peak_memory, print_line
from benchmarks.reference import balance_literal

from brokerwise.model.arrays import Int32s
from brokerwise.model.interests import Interests
from brokerwise.model.snapshot import Rebalancing, Snapshot
from brokerwise.planners.balance.problem import Options, Problem
from brokerwise.planners.balance.solve import solve

SEED = 1
LITERAL = ((100, 4), (300, 10), (1_000, 10))  # sessions, brokers
GROWTH = ((1_000, 10), (10_000, 32), (100_000, 100), (1_000_000, 1_000))
EACH = (10, 30)
AIM = "planned under 30 s at 1,000,000 sessions"


def drawn(sessions: int, brokers: int, seed: int = SEED) -> Problem:
    """A skewed fleet with a topic for every ten sessions, at least 100."""
    random = np.random.default_rng(seed)
    topics = max(100, sessions // 10)
    wanted = _wanted(random, sessions, topics)
    rates = np.maximum(1, random.normal(1_000, 250, topics)).astype(np.int64)
    shares = random.pareto(1.5, brokers) + 0.5
    places = random.choice(brokers, sessions, p=shares / shares.sum())
    return Problem.of(Snapshot.of(brokers, rates, wanted, places.astype(np.int32)))


def _wanted(random: np.random.Generator, sessions: int, topics: int) -> Interests:
    lengths = random.integers(EACH[0], EACH[1] + 1, sessions)
    owners = np.repeat(np.arange(sessions, dtype=np.int64), lengths)
    # Topic k is wanted about as often as 1 / (k + topics / 10).
    popular = random.random(len(owners))
    picked = (topics / 10 * (11.0**popular - 1)).astype(np.int64)
    keys = np.unique(owners * topics + np.minimum(picked, topics - 1))
    counts = np.bincount(keys // topics, minlength=sessions)
    chosen: Int32s = (keys % topics).astype(np.int32)
    return Interests(np.concatenate(([0], np.cumsum(counts))), chosen)


def literal(most_sessions: int) -> None:
    """Both sides on fleets that plain Python can do."""
    for sessions, brokers in LITERAL:
        problem = drawn(min(sessions, most_sessions), brokers)
        for policy in ("ldm", "sdm"):
            options = Options(policy, alpha=0.05)
            found = solve(problem, options)  # compiles, too
            start = time.perf_counter()
            places = balance_literal.solved(problem, options)
            theirs = time.perf_counter() - start
            moved = problem.snapshot.places.copy()
            moved[found.sessions] = found.targets
            if moved.tolist() != places:
                sys.exit(f"{policy}: plain Python moves other sessions: a defect")
            seconds = median_seconds(partial(solve, problem, options), 5)
            print_line(
                benchmark="balance literal",
                policy=policy,
                sessions=problem.snapshot.sessions,
                brokers=brokers,
                moves=found.moves,
                ratio_to_python=seconds / theirs,
                seconds=seconds,
                python_seconds=theirs,
            )


def growth(most_sessions: int) -> None:
    """One fleet of each size, all policies, compiled before."""
    warm = drawn(200, 5)
    for policy in ("ldm", "sdm", "gsh", "planned"):
        solve(warm, Options(policy, gamma=0.0))
    for sessions, brokers in GROWTH:
        if sessions > most_sessions:
            continue
        problem = drawn(sessions, brokers)
        moves = 0
        for policy in ("ldm", "sdm", "gsh", "planned"):
            found = timed(problem, Options(policy, gamma=0.0))
            moves = found.moves if policy == "ldm" else moves
        timed(problem, Options("planned", max_moves=moves), budget=moves)


def timed(problem: Problem, options: Options, **more: Any) -> Rebalancing:
    with peak_memory() as memory:
        start = time.perf_counter()
        found = solve(problem, options)
        seconds = time.perf_counter() - start
    snapshot = problem.snapshot
    print_line(
        benchmark="balance growth",
        policy=options.policy,
        sessions=snapshot.sessions,
        brokers=snapshot.brokers,
        pairs=snapshot.wanted.pairs,
        **more,
        seconds=seconds,
        moves=found.moves,
        max_before=found.max_before,
        max_after=found.max_after,
        mean_after=float(found.after.mean()),
        bound=found.bound,
        cov_before=found.cov_before,
        cov_after=found.cov_after,
        megabytes=round(memory[0] / 1e6) or None,  # too quick to be measured
        aim=AIM,
        cores=os.cpu_count(),
    )
    return found


PARTS = {"literal": literal, "growth": growth}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--most-sessions", type=int, default=1_000_000)
    arguments = parser.parse_args()
    for part in arguments.parts:
        PARTS[part](arguments.most_sessions)


if __name__ == "__main__":
    main()
