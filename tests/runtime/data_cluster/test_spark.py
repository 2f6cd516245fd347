"""Channels on Spark: what comes out, and what ends a run."""

import asyncio
import json
import random
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.runtime.data_cluster.channel_worlds import (
    LOCATIONS,
    NEAR,
    QUERY,
    REPORTS,
    SHELTERS,
    Scheduled,
    World,
    make_world,
    play,
    until,
    wrapped,
)

from brokerwise.runtime.data_cluster import spark as spark_module
from brokerwise.runtime.data_cluster.records import arrow_schema
from brokerwise.runtime.data_cluster.spark import (
    CancelledRunError,
    LimitError,
    Limits,
    RunError,
    SparkRunner,
    SparkTroubleError,
    SubscriptionRows,
    Work,
    run_failure,
    service_settings,
    warm,
)
from brokerwise.runtime.data_cluster.sql.check import CheckedQuery, check_query
from brokerwise.runtime.data_cluster.status import channel_status
from brokerwise.runtime.protocol.data import Channel, Column, ColumnType, Dataset

Task = asyncio.Task[None]
TYPES = ("fire", "flood", "storm", "o'clock")
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    # Names that Spark would take for patterns.
    made = make_world(tmp_path / "state [1] {a,b} é*")
    with made.store:
        yield made


def reports(draw: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "type": draw.choice([*TYPES, None]),
            "cell": draw.randrange(6),
            "level": draw.choice([1, 2, 3, None]),
            "seen": START + timedelta(minutes=draw.randrange(60)),
        }
        for _ in range(count)
    ]


BY_TYPE = Channel(
    "by_type",
    "SELECT r.type, r.cell, r.level FROM reports r -- all of them\n"
    "WHERE r.type = :type AND r.seen >= :since",
    10.0,
    (Column("type", ColumnType.STRING), Column("since", ColumnType.TIMESTAMP)),
)
NEAR_USER = Channel(
    "near_user",
    "SELECT r.cell, r.level, s.shelters FROM locations l "
    "JOIN reports r ON r.cell = l.cell "
    "LEFT JOIN (SELECT cell, count(*) AS shelters FROM shelters GROUP BY cell) s "
    "ON s.cell = r.cell WHERE l.user = :user",
    10.0,
    (Column("user", ColumnType.STRING),),
)
SUMMARY = Channel(
    "summary",
    "SELECT r.cell, count(*) AS reports, max(r.level) AS worst FROM reports r "
    "WHERE r.cell <= :most GROUP BY r.cell",
    10.0,
    (Column("most", ColumnType.LONG),),
)
SUBSCRIBED: dict[Channel, list[tuple[object, ...]]] = {
    BY_TYPE: [(type_, f"2026-01-01T00:{m}:00Z") for type_ in TYPES for m in (10, 30)],
    NEAR_USER: [(f"u{n}",) for n in range(5)],
    SUMMARY: [(0,), (3,), (-1,)],
}


def expected(
    world: World, channel: Channel, values: Sequence[object]
) -> list[dict[str, Any]]:
    """By DuckDB, from the segments of each run, for one subscription alone."""
    sql = channel.sql
    for parameter, value in zip(channel.parameters, values, strict=True):
        text = "'" + str(value).replace("'", "''") + "'"
        is_time = parameter.type is ColumnType.TIMESTAMP
        literal = f"TIMESTAMPTZ {text}" if is_time else text
        literal = str(value) if isinstance(value, int) else literal
        sql = sql.replace(f":{parameter.name}", literal)
    runs = world.store.sql.execute(
        "SELECT first_segment, last_segment, state_segment FROM runs "
        "WHERE channel = ? ORDER BY run",
        (channel.name,),
    ).fetchall()
    return [row for run in runs for row in run_by_duckdb(world, sql, *run)]


