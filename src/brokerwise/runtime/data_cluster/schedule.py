"""When channels run. Pure: no clock, no I/O.

A channel's beats are `period` apart, counted from its creation. At a beat it becomes
due; of those that are due, the one that waits longest starts, at most so many at once.
A beat that finds the channel still running, or still waiting for its turn, is skipped:
the run that is to come covers what has come since.
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
from brokerwise.runtime.data_cluster.channels import ChannelDescription, Key
from brokerwise.runtime.data_cluster.datasets import all_datasets
from brokerwise.runtime.data_cluster.definitions import Channel, Dataset
from brokerwise.runtime.data_cluster.runs import (
    Keyed,
    Notify,
    Preparing,
    Running,
    Turns,
)
from brokerwise.runtime.data_cluster.spark import Runner, SparkGoneError, warm
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.net.refusals import ConflictError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.runtime.data_cluster.sql.check import CheckedQuery

RUNS_AT_ONCE = 2
_EARLY = 1e-6  # of a period: a clock that shows the beat's own time counts as there


@dataclass
class _Beating:
    created: float
    period: float
    handled: int = 0  # the last beat that was seen
    due: float | None = None  # since when it waits for its turn

    def last_beat(self, now: float) -> int:
        return floor((now - self.created) / self.period + _EARLY)

    def time_of(self, beat: int) -> float:
        return self.created + beat * self.period


class Agenda:
    """The channels, and which of them run. Times are seconds since 1970."""

    def __init__(self, at_once: int = RUNS_AT_ONCE) -> None:
        self._at_once = at_once
        self._beating: dict[Key, _Beating] = {}
        self._running: set[Key] = set()

    def add(self, key: Key, period: float, now: float) -> None:
        """Its first beat is a period after its creation. One that was created before
        is due at once if a beat has passed: whatever kept us from it, that is over."""
        channel = _Beating(key[1], period)
        channel.handled = max(0, channel.last_beat(now) - 1)
        self._beating[key] = channel

    def remove(self, key: Key) -> None:
        """A run that is under way keeps its place until it is finished."""
        self._beating.pop(key, None)

    def tick(self, now: float) -> Mapping[Key, int]:
        """Let beats pass. How many were skipped, of which channels."""
        skipped = {key: self._pass_beats(key, now) for key in self._beating}
        return {key: beats for key, beats in skipped.items() if beats}

    def start(self, now: float) -> Key | None:
        """The channel whose turn it is, which now counts as running; None if there is
        none or as many run as may."""
        due = [(at, key) for key, at in self._waiting() if at <= now]
        if not due or self._is_full():
            return None
        _, key = min(due)
        self._beating[key].due = None
        self._running.add(key)
        return key

    def finish(self, key: Key, again: float | None = None) -> None:
        """The run is over. With `again` the channel is not done: it wants its next
        turn at that time, behind those who wait already."""
        self._running.discard(key)
        if key in self._beating:
            self._beating[key].due = again

    def next_time(self) -> float | None:
        """When something is to be done next, if no run ends before."""
        times = [one.time_of(one.handled + 1) for one in self._beating.values()]
        if not self._is_full():
            times += [at for _, at in self._waiting()]
        return min(times, default=None)

    def _waiting(self) -> list[tuple[Key, float]]:
        everyone = self._beating.items()
        return [(key, one.due) for key, one in everyone if one.due is not None]

    def _is_full(self) -> bool:
        return len(self._running) >= self._at_once

    def _pass_beats(self, key: Key, now: float) -> int:
        """The beats that are skipped up to now."""
        channel = self._beating[key]
        beats = channel.last_beat(now) - channel.handled
        if beats <= 0:
            return 0
        channel.handled += beats
        if key in self._running or channel.due is not None:
            return beats
        channel.due = channel.time_of(channel.handled)
        return beats - 1


WATCH_SECONDS = 1.0  # how often it is seen whether Spark is still there
STOP_SECONDS = 5.0  # that runs under way have to end

Check = Callable[["SparkSession", Channel, Mapping[str, Dataset]], "CheckedQuery"]
Given = TypeVar("Given")

_log = logging.getLogger(__name__)


class Scheduler:
    """The channels that run. One thread, the store's, calls it; Spark works in others.

    `spark` comes when it is up: until then nothing runs. `notify` is told of each
    commit that has results: the channel, when, and which subscriptions have them.
    `wall` gives seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        spark: "asyncio.Future[SparkSession]",
        keyed: Keyed,
        notify: Notify,
        *,
        wall: Callable[[], float] = time.time,
        make_runner: Callable[["SparkSession"], Running] = Runner,
        check: Check | None = None,
        warm_up: Callable[[Store, Running, "SparkSession"], None] = warm,
    ) -> None:
        self._store, self._spark, self._wall = store, spark, wall
        self._make_runner, self._check = make_runner, check or _check
        self._warm_up = warm_up
        self._runner: Running | None = None
        self._agenda = Agenda()
        self._checked: dict[Key, CheckedQuery] = {}
        self._suspended: dict[Key, str] = {}
        self._turns = Turns(store, Preparing(store, keyed), notify, wall)
        self._tasks: set[asyncio.Task[None]] = set()
        self._chores: list[
            asyncio.Task[None]
        ] = []  # those that never end by themselves
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
            self._chores = [
                self._begin(self._prepare(spark, self._runner)),
                self._begin(self._watch()),
            ]
            while True:
                self._woken.clear()
                self._beat(self._runner)
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
        self._admit((channel.name, at), channel, checked)
        return checked

    def drop(self, name: str) -> tuple[str, ...]:
        """The channel goes, with its subscriptions and results. The files of those:
        the caller removes them (result_files.remove_files). Raises NotFoundError."""
        key = self._key(name)
        with self._store.change() as sql:
            files = channels.drop_channel(sql, name)
        self._agenda.remove(key)
        self._turns.forget(key)
        self._checked.pop(key, None)
        self._suspended.pop(key, None)
        if self._runner is not None:
            self._runner.cancel(name)
            self._runner.forget(name)
        return files

    def describe(self, name: str) -> ChannelDescription:
        """Raises NotFoundError."""
        key = self._key(name)
        checked = self._checked.get(key)
        return channels.describe(
            self._store.sql,
            name,
            columns=() if checked is None else checked.columns,
            suspended=self._suspended.get(key, ""),
        )

    def _key(self, name: str) -> Key:
        return name, channels.state_of(self._store.sql, name).created

    def _find_key(self, name: str) -> Key | None:
        """None if it was dropped meanwhile."""
        there = channels.find_channel(self._store.sql, name) is not None
        return self._key(name) if there else None

    def _admit(self, key: Key, channel: Channel, checked: "CheckedQuery") -> None:
        self._checked[key] = checked
        self._agenda.add(key, channel.period, self._wall())
        self.wake()

    async def _prepare(self, spark: "SparkSession", runner: Running) -> None:
        """The channels of before: their SQL was good then. One that is not any more
        is suspended; the others go on. Without any, there is time to warm Spark."""
        found = channels.all_channels(self._store.sql)
        for channel in found:
            key = self._find_key(channel.name)
            if key is not None and key not in self._checked:
                await self._approve(spark, key, channel)
        if not found:
            await self._in_thread(lambda: self._warm_up(self._store, runner, spark))

    async def _approve(self, spark: "SparkSession", key: Key, channel: Channel) -> None:
        datasets = all_datasets(self._store.sql)
        try:
            checked = await self._check_patiently(spark, channel, datasets)
        except Exception as cause:  # whatever Spark makes of it, other channels run
            await self._check_alive()
            if not isinstance(cause, InputError):
                _log.exception("channel %s could not be checked", channel.name)
            reason = "\n".join([str(cause), *getattr(cause, "details", ())])
            self._suspended[key] = reason
            _log.error("channel %s is suspended: %s", channel.name, reason)
            return
        if key == self._find_key(channel.name):
            self._admit(key, channel, checked)

    async def _check_patiently(
        self, spark: "SparkSession", channel: Channel, datasets: Mapping[str, Dataset]
    ) -> "CheckedQuery":
        """Twice, unless the refusal points at a place in the text: just after its
        start Spark may only have been too slow."""
        try:
            return await self._in_thread(lambda: self._check(spark, channel, datasets))
        except InputError as cause:
            if getattr(cause, "line", 0):
                raise
        return await self._in_thread(lambda: self._check(spark, channel, datasets))

    def _beat(self, runner: Running) -> None:
        now = self._wall()
        for (name, _), beats in self._agenda.tick(now).items():
            with self._store.change() as sql:
                channels.note_skipped(sql, name, beats)
            _log.warning("channel %s: beats skipped: %d", name, beats)
        while (key := self._agenda.start(now)) is not None:
            self._begin(self._turn(key, runner))

    async def _turn(self, key: Key, runner: Running) -> None:
        again = None
        try:
            checked = self._checked.get(key)
            if checked is not None:  # else it was dropped just now
                again = await self._turns.take(key, checked, runner, self._pool)
        finally:
            self._agenda.finish(key, again)

    async def _pause(self) -> None:
        """Until the next beat, or until something has happened."""
        at = self._agenda.next_time()
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

    async def _in_thread(self, work: Callable[[], Given]) -> Given:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(lambda _: self.wake())
        return task

    async def _stop(self) -> None:
        """Runs under way are told to end; one that does not is left behind."""
        for task in self._chores:
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
