"""Provisioning against the published solution in C++, on the same workload.

The reference (benchmarks/reference) is single-threaded GSP and CBP of Setty et al.,
built with g++ -O2, on arrays in memory. `ratio_to_cpp` is to the pseudocode as it is
printed. `ratio_to_cpp_one_scan` is to the same made faster by what we know: lists go by
descending rate, so one scan of each selects the same pairs. A JSON line a part:

- kernels: ours alone, in one thread on the same arrays: `greedy` + `custom`, which
  must give the same pairs and loads, and `shared` + `tight`. Selected lists are kept
  in memory, as in the reference.
- selection: the selection pass on Spark, against stage 1 of the reference.
- whole: from an ingested workload to a written and audited plan, Spark running.
- command: the same as a process of its own, Spark's start included.

    python -m benchmarks.provision [--shape spotify --scale 1] [--threshold 100]
        [--repeats 3] [--parts kernels ...] [--folder out/benchmarks]

Workloads are made once and kept in the folder. Brokers cost what c3.large does; their
capacity is a hundredth of what `greedy` puts on one broker without a limit.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks.measuring import median_seconds, peak_memory, print_line
from benchmarks.reference.program import (
    MODES,
    NoCompilerError,
    Run,
    build,
    check_sum,
    dump,
    run,
)
from pyspark.sql import SparkSession

import brokerwise
from brokerwise.kernels.selection import Rule, Topics, select_block
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.fleet import BrokerType, Fleet, Prices
from brokerwise.model.interests import BLOCK
from brokerwise.model.load import broker_loads
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.pipeline.provision.engines import SparkEngine
from brokerwise.pipeline.provision.job import Target, provision_directory
from brokerwise.pipeline.provision.scan import SparkScan
from brokerwise.pipeline.session import start_session
from brokerwise.planners.control import never
from brokerwise.planners.provision.choice import Choice, carried, choose, dearness
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand, Packing
from brokerwise.planners.provision.portfolio import Options
from brokerwise.planners.provision.scan import MemoryScan
from brokerwise.storage.catalog import shipped_catalog
from brokerwise.storage.output import scratch_beside
from brokerwise.storage.place import Place
from brokerwise.storage.workload import read_header

SCALES = {"spotify": 1.0, "twitter": 0.1}
BROKERS = 100
Lists = list[tuple[Int64s, Int32s]]


@dataclass(frozen=True)
class Case:
    """A workload, a threshold and a fleet of one broker type."""

    shape: str
    scale: float
    folder: Path
    program: Path
    threshold: int
    repeats: int

    @cached_property
    def workload(self) -> Workload:
        return brokerwise.read_workload(self.folder / "workload")

    @property
    def place(self) -> Place:
        return Place(str(self.folder.absolute() / "workload"))

    @cached_property
    def fleet(self) -> Fleet:
        """Brokers at the price of c3.large, about BROKERS of which are needed."""
        workload = self.workload
        rates, scan = workload.rates, MemoryScan(workload, self.threshold)
        every = Topics(rates, 0, int(np.searchsorted(-rates, 0)))
        rule = Rule("greedy")
        choice = Choice(rule, scan.count(every, rule))
        load = choice.incoming(rates) + choice.outgoing(rates)
        largest = int(rates[choice.counts > 0].max(initial=1))
        catalog = shipped_catalog()
        kind = BrokerType(
            f"{BROKERS}th",
            max(load // BROKERS, 2 * largest),
            hour_usd=catalog.offer("c3.large").hour_usd,
        )
        return Fleet.types(kind, gigabyte_usd=catalog.gigabyte_usd)

    @cached_property
    def prices(self) -> Prices:
        workload = self.workload
        return Prices.of(self.fleet, workload.period_seconds, workload.message_bytes)

    @cached_property
    def topics(self) -> Topics:
        return carried(self.workload.rates, self.fleet)

    @cached_property
    def _arrays(self) -> Path:
        dump(self.workload.rates, self.workload.interests, self.folder / "arrays")
        return self.folder / "arrays"

    def reference(self, mode: str) -> Run:
        """One run of the C++ program, with a mode of stage 1."""
        return run(
            self.program,
            self._arrays,
            mode,
            threshold=self.threshold,
            capacity=self.fleet.largest_capacity,
            prices=self.prices,
        )

    def print(self, part: str, **figures: Any) -> None:
        print_line(
            benchmark=f"provision {part}",
            shape=self.shape,
            scale=self.scale,
            pairs=self.workload.pairs,
            threshold=self.threshold,
            cores=os.cpu_count(),
            **figures,
        )


@dataclass(frozen=True)
class Stages:
    """One run of our kernels: what they chose and how long each stage took."""

    lists: Lists
    packing: Packing
    stage1: float
    stage2: float

    @property
    def brokers(self) -> int:
        return len(self.packing.broker_type)

    @property
    def selected(self) -> int:
        return sum(len(topics) for _, topics in self.lists)


def kernels(case: Case) -> None:
    """(i) Our kernels alone against the C++ program.

    They take turns, so that a machine busy with other things slows down both.
    """
    _shared_tight(case)  # compiles
    _compare(case, _greedy_custom(case))
    ours, shared = [], []
    cpp: dict[str, list[Run]] = {mode: [] for mode in MODES}
    for _ in range(case.repeats):
        ours.append(_greedy_custom(case))
        for mode in MODES:
            cpp[mode].append(case.reference(mode))
        shared.append(_shared_tight(case))
    seconds = {mode: median(r.seconds for r in cpp[mode]) for mode in MODES}
    ungrouped = {
        mode: median(r.seconds_without_grouping for r in cpp[mode]) for mode in MODES
    }
    total = median(s.stage1 + s.stage2 for s in ours)
    case.print(
        "kernels",
        ratio_to_cpp=total / seconds["literal"],
        aim="at most 1",
        ratio_to_cpp_one_scan=total / min(seconds["scan"], seconds["grouped"]),
        ratio_to_cpp_one_scan_that_need_not_group=total / min(ungrouped.values()),
        ratio_of_shared_tight=median(s.stage1 + s.stage2 for s in shared)
        / seconds["literal"],
        brokers=ours[0].brokers,
        brokers_shared_tight=shared[0].brokers,
        selected=ours[0].selected,
        stage1_seconds=median(s.stage1 for s in ours),
        stage2_seconds=median(s.stage2 for s in ours),
        shared_seconds=median(s.stage1 for s in shared),
        tight_seconds=median(s.stage2 for s in shared),
        **{f"cpp_{m}_stage1_seconds": median(r.stage1 for r in cpp[m]) for m in MODES},
        **{f"cpp_{mode}_seconds": seconds[mode] for mode in MODES},
    )


def selection(case: Case) -> None:
    """(ii) The selection pass on Spark, warm, against stage 1 of the C++ program."""
    rule, cpp, ours = Rule("greedy"), [], []
    scan_cpp = []
    with _spark(case) as spark, scratch_beside(case.place) as scratch:
        header = read_header(case.place)
        threshold = case.threshold
        with SparkScan(spark, case.place, header, threshold, scratch) as scan:
            scan.count(case.topics, rule)  # kernels compiled, arrays sent
            for _ in range(case.repeats):
                ours.append(median_seconds(lambda: scan.count(case.topics, rule), 1))
                cpp.append(case.reference("literal").stage1)
                scan_cpp.append(case.reference("scan").stage1)
    case.print(
        "selection on Spark",
        ratio_to_cpp=median(ours) / median(cpp),
        aim="at most 1",
        ratio_to_cpp_one_scan=median(ours) / median(scan_cpp),
        seconds=median(ours),
        cpp_seconds=median(cpp),
        cpp_one_scan_seconds=median(scan_cpp),
    )


def whole(case: Case) -> None:
    """(iii) From ingested workload to written and audited plan, against both stages:
    by the algorithms of the reference, and by ours with the certified bound."""
    like = Options(selection="greedy", packing="custom", rounds=0)
    ways = {"like_for_like": like, "default": Options()}
    cpp, scan_cpp = [], []
    ours: dict[str, list[float]] = {name: [] for name in ways}
    stages: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    plans: dict[str, Plan] = {}
    with _spark(case) as spark, peak_memory() as peak:
        for options in ways.values():
            _whole(case, spark, options)  # kernels compiled, files in memory
        for _ in range(case.repeats):
            for name, options in ways.items():
                start = time.perf_counter()
                plans[name], seconds = _whole(case, spark, options)
                ours[name].append(time.perf_counter() - start)
                stages[name].append(seconds)
            cpp.append(case.reference("literal").seconds)
            scan_cpp.append(case.reference("scan").seconds)
    for name, plan in plans.items():
        times = stages[name]
        case.print(
            f"whole on Spark, {name.replace('_', ' ')}",
            algorithm=plan.algorithm,
            ratio_to_cpp=median(ours[name]) / median(cpp),
            aim="at most 4 at Twitter 0.1",
            ratio_to_cpp_one_scan=median(ours[name]) / median(scan_cpp),
            seconds=median(ours[name]),
            cpp_seconds=median(cpp),
            cpp_one_scan_seconds=median(scan_cpp),
            by_stage={k: round(median(s[k] for s in times), 2) for k in times[0]},
            peak_memory_gb=peak[0] / 1e9,
            brokers=len(plan.brokers),
            brokers_bound=plan.figures["brokers_bound"],
            load_to_bound=plan.load / plan.figures["load_bound"],
            rounds=plan.options["rounds"],
            gap=plan.gap,
            gap_paper=plan.figures["gap_paper"],
        )


def command(case: Case) -> None:
    """The command in a process of its own, Spark's start included."""
    arguments = [
        *(sys.executable, "-m", "brokerwise.cli.main", "provision"),
        *(case.place.uri, "--threshold", str(case.threshold)),
        *("--capacity", str(case.fleet.largest_capacity)),
        *("--out", str(case.folder / "plan"), "--force", "--json"),
    ]

    def call() -> None:
        subprocess.run(arguments, check=True, capture_output=True)

    call()
    case.print(
        "command with Spark's start",
        seconds=median_seconds(call, case.repeats),
        aim="under 30 s at Spotify 1",
    )


