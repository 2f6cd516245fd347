"""The traffic matrix: how much each user receives from each other."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from brokerwise.auditing.frames import read
from brokerwise.pipeline.tasks import attempt_name
from brokerwise.storage.network import NetworkHeader
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place

HEADER = "traffic.json"
FORMAT = 1

RATES = StructType(
    [
        StructField("user", IntegerType()),
        StructField("subchannel", IntegerType()),
        StructField("rate", LongType()),
    ]
)
INTERESTS = StructType(
    [
        StructField("user", IntegerType()),
        StructField("subchannels", ArrayType(IntegerType())),
    ]
)
FILES = StructType(
    [
        StructField("partition", IntegerType()),
        StructField("attempt", StringType()),
        StructField("pairs", LongType()),
    ]
)


def traffic(rates: DataFrame, interests: DataFrame) -> DataFrame:
    """RATES, INTERESTS -> from, to, rate: what `to` receives from another user `from`
    a period, where that is anything."""
    wanted = interests.select(
        F.col("user").alias("to"), F.explode("subchannels").alias("subchannel")
    )
    sent = rates.withColumnRenamed("user", "from")
    return (
        sent.join(wanted, "subchannel")
        .where(F.col("from") != F.col("to"))
        .groupBy("from", "to")
        .agg(F.sum("rate").alias("rate"))
    )


def write_traffic(
    spark: SparkSession, network: Place, header: NetworkHeader, output: Output
) -> dict[str, object]:
    """Write the traffic matrix of a network as Parquet; returns the header to commit.

    A pair of users is a row of `from`, `to` (numbers of users) and `rate`; rows
    ascend. O(sum over sub-channels of publishers * followers).
    """
    (output.root / "traffic").make()
    attempts = output.attempts("traffic") / "traffic"
    frame = traffic(
        read(spark, network, [header.tables["rates"]], RATES),
        read(spark, network, [header.tables["interests"]], INTERESTS),
    )
    parts = frame.repartitionByRange("from").sortWithinPartitions("from", "to")
    write = partial(_write_part, attempts, output.run)
    written = sorted(parts.mapInArrow(write, FILES).collect())
    names = [output.part(number) for number in range(len(written))]
    for row, name in zip(written, names, strict=True):
        output.keep(f"traffic/{row['attempt']}", f"traffic/{name}")
    return {
        "format": FORMAT,
        "network": {"digest": header.digest},
        "pairs": sum(row["pairs"] for row in written),
        "files": {"traffic": names},
    }


def _write_part(
    attempts: Place, run: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write a partition's rows to a file of this attempt, and tell of it: FILES."""
    context = TaskContext.get()
    partition = 0 if context is None else context.partitionId()
    attempt = attempt_name(run, partition)
    pairs = _write(attempts / attempt, batches)
    if pairs:
        yield pa.record_batch(
            [
                pa.array([partition], pa.int32()),
                pa.array([attempt]),
                pa.array([pairs], pa.int64()),
            ],
            names=[field.name for field in FILES],
        )


def _write(place: Place, batches: Iterator[pa.RecordBatch]) -> int:
    """Write rows to a file, if there are any; returns how many."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return 0
    filesystem, path = place.open()
    pairs = int(first.num_rows)
    with pq.ParquetWriter(path, first.schema, filesystem=filesystem) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
            pairs += batch.num_rows
    return pairs
