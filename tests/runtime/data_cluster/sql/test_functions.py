"""Every function and operator that is listed as allowed is, and works."""

import pytest
from pyspark.sql import SparkSession
from tests.runtime.data_cluster.sql.city import columns
from tests.runtime.data_cluster.sql.function_samples import (
    AGGREGATE,
    OPERATORS,
    SCALAR,
)

from brokerwise.runtime.data_cluster.sql.allowed import ARGUMENTS, FAILING, FUNCTIONS
from brokerwise.runtime.data_cluster.sql.check import check_query
from brokerwise.runtime.protocol.data import Channel, Dataset, DatasetKind

DATASETS = {
    "d": Dataset(
        "d",
        DatasetKind.APPEND,
        columns(s="string", n="long", x="double", b="boolean", t="timestamp"),
    )
}
CALLS = [*SCALAR.values(), *OPERATORS]


def test_there_is_a_sample_of_each_function() -> None:
    assert SCALAR.keys() | AGGREGATE.keys() == FUNCTIONS
    assert ARGUMENTS.keys() | FAILING <= FUNCTIONS


# Few queries of many columns: each takes as long as one of few.
@pytest.mark.parametrize(
    "calls", [CALLS[0:70], CALLS[70:140], CALLS[140:], list(AGGREGATE.values())]
)
def test_a_channel_may_use_them(spark: SparkSession, calls: list[str]) -> None:
    select = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
    channel = Channel("c", f"SELECT {select} FROM d", 10.0, ())
    query = check_query(spark, channel, DATASETS)
    assert [column.name for column in query.columns] == [
        f"c{i}" for i in range(len(calls))
    ]
    assert query.datasets == ("d",)