def _whole(
    case: Case, spark: SparkSession, options: Options
) -> tuple[Plan, dict[str, float]]:
    watch = Stopwatch()
    target = Target(
        case.threshold, case.fleet, Place(str(case.folder.absolute() / "plan"))
    )
    (made,) = provision_directory(
        SparkEngine(spark, case.place), [target], options, force=True, progress=watch
    )
    return made.plan, watch.seconds


@contextmanager
def _spark(case: Case) -> Iterator[SparkSession]:
    case.reference("scan")  # the arrays are written, before Spark has the memory
    session = start_session()
    try:
        yield session
    finally:
        session.stop()


PARTS: dict[str, Callable[[Case], None]] = {
    "kernels": kernels,
    "selection": selection,
    "whole": whole,
    "command": command,
}


def _greedy_custom(case: Case) -> Stages:
    start = time.perf_counter()
    counts = np.zeros(case.workload.topics, np.int64)
    lists = list(_selected(case, Rule("greedy"), counts))
    between = time.perf_counter()
    packing = _packed(case, "custom", counts, lists)
    return Stages(lists, packing, between - start, time.perf_counter() - between)


def _shared_tight(case: Case) -> Stages:
    start = time.perf_counter()
    scan = MemoryScan(case.workload, case.threshold)
    survey = scan.survey(case.topics)
    dear = dearness(case.fleet, case.prices)
    choice = choose(scan, case.topics, survey, "shared", 0, dear)
    lists = list(scan.lists(case.topics, choice.rule))
    between = time.perf_counter()
    packing = _packed(case, "tight", choice.counts, lists)
    return Stages(lists, packing, between - start, time.perf_counter() - between)


