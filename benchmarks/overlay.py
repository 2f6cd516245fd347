"""Wiring users and brokers against plain numpy, at the paper's size, and beyond.

Networks are those of Zhao and Wu's experiment (`generate network`). A JSON line for
each:

- literal: every algorithm, the cost of a wiring and one sweep of local search, against
  benchmarks/reference/overlay_literal.py at 200 users and 10 brokers, where each move
  that is looked at is counted from scratch. Both sides must give the same.
- size: seconds at 10,000 users, 100 brokers and 100 sub-channels, warm; `local` to
  convergence, with what it begins with and its bound.
- growth: seconds from 1,000 to 100,000 users at 100 brokers, and the exponent of users
  that fits them best.

    python -m benchmarks.overlay [--repeats 5] [--parts literal ...]
        [--most-users 100000]
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks.fill import exponent
from benchmarks.measuring import median_seconds, print_line
from benchmarks.reference import overlay_literal

from brokerwise.model.arrays import Int32s
from brokerwise.model.network import Network
from brokerwise.pipeline.networks.generate import NetworkSettings, generate
from brokerwise.planners.control import never
from brokerwise.planners.overlay.heuristics import HEURISTICS
from brokerwise.planners.overlay.local import converged
from brokerwise.planners.overlay.placing import Unplaced
from brokerwise.planners.overlay.problem import Demand, Options
from brokerwise.planners.overlay.solve import Answer, search
from brokerwise.planners.overlay.wiring import Evaluation, costs_of

SEED = 1
LITERAL = (200, 10)  # users, brokers
SIZE = (10_000, 100)
GROWTH = (1_000, 3_000, 10_000, 30_000, 100_000)
REGIMES: dict[str, dict[str, Any]] = {
    "plane": {},
    "plane, ratio 10": {"ratio": 10.0},
    "independent": {"costs": "independent"},
    "independent, ratio 10": {"costs": "independent", "ratio": 10.0},
    "core": {"width": 0.02, "ratio": 0.01},
}
LITERAL_REGIMES = ("plane", "core")
_UNDER, _UNDER_LOCAL = "under 10 s", "under 60 s"


def drawn(users: int, brokers: int, regime: str) -> Network:
    return generate(NetworkSettings(users, brokers, **REGIMES[regime]), SEED)


def wired(name: str, demand: Demand) -> Int32s:
    found = HEURISTICS[name](demand, SEED)
    if isinstance(found, Unplaced):
        sys.exit(f"{name}: {found.reason}")
    return found


def best(demand: Demand) -> Answer:
    found = search(demand, Options("local", seed=SEED))
    if isinstance(found, Unplaced):
        sys.exit(f"local: {found.reason}")
    return found


def swept(demand: Demand, broker: Int32s) -> Int32s:
    """A wiring after one sweep of local search."""
    evaluation = Evaluation.of(demand, broker)
    evaluation.descend(demand, demand.heaviest_first)
    return evaluation.wiring.broker


def compared(
    demand: Demand, tables: overlay_literal.Tables
) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """What is done by both sides, with the name of it: ours first."""
    for name, literal in overlay_literal.ALGORITHMS.items():
        yield name, partial(wired, name, demand), partial(literal, tables, SEED)
    start = wired("random", demand)
    yield (
        "cost of a wiring",
        lambda: costs_of(demand, start).total,
        lambda: overlay_literal.cost(tables, start),
    )
    yield (
        "a sweep of local",
        lambda: swept(demand, start),
        lambda: overlay_literal.sweep(tables, start),
    )


def literal(repeats: int, most_users: int) -> None:
    """Both sides on a network that plain numpy can do."""
    for regime in LITERAL_REGIMES:
        network = drawn(*LITERAL, regime)
        demand = Demand.of(network)
        tables = overlay_literal.Tables.of(network)
        for what, ours, theirs in compared(demand, tables):
            if not np.array_equal(ours(), theirs()):  # compiles, too
                sys.exit(f"{what}: numpy finds other than ours: a defect")
            seconds = median_seconds(ours, 5 * repeats)
            theirs_seconds = median_seconds(theirs, 1 if "sweep" in what else repeats)
            print_line(
                benchmark="overlay literal",
                what=what,
                regime=regime,
                users=demand.users,
                brokers=demand.brokers,
                ratio_to_numpy=seconds / theirs_seconds,
                microseconds=1e6 * seconds,
                numpy_microseconds=1e6 * theirs_seconds,
            )


def size(repeats: int, most_users: int) -> None:
    """The paper's largest networks."""
    users, brokers = SIZE
    for regime in REGIMES:
        demand = Demand.of(drawn(users, brokers, regime))
        for name in HEURISTICS:
            run = partial(wired, name, demand)
            run()
            print_line(
                benchmark="overlay size",
                algorithm=name,
                regime=regime,
                users=users,
                brokers=brokers,
                seconds=median_seconds(run, repeats),
                aim=_UNDER,
                cores=os.cpu_count(),
            )
        start = time.perf_counter()
        found = best(demand)
        seconds = time.perf_counter() - start
        cost, bound = found.found.costs.total, found.bound.total
        print_line(
            benchmark="overlay size",
            algorithm="local",
            regime=regime,
            users=users,
            brokers=brokers,
            seconds=seconds,
            aim=_UNDER_LOCAL,
            gap_percent=100 * (cost - bound) / cost,
            crr=found.costs["random"].total / cost,
            cores=os.cpu_count(),
        )


def growth(repeats: int, most_users: int) -> None:
    """Seconds against users, brokers being as many.

    `local` makes more searches of small networks; `one search` is one of them, from
    random wiring to convergence.
    """
    sizes = [users for users in GROWTH if users <= most_users]
    seconds: dict[str, list[float]] = {}
    searches = []
    for users in sizes:
        demand = Demand.of(drawn(users, SIZE[1], "plane"))
        runs: dict[str, Callable[[], object]] = {
            name: partial(wired, name, demand) for name in HEURISTICS
        }
        start = wired("random", demand)
        runs["one search"] = partial(converged, demand, start, never)
        for name, run in runs.items():
            run()
            times = seconds.setdefault(name, [])
            times.append(median_seconds(run, min(3, repeats)))
        begin = time.perf_counter()
        searches.append(best(demand).found.rounds)
        seconds.setdefault("local", []).append(time.perf_counter() - begin)
    for name, times in seconds.items():
        print_line(
            benchmark="overlay growth",
            algorithm=name,
            regime="plane",
            users=sizes,
            brokers=SIZE[1],
            seconds=[float(f"{value:.4g}") for value in times],
            exponent=exponent(sizes, times) if len(sizes) > 1 else None,
            **({"searches": searches} if name == "local" else {}),
        )


PARTS: dict[str, Callable[[int, int], None]] = {
    "literal": literal,
    "size": size,
    "growth": growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--most-users", type=int, default=GROWTH[-1])
    options = parser.parse_args()
    best(Demand.of(drawn(*LITERAL, "core")))  # compiles
    best(Demand.of(drawn(*LITERAL, "plane")))
    for part in options.parts:
        PARTS[part](options.repeats, options.most_users)


if __name__ == "__main__":
    main()
