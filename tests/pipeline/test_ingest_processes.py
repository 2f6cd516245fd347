"""Ingest with real processes: killed half-way, and on a standalone cluster."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession
from tests.processes import BROKERWISE, Process, wait_until

from brokerwise.pipeline.ingest.job import Ingested, ingest
from brokerwise.pipeline.ingest.options import IngestOptions
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.storage.place import Place
from brokerwise.storage.workload import read_workload

PAIRS = 600_000


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
        (folder / "pairs" / f"{part}.csv").write_text(text)
    rates = "".join(f"topic-{t},{t % 977}\n" for t in range(20_000))
    (folder / "rates.csv").write_text(rates)
    return folder


def command(trace: Path, out: Path, *more: str) -> list[str]:
    return [
        *BROKERWISE,
        "ingest",
        "--pairs",
        str(trace / "pairs"),
        "--rates",
        str(trace / "rates.csv"),
        "--out",
        str(out),
        "--json",
        *more,
    ]


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
        pairs=(str(trace / "pairs"),), rates=(str(trace / "rates.csv"),)
    )
    return run(spark, options, out).header.digest


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
    assert read_workload(Place(str(out)), verify=True).pairs > 500_000
    assert again != before.header.digest
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.csv", "r.csv", "w"]


def test_a_cluster_gives_what_local_mode_gives_also_when_a_worker_dies(
    spark: SparkSession,
    cluster: tuple[str, list[Process]],
    trace: Path,
    tmp_path: Path,
) -> None:
    url, workers = cluster
    digest = local_digest(spark, trace, tmp_path / "local")
    settings = ("spark.executor.memory=512m", "spark.driver.host=127.0.0.1")
    options = ["--master", url, *(f"--conf={s}" for s in settings)]
    with Process(command(trace, tmp_path / "whole", *options)) as whole:
        assert whole.wait() == 0, whole.lines
    assert json.loads(whole.lines[-1])["digest"] == digest
    with Process(command(trace, tmp_path / "half", *options)) as half:
        half.line_with("topics")
        workers[0].kill_group()
        assert half.wait() == 0, half.lines
    assert json.loads(half.lines[-1])["digest"] == digest
    assert not workers[0].alive()
    assert os.path.isdir(tmp_path / "half" / "interests")


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