def run_by_duckdb(
    world: World, sql: str, first: int, last: int, state: int
) -> list[dict[str, Any]]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("reports", records(world, REPORTS, first, last))
        database.register("shelters", records(world, SHELTERS, 1, state))
        database.register("moves", records(world, LOCATIONS, 1, state))
        database.execute(
            'CREATE VIEW locations AS SELECT arg_max(cell, segment) AS cell, "user" '
            'FROM moves GROUP BY "user"'
        )
        found = database.execute(sql)
        names = [column[0] for column in found.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return sorted(rows, key=text_of)


def records(world: World, dataset: Dataset, first: int, last: int) -> pa.Table:
    """Those of segments `first` to `last`, with the segments' numbers."""
    segments = world.store.sql.execute(
        "SELECT number, file FROM segments WHERE dataset = ? "
        "AND number BETWEEN ? AND ?",
        (dataset.name, first, last),
    ).fetchall()
    tables = [pq.read_table(world.store.segments.path(file)) for _, file in segments]
    numbers = [
        number
        for (number, _), table in zip(segments, tables, strict=True)
        for _ in range(len(table))
    ]
    whole = pa.concat_tables([arrow_schema(dataset).empty_table(), *tables])
    return whole.append_column("segment", pa.array(numbers, pa.int64()))


def text_of(row: dict[str, Any]) -> bytes:
    """As the data cluster writes it."""
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()


def test_every_subscription_gets_what_duckdb_finds_for_it_alone(
    world: World, spark: SparkSession
) -> None:
    draw = random.Random(7)
    numbers: dict[tuple[Channel, tuple[object, ...]], int] = {}

    async def scene(on: Scheduled, running: Task) -> None:
        world.feed(SHELTERS, [{"name": f"s{n}", "cell": n % 4} for n in range(9)])
        for channel, subscriptions in SUBSCRIBED.items():
            await on.scheduler.create(channel)
            for values in subscriptions:
                number = world.subscribe(channel.name, *values)
                numbers[channel, values] = number
        for _ in range(3):
            for _ in range(3):
                moved = [{"user": f"u{n}", "cell": draw.randrange(6)} for n in range(4)]
                world.feed(LOCATIONS, draw.sample(moved, 3))
                last = world.feed(REPORTS, reports(draw, 12))
            await on.pass_time(10)
            for channel in SUBSCRIBED:
                await until(
                    lambda n=channel.name, s=last: on.segment(n) == s,  # type: ignore[misc]
                    [running],
                )

    play(world, SparkRunner(spark), scene, spark=spark, check=check_query)
    found = 0
    for (channel, values), number in numbers.items():
        log = world.log(number)
        assert log == expected(world, channel, values), (channel.name, values)
        found += len(log)
    assert found > 100


def test_a_segment_that_cannot_be_read_is_set_aside_and_the_others_appear(
    world: World, spark: SparkSession
) -> None:
    world.create()
    number = world.subscribe("near", "fire")
    for _ in range(3):
        world.report("fire")
    (file,) = world.store.sql.execute(
        "SELECT file FROM segments WHERE number = 2"
    ).fetchone()
    world.store.segments.path(file).write_bytes(b"PAR1 but not a whole file PAR1")

    async def scene(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        await until(lambda: on.segment() == 3, [running])

    play(world, SparkRunner(spark), scene)
    assert [result["type"] for result in world.log(number)] == ["fire", "fire"]
    (aside,) = channel_status(world.store.sql, "near").set_aside
    assert aside.segment == 2
    assert file in aside.reason


def work(world: World, query: CheckedQuery, subscriptions: int = 1) -> Work:
    """A run over three reports of fire."""
    world.report("fire", "fire", "fire")
    files = [file for (file,) in world.store.sql.execute("SELECT file FROM segments")]
    paths = tuple(str(world.store.segments.path(file).absolute()) for file in files)
    numbers = tuple(range(1, subscriptions + 1))
    subscribed = SubscriptionRows(
        (len(numbers), 1), numbers, ('["fire"]',) * len(numbers)
    )
    return Work(NEAR, query, {"reports": REPORTS}, subscribed, {"reports": paths})


def query(sql: str) -> CheckedQuery:
    return CheckedQuery(("reports",), (), wrapped(sql))


# Years of work, in a query that no check would let pass. Spark asks whether to stop
# after each thousand rows of the first range: so the second is short.
ENDLESS = query(
    "SELECT count(*) AS n FROM reports r, range(1000000000000) a, range(1000) b "
    "WHERE a.id * b.id % 7 = r.cell"
)


def test_a_run_that_takes_too_long_is_ended_and_the_next_one_goes(
    world: World, spark: SparkSession
) -> None:
    runner = SparkRunner(spark, Limits(seconds=1.0))
    with pytest.raises(LimitError, match="takes longer than 1 s") as raised:
        runner.run(work(world, ENDLESS))
    assert raised.value.limit == "seconds"
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []
    assert len(SparkRunner(spark).run(work(world, QUERY))) == 6


def test_a_run_can_be_cancelled(world: World, spark: SparkSession) -> None:
    runner = SparkRunner(spark)

    def cancel() -> None:
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            pass
        runner.cancel("near")

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(CancelledRunError):
        runner.run(work(world, ENDLESS))
    cancelling.join()


def test_a_run_with_too_many_results_is_named(
    world: World, spark: SparkSession
) -> None:
    three = work(world, QUERY)
    assert len(SparkRunner(spark, Limits(rows=3)).run(three)) == 3
    with pytest.raises(LimitError, match="more than 2 results") as raised:
        SparkRunner(spark, Limits(rows=2)).run(three)
    assert raised.value.limit == "rows"


def test_a_run_with_results_of_too_many_bytes_is_named(
    world: World, spark: SparkSession
) -> None:
    three = work(world, QUERY)
    size = len('{"type":"fire","cell":0}') * 3
    assert len(SparkRunner(spark, Limits(bytes=size)).run(three)) == 3
    with pytest.raises(LimitError, match=f"have {size} bytes, expected") as raised:
        SparkRunner(spark, Limits(bytes=size - 1)).run(three)
    assert raised.value.limit == "bytes"


def test_one_result_that_is_too_long_to_be_delivered_is_named(
    world: World, spark: SparkSession
) -> None:
    long = query("SELECT repeat('x', 1048576) AS x FROM reports")
    with pytest.raises(LimitError, match=r"one result has 1,048,584 bytes") as raised:
        SparkRunner(spark).run(work(world, long))
    assert raised.value.limit == "bytes"


def test_a_query_that_fails_says_why(world: World, spark: SparkSession) -> None:
    failing = query("SELECT raise_error('all is lost') AS x FROM reports")
    with pytest.raises(RunError, match="all is lost"):
        SparkRunner(spark).run(work(world, failing))


def test_what_spark_says_of_a_lost_machine_is_not_the_records_fault() -> None:
    full = OSError(28, "No space left on device")
    assert isinstance(run_failure(full, 10), SparkTroubleError)
    text = (
        "An error occurred while calling o1.getResult.\n"
        ": org.apache.spark.SparkException: Exception thrown in awaitResult: \n\tat x\n"
        "Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: "
        "Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 in "
        "stage 1.0 (TID 7) (10.0.0.1 executor 2): {}\nDriver stacktrace:\n\tat y"
    )
    lost = run_failure(
        Exception(text.format("ExecutorLostFailure (executor 2 exited)")), 9
    )
    assert isinstance(lost, SparkTroubleError)
    assert lost.message == "ExecutorLostFailure (executor 2 exited)"
    memory = run_failure(Exception(text.format("java.lang.OutOfMemoryError: heap")), 9)
    assert memory.message == "it needs more memory than Spark has"
    much = "Total size (2 B) is bigger than spark.driver.maxResultSize (1 B)"
    limit = run_failure(Exception(text.format(much)), 9)
    assert isinstance(limit, LimitError)
    assert "more than 9 bytes" in limit.message
    assert isinstance(run_failure(ValueError("odd"), 9), RunError)


def test_subscriptions_that_come_and_go_are_seen_by_the_next_run(
    world: World, spark: SparkSession
) -> None:
    world.create()
    first = world.subscribe("near", "fire")
    second = world.subscribe("near", "flood")

    async def scene(on: Scheduled, running: Task) -> None:
        world.report("fire", "flood", "storm")
        await on.pass_time(10)
        await until(lambda: on.runs() == 1, [running])
        world.unsubscribe(second)
        third = world.subscribe("near", "storm")
        world.report("fire", "flood", "storm")
        await on.pass_time(10)
        await until(lambda: on.runs() == 2, [running])
        assert [result["type"] for result in world.log(third)] == ["storm"]
        assert on.told[1][2] == (first, third)

    play(world, SparkRunner(spark), scene)
    assert len(world.log(first)) == 2


def test_a_large_static_dataset_is_read_by_spark(
    world: World, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_module, "IN_PLAN_BYTES", 0)
    world.create(NEAR, REPORTS, SHELTERS)
    joined = "SELECT s.name FROM reports r JOIN shelters s ON s.cell = r.cell"
    check = CheckedQuery(("reports", "shelters"), (), wrapped(joined))
    number = world.subscribe("near", "fire")
    world.feed(SHELTERS, [{"name": "a", "cell": 0}, {"name": "b", "cell": 7}])
    world.report("fire")

    async def scene(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        await until(lambda: on.runs() == 1, [running])

    play(world, SparkRunner(spark), scene, check=lambda *_: check)
    assert world.log(number) == [{"name": "a"}]


def test_warming_runs_for_nobody_and_leaves_nothing(
    world: World, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    warm(world.store, SparkRunner(spark), spark)
    assert caplog.text == ""
    assert list((world.store.directory / "segments").iterdir()) == []


def test_warming_that_fails_is_only_said(
    world: World, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    warm(world.store, SparkRunner(spark, Limits(rows=0)), spark)
    assert "Spark could not be warmed: it has more than 0 results" in caplog.text


def test_spark_that_is_up_is_alive(spark: SparkSession) -> None:
    assert SparkRunner(spark).is_alive()


def test_what_is_only_for_one_machine_is_not_set_elsewhere() -> None:
    local, far = service_settings("local[2]"), service_settings("spark://a:7077")
    assert local.items() > far.items()
    assert service_settings(None) == local
    assert far["spark.sql.runSQLOnFiles"] == "false"
