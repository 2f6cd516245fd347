"""One run of a channel: which segments it takes, and what becomes of it.

Decided here: how many segments the next run takes (`Pace`, pure), what the run is about
(`RunPlanner`, read from the state at one moment), and whether it is committed, tried
again, halved, or a segment is set aside (`ChannelRuns`).

A run that fails is tried again once, in case it was a passing trouble; then its
segments are halved, until the one that it cannot process is alone, has failed twice,
and is set aside. What succeeds doubles the number again. What a run is about is stored
before it begins, and removed with whatever becomes of it: so a process that starts
finds the runs that the one before did not survive, and halves these too.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from brokerwise.runtime.data_cluster import channels
from brokerwise.runtime.data_cluster.channels import Attempt, ChannelKey, ChannelState
from brokerwise.runtime.data_cluster.datasets import find_dataset
from brokerwise.runtime.data_cluster.results import (
    ResultFile,
    RunScope,
    commit_run,
    write_results,
)
from brokerwise.runtime.data_cluster.segments import (
    KeyedState,
    Segment,
    next_segments,
    segments_of,
)
from brokerwise.runtime.data_cluster.spark import (
    CancelledRunError,
    ExecutorLostError,
    RunError,
    Runner,
    SparkTroubleError,
    SubscriptionRows,
    Work,
)
from brokerwise.runtime.data_cluster.store import DataStore, counter
from brokerwise.runtime.net.tasks import Backoff
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import Dataset, DatasetKind
from brokerwise.runtime.protocol.limits import SEGMENTS_PER_RUN

if TYPE_CHECKING:
    from brokerwise.runtime.data_cluster.sql.check import CheckedQuery

TRIES = 2  # of a run, and of a segment alone
DEATHS = 2  # of the process in the same run, then its segments are halved
DEATHS_ALONE = 3  # over one segment, then it is set aside
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds, after a trouble with Spark
LOSSES = 5  # of executors in a row, then the run itself is to blame

T = TypeVar("T")
Clock = Callable[[], float]
# The channel, when it was committed, and the subscriptions that have new results.
Notify = Callable[[str, float, tuple[int, ...]], None]

log = logging.getLogger(__name__)


class Recovery(Enum):
    """What becomes of the segments of a run that failed."""

    AGAIN = "tried again"
    HALVED = "halved"
    SET_ASIDE = "set aside"


@dataclass(frozen=True)
class Pace:
    """`most` segments go into the next run; the same ones have failed `failures`
    times. One of the next `suspects` segments has made a run fail. `careful`: a run
    has failed twice not long ago."""

    most: int = SEGMENTS_PER_RUN
    failures: int = 0
    suspects: int = 0
    careful: bool = False

    def take(self, waiting: Sequence[T]) -> Sequence[T]:
        """Those of the waiting segments that the next run takes."""
        return waiting[: self.most]

    def succeeded(self, taken: int) -> "Pace":
        """After a run over `taken` segments has succeeded: the one that made others
        fail is among the rest of the suspects."""
        rest = self.suspects - taken
        if rest > 0:
            return Pace(max(1, rest // 2), suspects=rest, careful=True)
        most = min(2 * taken, SEGMENTS_PER_RUN) if self.careful else SEGMENTS_PER_RUN
        return Pace(most, careful=most < SEGMENTS_PER_RUN)

    def failed(self, taken: int) -> tuple["Pace", Recovery]:
        """After a run over `taken` segments has failed. The next run takes the same
        ones, the first half of them, or those after the one that is set aside.

        Each segment that cannot be processed costs at most 2 log2(n) + 4 runs, with n
        segments in a run.
        """
        failures = self.failures + 1
        if taken == 1 and failures >= TRIES:
            return Pace(1, careful=True), Recovery.SET_ASIDE
        if taken == 1 or not (self.careful or failures >= TRIES):
            return Pace(taken, failures, careful=self.careful), Recovery.AGAIN
        return Pace(taken // 2, suspects=taken, careful=True), Recovery.HALVED


def pace_after(attempt: Attempt) -> Pace:
    """How a channel goes on after a run during which the process died. Once is
    chance: an operator may have killed the process."""
    if attempt.deaths >= DEATHS and attempt.taken > 1:
        return Pace(attempt.taken // 2, suspects=attempt.taken, careful=True)
    return Pace(attempt.taken) if attempt.deaths else Pace()


def is_fatal(attempt: Attempt) -> bool:
    """True if the process has died too often over this one segment."""
    return attempt.taken == 1 and attempt.deaths >= DEATHS_ALONE


@dataclass(frozen=True)
class NothingToRun:
    """There is nothing new up to this segment, or there are no subscriptions."""

    before: ChannelState
    segment: int


@dataclass(frozen=True)
class RunPlan:
    """The next run of a channel. `segments` are the numbers of those with its new
    records; `complete` if no more wait after them."""

    scope: RunScope
    work: Work
    segments: tuple[int, ...]
    complete: bool


class RunPlanner:
    """Reads from the state what the next run is about; remembers the subscriptions of
    each channel while they stay the same."""

    def __init__(self, store: DataStore, keyed: KeyedState) -> None:
        self._store = store
        self._keyed = keyed
        self._subscriptions: dict[str, SubscriptionRows] = {}

    def plan(
        self, name: str, query: "CheckedQuery", pace: Pace, now: float
    ) -> NothingToRun | RunPlan:
        """Raises NotFoundError if the channel is gone."""
        sql = self._store.sql
        before = channels.state_of(sql, name)
        newest = max(channels.newest_segment(sql), before.segment)
        datasets = {key: find_dataset(sql, key) for key in before.datasets}
        new = _of_kind(datasets, DatasetKind.APPEND)
        waiting = next_segments(sql, new, before.segment, pace.most + 1)
        subscriptions = self._subscriptions_of(name)
        if not waiting or not subscriptions.numbers:
            return NothingToRun(before, newest)
        taken = pace.take(waiting)
        complete = len(taken) == len(waiting)
        scope = RunScope(
            before,
            last_segment=newest if complete else taken[-1].number,
            state_segment=newest,
            version=counter(sql, "version"),
            subscriptions=len(subscriptions.numbers),
            started=now,
        )
        work = Work(
            before.channel,
            query,
            datasets,
            subscriptions,
            new={
                name: self._paths(
                    segment for segment in taken if segment.dataset == name
                )
                for name in new
            },
            static={
                name: self._paths(segments_of(sql, name))
                for name in _of_kind(datasets, DatasetKind.STATIC)
            },
            keyed=self._latest(datasets),
        )
        return RunPlan(scope, work, tuple(one.number for one in taken), complete)

    def forget(self, name: str) -> None:
        self._subscriptions.pop(name, None)

    def _subscriptions_of(self, name: str) -> SubscriptionRows:
        """Numbers only grow, and none comes back: of the same count and the same last
        one they are the same."""
        sql = self._store.sql
        count, last = sql.execute(
            "SELECT count(*), coalesce(max(id), 0) FROM subscriptions "
            "WHERE channel = ?",
            (name,),
        ).fetchone()
        known = self._subscriptions.get(name)
        if known is None or known.mark != (count, last):
            log.debug("channel %r: its table has %d subscriptions", name, count)
            known = self._subscriptions[name] = _read_subscriptions(sql, name)
        return known

    def _latest(self, datasets: dict[str, Dataset]) -> dict[str, pa.Table]:
        names = _of_kind(datasets, DatasetKind.KEYED)
        return {name: self._keyed.table(name) for name in names}

    def _paths(self, segments: Iterable[Segment]) -> tuple[str, ...]:
        paths = (self._store.segments.path(segment.file) for segment in segments)
        return tuple(str(path.absolute()) for path in paths)


def _read_subscriptions(sql: Sql, name: str) -> SubscriptionRows:
    rows = sql.execute(
        "SELECT id, parameters FROM subscriptions WHERE channel = ? ORDER BY id",
        (name,),
    ).fetchall()
    numbers = tuple(number for number, _ in rows)
    mark = (len(rows), numbers[-1] if numbers else 0)
    return SubscriptionRows(mark, numbers, tuple(values for _, values in rows))


def _of_kind(datasets: dict[str, Dataset], kind: DatasetKind) -> list[str]:
    return [name for name, dataset in datasets.items() if dataset.kind is kind]


class ChannelRuns:
    """Runs channels, one run at a time each, and remembers what failed before."""

    def __init__(
        self, store: DataStore, planner: RunPlanner, notify: Notify, wall: Clock
    ) -> None:
        self._store, self._planner = store, planner
        self._notify, self._wall = notify, wall
        self._paces: dict[ChannelKey, Pace] = {}
        self._troubles: dict[ChannelKey, Backoff] = {}
        with store.change() as sql:
            self._deaths = channels.count_deaths(sql)
        for attempt in self._deaths.values():
            log.warning(
                "channel %r: the process died in a run over %d segments from %d, "
                "%d times in a row",
                attempt.channel,
                attempt.taken,
                attempt.first,
                attempt.deaths,
            )

    async def run_once(
        self, key: ChannelKey, query: "CheckedQuery", runner: Runner, threads: Executor
    ) -> float | None:
        """When the channel is to run again; None if it is done until it is next due.
        Raises SparkGoneError. Cancelling it leaves the run committed or not."""
        before = self._deaths.pop(key.name, None)
        if before is not None:
            self._paces[key] = pace_after(before)
        pace = self._paces.get(key, Pace())
        plan = self._planner.plan(key.name, query, pace, self._wall())
        if isinstance(plan, NothingToRun):
            self._pass_over(key, plan)
            return None
        if before is not None and is_fatal(before):
            return self._give_up(key, plan, before)
        with self._store.change() as sql:
            channels.begin_attempt(sql, key.name, plan.segments[0], len(plan.segments))
        loop = asyncio.get_running_loop()
        try:
            written = await loop.run_in_executor(threads, self._execute, runner, plan)
        except RunError as cause:
            return self._failed(key, pace, plan, cause)
        except SparkTroubleError as cause:
            return self._troubled(key, pace, plan, cause)
        except CancelledRunError:
            self._survived(key)
            return self._wall()
        return self._commit(key, pace, plan, written)

    def forget(self, key: ChannelKey) -> None:
        """The channel was dropped."""
        self._paces.pop(key, None)
        self._troubles.pop(key, None)
        self._planner.forget(key.name)

    def _execute(self, runner: Runner, plan: RunPlan) -> ResultFile:
        """In a thread of its own."""
        found = runner.run(plan.work)
        name = f"{plan.work.channel.name}-{plan.scope.number}"
        try:
            return write_results(self._store, name, found)
        except OSError as cause:
            raise SparkTroubleError(f"results cannot be written: {cause}") from cause

    def _pass_over(self, key: ChannelKey, nothing: NothingToRun) -> None:
        """Advance past segments that have nothing for the channel."""
        self._paces.pop(key, None)
        if nothing.segment > nothing.before.segment:
            with self._store.change() as sql:
                channels.advance(sql, nothing.before, nothing.segment)

    def _commit(
        self, key: ChannelKey, pace: Pace, plan: RunPlan, written: ResultFile
    ) -> float | None:
        at = self._wall()
        self._troubles.pop(key, None)
        if not commit_run(self._store, plan.scope, written, at):
            log.info(
                "channel %r was dropped during run %d", key.name, plan.scope.number
            )
            return None
        log.debug(
            "channel %r: run %d over %d segments took %.2f s: %d results for %d "
            "subscriptions",
            key.name,
            plan.scope.number,
            len(plan.segments),
            at - plan.scope.started,
            written.rows,
            plan.scope.subscriptions,
        )
        if written.rows:
            self._notify(key.name, at, written.subscriptions())
        if plan.complete:
            self._paces.pop(key, None)
            return None
        self._paces[key] = pace.succeeded(len(plan.segments))
        return at

    def _failed(
        self, key: ChannelKey, pace: Pace, plan: RunPlan, cause: RunError
    ) -> float:
        self._survived(key)
        segments = plan.segments
        self._paces[key], recovery = pace.failed(len(segments))
        if recovery is Recovery.SET_ASIDE:
            self._set_aside(plan, cause.message)
            return self._wall()
        log.warning(
            "channel %r: a run over %d segments (%d to %d) failed and is %s: %s",
            key.name,
            len(segments),
            segments[0],
            segments[-1],
            recovery.value,
            cause.message,
        )
        return self._wall()

    def _troubled(
        self, key: ChannelKey, pace: Pace, plan: RunPlan, cause: SparkTroubleError
    ) -> float:
        new = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        backoff = self._troubles.setdefault(key, new)
        if isinstance(cause, ExecutorLostError) and backoff.attempts + 1 >= LOSSES:
            del self._troubles[key]
            return self._failed(key, pace, plan, RunError(cause.message))
        self._survived(key)
        pause = backoff.pause()
        log.warning(
            "channel %r: Spark is in trouble, again in %.1f s: %s",
            key.name,
            pause,
            cause.message,
        )
        return self._wall() + pause

    def _give_up(self, key: ChannelKey, plan: RunPlan, before: Attempt) -> float:
        """On a segment that the process did not survive, again and again."""
        self._set_aside(
            plan, f"the process died in its run, {before.deaths} times in a row"
        )
        self._paces[key] = Pace(1, careful=True)
        return self._wall()

    def _set_aside(self, plan: RunPlan, reason: str) -> None:
        """The first segment of the plan, which is the only one that fails."""
        segment, at = plan.segments[0], self._wall()
        name = plan.work.channel.name
        log.error("channel %r: segment %d is set aside: %s", name, segment, reason)
        with self._store.change() as sql:
            channels.set_aside(sql, plan.scope.before, segment, reason, at)

    def _survived(self, key: ChannelKey) -> None:
        with self._store.change() as sql:
            channels.end_attempt(sql, key.name)
