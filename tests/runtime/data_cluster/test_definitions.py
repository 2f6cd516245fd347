"""Timestamps, against Python's datetime and Spark's TIMESTAMP; values of parameters."""

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.runtime.data_cluster.feeds import lines, make_datasets

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.definitions import microseconds, parameter_values
from brokerwise.runtime.data_cluster.records import parse_records, spark_schema
from brokerwise.runtime.data_cluster.segments import write_segments
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.protocol.data import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)
from brokerwise.runtime.protocol.names import Value, value_text

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
    with DataStore(tmp_path) as store:
        make_datasets(store)
        ((file, _),) = write_segments(store, [("all", parsed.table)])
        path = str(store.segments.path(file))
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


def one(kind: str) -> Channel:
    return Channel("c", "", 10.0, (Column("p", ColumnType(kind)),))


LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@given(st.text(), LONGS, DOUBLES, st.booleans())
def test_what_is_written_as_a_text_is_read_again(
    s: str, n: int, x: float, b: bool
) -> None:
    kinds = {"s": "string", "n": "long", "x": "double", "b": "boolean"}
    columns = tuple(Column(name, ColumnType(kind)) for name, kind in kinds.items())
    channel = Channel("c", "", 10.0, columns)
    given_: dict[str, Value] = {"b": b, "x": x, "n": n, "s": s}
    texts = {name: value_text(value) for name, value in given_.items()}
    found = parameter_values(channel, texts)
    assert found == (s, n, x, b)
    assert [type(value) for value in found] == [str, int, float, bool]


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_is_one_text_however_it_is_written(at: datetime) -> None:
    since = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    (found,) = parameter_values(one("timestamp"), {"p": at.isoformat()})
    assert isinstance(found, str)
    assert microseconds(found) == since
    if since % 1000 == 0:
        again = parameter_values(one("timestamp"), {"p": str(since // 1000)})
        assert again == (found,)


def test_milliseconds_and_texts_of_other_zones_are_timestamps() -> None:
    for text in ("1700000000000", "2023-11-14T22:13:20Z", "2023-11-14 23:13:20+01:00"):
        found = parameter_values(one("timestamp"), {"p": text})
        assert found == ("2023-11-14T22:13:20Z",)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("long", "1.5", "a whole number"),
        ("long", "", "a whole number"),
        ("long", "1_000", "a whole number"),
        ("long", " 1", "a whole number"),
        ("long", "٣", "a whole number"),
        ("long", "9223372036854775808", "a whole number"),
        ("long", "true", "a whole number"),
        ("double", "nan", "a number"),
        ("double", "inf", "a number"),
        ("double", "1e999", "a number"),
        ("double", "1e9999", "a number"),
        ("double", "0x10", "a number"),
        ("double", "x" * 500, "a number"),
        ("boolean", "True", "true or false"),
        ("boolean", "1", "true or false"),
        ("timestamp", "yesterday", "a timestamp"),
        ("timestamp", "2024-02-30", "a timestamp"),
        ("timestamp", "99999999999999999", "a timestamp"),
        ("timestamp", "", "a timestamp"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(
    kind: str, text: str, expected: str
) -> None:
    with pytest.raises(InputError) as error:
        parameter_values(one(kind), {"p": text})
    assert f"parameter 'p': found {text[:80]!r}" in str(error.value)
    assert expected in str(error.value)


def test_one_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="the parameter 'p' is missing"):
        parameter_values(one("string"), {})


def test_one_that_is_unknown_is_named_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match="found the parameter 'q', expected p"):
        parameter_values(one("string"), {"p": "a", "q": "b"})
    with pytest.raises(InputError, match="expected none"):
        parameter_values(Channel("c", "", 10.0, ()), {"q": "b"})
