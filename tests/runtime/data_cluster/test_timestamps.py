"""Timestamps, against Python's datetime and Spark's TIMESTAMP."""

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.runtime.data_cluster.feeds import lines, make_datasets

from brokerwise.runtime.data_cluster.definitions import (
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)
from brokerwise.runtime.data_cluster.records import parse_records
from brokerwise.runtime.data_cluster.segments import write_files
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.data_cluster.timestamps import microseconds
from brokerwise.runtime.data_cluster.types import spark_schema

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
offsets = st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m)))
moments = st.datetimes(
    min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=offsets
)


@given(moments, st.sampled_from("T "))
def test_texts_with_an_offset_are_the_moment_that_they_name(
    moment: datetime, between: str
) -> None:
    expected = (moment - EPOCH) // timedelta(microseconds=1)
    assert microseconds(moment.isoformat(between)) == expected


@given(moments)
def test_texts_without_an_offset_are_utc(moment: datetime) -> None:
    text = moment.replace(tzinfo=None).isoformat()
    assert microseconds(text) == microseconds(text + "Z")
    assert microseconds(text) == microseconds(text + "+00")


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_whole_milliseconds_are_exact(milliseconds: int) -> None:
    assert microseconds(milliseconds) == milliseconds * 1000


@pytest.mark.parametrize("outside", [-62_135_596_800_001, 253_402_300_800_000, 1e18])
def test_moments_outside_of_the_years_1_to_9999_are_refused(outside: float) -> None:
    with pytest.raises(ValueError, match=re.escape(str(outside))):
        microseconds(outside)


def test_digits_beyond_microseconds_are_cut_off() -> None:
    assert microseconds("1970-01-01T00:00:00.123456789Z") == 123_456


def test_spark_reads_what_was_fed(spark: SparkSession, tmp_path: Path) -> None:
    names = [type_.value for type_ in ColumnType]
    dataset = Dataset(
        "all", DatasetKind.APPEND, tuple(Column(t.value, t) for t in ColumnType)
    )
    fed: list[list[object]] = [
        ["a \U0001f600", -(2**63), 0.1, True, "2024-02-29T12:00:00.000001+01:00"],
        [None, None, None, None, None],
        ["", 2**63 - 1, -1e300, False, "1066-10-14"],
        ["\0'", 0, 5, True, 1_700_000_000_123],
    ]
    records = (dict(zip(names, row, strict=True)) for row in fed)
    parsed = parse_records(dataset, lines(records))
    assert parsed.rejected == 0
    with Store(tmp_path) as store:
        make_datasets(store)
        write_files(store, [("all.parquet", parsed.table)])
        path = str(store.segment_path("all.parquet"))
        frame = spark.read.schema(spark_schema(dataset)).parquet(path)
        micros = "unix_micros(`timestamp`) AS at"
        rows = frame.selectExpr(*names[:4], micros).collect()
    utc = "SELECT unix_micros(TIMESTAMP '2024-02-29 11:00:00.000001 UTC')"
    assert (
        [list(row) for row in rows]
        == [
            [*fed[0][:4], spark.sql(utc).first()[0]],  # type: ignore[index]
            fed[1],
            [*fed[2][:4], microseconds("1066-10-14")],
            [*fed[3][:4], 1_700_000_000_123_000],
        ]
    )
    assert dict(frame.dtypes)["timestamp"] == "timestamp"
