"""Traces written by Spark tasks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from brokerwise.model.errors import InputError
from brokerwise.pipeline.generate import generate_trace, keep_completed, write_files
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.pipeline.shapes import SPOTIFY, TWITTER, Size, make_recipe
from brokerwise.pipeline.trace import writing
from brokerwise.storage.place import Place

# Eleven blocks of subscribers, so two files.
SMALL = Size(SPOTIFY, 0.14)
TINY = Size(TWITTER, 0.0001)


def generate(
    spark: SparkSession,
    out: Path,
    size: Size = TINY,
    seed: int = 1,
    tasks: int | None = None,
    force: bool = False,
) -> dict[str, bytes]:
    """Every file of a trace, by name."""
    generate_trace(
        size,
        seed,
        Place(str(out)),
        session=lambda: nullcontext(spark),
        progress=Stopwatch(),
        tasks=tasks,
        force=force,
    )
    return contents(out)


def contents(out: Path) -> dict[str, bytes]:
    files = (path for path in sorted(out.rglob("*")) if path.is_file())
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def test_files_do_not_depend_on_the_number_of_tasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = generate(spark, tmp_path / "one", SMALL, tasks=1)
    several = generate(spark, tmp_path / "several", SMALL)
    many = generate(spark, tmp_path / "many", SMALL, tasks=5)
    assert one == several == many
    assert list(one) == [
        "pairs/part-00000.csv",
        "pairs/part-00001.csv",
        "rates/part-00000.csv",
        "trace.json",
    ]


def test_another_seed_gives_another_trace_of_the_same_counts(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = generate(spark, tmp_path / "first", seed=1)
    second = generate(spark, tmp_path / "second", seed=2)
    assert first["pairs/part-00000.csv"] != second["pairs/part-00000.csv"]
    assert first["rates/part-00000.csv"] != second["rates/part-00000.csv"]
    counts = [json.loads(trace["trace.json"]) for trace in (first, second)]
    assert counts[0]["events"] == counts[1]["events"]
    assert counts[0]["pairs"] == pytest.approx(counts[1]["pairs"], rel=0.02)


def test_the_header_says_what_the_files_hold(
    spark: SparkSession, tmp_path: Path
) -> None:
    generate(spark, tmp_path / "trace", SMALL, seed=3)
    header = json.loads((tmp_path / "trace/trace.json").read_text())
    files = [f"{t}/{name}" for t, names in header["files"].items() for name in names]
    assert sorted(files) == [n for n in contents(tmp_path / "trace") if "/" in n]
    pairs = pd.concat(map(pd.read_csv, sorted(tmp_path.glob("trace/pairs/*"))))
    rates = pd.read_csv(tmp_path / "trace/rates/part-00000.csv")
    assert not pairs.duplicated().any()
    assert header["made_with"] == {"shape": "spotify", "scale": 0.14, "seed": 3}
    assert header["pairs"] == len(pairs) == pytest.approx(0.14 * 12e6, rel=0.01)
    assert header["subscribers"] == pairs.subscriber.nunique() == 686_000
    assert header["topics"] == len(rates) == rates.topic.nunique() == 154_000
    assert header["events"] == rates.rate.sum()
    assert set(pairs.topic) <= set(rates.topic)
    # Grouped by subscriber, in order of their numbers, across files.
    assert pairs.subscriber.str[1:].astype(int).is_monotonic_increasing


def test_of_a_task_that_ran_twice_one_file_is_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    recipe, _ = make_recipe(TINY, seed=1)
    shared = spark.sparkContext.broadcast(recipe)
    out = Place(str(tmp_path / "trace"))
    with writing(out, force=False) as output:
        attempts = output.attempts("pairs") / "pairs"
        for number in (1, 2):
            (attempts / f"attempt-{number}").write(b"topic,subscr")
        kept = list(write_files(shared, attempts, output.run, [0]))
        assert keep_completed(output, kept) == ["part-00000.csv"]
        output.commit({"files": {}})
    assert list(contents(tmp_path / "trace")) == ["pairs/part-00000.csv", "trace.json"]
    written = contents(tmp_path / "trace")["pairs/part-00000.csv"]
    assert (
        written == generate(spark, tmp_path / "whole", seed=1)["pairs/part-00000.csv"]
    )


def test_a_failed_run_leaves_what_was_there_and_nothing_else(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = generate(spark, tmp_path / "trace")

    @contextmanager
    def failing() -> Iterator[SparkSession]:
        with nullcontext(spark):
            raise RuntimeError("no session today")
        yield spark

    with pytest.raises(RuntimeError, match="no session today"):
        generate_trace(
            Size(SPOTIFY, 0.001),
            1,
            Place(str(tmp_path / "trace")),
            session=failing,
            progress=Stopwatch(),
            force=True,
        )
    assert contents(tmp_path / "trace") == before
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]


def test_a_failed_task_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    @contextmanager
    def spoiling() -> Iterator[SparkSession]:
        """Gives tasks a directory in which nobody can make files."""
        (root,) = (path for path in tmp_path.glob(".trace.*") if path.is_dir())
        attempts = root.with_name(f"{root.name}.attempts")
        attempts.mkdir()
        (attempts / "pairs").symlink_to("/proc")
        yield spark

    with pytest.raises(Exception, match="attempts/pairs/attempt-"):
        generate_trace(
            TINY,
            1,
            Place(str(tmp_path / "trace")),
            session=spoiling,
            progress=Stopwatch(),
        )
    assert list(tmp_path.iterdir()) == []


def test_an_existing_trace_is_replaced_only_by_force(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = generate(spark, tmp_path / "trace", seed=1)
    with pytest.raises(InputError, match="exists already; nothing was written"):
        generate(spark, tmp_path / "trace", seed=2)
    assert contents(tmp_path / "trace") == before
    assert generate(spark, tmp_path / "trace", seed=2, force=True) != before
