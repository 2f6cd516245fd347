"""The files of a plan and of its workload as DataFrames, and the recount of a placement
as DataFrame expressions.

Only files that a header names are read, and no schema is inferred.

Counts from the pairs up and shares no code with planners: the load law is stated
here again. No pair is shuffled: pairs are added up where their rows are read, and
what moves is one line per topic and broker, or a subscriber's list as a whole.
"""

import re
from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from brokerwise.auditing.files import PlanFiles
from brokerwise.storage.place import Place
from brokerwise.storage.workload import WorkloadHeader

TOPIC_LIST = ArrayType(IntegerType(), containsNull=False)
TOPICS = StructType(
    [StructField("topic", IntegerType()), StructField("rate", LongType())]
)
INTERESTS = StructType(
    [StructField("subscriber", LongType()), StructField("topics", TOPIC_LIST)]
)
TOPIC_NAMES = StructType(
    [StructField("topic", IntegerType()), StructField("name", StringType())]
)
SUBSCRIBER_NAMES = StructType(
    [StructField("subscriber", LongType()), StructField("name", StringType())]
)
THRESHOLDS = StructType(
    [StructField("subscriber", LongType()), StructField("threshold", LongType())]
)
PLACEMENT = StructType(
    [
        StructField("subscriber", LongType()),
        StructField("topics", TOPIC_LIST),
        StructField("brokers", TOPIC_LIST),
    ]
)
ASSIGNMENT = StructType(
    [
        StructField("topic", IntegerType()),
        StructField("broker", IntegerType()),
        StructField("pairs", LongType()),
    ]
)
WEIGHTS = {
    "topic_weights": StructType(
        [StructField("topic", IntegerType()), StructField("weight", LongType())]
    ),
    "subscriber_weights": StructType(
        [StructField("subscriber", LongType()), StructField("weight", LongType())]
    ),
}
BROKERS = StructType([StructField("broker", IntegerType())])
# Beyond this many topics their rates are not copied to every executor: the copy
# would take more than half a gigabyte.
BROADCAST_TOPICS = 10_000_000
_PATTERN = re.compile(r"([\\*?\[\]{}])")
# Wide enough for any 64-bit rate times any 64-bit count: a forged plan must not
# overflow into an error, or a small load.
_WHOLE = "decimal(38,0)"
_HALF = "decimal(19,0)"
_DIFFERS = "found != said or rows != 1"
COUNTS = (
    "subscriber",
    "rows",
    "uneven",
    "strange",
    "repeats",
    "unwanted",
    "best_unserved",
    "threshold",
)
"""What is counted of each subscriber: numbers only, which Spark adds up fastest."""


