"""A run for nobody: Spark's first one takes many times as long as those that follow."""

import logging
from typing import TYPE_CHECKING

import pyarrow as pa

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.data_cluster.definitions import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)
from brokerwise.runtime.data_cluster.failing import SparkGoneError
from brokerwise.runtime.data_cluster.segments import (
    new_file,
    remove_files,
    write_files,
)
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.data_cluster.types import arrow_schema
from brokerwise.runtime.data_cluster.views import Subscribed, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.runtime.data_cluster.turns import Running

# It has what most channels have: new records, a state to join them with, parameters,
# and something that is grouped.
_NAME, _STATE = "warming", "warming_state"
_COLUMNS = (Column("place", ColumnType.LONG), Column("text", ColumnType.STRING))
_NEW = Dataset(_NAME, DatasetKind.APPEND, _COLUMNS)
_KEYED = Dataset(_STATE, DatasetKind.KEYED, _COLUMNS, "place")
_CHANNEL = Channel(
    _NAME,
    f"SELECT n.text, count(*) AS number FROM {_NAME} n JOIN {_STATE} s "
    "ON n.place BETWEEN s.place - 1 AND s.place + 1 WHERE n.place = :place "
    "GROUP BY n.text",
    (Column("place", ColumnType.LONG),),
    1.0,
)

_log = logging.getLogger(__name__)


def warm(store: Store, runner: "Running", spark: "SparkSession") -> None:
    """Returns once Spark is warm, seconds later. A failure is of no consequence, but
    that Spark is gone: SparkGoneError. Uses no SQL: any thread may call it."""
    table = pa.table([[1, 2], ["a", "b"]], schema=arrow_schema(_NEW))
    file = new_file(_NAME)  # where executors find it; a crash leaves nothing for long
    try:
        write_files(store, [(file, table)])
        runner.run(_work(spark, str(store.segment_path(file).absolute()), table))
    except SparkGoneError:
        raise
    except (BrokerwiseError, OSError) as cause:
        _log.warning("Spark could not be warmed: %s", cause)
    finally:
        remove_files(store, [file])
        runner.forget(_NAME)


def _work(spark: "SparkSession", file: str, state: pa.Table) -> Work:
    from brokerwise.runtime.data_cluster.sql.checking import check_query

    datasets = {_NAME: _NEW, _STATE: _KEYED}
    return Work(
        _CHANNEL,
        check_query(spark, _CHANNEL, datasets),
        datasets,
        Subscribed((2, 2), (1, 2), ("[1]", "[2]")),
        new={_NAME: (file,)},
        keyed={_STATE: state},
    )
