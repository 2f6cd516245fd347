"""Spark: the session that runs channels, and one run on it, for all subscriptions.

Decided here: what a run may take (`Limits`), and whose fault a failure is: that of the
query and its records (`RunError`: again it would fail again), or that of the machines
that Spark runs on (`SparkTroubleError`: another time it may succeed).
"""

import logging
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.data_cluster.definitions import microseconds
from brokerwise.runtime.data_cluster.records import (
    arrow_schema,
    arrow_type,
    spark_schema,
)
from brokerwise.runtime.data_cluster.segments import write_segments
from brokerwise.runtime.data_cluster.sql.splice import (
    SUBSCRIPTION,
    SUBSCRIPTIONS,
    column_of,
    query_session,
)
from brokerwise.runtime.data_cluster.store import DataStore, StoredFile
from brokerwise.runtime.protocol.data import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)
from brokerwise.runtime.protocol.limits import (
    MAX_RECORD_BYTES,
    RUN_BYTES,
    RUN_ROWS,
    RUN_SECONDS,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.runtime.data_cluster.sql.check import CheckedQuery

MAX_RESULT_BYTES = MAX_RECORD_BYTES  # of one result
REASON_LENGTH = 500
# Static datasets up to this size go into the plan itself: no files to open, no job to
# broadcast them. Larger ones Spark reads.
IN_PLAN_BYTES = 8 << 20
_CANCEL_SECONDS = 0.5  # a run that must end is told so this often: it may start jobs
_GLOB = re.compile(r"([\\*?\[\]{}])")

_groups = count(1)
log = logging.getLogger(__name__)

# Beside the results themselves a run hands over their subscriptions and offsets.
_MOST_COLLECTED = RUN_BYTES + RUN_BYTES // 4

_ALWAYS = {
    "spark.app.name": "brokerwise data cluster",
    "spark.scheduler.mode": "FAIR",  # a long run leaves room for a short one
    "spark.driver.maxResultSize": str(_MOST_COLLECTED),
    # The SQL of channels names datasets; nothing may take a path for one.
    "spark.sql.runSQLOnFiles": "false",
    # Segments are small: they are listed here (a job would cost more), and many of
    # them make one task.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.files.openCostInBytes": str(64 << 10),
    "spark.sql.files.maxPartitionBytes": str(32 << 20),
    # Each channel runs the same code again and again.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # What is kept to be looked at, and never is: without a bound on it the memory of a
    # process that runs for weeks fills up.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.maxPlanStringLength": "10000",
    "spark.cleaner.periodicGC.interval": "10min",
}
_LOCAL = {
    # One pause of a small heap is short; the other collectors start threads.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}


def service_settings(master: str | None) -> dict[str, str]:
    """For `start_session(master, conf)`; what the user sets goes over them."""
    is_local = master is None or master.startswith("local")
    return _ALWAYS | (_LOCAL if is_local else {})


_EXECUTOR_LOST = re.compile("ExecutorLostFailure")
# Neither the query nor a record is at fault: another time it may succeed.
_MACHINES = re.compile(
    "FetchFailed|No space left on device|Too many open files"
    "|Master removed our application|All masters are unresponsive"
    "|Connection (refused|reset)"
)
_TOO_MUCH = re.compile("is bigger than spark.driver.maxResultSize")
_OUT_OF_MEMORY = re.compile("OutOfMemoryError")
_CAUSE = re.compile(r"^Caused by: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
_TASK = re.compile(r"Job aborted due to stage failure: .*\(TID \d+\) \(.*?\): (.*)")


class RunError(BrokerwiseError):
    """A run failed by its query or its records: again it would fail again."""


class LimitError(RunError):
    """A run was ended: it went over a limit, of `seconds`, `rows` or `bytes`."""

    def __init__(self, limit: str, message: str) -> None:
        self.limit = limit
        super().__init__(message)


class CancelledRunError(BrokerwiseError):
    """A run was ended because its channel was dropped, or the process ends."""


class SparkTroubleError(BrokerwiseError):
    """A run failed by a machine or a disk: another time it may succeed."""


class ExecutorLostError(SparkTroubleError):
    """A machine was lost, which the run itself may have brought down."""


class SparkGoneError(BrokerwiseError):
    """The Spark session has ended; only a new process can have another one."""


def run_failure(error: Exception, most_bytes: int) -> BrokerwiseError:
    """What an error in a run means while Spark itself lives; `most_bytes` is the limit
    that its results have."""
    text = str(error)
    if _has_condition(error):
        return RunError(_first_line(text))
    if _TOO_MUCH.search(text):
        return LimitError("bytes", f"its results have more than {most_bytes:,} bytes")
    if _OUT_OF_MEMORY.search(text):
        return RunError("it needs more memory than Spark has")
    if _EXECUTOR_LOST.search(text):
        return ExecutorLostError(_reason(text))
    if isinstance(error, OSError) or _MACHINES.search(text):
        return SparkTroubleError(_reason(text))
    return RunError(_reason(text) or repr(error)[:REASON_LENGTH])


def _has_condition(error: Exception) -> bool:
    """True if Spark itself names what is wrong with a query or a value in it."""
    condition = getattr(error, "getCondition", lambda: None)
    return condition() is not None


def _reason(text: str) -> str:
    """The line that says most, in what Java has to say."""
    causes = _CAUSE.findall(text)
    line = causes[0] if causes else text
    task = _TASK.match(line)
    return _first_line(task[1] if task else line)


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return re.sub(r" SQLSTATE: \w+$", "", line)[:REASON_LENGTH]


@dataclass(frozen=True)
class SubscriptionRows:
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
    subscriptions: SubscriptionRows
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
        if self._is_new(SUBSCRIPTIONS, work.subscriptions.mark):
            self._show(
                SUBSCRIPTIONS, subscription_table(work.channel, work.subscriptions)
            )
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


def subscription_table(channel: Channel, subscriptions: SubscriptionRows) -> pa.Table:
    """The view that a checked query has its parameters from."""
    text = f"[{','.join(subscriptions.values)}]"
    rows = msgspec.json.decode(text, type=list[list[Any]])
    columns = {SUBSCRIPTION: pa.array(subscriptions.numbers, pa.int64())}
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


@dataclass(frozen=True)
class Limits:
    """Of one run: how long it may take, and what all its results may come to."""

    seconds: float = RUN_SECONDS
    rows: int = RUN_ROWS
    bytes: int = RUN_BYTES


class Runner(Protocol):
    """What runs channels: SparkRunner, and in tests others."""

    def run(self, work: Work) -> pa.Table: ...
    def cancel(self, channel: str | None = None) -> None: ...
    def forget(self, channel: str) -> None: ...
    def is_alive(self) -> bool: ...


class SparkRunner:
    """Runs channels, several at once (each in a thread of its own), but never one and
    the same twice at once."""

    def __init__(self, spark: "SparkSession", limits: Limits | None = None) -> None:
        self._spark = spark
        self._limits = limits or Limits()
        self._views: dict[str, Views] = {}
        self._watched: dict[str, _Watch] = {}

    def run(self, work: Work) -> pa.Table:
        """The results: subscription int64, data string (JSON), sorted by both.

        Raises RunError (LimitError among them) if the query or the records are to
        blame, CancelledRunError, SparkTroubleError or SparkGoneError if they are not.
        """
        name = work.channel.name
        watch = self._watched[name] = _Watch(self._spark, name, self._limits.seconds)
        try:
            with watch:
                results = self._collect(work)
        except BrokerwiseError:
            raise
        except Exception as cause:  # Spark, its JVM and Arrow raise what they like
            raise self._meaning(watch, cause) from cause
        finally:
            if self._watched.get(name) is watch:
                del self._watched[name]
        check_limits(results, self._limits)
        return results.sort_by([("subscription", "ascending"), ("data", "ascending")])

    def cancel(self, channel: str | None = None) -> None:
        """End the run of this channel, or all, if it is under way; returns at once."""
        for name, watch in list(self._watched.items()):
            if channel in (None, name):
                watch.cancel()

    def forget(self, channel: str) -> None:
        """The channel is gone."""
        self._views.pop(channel, None)

    def is_alive(self) -> bool:
        """True if Spark is there. Waits for an answer of the JVM."""
        try:
            # Raises unless the JVM answers and its Spark has not been stopped.
            return bool(self._spark.sparkContext.defaultParallelism)
        except Exception:  # which depends on how it has ended
            return False

    def _collect(self, work: Work) -> pa.Table:
        views = self._views.get(work.channel.name)
        if views is None:
            views = self._views[work.channel.name] = Views(self._spark)
        try:
            views.show(work)
            frame = views.session.sql(work.query.wrapped)
            # One more than may be: so it shows, and stops there.
            return frame.limit(self._limits.rows + 1).toArrow()
        except Exception:
            if self._views.get(work.channel.name) is views:
                self.forget(work.channel.name)  # who knows what they show by now
            raise

    def _meaning(self, watch: "_Watch", cause: Exception) -> BrokerwiseError:
        if not self.is_alive():
            return SparkGoneError("Spark has ended")
        if watch.is_cancelled:
            return CancelledRunError("the run was cancelled")
        if watch.is_late:
            seconds = self._limits.seconds
            return LimitError("seconds", f"it takes longer than {seconds:g} s")
        return run_failure(cause, self._limits.bytes)


class _Watch:
    """Ends a run that takes too long, or that is cancelled. Its jobs are those that
    the thread that enters it starts."""

    def __init__(self, spark: "SparkSession", name: str, seconds: float) -> None:
        self._context = spark.sparkContext
        self._name = name
        self._seconds = seconds
        self._group = f"brokerwise-run-{next(_groups)}"
        self._woken = threading.Event()  # by the end of the run, or by `cancel`
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.is_late = self.is_cancelled = False

    def __enter__(self) -> None:
        self._context.setJobGroup(self._group, f"channel {self._name}", True)
        # Within a pool jobs run in order: a short one would wait for a long one.
        self._context.setLocalProperty("spark.scheduler.pool", self._name)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._woken.set()
        self._thread.join()

    def cancel(self) -> None:
        self.is_cancelled = True
        self._woken.set()

    def _look(self) -> None:
        woken = self._woken.wait(self._seconds)
        self.is_late = not woken
        while not self._ended.is_set():
            try:
                self._context.cancelJobGroup(self._group)
            except Exception as cause:  # the run itself fails of it, and says so
                log.debug("a run cannot be cancelled: %s", cause)
            self._ended.wait(_CANCEL_SECONDS)


def check_limits(results: pa.Table, limits: Limits) -> None:
    """Raises LimitError, which says what was too much."""
    if len(results) > limits.rows:
        raise LimitError("rows", f"it has more than {limits.rows:,} results")
    sizes = pc.binary_length(results["data"])
    longest = pc.max(sizes).as_py() or 0
    if longest > MAX_RESULT_BYTES:
        raise LimitError(
            "bytes",
            f"one result has {longest:,} bytes, expected at most {MAX_RESULT_BYTES:,}",
        )
    total = pc.sum(sizes.cast(pa.int64())).as_py() or 0
    if total > limits.bytes:
        raise LimitError(
            "bytes",
            f"its results have {total:,} bytes, expected at most {limits.bytes:,}",
        )


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
    1.0,
    (Column("place", ColumnType.LONG),),
)


def warm(store: DataStore, runner: Runner, spark: "SparkSession") -> None:
    """A run without subscribers: Spark's first takes many times as long as later ones.
    Returns once Spark is warm, seconds later. A failure is of no consequence, but
    that Spark is gone: SparkGoneError. Uses no SQL: any thread may call it."""
    table = pa.table([[1, 2], ["a", "b"]], schema=arrow_schema(_NEW))
    files: list[StoredFile] = []
    try:
        # Where executors find it; a crash leaves nothing for long.
        files = write_segments(store, [(_NAME, table)])
        path = store.segments.path(files[0].name)
        runner.run(_work(spark, str(path.absolute()), table))
    except SparkGoneError:
        raise
    except (BrokerwiseError, OSError) as cause:
        log.warning("Spark could not be warmed: %s", cause)
    finally:
        store.segments.remove(file.name for file in files)
        runner.forget(_NAME)


def _work(spark: "SparkSession", file: str, state: pa.Table) -> Work:
    from brokerwise.runtime.data_cluster.sql.check import check_query

    datasets = {_NAME: _NEW, _STATE: _KEYED}
    return Work(
        _CHANNEL,
        check_query(spark, _CHANNEL, datasets),
        datasets,
        SubscriptionRows((2, 2), (1, 2), ("[1]", "[2]")),
        new={_NAME: (file,)},
        keyed={_STATE: state},
    )
