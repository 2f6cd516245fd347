"""What the query of a channel reads: views of its datasets and of its subscriptions."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.runtime.data_cluster.definitions import (
    Channel,
    Column,
    ColumnType,
    Dataset,
)
from brokerwise.runtime.data_cluster.sql.sessions import query_session
from brokerwise.runtime.data_cluster.sql.splicing import (
    SUBSCRIPTION,
    SUBSCRIPTIONS,
    column_of,
)
from brokerwise.runtime.data_cluster.timestamps import microseconds
from brokerwise.runtime.data_cluster.types import (
    arrow_schema,
    arrow_type,
    spark_schema,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.runtime.data_cluster.sql.checking import CheckedQuery

# Static datasets up to this size go into the plan itself: no files to open, no job to
# broadcast them. Larger ones Spark reads.
IN_PLAN_BYTES = 8 << 20
_GLOB = re.compile(r"([\\*?\[\]{}])")


@dataclass(frozen=True)
class Subscribed:
    """The subscriptions of a channel: their numbers, and the values of its parameters,
    in its order, as JSON texts. With the same `mark` they are the same."""

    mark: tuple[int, ...]
    numbers: tuple[int, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Work:
    """What a run needs, as it was at its start. `new` are the files of the segments
    with new records of append datasets, `static` all of static ones; `keyed` is the
    state of keyed ones. Paths are absolute."""

    channel: Channel
    query: "CheckedQuery"
    datasets: Mapping[str, Dataset]
    subscribed: Subscribed
    new: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    static: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keyed: Mapping[str, pa.Table] = field(default_factory=dict)


class Views:
    """A channel's own Spark session, with the views that its query reads. What has not
    changed since its last run stays. One thread at a time uses it."""

    def __init__(self, spark: "SparkSession") -> None:
        self.session = query_session(spark)
        self._shown: dict[str, object] = {}

    def show(self, work: Work) -> None:
        if self._is_new(SUBSCRIPTIONS, work.subscribed.mark):
            self._show(SUBSCRIPTIONS, subscription_table(work.channel, work.subscribed))
        for name, dataset in work.datasets.items():
            if name in work.keyed:
                self._show_keyed(name, work.keyed[name])
            else:
                in_plan = name in work.static
                files = (work.static if in_plan else work.new).get(name, ())
                self._show_files(dataset, files, in_plan=in_plan)

    def _show_keyed(self, name: str, table: pa.Table) -> None:
        if self._shown.get(name) is not table:
            self._shown[name] = table
            self._show(name, table)

    def _show_files(
        self, dataset: Dataset, files: tuple[str, ...], *, in_plan: bool
    ) -> None:
        if not self._is_new(dataset.name, files):
            return
        if not files or (in_plan and sum(map(os.path.getsize, files)) <= IN_PLAN_BYTES):
            tables = [pq.read_table(file, partitioning=None) for file in files]
            none = arrow_schema(dataset).empty_table()
            self._show(dataset.name, pa.concat_tables([none, *tables]))
            return
        reader = self.session.read.schema(spark_schema(dataset))
        frame = reader.parquet(*map(_spark_path, files))
        frame.createOrReplaceTempView(dataset.name)

    def _show(self, name: str, table: pa.Table) -> None:
        self.session.createDataFrame(table).createOrReplaceTempView(name)

    def _is_new(self, name: str, mark: tuple[object, ...]) -> bool:
        if self._shown.get(name) == mark:
            return False
        self._shown[name] = mark
        return True


def subscription_table(channel: Channel, subscribed: Subscribed) -> pa.Table:
    """The view that a checked query has its parameters from."""
    text = f"[{','.join(subscribed.values)}]"
    rows = msgspec.json.decode(text, type=list[list[Any]])
    columns = {SUBSCRIPTION: pa.array(subscribed.numbers, pa.int64())}
    for place, parameter in enumerate(channel.parameters):
        values = [row[place] for row in rows]
        columns[column_of(parameter.name)] = _array(parameter, values)
    return pa.table(columns)


def _array(parameter: Column, values: list[Any]) -> pa.Array:
    if parameter.type is ColumnType.TIMESTAMP:
        values = [microseconds(value) for value in values]
    return pa.array(values, arrow_type(parameter.type))


def _spark_path(file: str) -> str:
    """Spark takes *, ?, [ and { in a path for patterns."""
    return "file://" + _GLOB.sub(r"\\\1", file)
