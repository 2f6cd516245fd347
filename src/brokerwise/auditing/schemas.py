"""The columns that an audit reads, as Spark calls them: nothing is inferred."""

from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

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
