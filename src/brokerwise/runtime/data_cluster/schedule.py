"""When channels run, and the loop that runs them.

Decided here: which channel runs next, and when (`Schedule`, pure: no clock, no I/O);
and whether a channel's SQL is still good after a restart, else it is suspended
(`Scheduler`, which starts the runs and watches Spark).

A channel is due each `period`, counted from its creation. Of those that are due, the
one that waits longest starts, at most RUNS_AT_ONCE at once. A due time that finds the
channel still running, or still waiting for its turn, is skipped: the run that is to
come covers what has come since.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Any, TypeVar

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster import channels
from brokerwise.runtime.data_cluster.channels import ChannelKey
from brokerwise.runtime.data_cluster.datasets import all_datasets
from brokerwise.runtime.data_cluster.runs import ChannelRuns, Notify, RunPlanner
from brokerwise.runtime.data_cluster.segments import KeyedState
from brokerwise.runtime.data_cluster.spark import (
    Runner,
    SparkGoneError,
    SparkRunner,
    warm,
)
from brokerwise.runtime.data_cluster.status import channel_status
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.net.errors import ConflictError
from brokerwise.runtime.protocol.data import Channel, ChannelStatus, Dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.runtime.data_cluster.sql.check import CheckedQuery

RUNS_AT_ONCE = 2
WATCH_SECONDS = 1.0  # between two looks at whether Spark still runs
STOP_SECONDS = 5.0  # that runs under way have to end
_EARLY = 1e-6  # of a period: a clock that shows the due time itself counts as there

T = TypeVar("T")
Check = Callable[["SparkSession", Channel, Mapping[str, Dataset]], "CheckedQuery"]

log = logging.getLogger(__name__)


@dataclass
class _Entry:
    created: float
    period: float
    passed: int = 0  # due times that have been handled
    waiting_since: float | None = None  # for its turn

    def periods(self, now: float) -> int:
        """Whole periods since its creation."""
        return floor((now - self.created) / self.period + _EARLY)

    def due_time(self, number: int) -> float:
        return self.created + number * self.period


class Schedule:
    """The channels, and which of them run. Times are seconds since 1970."""

    def __init__(self, at_once: int = RUNS_AT_ONCE) -> None:
        self._at_once = at_once
        self._entries: dict[ChannelKey, _Entry] = {}
        self._running: set[ChannelKey] = set()

    def add(self, key: ChannelKey, period: float, now: float) -> None:
        """It is first due a period after its creation. One that was created before the
        process started is due at once if it has missed a due time."""
        entry = _Entry(key.created, period)
        entry.passed = max(0, entry.periods(now) - 1)
        self._entries[key] = entry

    def remove(self, key: ChannelKey) -> None:
        """A run that is under way keeps its place until it is finished."""
        self._entries.pop(key, None)

    def tick(self, now: float) -> Mapping[ChannelKey, int]:
        """Let time pass until now. How many due times were skipped, by channel."""
        skipped = {key: self._pass_due_times(key, now) for key in self._entries}
        return {key: count for key, count in skipped.items() if count}

    def start(self, now: float) -> ChannelKey | None:
        """The channel whose turn it is, which now counts as running; None if there is
        none or as many run as may."""
        due = [(at, key) for key, at in self._waiting() if at <= now]
        if not due or self._is_full():
            return None
        _, key = min(due)
        self._entries[key].waiting_since = None
        self._running.add(key)
        return key

    def finish(self, key: ChannelKey, again: float | None = None) -> None:
        """The run is over. With `again` the channel is not done: it is due at that
        time, behind those that wait already."""
        self._running.discard(key)
        if key in self._entries:
            self._entries[key].waiting_since = again

    def next_time(self) -> float | None:
        """When something is to be done next, if no run ends before."""
        times = [one.due_time(one.passed + 1) for one in self._entries.values()]
        if not self._is_full():
            times += [at for _, at in self._waiting()]
        return min(times, default=None)

    def _waiting(self) -> list[tuple[ChannelKey, float]]:
        entries = self._entries.items()
        return [
            (key, one.waiting_since)
            for key, one in entries
            if one.waiting_since is not None
        ]

    def _is_full(self) -> bool:
        return len(self._running) >= self._at_once

    def _pass_due_times(self, key: ChannelKey, now: float) -> int:
        """How many are skipped up to now."""
        entry = self._entries[key]
        count = entry.periods(now) - entry.passed
        if count <= 0:
            return 0
        entry.passed += count
        if key in self._running or entry.waiting_since is not None:
            return count
        entry.waiting_since = entry.due_time(entry.passed)
        return count - 1


class Scheduler:
    """The channels that run. One thread, the store's, calls it; Spark works in others.

    `spark` comes when it is up: until then nothing runs. `notify` is told of each
    commit that has results: the channel, when, and which subscriptions have them.
    `wall` gives seconds since 1970.
    """

    def __init__(
        self,
        store: DataStore,
        spark: "asyncio.Future[SparkSession]",
        keyed: KeyedState,
        notify: Notify,
        *,
        wall: Callable[[], float] = time.time,
        make_runner: Callable[["SparkSession"], Runner] = SparkRunner,
        check: Check | None = None,
        warm_up: Callable[[DataStore, Runner, "SparkSession"], None] = warm,
    ) -> None:
        self._store, self._spark, self._wall = store, spark, wall
        self._make_runner, self._check = make_runner, check or _check
        self._warm_up = warm_up
        self._runner: Runner | None = None
        self._schedule = Schedule()
        self._checked: dict[ChannelKey, CheckedQuery] = {}
        self._suspended: dict[ChannelKey, str] = {}
        self._runs = ChannelRuns(store, RunPlanner(store, keyed), notify, wall)
        self._tasks: set[asyncio.Task[None]] = set()
        self._endless: list[asyncio.Task[None]] = []  # those of them to be cancelled
        self._pool = ThreadPoolExecutor(RUNS_AT_ONCE + 2, "channels")
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled, which loses nothing: what is not committed is run again.

        Raises SparkGoneError if Spark ends, and whatever starting it raised. Any other
        error is one of ours. None of them undoes what was committed.
        """
        try:
            spark = await asyncio.shield(self._spark)
            self._runner = self._make_runner(spark)
            self._endless = [
                self._begin(self._resume(spark, self._runner)),
                self._begin(self._watch()),
            ]
            while True:
                self._woken.clear()
                self._start_due(self._runner)
                await self._pause()
                for task in [task for task in self._tasks if task.done()]:
                    self._tasks.discard(task)
                    task.result()
        finally:
            await self._stop()

    def wake(self) -> None:
        """The clock may show another time."""
        self._woken.set()

    async def create(self, channel: Channel) -> "CheckedQuery":
        """Check a channel and store it; from then on it runs. Waits until Spark is up.

        Raises InputError (RefusedQueryError among them) if it cannot be used,
        ConflictError if there is one of that name, or a dataset of it is dropped
        meanwhile. Cancelling it leaves the channel made or not.
        """
        channels.check_free(self._store.sql, channel.name)
        spark = await asyncio.shield(self._spark)
        datasets = all_datasets(self._store.sql)
        checked = await self._in_thread(lambda: self._check(spark, channel, datasets))
        read = {name: datasets[name] for name in checked.datasets}
        at = self._wall()
        with self._store.change() as sql:
            if any(all_datasets(sql).get(name) != one for name, one in read.items()):
                raise ConflictError(
                    f"channel {channel.name!r}: a dataset that it reads was dropped "
                    "just now"
                )
            channels.create_channel(sql, channel, read, at)
        self._admit(ChannelKey(channel.name, at), channel, checked)
        return checked

    def drop(self, name: str) -> tuple[str, ...]:
        """The channel goes, with its subscriptions and results. The files of those:
        the caller removes them (DataStore.results). Raises NotFoundError."""
        key = channels.state_of(self._store.sql, name).key
        with self._store.change() as sql:
            files = channels.drop_channel(sql, name)
        self._schedule.remove(key)
        self._runs.forget(key)
        self._checked.pop(key, None)
        self._suspended.pop(key, None)
        if self._runner is not None:
            self._runner.cancel(name)
            self._runner.forget(name)
        return files

    def status(self, name: str, *, details: bool = True) -> ChannelStatus:
        """As status.channel_status. Raises NotFoundError."""
        key = channels.state_of(self._store.sql, name).key
        checked = self._checked.get(key)
        return channel_status(
            self._store.sql,
            name,
            columns=() if checked is None else checked.columns,
            suspended=self._suspended.get(key, ""),
            details=details,
        )

    def _is_current(self, key: ChannelKey) -> bool:
        """True if the channel has been neither dropped nor created anew since."""
        found = channels.find_channel(self._store.sql, key.name)
        return found is not None and found.key == key

    def _admit(
        self, key: ChannelKey, channel: Channel, checked: "CheckedQuery"
    ) -> None:
        self._checked[key] = checked
        self._schedule.add(key, channel.period, self._wall())
        self.wake()

    async def _resume(self, spark: "SparkSession", runner: Runner) -> None:
        """The channels of before: their SQL was good then. One that is not any more
        is suspended; the others go on. Without any, there is time to warm Spark."""
        found = channels.all_channels(self._store.sql)
        for state in found:
            if self._is_current(state.key):
                await self._resume_channel(spark, state.key, state.channel)
        if not found:
            await self._in_thread(lambda: self._warm_up(self._store, runner, spark))

    async def _resume_channel(
        self, spark: "SparkSession", key: ChannelKey, channel: Channel
    ) -> None:
        datasets = all_datasets(self._store.sql)
        try:
            checked = await self._check_twice(spark, channel, datasets)
        except Exception as cause:  # whatever Spark makes of it, other channels run
            await self._check_alive()
            if not isinstance(cause, InputError):
                log.exception("channel %r could not be checked", channel.name)
            reason = "\n".join([str(cause), *getattr(cause, "details", ())])
            self._suspended[key] = reason
            log.error("channel %r is suspended: %s", channel.name, reason)
            return
        if self._is_current(key):
            self._admit(key, channel, checked)
            log.info("channel %r goes on, each %g s", channel.name, channel.period)

    async def _check_twice(
        self, spark: "SparkSession", channel: Channel, datasets: Mapping[str, Dataset]
    ) -> "CheckedQuery":
        """Once, if the refusal points at a place in the text: just after its start
        Spark may only have been too slow."""
        try:
            return await self._in_thread(lambda: self._check(spark, channel, datasets))
        except InputError as cause:
            if getattr(cause, "line", 0):
                raise
        return await self._in_thread(lambda: self._check(spark, channel, datasets))

    def _start_due(self, runner: Runner) -> None:
        now = self._wall()
        for late, count in self._schedule.tick(now).items():
            with self._store.change() as sql:
                channels.note_skipped(sql, late.name, count)
            log.warning(
                "channel %r is late: runs skipped: %d; the one before still runs, or "
                "waits for its turn",
                late.name,
                count,
            )
        while (key := self._schedule.start(now)) is not None:
            self._begin(self._run_once(key, runner))

    async def _run_once(self, key: ChannelKey, runner: Runner) -> None:
        again = None
        try:
            checked = self._checked.get(key)
            if checked is not None:  # else it was dropped just now
                again = await self._runs.run_once(key, checked, runner, self._pool)
        finally:
            self._schedule.finish(key, again)

    async def _pause(self) -> None:
        """Until a channel is due, or until something has happened."""
        at = self._schedule.next_time()
        seconds = None if at is None else max(0.001, at - self._wall())
        waiting = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait([waiting], timeout=seconds)
        finally:
            waiting.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            await self._check_alive()

    async def _check_alive(self) -> None:
        runner = self._runner
        if runner is not None and not await self._in_thread(runner.is_alive):
            raise SparkGoneError("Spark has ended")

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(lambda _: self.wake())
        return task

    async def _stop(self) -> None:
        """Runs under way are told to end; one that does not is left behind."""
        for task in self._endless:
            task.cancel()
        if self._runner is not None:
            self._runner.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)


def _check(
    spark: "SparkSession", channel: Channel, datasets: Mapping[str, Dataset]
) -> "CheckedQuery":
    # Not before Spark is up: what it imports takes a second.
    from brokerwise.runtime.data_cluster.sql.check import check_query

    return check_query(spark, channel, datasets)