class PlanFrames:
    """A plan's tables; `weights` has those that it was made with."""

    def __init__(self, spark: SparkSession, files: PlanFiles) -> None:
        place, tables = files.place, files.header.tables
        names = (f"placement/{name}" for name in files.parts)
        self.placement = read(spark, place, names, PLACEMENT)
        self.assignment = read(spark, place, [tables["assignment"]], ASSIGNMENT)
        self.brokers = read(spark, place, [tables["brokers"]], BROKERS)
        self.weights = {
            name: read(spark, place, [tables[name]], WEIGHTS[name])
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

        rates = table("topics", TOPICS)
        self.rates = F.broadcast(rates) if header.topics <= BROADCAST_TOPICS else rates
        self.interests = table("interests", INTERESTS)
        self.topic_names = table("topics", TOPIC_NAMES)
        self.subscriber_names = table("subscribers", SUBSCRIBER_NAMES)
        self.thresholds = table("subscribers", THRESHOLDS)


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


def cut_to_pairs(placement: DataFrame) -> DataFrame:
    """PLACEMENT with lists of equal length: what has no counterpart is cut off.

    Adds `uneven`, 1 where something was.
    """
    pairs = F.least(F.size("topics"), F.size("brokers"))

    def cut(column: str) -> Column:
        whole = F.size(column) == pairs
        return F.when(whole, F.col(column)).otherwise(F.slice(column, F.lit(1), pairs))

    return placement.select(
        "subscriber",
        cut("topics").alias("topics"),
        cut("brokers").alias("brokers"),
        (F.size("topics") != F.size("brokers")).cast("long").alias("uneven"),
    )


def runs_of(placement: DataFrame) -> DataFrame:
    """Pairs by topic and broker: PLACEMENT -> (topic, broker, found)."""
    pair = F.explode(F.arrays_zip("topics", "brokers")).alias("pair")
    return (
        placement.select(pair)
        .groupBy(
            F.col("pair.topics").alias("topic"), F.col("pair.brokers").alias("broker")
        )
        .agg(F.count("*").alias("found"))
    )


def compared_runs(
    found: DataFrame, assignment: DataFrame, rates: DataFrame, brokers: DataFrame
) -> DataFrame:
    """Runs as found and as said: (topic, broker, found, said, rows, rate, hosted)."""
    said = assignment.groupBy("topic", "broker").agg(
        F.sum(F.col("pairs").cast(_WHOLE)).alias("said"), F.count("*").alias("rows")
    )
    hosts = brokers.distinct().withColumn("hosted", F.lit(True))
    return (
        found.join(said, ["topic", "broker"], "full_outer")
        .join(rates, "topic", "left")
        .join(F.broadcast(hosts), "broker", "left")
        .select(
            "topic",
            "broker",
            *(_or_zero(column) for column in ("found", "said", "rows", "rate")),
            F.coalesce("hosted", F.lit(False)).alias("hosted"),
        )
    )


def differing_runs(runs: DataFrame) -> DataFrame:
    """Compared runs of which the plan says another number of pairs, or twice one."""
    return runs.filter(_DIFFERS).select("topic", "broker", "found", "said", "rows")


def unhosted_runs(runs: DataFrame) -> DataFrame:
    """Compared runs on brokers that are not in the plan."""
    adrift = runs.filter("found > 0 and not hosted")
    return adrift.select("topic", "broker", "found", "said", "rows")


def broker_counts(runs: DataFrame) -> DataFrame:
    """What each broker carries, by the load law: it receives a topic once and sends
    it once per pair.

    Compared runs -> (broker, topics, pairs, incoming, outgoing, differing); the line
    of brokers that are not in the plan has no number.
    """
    broker = F.when(F.col("hosted"), F.col("broker")).alias("broker")
    carried = F.col("found") > 0
    rate = F.col("rate").cast(_HALF)
    return runs.groupBy(broker).agg(
        F.count_if(carried).alias("topics"),
        F.sum("found").alias("pairs"),
        F.sum(F.when(carried, rate).otherwise(0).cast(_WHOLE)).alias("incoming"),
        F.sum((rate * F.col("found").cast(_HALF)).cast(_WHOLE)).alias("outgoing"),
        F.count_if(F.expr(_DIFFERS)).alias("differing"),
    )


def rows_by_subscriber(pairs: DataFrame, *, unique: bool) -> DataFrame:
    """Cut pairs -> (subscriber, topics, rows, uneven), one line a subscriber.

    Rows that are known to be `unique` stay where they are.
    """
    rows = pairs.select("subscriber", "topics", F.lit(1).alias("rows"), "uneven")
    if unique:
        return rows
    return rows.groupBy("subscriber").agg(
        F.flatten(F.collect_list("topics")).alias("topics"),
        F.sum("rows").alias("rows"),
        F.sum("uneven").alias("uneven"),
    )


def compared_lists(rows: DataFrame, wanted: DataFrame, threshold: Column) -> DataFrame:
    """What each subscriber is served, beside what it wants.

    Lines of `rows_by_subscriber` and INTERESTS, whose lists are joined whole and
    counted on to be without repeats -> (COUNTS, `served`: the list of what it is
    served and wants).
    """
    lists = rows.join(
        wanted.withColumnRenamed("topics", "wanted"), "subscriber", "full"
    )
    topics, wishes = _or_empty("topics"), _or_empty("wanted")
    unserved = F.size("unserved")
    return (
        lists.withColumns(
            {"topics": topics, "stranger": F.col("wanted").isNull(), "wanted": wishes}
        )
        .withColumn("unserved", F.array_except("wanted", "topics"))
        .withColumn("distinct", F.size(F.array_distinct("topics")))
        .withColumn("repeats", F.size("topics") - F.col("distinct"))
        .withColumn("unwanted", F.col("distinct") - F.size("wanted") + unserved)
        .select(
            "subscriber",
            _or_zero("rows"),
            _or_zero("uneven"),
            F.col("stranger").cast("int").alias("strange"),
            "repeats",
            "unwanted",
            F.get("unserved", F.lit(0)).alias("best_unserved"),
            threshold.alias("threshold"),
            _served().alias("served"),
        )
    )


def _served() -> Column:
    """What is served and wanted: in a plan that is right, all that is served."""
    clean = (F.col("repeats") == 0) & (F.col("unwanted") == 0)
    both = F.array_intersect("wanted", "topics")
    return F.when(clean, F.col("topics")).otherwise(both)


def with_received(lists: DataFrame, rates: DataFrame, useful_topics: int) -> DataFrame:
    """COUNTS with `short`, 1 for who gets less than min(threshold, all it wants), and
    what those `received`.

    Topics go by descending rate, and `useful_topics` is how many have one above zero:
    so if the first one that a subscriber wants and is not served is beyond those, it
    gets all there is to get. Only the pairs of others are looked at.
    """
    lacks = F.col("best_unserved") < useful_topics
    pairs = lists.withColumn("served", F.when(lacks, F.col("served"))).select(
        *COUNTS, F.explode_outer("served").alias("topic")
    )
    received = F.coalesce(F.sum("rate"), F.lit(0))
    kept = {column: F.first(column).alias(column) for column in COUNTS[1:]}
    summed = (
        pairs.join(rates, "topic", "left")
        .groupBy("subscriber")
        .agg(*kept.values(), received.alias("received"))
    )
    short = lacks & (F.col("received") < F.col("threshold"))
    return summed.withColumn("short", F.coalesce(short, F.lit(False)).cast("int"))


def without_thresholds(lists: DataFrame) -> DataFrame:
    """COUNTS of a plan that promises no threshold, where nobody is short."""
    zero = F.lit(0)
    return lists.select(*COUNTS, zero.alias("received"), zero.alias("short"))


def wrong_subscribers(verdicts: DataFrame) -> DataFrame:
    """The lines in which something is wrong: none, for a plan that is right."""
    return verdicts.filter(
        "rows != 1 or strange > 0 or uneven > 0 or repeats > 0 or unwanted > 0 "
        "or short > 0"
    )


def totals(wrong: DataFrame) -> DataFrame:
    """How many of each kind there are, in one line; null for none."""
    return wrong.agg(
        F.count_if(F.col("rows") == 0).alias("missing"),
        F.count_if(F.col("rows") > 1).alias("doubled"),
        F.sum("strange").alias("strangers"),
        F.sum("uneven").alias("misaligned"),
        F.sum("repeats").alias("repeated"),
        F.sum("unwanted").alias("unwanted"),
        F.sum("short").alias("short"),
    )


def uneven_rows(placement: DataFrame) -> DataFrame:
    """Rows whose lists differ in length: PLACEMENT -> (subscriber, topics, brokers)."""
    topics, brokers = F.size("topics"), F.size("brokers")
    return placement.filter(topics != brokers).select(
        "subscriber", topics.alias("topics"), brokers.alias("brokers")
    )


def times_served(pairs: DataFrame) -> DataFrame:
    """Cut pairs of a few subscribers -> (subscriber, topic, times)."""
    each = pairs.select("subscriber", F.explode("topics").alias("topic"))
    return each.groupBy("subscriber", "topic").agg(F.count("*").alias("times"))


def wanted_pairs(interests: DataFrame) -> DataFrame:
    """INTERESTS of a few subscribers -> (subscriber, topic)."""
    return interests.select("subscriber", F.explode("topics").alias("topic"))


def wanted_rates(interests: DataFrame, rates: DataFrame) -> DataFrame:
    """INTERESTS of a few subscribers -> (subscriber, wanted), the rate of all pairs."""
    rate = wanted_pairs(interests).join(rates, "topic").groupBy("subscriber")
    return rate.agg(F.sum("rate").alias("wanted"))


def _or_zero(column: str) -> Column:
    return F.coalesce(F.col(column), F.lit(0)).alias(column)


def _or_empty(column: str) -> Column:
    return F.coalesce(F.col(column), F.array().cast(TOPIC_LIST))
