"""One run of a channel on Spark: all its subscriptions in one query."""

import logging
import threading
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.data_cluster.failing import (
    CancelledRunError,
    LimitError,
    SparkGoneError,
    failure,
)
from brokerwise.runtime.data_cluster.views import Views, Work
from brokerwise.runtime.protocol.limits import (
    MAX_RECORD_BYTES,
    RUN_BYTES,
    RUN_ROWS,
    RUN_SECONDS,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_RESULT_BYTES = MAX_RECORD_BYTES  # of one result
_CANCEL_SECONDS = 0.5  # a run that must end is told so this often: it may start jobs

_groups = count(1)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """Of one run: how long it may take, and what all its results may come to."""

    seconds: float = RUN_SECONDS
    rows: int = RUN_ROWS
    bytes: int = RUN_BYTES


class Runner:
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
        """Whether Spark is there. Waits for an answer of the JVM."""
        return is_alive(self._spark)

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
        return failure(cause, self._limits.bytes)


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
                _log.debug("a run cannot be cancelled: %s", cause)
            self._ended.wait(_CANCEL_SECONDS)


def is_alive(spark: "SparkSession") -> bool:
    try:
        # Raises unless the JVM answers and its Spark has not been stopped.
        return bool(spark.sparkContext.defaultParallelism)
    except Exception:  # which depends on how it has ended
        return False


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
