"""The files of a plan and of its workload as DataFrames.

Only files that a header names are read, and no schema is inferred.
"""

import re
from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from brokerwise.auditing import schemas
from brokerwise.auditing.plan_files import PlanFiles
from brokerwise.storage.place import Place
from brokerwise.storage.workload import WorkloadHeader

# Beyond this many topics their rates are not copied to every executor: the copy
# would take more than half a gigabyte.
BROADCAST_TOPICS = 10_000_000

_PATTERN = re.compile(r"([\\*?\[\]{}])")


class PlanFrames:
    """A plan's tables; `weights` has those that it was made with."""

    def __init__(self, spark: SparkSession, files: PlanFiles) -> None:
        place, tables = files.place, files.header.tables
        names = (f"placement/{name}" for name in files.parts)
        self.placement = read(spark, place, names, schemas.PLACEMENT)
        self.assignment = read(spark, place, [tables["assignment"]], schemas.ASSIGNMENT)
        self.brokers = read(spark, place, [tables["brokers"]], schemas.BROKERS)
        self.weights = {
            name: read(spark, place, [tables[name]], schemas.WEIGHTS[name])
            for name in files.weights
        }


class WorkloadFrames:
    """A workload's tables; `rates` are copied to the tasks if they are not many."""

    def __init__(
        self, spark: SparkSession, place: Place, header: WorkloadHeader
    ) -> None:
        def table(name: str, schema: StructType) -> DataFrame:
            files = (f"{name}/{file}" for file in header.files[name])
            return read(spark, place, files, schema)

        rates = table("topics", schemas.TOPICS)
        self.rates = F.broadcast(rates) if header.topics <= BROADCAST_TOPICS else rates
        self.interests = table("interests", schemas.INTERESTS)
        self.topic_names = table("topics", schemas.TOPIC_NAMES)
        self.subscriber_names = table("subscribers", schemas.SUBSCRIBER_NAMES)
        self.thresholds = table("subscribers", schemas.THRESHOLDS)


def read(
    spark: SparkSession, root: Place, names: Iterable[str], schema: StructType
) -> DataFrame:
    """The columns of `schema` of these files, and no file besides."""
    paths = [_path(root / name) for name in names]
    if not paths:
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).parquet(*paths)


def _path(file: Place) -> str:
    """A file as Spark calls it: with a scheme, so that no default applies, without
    options of pyarrow's, and with nothing that stands for other names."""
    local = file.local
    uri = f"file://{local}" if local else str(file).partition("?")[0]
    return _PATTERN.sub(r"\\\1", uri)
