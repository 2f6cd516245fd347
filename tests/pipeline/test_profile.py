"""The profile of a workload directory on Spark."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.names import Names
from brokerwise.model.workload import Workload
from brokerwise.pipeline.profile import profile_directory, profile_workload
from brokerwise.pipeline.tasks import shares
from brokerwise.storage.place import Place
from brokerwise.storage.workload import write_workload


def skewed(topics: int, subscribers: int, seed: int) -> Workload:
    """A few topics are wanted by many, a tenth by none; so with subscribers."""
    generator = np.random.default_rng(seed)
    rates = np.sort(generator.zipf(1.6, topics).clip(max=10**6) - 1)[::-1]
    lists = [
        np.unique((0.9 * topics * generator.random(size) ** 3).astype(np.int32))
        for size in generator.zipf(1.5, subscribers).clip(max=topics) - 1
    ]
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return Workload(
        rates.astype(np.int64),
        Interests(offsets, np.concatenate(lists).astype(np.int32)),
        Names.numbered(topics),
        Names.numbered(subscribers),
        period_seconds=3600,
        message_bytes=100,
    )


@pytest.fixture
def in_many_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A workload of 40 files, with several row groups in each."""
    monkeypatch.setattr("brokerwise.storage.workload.BLOCK", 16)
    monkeypatch.setattr("brokerwise.storage.subscribers.BLOCK", 16)
    monkeypatch.setattr("brokerwise.storage.subscribers.PAIRS_PER_PART", 250)
    place = Place(str(tmp_path / "w"))
    header = write_workload(skewed(500, 1_500, 3), place)
    assert len(header.files["interests"]) > 20
    return place


@pytest.mark.parametrize("tasks", [None, 1, 12])
def test_spark_finds_the_same_in_any_number_of_tasks(
    spark: SparkSession, in_many_parts: Place, tasks: int | None
) -> None:
    expected = profile_workload(skewed(500, 1_500, 3))
    assert profile_directory(spark, in_many_parts, tasks=tasks) == expected


def test_spark_finds_the_same_in_one_file(spark: SparkSession, tmp_path: Path) -> None:
    workload = skewed(3_000, 20_000, 8)
    place = Place(str(tmp_path / "w"))
    header = write_workload(workload, place)
    assert len(header.files["interests"]) == 1
    assert profile_directory(spark, place) == profile_workload(workload)


def test_the_numbers_are_those_of_a_database(
    spark: SparkSession, in_many_parts: Place
) -> None:
    profile = profile_directory(spark, in_many_parts)
    topics, subscribers = by_database(in_many_parts)
    assert_spread(profile.followers, [row[1] for row in topics])
    assert_spread(profile.rate, [row[0] for row in topics])
    assert_spread(profile.followings, [row[0] for row in subscribers])
    assert_spread(profile.received, [row[1] for row in subscribers])
    assert profile.topics_without_subscribers == sum(not row[1] for row in topics) > 0
    idle = sum(not row[0] for row in subscribers)
    assert profile.subscribers_without_topics == idle > 0
    assert profile.load == sum(r * (1 + n) for r, n in topics if n)


def by_database(place: Place) -> tuple[list[Any], list[Any]]:
    """(rate, followers) of topics; (followings, received) of subscribers."""
    database = duckdb.connect()
    database.execute(
        f"create view topics as from '{place.uri}/topics/*.parquet';"
        f"create view interests as from '{place.uri}/interests/*.parquet';"
        "create view pairs as "
        "select subscriber, unnest(topics) as topic from interests"
    )
    topics = database.execute(
        "select any_value(rate), count(subscriber) from topics "
        "left join pairs using (topic) group by topic"
    ).fetchall()
    subscribers = database.execute(
        "select count(topic), coalesce(sum(rate), 0)::bigint from interests "
        "left join pairs using (subscriber) left join topics using (topic) "
        "group by subscriber"
    ).fetchall()
    return topics, subscribers


def assert_spread(found: Any, values: list[int]) -> None:
    array = np.array(values)
    assert (found.population, found.total) == (len(values), sum(values))
    quantiles = np.quantile(array, (0.5, 0.9, 0.99, 1), method="inverted_cdf")
    assert np.allclose((found.p50, found.p90, found.p99, found.max), quantiles, 1e-3)
    assert found.max == array.max()
    assert len(found.ccdf.values) >= 5
    for value, above in zip(found.ccdf.values, found.ccdf.above, strict=True):
        assert above == (array > value).sum()


@pytest.mark.parametrize("topics", [0, 3])
def test_a_workload_without_subscribers_has_a_profile(
    spark: SparkSession, tmp_path: Path, topics: int
) -> None:
    none = Interests(np.zeros(1, np.int64), np.zeros(0, np.int32))
    rates = np.arange(topics, 0, -1, dtype=np.int64)
    workload = Workload(rates, none, Names.numbered(topics), Names.numbered(0))
    place = Place(str(tmp_path / "w"))
    write_workload(workload, place)
    profile = profile_directory(spark, place)
    assert profile == profile_workload(workload)
    assert (profile.topics, profile.subscribers, profile.pairs) == (topics, 0, 0)
    assert (profile.load, profile.received.max, profile.received.mean) == (0, 0, 0)
    assert profile.rate.max == topics


def test_zero_rates_are_profiled_alike(spark: SparkSession, tmp_path: Path) -> None:
    workload = Workload.from_pairs(
        topics=["a", "a", "b"], subscribers=["u", "v", "v"], rates={"a": 0, "b": 0}
    )
    place = Place(str(tmp_path / "w"))
    write_workload(workload, place)
    profile = profile_directory(spark, place)
    assert profile == profile_workload(workload)
    assert profile.as_json()["subscription_cardinality"]["max"] == 0


def test_a_directory_that_lost_rows_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = Place(str(tmp_path / "w"))
    write_workload(skewed(20, 50, 1), place)
    path = tmp_path / "w" / "workload.json"
    header = json.loads(path.read_text())
    path.write_text(json.dumps(header | {"subscribers": 51}))
    with pytest.raises(InputError, match=r"50 subscribers, workload.json says 51"):
        profile_directory(spark, place)


def test_a_missing_file_is_named_and_not_a_failure(
    spark: SparkSession, in_many_parts: Place
) -> None:
    lost = sorted((Path(in_many_parts.uri) / "interests").iterdir())[7]
    lost.unlink()
    with pytest.raises(InputError, match=f"{lost.name} is missing"):
        profile_directory(spark, in_many_parts)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"topic": [0, 2], "rate": [5, 5]}, "numbered from 0"),
        ({"topic": [0, 1], "rate": [5, -1]}, "found rate -1"),
    ],
)
def test_topics_that_cannot_be_are_refused(
    spark: SparkSession, tmp_path: Path, columns: dict[str, list[int]], problem: str
) -> None:
    place = Place(str(tmp_path / "w"))
    header = write_workload(skewed(2, 50, 1), place)
    file = tmp_path / "w" / "topics" / header.files["topics"][0]
    pq.write_table(pa.table(columns), file)
    with pytest.raises(InputError, match=problem):
        profile_directory(spark, place)


@pytest.mark.parametrize("cores", [0, 2])
def test_a_cluster_that_begins_with_few_cores_gets_as_many_tasks_as_the_data_is_worth(
    cores: int,
) -> None:
    context: Any = SimpleNamespace(defaultParallelism=cores)
    assert shares(context, 640_000_000, 1_000_000) == 40
    assert shares(context, 100, 1_000_000) == max(1, cores)
    assert shares(context, 0, 0) == max(1, cores)
