"""From raw latency logs to p90 rows, on Spark."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.latency_data import ROWS, LogFacts, logged, read_facts

LOGS = StructType(
    [
        StructField("configuration", LongType()),
        StructField("topic", IntegerType()),
        StructField("publisher", IntegerType()),
        StructField("seq", IntegerType()),
        StructField("sent_ns", LongType()),
        StructField("latency_ns", LongType()),
    ]
)
FACTS = StructType(
    [
        StructField("configuration", LongType()),
        StructField("topic", IntegerType()),
        StructField("processing_ms", DoubleType()),
        StructField("rate_per_second", DoubleType()),
        StructField("warm_up", IntegerType()),
        StructField("cpu_share", DoubleType()),
    ]
)
TARGETS = StructType(
    [
        StructField("configuration", LongType()),
        StructField("topic", IntegerType()),
        StructField("target_ms", DoubleType()),
    ]
)
_PATTERN = re.compile(r"([\\*?\[\]{}])")
_TOPIC = ["configuration", "topic"]
_MILLION = 1_000_000


def latency_rows(logs: DataFrame, facts: DataFrame) -> DataFrame:
    """A row a topic, in order: LOGS, FACTS -> `storage.latency_data.ROWS`.

    The first `warm_up` messages of each publisher are left out. The percentile is that
    of the nearest rank: the smallest latency that at least 90 % do not exceed.
    """
    counted = _counted(logs, facts)
    latencies = F.sort_array(F.collect_list("latency_ns"))
    of_topic = counted.groupBy(_TOPIC).agg(
        F.count("*").alias("messages"),
        # Whole numbers add up to the same in any order.
        F.sum("latency_ns").alias("sum_ns"),
        latencies.alias("latencies"),
    )
    rank = F.expr("cast((9 * messages + 9) div 10 as int)")
    found = of_topic.select(
        *_TOPIC,
        "messages",
        (F.col("sum_ns") / F.col("messages") / _MILLION).alias("mean_ms"),
        (F.element_at("latencies", rank) / _MILLION).alias("p90_ms"),
    )
    return found.join(F.broadcast(facts), _TOPIC).orderBy(*_TOPIC).select(*ROWS.names)


def messages_over(logs: DataFrame, facts: DataFrame, targets: DataFrame) -> DataFrame:
    """How many messages of each topic, of those that count, were later than its
    target: LOGS, FACTS, TARGETS -> configuration, topic, over, in order."""
    counted = _counted(logs, facts).join(F.broadcast(targets), _TOPIC)
    over = (F.col("latency_ns") > F.col("target_ms") * _MILLION).cast("long")
    return counted.groupBy(_TOPIC).agg(F.sum(over).alias("over")).orderBy(*_TOPIC)


def _counted(logs: DataFrame, facts: DataFrame) -> DataFrame:
    return logs.join(F.broadcast(facts), _TOPIC).where("seq > warm_up")


def reduce_logs(spark: SparkSession, folder: Path) -> LatencyRows:
    """The rows of all complete logs of a folder. Raises InputError if there are none,
    or one that is not ours."""
    return _collected(latency_rows(*_frames(spark, folder)).collect())


def count_over(
    spark: SparkSession, folder: Path, targets: Mapping[tuple[int, int], float]
) -> dict[tuple[int, int], int]:
    """By configuration and topic: messages that were later than its target."""
    rows = [(*key, target) for key, target in targets.items()]
    frame = spark.createDataFrame(rows, TARGETS)
    found = messages_over(*_frames(spark, folder), frame).collect()
    return {(row[0], row[1]): row[2] for row in found}


def _frames(spark: SparkSession, folder: Path) -> tuple[DataFrame, DataFrame]:
    """LOGS and FACTS of all complete logs of a folder."""
    paths = list(logged(folder).values())
    if not paths:
        raise InputError(f"{folder} has no complete log")
    facts = [row for path in paths for row in _fact_rows(read_facts(path))]
    return (
        spark.read.schema(LOGS).parquet(*map(_uri, paths)),
        spark.createDataFrame(facts, FACTS),
    )


def _fact_rows(facts: LogFacts) -> Iterator[tuple[Any, ...]]:
    for number, topic in enumerate(facts.topics):
        yield (
            facts.configuration,
            number,
            topic.processing_ms,
            topic.rate_per_second,
            topic.warm_up,
            facts.cpu_share,
        )


def _collected(rows: Iterable[Sequence[Any]]) -> LatencyRows:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return LatencyRows(**dict(zip(ROWS.names, columns, strict=True)))


def _uri(path: Path) -> str:
    """A file as Spark calls it, with nothing that stands for other names."""
    return _PATTERN.sub(r"\\\1", f"file://{path.resolve()}")
