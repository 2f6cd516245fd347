"""The default of `provision` against every selection and packing, over 40 regimes.

Regimes differ in how large topics are against brokers (10^-6 to a half of one), in how
far subscribers share topics, in their number, and in what the fleet has. For each: what
the default comes to, what each combination does, the certified bound, and the optimum
where a mixed-integer program (HiGHS) finds it in a moment. The last line says whether
the default was ever dearer than a combination; the exit code is 1 if it was.

    python -m benchmarks.regimes [--only TEXT] [--json]

A cell is what a combination costs above the default, in percent; the letters are
first-fit, grouped, grouped-Largest, most-free, custom and tight. `-` is no plan. Broker
counts and costs in dollars are in the JSON: a line a regime.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from benchmarks.reference.provision_optimum import cheapest_by_highs

from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.units import hours
from brokerwise.model.workload import Workload
from brokerwise.planners.provision.packing.pack import PACKINGS
from brokerwise.planners.provision.portfolio import SELECTIONS, Options
from brokerwise.planners.provision.solve import Problem, solve

# Pairs up to which the optimum is looked for, and for how long.
SMALL, SECONDS = 16, 20.0
LETTERS = {
    "first-fit": "f",
    "grouped": "g",
    "grouped-largest": "L",
    "most-free": "m",
    "custom": "c",
    "tight": "t",
}
# Costs are compared as the planner adds them up; this is far above its rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Regime:
    """A way to draw problems.

    Attributes
    ----------
    size
        The largest rate, as a share of a broker's capacity.
    topics
        Of which each subscriber wants `wanted`; 0: nobody shares a topic.
    smallest
        The smallest rate, as a share of the largest.
    threshold
        What each subscriber is to get, as a share of what it wants on average.
    spare
        Limits the fleet: to so many brokers more than the load needs at least.
    usd
        Of a broker for a period, and of one unit of load.
    mixed
        Brokers of half and of twice the capacity too, a little dearer for their size.
    """

    name: str
    size: float
    subscribers: int = 40
    wanted: int = 20
    topics: int = 200
    smallest: float = 0.001
    threshold: float = 0.3
    spare: int | None = None
    usd: tuple[float, float] = (36.0, 2.4e-8)
    mixed: bool = False
    seed: int = 1

    def problem(self) -> Problem:
        rng = np.random.default_rng(self.seed)
        most = 1000
        least = max(1, round(self.smallest * most))
        people, each = self.subscribers, self.wanted
        topics = self.topics or people * each
        rates = rng.integers(least, most + 1, topics)
        rates[0] = most
        if self.topics:
            drawn = [rng.permutation(topics)[:each] for _ in range(people)]
            wanted = np.concatenate(drawn)
        else:
            wanted = np.arange(topics)
        workload = Workload.from_pairs(
            topics=[f"t{t:06d}" for t in wanted],
            subscribers=[f"v{v:05d}" for v in np.repeat(np.arange(people), each)],
            rates={f"t{t:06d}": int(rate) for t, rate in enumerate(rates)},
        )
        needed = int(self.threshold * rates[wanted].sum() / people)
        return Problem(workload, self._fleet(needed), needed)

    def _fleet(self, needed: int) -> Fleet:
        capacity = int(1000 / self.size)
        limit = None
        if self.spare is not None:
            limit = max(1, -(-needed * self.subscribers // capacity) + self.spare)
        hour, unit = self.usd[0] / 240, self.usd[1] / 200 * 1e9
        kinds = [BrokerType("b", capacity, limit, hour)]
        if self.mixed:
            kinds.append(BrokerType("half", capacity // 2, limit, hour * 0.55))
            kinds.append(BrokerType("twice", capacity * 2, limit, hour * 2.1))
        return Fleet.types(*kinds, gigabyte_usd=unit)


def regimes() -> Iterator[Regime]:
    """The 40 of the table."""
    sharing = {"own": 0, "some": 200, "same": 20}
    for size in (1e-6, 1e-4, 0.01, 0.05, 0.1, 0.25, 0.4, 0.5):
        people = 5000 if size < 0.001 else 40
        for name, topics in sharing.items():
            yield Regime(f"{size:g} {name} topics", size, people, topics=topics)
    for size in (0.01, 0.1, 0.4, 0.5):
        yield Regime(f"{size:g} one subscriber", size, 1, 200, 200)
    yield Regime("0.4 200 of 2,000 each", 0.4, 50, 200, 2000, threshold=0.2)
    for size, spare in ((0.01, 0), (0.1, 1), (0.1, 6), (0.4, 60)):
        yield Regime(f"{size:g} limited, {spare} spare", size, spare=spare)
    for size in (0.05, 0.25, 0.45):
        yield Regime(f"{size:g} three types", size, mixed=True)
    # Traffic that can be seen in the cost.
    usd, dear = (36.0, 0.001), (1.0, 0.002)
    for size in (0.1, 0.3, 0.45):
        yield Regime(f"{size:g} small", size, 4, 4, 6, threshold=0.5, usd=usd)
    yield Regime("0.3 small, dear traffic", 0.3, 4, 4, 6, threshold=0.5, usd=dear)


@dataclass(frozen=True)
class Answer:
    """What a way to plan comes to; without a cost there is no plan."""

    algorithm: str
    status: str
    brokers: int
    cost: float | None
    bound: float | None

    @classmethod
    def of(cls, problem: Problem, options: Options) -> "Answer":
        plan = solve(problem, options)
        number = len(plan.brokers)
        return cls(plan.algorithm, str(plan.status), number, plan.objective, plan.bound)


@dataclass(frozen=True)
class Row:
    """A regime, the default and every combination on it."""

    regime: Regime
    default: Answer
    combinations: dict[str, Answer]
    optimum: float | None
    seconds: float

    @classmethod
    def of(cls, regime: Regime) -> "Row":
        problem = regime.problem()
        start = time.perf_counter()
        default = Answer.of(problem, Options())
        seconds = time.perf_counter() - start
        combinations = {
            f"{selection}+{packing}": Answer.of(
                problem, Options(selection, packing, rounds=0)
            )
            for selection in SELECTIONS
            for packing in PACKINGS
        }
        optimum = _optimum(problem, default)
        return cls(regime, default, combinations, optimum, seconds)

    @property
    def never_dearer(self) -> bool:
        """Not dearer than any combination, nor without a plan where one has it."""
        costs = [a.cost for a in self.combinations.values() if a.cost is not None]
        if self.default.cost is None:
            return not costs
        return self.default.cost <= min(costs, default=inf) * (1 + ROUNDING)

    def above(self, cost: float | None) -> str:
        """A cost against the default's, in percent; `<.1` is less, either way."""
        if cost is None or self.default.cost is None:
            return "-" if cost is None else "plan"
        if abs(cost - self.default.cost) <= ROUNDING * cost:
            return "0"
        if not self.default.cost:
            return "inf"
        percent = 100 * (cost / self.default.cost - 1)
        return f"{percent:.1f}" if abs(percent) >= 0.05 else "<.1"

    def cells(self) -> list[str]:
        default = self.default
        if default.cost is None:
            head = [default.status, "-", "-", "-"]
        else:
            best = "" if self.optimum is None else self.above(self.optimum)
            bound = self.above(default.bound)
            head = [default.algorithm, str(default.brokers), bound, best]
        cells = [self.above(answer.cost) for answer in self.combinations.values()]
        return [self.regime.name, *head, *cells]

    def as_json(self) -> dict[str, Any]:
        return {
            "regime": self.regime.name,
            "default": vars(self.default),
            "combinations": {
                name: {"brokers": a.brokers, "cost": a.cost}
                for name, a in self.combinations.items()
            },
            "optimum": self.optimum,
            "never_dearer": self.never_dearer,
            "seconds": round(self.seconds, 2),
        }