def _selected(
    case: Case, rule: Rule, counts: Int64s
) -> Iterator[tuple[Int64s, Int32s]]:
    interests = case.workload.interests
    needs = np.full(interests.subscribers, case.threshold, np.int64)
    for first in range(0, interests.subscribers, BLOCK):
        offsets = interests.offsets[first : first + BLOCK + 1]
        block = needs[first : first + BLOCK]
        yield select_block(
            rule, case.topics, first, offsets, interests.topics, block, counts
        )


def _packed(case: Case, name: str, counts: Int64s, lists: Lists) -> Packing:
    demand = Demand(case.workload.rates, counts, lambda: iter(lists))
    packing = pack(name, demand, case.fleet, case.prices, never)
    assert packing is not None, "brokers without limit are enough"
    return packing


def _compare(case: Case, ours: Stages) -> None:
    """Fail unless the C++ program serves the same pairs on brokers equally loaded."""
    total = 0
    for number, (offsets, topics) in enumerate(ours.lists):
        total += check_sum(number * BLOCK, offsets, topics)
    runs = ours.packing.placement
    rates, brokers = case.workload.rates, ours.brokers
    loads = broker_loads(rates, runs.topic, runs.broker, runs.pairs, brokers)
    for mode in MODES:
        result = case.reference(mode).result
        if result["check_sum"] != total % 2**64:
            sys.exit(f"C++ {mode} selects other pairs than greedy: a defect")
        if result["loads"] != loads.tolist():
            sys.exit(f"C++ {mode} loads brokers otherwise than custom: a defect")


def ensure_workload(shape: str, scale: float, folder: Path) -> None:
    """Generate and ingest a trace, unless the folder has its workload already."""
    workload, trace = folder / "workload", folder / "trace"
    if (workload / "workload.json").exists():
        return
    session = start_session()
    brokerwise.generate(shape, scale=scale, seed=1, out=trace, force=True)
    brokerwise.ingest(
        pairs=trace / "pairs", rates=trace / "rates", out=workload, force=True
    )
    session.stop()
    shutil.rmtree(trace)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=SCALES, help="default: one after the other")
    parser.add_argument("--scale", type=float, help="default: spotify 1, twitter 0.1")
    parser.add_argument("--threshold", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--folder", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args()
    program = build(options.folder)
    for shape in [options.shape] if options.shape else SCALES:
        scale = SCALES[shape] if options.scale is None else options.scale
        folder = options.folder / f"{shape}-{scale:g}"
        ensure_workload(shape, scale, folder)
        case = Case(shape, scale, folder, program, options.threshold, options.repeats)
        for part in options.parts:
            PARTS[part](case)


if __name__ == "__main__":
    try:
        main()
    except NoCompilerError as missing:
        sys.exit(f"error: {missing}")
