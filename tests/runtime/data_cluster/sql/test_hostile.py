"""Definitions that must not become channels: each is refused, none is run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.runtime.data_cluster.sql.city import DATASETS, channel
from tests.runtime.data_cluster.sql.hostile import HOSTILE

from brokerwise.runtime.data_cluster.sql.check import check_query
from brokerwise.runtime.data_cluster.sql.errors import RefusedQueryError


def jobs(spark: SparkSession) -> int:
    """How many Spark has run so far."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()  # noqa: SLF001
    return int(scheduler.numTotalJobs())


@pytest.fixture(scope="module", autouse=True)
def unchanged_catalog(spark: SparkSession) -> Iterator[None]:
    before = spark.catalog.listTables()
    yield
    assert spark.catalog.listTables() == before


@pytest.fixture
def canary(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A file that hostile definitions would change or remove. Whatever a test does
    with them, nothing is written and no job runs."""
    file = tmp_path / "canary"
    file.write_text("alive")
    before = jobs(spark)
    yield file
    assert jobs(spark) == before
    assert file.read_text() == "alive"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("sql", "line", "column", "reason"), HOSTILE)
def test_it_is_refused_with_the_reason_at_the_place_and_not_run(
    spark: SparkSession, canary: Path, sql: str, line: int, column: int, reason: str
) -> None:
    sql = sql.replace("{canary}", str(canary))
    with pytest.raises(RefusedQueryError) as refused:
        check_query(spark, channel(sql), DATASETS)
    error = refused.value
    assert reason in error.message
    assert error.line == line
    assert error.column == column or column == 0
    if line:
        assert error.snippet == sql.split("\n")[line - 1]
        assert error.details[1].endswith("^")


def test_the_counter_of_jobs_counts(spark: SparkSession) -> None:
    before = jobs(spark)
    spark.range(3).collect()
    assert jobs(spark) > before


def test_no_two_definitions_are_the_same() -> None:
    assert len({sql for sql, *_ in HOSTILE}) == len(HOSTILE) >= 40
