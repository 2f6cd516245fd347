"""Provisioning as workloads grow: time, memory, bytes shuffled and written.

Twitter-shaped workloads of 10^5 to 6.8 x 10^8 pairs, threshold 100, on one Spark
session, each once after a small one has compiled the kernels. A JSON line a size, and a
plot of them all.

    python -m benchmarks.scaling [--most-pairs 100000000] [--folder out/benchmarks]
        [--plot docs/scaling.svg]

The largest workload needs 25 GB of disk while it is made, which takes five minutes.
"""

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.log_plot import log_plot
from benchmarks.measuring import bytes_below, peak, peak_memory, print_line
from benchmarks.provision import ensure_workload
from pyspark.sql import SparkSession

from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.pipeline.provision.engines import SparkEngine
from brokerwise.pipeline.provision.job import Target, provision_directory
from brokerwise.pipeline.session import start_session
from brokerwise.planners.provision.portfolio import Options
from brokerwise.storage.place import Place

PAIRS_AT_SCALE_1 = 683_500_000
SCALES = (0.00015, 0.0015, 0.015, 0.1, 1.0)
THRESHOLD = 100
BROKERS = 100
LOAD_PER_PAIR = 7.0  # of these workloads, served to the threshold


def measure(spark: SparkSession, workload: Path, plan: Path) -> dict[str, Any]:
    """Provision once; what it took."""
    engine = SparkEngine(spark, Place(str(workload)))
    capacity = max(20_000, int(engine.header.pairs * LOAD_PER_PAIR / BROKERS))
    fleet = Fleet.types(BrokerType("b", capacity, hour_usd=0.15), gigabyte_usd=0.12)
    target = Target(THRESHOLD, fleet, Place(str(plan)))
    watch, shuffled = Stopwatch(), _shuffled(spark)
    start = time.perf_counter()
    with peak_memory() as memory, peak(partial(bytes_below, plan.parent)) as disk:
        (made,) = provision_directory(
            engine, [target], Options(), force=True, progress=watch
        )
    return {
        "pairs": engine.header.pairs,
        "topics": engine.header.topics,
        "subscribers": engine.header.subscribers,
        "seconds": time.perf_counter() - start,
        "by_stage": watch.seconds,
        "peak_memory_gb": memory[0] / 1e9,
        "read_gb": bytes_below(workload / "interests") / 1e9,
        "shuffled_gb": (_shuffled(spark) - shuffled) / 1e9,
        "scratch_gb": max(0, disk[0] - bytes_below(plan)) / 1e9,
        "written_gb": bytes_below(plan) / 1e9,
        "brokers": len(made.plan.brokers),
        "gap": made.plan.gap,
    }


def _shuffled(spark: SparkSession) -> int:
    """Bytes that tasks of this session have sent one another so far."""
    java: Any = spark.sparkContext._jsc  # noqa: SLF001 (there is no other way)
    store = java.sc().statusStore()
    executors = store.executorList(False)
    return sum(executors.apply(i).totalShuffleWrite() for i in range(executors.size()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most-pairs", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    scales = [s for s in SCALES if s * PAIRS_AT_SCALE_1 <= options.most_pairs]
    folders = {s: (options.folder / f"twitter-{s:g}").absolute() for s in scales}
    for scale, folder in folders.items():
        ensure_workload("twitter", scale, folder)
    spark = start_session()
    rows = []
    try:
        for number, scale in enumerate([scales[0], *scales]):
            folder = folders[scale]
            row = measure(spark, folder / "workload", folder / "scaling" / "plan")
            if number:  # the first has compiled the kernels
                print_line(benchmark="provision scaling", scale=scale, **row)
                rows.append(row)
    finally:
        spark.stop()
    if options.plot:
        lines = {
            "seconds": [r["seconds"] for r in rows],
            "peak memory, GB": [r["peak_memory_gb"] for r in rows],
            "scratch, GB": [r["scratch_gb"] for r in rows],
            "plan written, GB": [r["written_gb"] for r in rows],
        }
        options.plot.write_text(log_plot([r["pairs"] for r in rows], lines, "pairs"))


if __name__ == "__main__":
    main()
