"""Filling brokers against the published heuristics in C++, on the same instances.

The reference (benchmarks/reference/gs_mkpbs.cpp) is single-threaded GS and MKPBS of
Lambert and Sakellariou, built with g++ -O2, on arrays in memory. Instances are those
of their experiments, with as many brokers as leave the bandwidth just short of serving
everything, where MKPBS takes longest. A JSON line for each:

- kernels: `greedy` and `mkp`, warm, at 500 and at 50,000 pairs, few and many topics.
- growth: their time as pairs, topics, subscribers, brokers and capacity all grow, and
  the exponent of the number of pairs that fits it best.

    python -m benchmarks.fill [--repeats 100] [--parts kernels ...]
        [--folder out/benchmarks]

Both sides must deliver the same.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks.measuring import print_line
from benchmarks.reference.program import NoCompilerError, build

from brokerwise.kernels.fill_heuristics import fill_greedy, fill_mkp
from brokerwise.model.arrays import Int64s
from brokerwise.pipeline.trace import RateRange, Uniform, draw_rates, pair_blocks

SOURCE = Path(__file__).with_name("reference") / "gs_mkpbs.cpp"
KERNELS: dict[str, Callable[..., Any]] = {"greedy": fill_greedy, "mkp": fill_mkp}
PUBLISHED = {"greedy": "gs", "mkp": "mkpbs"}
RATES = ("10", "8-19")
TOPICS = (100, 1000)  # at 500 pairs
SIZES = (1.0, sqrt(3.2), sqrt(10), sqrt(32), 10.0)
TURNS = 5


@dataclass(frozen=True)
class Instance:
    """Of the paper's, with everything so many times as much: pairs, its square."""

    topics: int
    rates: str
    size: float
    seed: int = 1

    @property
    def trace(self) -> Uniform:
        topics, subscribers = round(self.topics * self.size), round(100 * self.size)
        each = round(5 * self.size)
        return Uniform(topics, subscribers, each, RateRange.parse(self.rates))

    @property
    def capacity(self) -> int:
        return round(500 * self.size)

    @cached_property
    def wanted(self) -> tuple[Int64s, Int64s]:
        """Rates, and pairs of each topic that has any."""
        trace = self.trace
        pairs = np.zeros(trace.topics, np.int64)
        for topic, _ in pair_blocks(trace, self.seed):
            pairs += np.bincount(topic, minlength=trace.topics)
        return draw_rates(trace, self.seed)[pairs > 0], pairs[pairs > 0]

    @cached_property
    def capacities(self) -> Int64s:
        """Of brokers that are just too few."""
        rates, pairs = self.wanted
        return np.full(max(1, int(rates @ (pairs + 1)) // self.capacity), self.capacity)

    @property
    def arguments(self) -> tuple[Int64s, ...]:
        """What kernels take."""
        rates, pairs = self.wanted
        return rates, np.arange(len(rates) + 1), rates, pairs, self.capacities

    def dump(self, folder: Path) -> None:
        """Write the arrays that the C++ program reads."""
        folder.mkdir(parents=True, exist_ok=True)
        dump(folder, *self.wanted, self.capacities)

    def figures(self) -> dict[str, Any]:
        return {
            "pairs": int(self.wanted[1].sum()),
            "topics": self.trace.topics,
            "rates": self.rates,
            "brokers": len(self.capacities),
            "capacity": self.capacity,
        }


@dataclass(frozen=True)
class Measured:
    """Median seconds of both sides, and what they deliver."""

    ours: float
    cpp: float
    delivered: int


def dump(folder: Path, rates: Int64s, pairs: Int64s, capacities: Int64s) -> None:
    """Write an instance for the C++ program."""
    for name, values in zip(
        ("rates", "pairs", "capacities"), (rates, pairs, capacities), strict=True
    ):
        values.astype("<i8", copy=False).tofile(folder / f"{name}.i64")


def reference(program: Path, folder: Path, name: str, repeats: int) -> dict[str, Any]:
    """What the C++ program prints."""
    command = [str(program), str(folder), PUBLISHED[name], str(repeats)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(
    name: str, instance: Instance, program: Path, folder: Path, repeats: int
) -> Measured:
    """Both sides in turns, so that a machine busy with other things slows down both.

    Fails unless they deliver the same.
    """
    instance.dump(folder)
    kernel, arguments = KERNELS[name], instance.arguments
    topic, _, pairs = kernel(*arguments)  # compiles
    delivered = int(instance.wanted[0][topic] @ pairs)
    ours: list[float] = []
    cpp: list[float] = []
    each = -(-repeats // TURNS)
    for _ in range(TURNS):
        ours += _seconds(kernel, arguments, each)
        found = reference(program, folder, name, each)
        if found["delivered"] != delivered:
            sys.exit(f"C++ {PUBLISHED[name]} delivers other than {name}: a defect")
        cpp += found["seconds"]
    return Measured(median(ours), median(cpp), delivered)


def kernels(program: Path, folder: Path, repeats: int) -> None:
    """Warm kernels at 500 and at 50,000 pairs."""
    for name in KERNELS:
        for size in (SIZES[0], SIZES[-1]):
            for topics in TOPICS:
                for rates in RATES:
                    instance = Instance(topics, rates, size)
                    found = measure(name, instance, program, folder, repeats)
                    rate, pairs = instance.wanted
                    print_line(
                        benchmark="fill kernels",
                        algorithm=name,
                        **instance.figures(),
                        ratio_to_cpp=found.ours / found.cpp,
                        aim="at most 2",
                        microseconds=1e6 * found.ours,
                        cpp_microseconds=1e6 * found.cpp,
                        delivered_percent=100 * found.delivered / int(rate @ pairs),
                        cores=os.cpu_count(),
                    )


def growth(program: Path, folder: Path, repeats: int) -> None:
    """Time against the number of pairs."""
    for name in KERNELS:
        for topics in TOPICS:
            instances = [Instance(topics, "10", size) for size in SIZES]
            found = [measure(name, i, program, folder, repeats) for i in instances]
            sizes = [int(i.wanted[1].sum()) for i in instances]
            print_line(
                benchmark="fill growth",
                algorithm=name,
                pairs=sizes,
                topics=[i.trace.topics for i in instances],
                brokers=[len(i.capacities) for i in instances],
                microseconds=[float(f"{1e6 * m.ours:.4g}") for m in found],
                cpp_microseconds=[float(f"{1e6 * m.cpp:.4g}") for m in found],
                exponent=exponent(sizes, [m.ours for m in found]),
                cpp_exponent=exponent(sizes, [m.cpp for m in found]),
                aim="exponent at most about 1: linear up to log factors",
            )


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of the straight line that fits best, both axes logarithmic."""
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


PARTS: dict[str, Callable[[Path, Path, int], None]] = {
    "kernels": kernels,
    "growth": growth,
}


def _seconds(
    kernel: Callable[..., Any], arguments: tuple[Int64s, ...], repeats: int
) -> list[float]:
    times = []
    kernel(*arguments)  # brings the arrays near, as the C++ program does
    for _ in range(repeats):
        start = time.perf_counter()
        kernel(*arguments)
        times.append(time.perf_counter() - start)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--folder", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args()
    program = build(options.folder, SOURCE)
    for part in options.parts:
        PARTS[part](program, options.folder / "fill", options.repeats)


if __name__ == "__main__":
    try:
        main()
    except NoCompilerError as missing:
        sys.exit(f"error: {missing}")
