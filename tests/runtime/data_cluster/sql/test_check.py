"""The check as a whole: its bound on time, and what it leaves to others."""

import threading
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.runtime.data_cluster.sql.city import DATASETS, channel

from brokerwise.runtime.data_cluster.sql import check
from brokerwise.runtime.data_cluster.sql.check import CheckedQuery, check_query
from brokerwise.runtime.data_cluster.sql.errors import RefusedQueryError


def test_a_check_that_takes_too_long_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = threading.Event()

    def stuck(*_: Any) -> CheckedQuery:
        done.wait()
        return CheckedQuery((), (), "")

    monkeypatch.setattr(check, "_check", stuck)
    monkeypatch.setattr(check, "CHECK_SECONDS", 0.05)
    spark: Any = None
    try:
        with pytest.raises(RefusedQueryError, match=r"could not be checked in 0\.05 s"):
            check_query(spark, channel("SELECT 1"), DATASETS)
    finally:
        done.set()


def test_what_is_not_the_querys_fault_is_not_blamed_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> CheckedQuery:
        raise ConnectionError("Spark is gone")

    monkeypatch.setattr(check, "_check", broken)
    spark: Any = None
    with pytest.raises(ConnectionError, match="Spark is gone"):
        check_query(spark, channel("SELECT 1"), DATASETS)


def test_names_of_datasets_are_the_same_in_upper_and_lower_case(
    spark: SparkSession,
) -> None:
    query = check_query(spark, channel("SELECT ID FROM Reports"), DATASETS)
    assert query.datasets == ("reports",)


def test_nothing_but_what_is_needed_stands_around_the_query(
    spark: SparkSession,
) -> None:
    sql = "SELECT id FROM reports WHERE type=:type AND :flag"
    assert check_query(spark, channel(sql), DATASETS).wrapped == (
        "SELECT _s._subscription AS subscription, "
        "to_json(struct(_r.*), map('ignoreNullFields', 'false')) AS data "
        "FROM _subscriptions _s, LATERAL (\n"
        "SELECT id FROM reports WHERE type= _s.p_type  AND  _s.p_flag \n) _r"
    )