def _optimum(problem: Problem, default: Answer) -> float | None:
    """The least cost of all plans, where that is found in a moment."""
    workload, fleet = problem.workload, problem.fleet
    if workload.pairs > SMALL or len(fleet.broker_types) > 1 or default.cost is None:
        return None
    rent = fleet.broker_types[0].hour_usd * hours(workload.period_seconds)
    brokers = min(workload.pairs, int(default.cost / rent * (1 + ROUNDING)))
    return cheapest_by_highs(workload, fleet, problem.threshold, brokers, SECONDS)


def print_table(rows: list[Row]) -> None:
    letters = [LETTERS[packing] for _ in SELECTIONS for packing in PACKINGS]
    head = ["size and regime", "default", "brokers", "bound", "optimum", *letters]
    lines = [head, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = sum(widths[:5]) + 2 * 5
    group = len(PACKINGS)
    names = ""
    for place, selection in enumerate(SELECTIONS):
        first = 5 + place * group
        names += selection.ljust(sum(widths[first : first + group]) + 2 * group)
    print((" " * left + names).rstrip())
    for line in lines:
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="regimes whose name has this in it")
    parser.add_argument("--json", action="store_true", help="a JSON line a regime")
    options = parser.parse_args()
    rows = []
    for regime in regimes():
        if options.only in regime.name:
            rows.append(Row.of(regime))
            if options.json:
                print(json.dumps(rows[-1].as_json()), flush=True)
    never = all(row.never_dearer for row in rows)
    if options.json:
        print(json.dumps({"default_never_dearer": never}))
    else:
        print_table(rows)
        print(f"default never dearer: {'yes' if never else 'no'}")
    sys.exit(0 if never else 1)


if __name__ == "__main__":
    main()
