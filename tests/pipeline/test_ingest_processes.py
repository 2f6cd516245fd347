"""Ingest with real processes: killed half-way, and on a standalone cluster."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import duckdb
import numpy as np
import pytest
from pyspark.sql import SparkSession
from tests.processes import BROKERWISE, Process, wait_until
from tests.standalone import SETTINGS, TESTS_FOUND, Standalone

from brokerwise.pipeline.ingest.job import Ingested, ingest
from brokerwise.pipeline.ingest.options import IngestOptions
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.storage.place import Place
from brokerwise.storage.workload import read_workload

PAIRS = 300_000
REJECTED = 12
# A second attempt is started beside one that takes a little long.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.task.duration.threshold": "100ms",
    "spark.speculation.quantile": "0",
    "spark.speculation.multiplier": "1",
}
ON_ONE_SESSION = [sys.executable, "-m", "tests.pipeline.on_one_session"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that takes ingest a few seconds: several splits, many ranges."""
    folder = tmp_path_factory.mktemp("trace")
    rng = np.random.default_rng(7)
    topics = rng.integers(0, 20_000, PAIRS).tolist()
    people = rng.integers(0, 200_000, PAIRS).tolist()
    (folder / "pairs").mkdir()
    for part in range(12):
        lines = zip(topics[part::12], people[part::12], strict=True)
        text = "".join(f"topic-{t},subscriber-with-a-long-name-{s}\n" for t, s in lines)
        (folder / "pairs" / f"{part}.csv").write_text(text + "nobody\n")
    rates = "".join(f"topic-{t},{t % 977}\n" for t in range(20_000))
    (folder / "rates.csv").write_text(rates)
    return folder


def ingestion(trace: Path, out: Path, *more: str) -> list[str]:
    pairs, rates = str(trace / "pairs"), str(trace / "rates.csv")
    wanted = ("--pairs", pairs, "--rates", rates, "--out", str(out), "--json")
    return ["ingest", *wanted, "--max-rejected", "1%", *more]


def command(trace: Path, out: Path, *more: str) -> list[str]:
    return [*BROKERWISE, *ingestion(trace, out, *more)]


def run(spark: SparkSession, options: IngestOptions, out: Path) -> Ingested:
    return ingest(
        options,
        Place(str(out)),
        session=lambda: nullcontext(spark),
        progress=Stopwatch(),
        force=True,
    )


def local_digest(spark: SparkSession, trace: Path, out: Path) -> str:
    options = IngestOptions(
        pairs=(str(trace / "pairs"),),
        rates=(str(trace / "rates.csv"),),
        max_rejected=0.01,
    )
    return run(spark, options, out).header.digest


@pytest.mark.long
def test_a_run_killed_half_way_leaves_the_old_workload_intact(
    spark: SparkSession, trace: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.csv").write_text("a,u\n")
    (tmp_path / "r.csv").write_text("a,1\n")
    out = tmp_path / "w"
    old = IngestOptions(
        pairs=(str(tmp_path / "p.csv"),), rates=(str(tmp_path / "r.csv"),)
    )
    before = run(spark, old, out)
    with Process(command(trace, out, "--force")) as running:
        running.line_with("topics")
        running.kill()
        wait_until(lambda: not running.alive(), 30)
    left = [p.name for p in tmp_path.iterdir() if p.name.startswith(".w.")]
    assert left, "the killed run had not begun to write"
    assert read_workload(Place(str(out)), verify=True).pairs == 1
    assert json.loads((out / "workload.json").read_text())["digest"] == (
        before.header.digest
    )
    again = local_digest(spark, trace, out)
    assert read_workload(Place(str(out)), verify=True).pairs > 250_000
    assert again != before.header.digest
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.csv", "r.csv", "w"]


@pytest.fixture(scope="module")
def attempted(
    spark: SparkSession,
    shared_cluster: Standalone,
    trace: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder with workloads of the trace, `local`, `whole` and `half`, and a `plan`
    of `whole`.

    The cluster has lost attempts at every task of `whole` and `plan`, and a worker in
    the middle of `half`.
    """
    folder = tmp_path_factory.mktemp("attempted")
    (folder / "events").mkdir()
    local_digest(spark, trace, folder / "local")
    shared_cluster.complete()
    commands = [
        ingestion(trace, folder / "whole"),
        [
            *("provision", str(folder / "whole"), "--threshold", "40"),
            *("--selection", "exact", "--packing", "custom", "--rounds", "0"),
            *("--capacity", "600000", "--json"),
            *("--out", str(folder / "plan"), "--master", shared_cluster.url),
        ],
        ingestion(trace, folder / "half"),
    ]
    settings = json.dumps(SETTINGS | SPECULATION)
    given = [shared_cluster.url, settings, str(folder / "events")]
    given += map(json.dumps, commands)
    with Process([*ON_ONE_SESSION, *given], TESTS_FOUND) as running:
        wait_until(lambda: said(running, "topics") == 2 or not running.alive(), 240)
        shared_cluster.workers[0].kill_group()
        assert said(running, "{") == 2, running.lines  # the last is under way
        assert running.wait() == 0, running.lines
    assert not shared_cluster.workers[0].alive()
    return folder


def test_a_cluster_gives_what_local_mode_gives_also_when_a_worker_dies(
    attempted: Path,
) -> None:
    digests = [
        json.loads((attempted / name / "workload.json").read_text())["digest"]
        for name in ("local", "whole", "half")
    ]
    assert len(set(digests)) == 1


TABLES = ("whole/interests", "whole/subscribers", "whole/rejected", "plan/placement")


@pytest.mark.parametrize("table", TABLES)
def test_readers_find_what_was_committed_also_after_lost_and_speculative_attempts(
    spark: SparkSession, attempted: Path, table: str
) -> None:
    for event in ("slow", "failed"):
        assert len(list((attempted / "events").glob(f"{event}-*"))) >= 3
    workload = json.loads((attempted / "whole/workload.json").read_text())
    plan = json.loads((attempted / "plan/plan.json").read_text())
    stated = plan if table.startswith("plan") else workload
    rows = REJECTED if table.endswith("rejected") else workload["subscribers"]
    folder = str(attempted / table)
    assert spark.read.parquet(folder).count() == rows
    query = f"SELECT count(*) FROM '{folder}/*.parquet'"
    assert duckdb.connect().execute(query).fetchall() == [(rows,)]
    named = stated["files"][(attempted / table).name]
    assert sorted(path.name for path in Path(folder).iterdir()) == sorted(named)


def said(process: Process, beginning: str) -> int:
    """How many lines of its output begin so."""
    return sum(line.startswith(beginning) for line in process.lines)


def test_interrupted_while_spark_starts_it_leaves_nothing_running(
    trace: Path, tmp_path: Path
) -> None:
    with Process(command(trace, tmp_path / "w")) as running:
        wait_until(lambda: any("java" in name for name in running.members()), 60)
        running.terminate()
        assert running.wait() == 130
        assert running.lines[-1] == "interrupted; nothing was written"
        wait_until(lambda: not running.alive(), 30)
    assert list(tmp_path.iterdir()) == []
