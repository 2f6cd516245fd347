"""A channel's turn: one run, and what becomes of it."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from brokerwise.runtime.data_cluster import attempts, results
from brokerwise.runtime.data_cluster.beats import Key
from brokerwise.runtime.data_cluster.covering import Pace, Verdict
from brokerwise.runtime.data_cluster.failing import (
    CancelledRunError,
    ExecutorLostError,
    RunError,
    SparkTroubleError,
)
from brokerwise.runtime.data_cluster.preparing import Nothing, Prepared, Preparing
from brokerwise.runtime.data_cluster.result_files import Written, write_results
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.data_cluster.views import Work
from brokerwise.runtime.net.tasks import Backoff

if TYPE_CHECKING:
    from brokerwise.runtime.data_cluster.sql.checking import CheckedQuery

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds, after a trouble with Spark
LOSSES = 5  # of executors in a row, then the run itself is to blame

Clock = Callable[[], float]
# The channel, when it was committed, and the subscriptions that have new results.
Notify = Callable[[str, float, tuple[int, ...]], None]

_log = logging.getLogger(__name__)


class Running(Protocol):
    """What runs channels; running.Runner is it."""

    def run(self, work: Work) -> pa.Table: ...
    def cancel(self, channel: str | None = None) -> None: ...
    def forget(self, channel: str) -> None: ...
    def is_alive(self) -> bool: ...


class Turns:
    """Takes the turns of channels, and remembers of each what failed before."""

    def __init__(
        self, store: Store, preparing: Preparing, notify: Notify, wall: Clock
    ) -> None:
        self._store, self._preparing = store, preparing
        self._notify, self._wall = notify, wall
        self._paces: dict[Key, Pace] = {}
        self._troubles: dict[Key, Backoff] = {}
        with store.change() as sql:
            self._died = attempts.died(sql)

    async def take(
        self, key: Key, query: "CheckedQuery", runner: Running, threads: Executor
    ) -> float | None:
        """When the channel wants its next turn; None if it is done until its next
        beat. Raises SparkGoneError. Cancelling it leaves the run committed or not."""
        before = self._died.pop(key[0], None)
        if before is not None:
            self._paces[key] = before.pace()
        pace = self._paces.get(key, Pace())
        prepared = self._preparing.prepare(key[0], query, pace, self._wall())
        if isinstance(prepared, Nothing):
            self._move_on(key, prepared)
            return None
        if before is not None and before.is_poison():
            return self._give_up(key, prepared, before)
        with self._store.change() as sql:
            attempts.begin(sql, key[0], prepared.taken[0], len(prepared.taken))
        loop = asyncio.get_running_loop()
        try:
            written = await loop.run_in_executor(
                threads, self._execute, runner, prepared
            )
        except RunError as cause:
            return self._failed(key, pace, prepared, cause)
        except SparkTroubleError as cause:
            return self._troubled(key, pace, prepared, cause)
        except CancelledRunError:
            self._survived(key)
            return self._wall()
        return self._commit(key, pace, prepared, written)

    def _give_up(self, key: Key, prepared: Prepared, before: attempts.Attempt) -> float:
        """On a segment that the process did not survive, again and again."""
        at, segment = self._wall(), prepared.taken[0]
        reason = f"the process died in its run, {before.deaths} times in a row"
        _log.error("channel %s: segment %d is set aside: %s", key[0], segment, reason)
        results.set_aside(self._store, prepared.run.before, segment, reason, at)
        self._paces[key] = Pace(1, careful=True)
        return at

    def _survived(self, key: Key) -> None:
        with self._store.change() as sql:
            attempts.end(sql, key[0])

    def forget(self, key: Key) -> None:
        self._paces.pop(key, None)
        self._troubles.pop(key, None)
        self._preparing.forget(key[0])

    def _execute(self, runner: Running, prepared: Prepared) -> Written:
        """In a thread of its own."""
        found = runner.run(prepared.work)
        name = f"{prepared.work.channel.name}-{prepared.run.number}"
        try:
            return write_results(self._store, name, found)
        except OSError as cause:
            raise SparkTroubleError(f"results cannot be written: {cause}") from cause

    def _move_on(self, key: Key, nothing: Nothing) -> None:
        self._paces.pop(key, None)
        if nothing.segment > nothing.before.segment:
            results.move_on(self._store, nothing.before, nothing.segment)

    def _commit(
        self, key: Key, pace: Pace, prepared: Prepared, written: Written
    ) -> float | None:
        at = self._wall()
        self._troubles.pop(key, None)
        if not results.commit_run(self._store, prepared.run, written, at):
            return None
        if written.rows:
            self._notify(key[0], at, written.subscriptions())
        if prepared.complete:
            self._paces.pop(key, None)
            return None
        self._paces[key] = pace.succeeded(len(prepared.taken))
        return at

    def _failed(
        self, key: Key, pace: Pace, prepared: Prepared, cause: RunError
    ) -> float:
        self._survived(key)
        taken, at = prepared.taken, self._wall()
        self._paces[key], verdict = pace.failed(len(taken))
        _log.warning(
            "channel %s: a run over %d segments (%d to %d) failed and is %s: %s",
            key[0],
            len(taken),
            taken[0],
            taken[-1],
            verdict.value,
            cause.message,
        )
        if verdict is Verdict.SET_ASIDE:
            before = prepared.run.before
            results.set_aside(self._store, before, taken[0], cause.message, at)
        return at

    def _troubled(
        self, key: Key, pace: Pace, prepared: Prepared, cause: SparkTroubleError
    ) -> float:
        self._survived(key)
        new = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        backoff = self._troubles.setdefault(key, new)
        if isinstance(cause, ExecutorLostError) and backoff.attempts + 1 >= LOSSES:
            del self._troubles[key]
            return self._failed(key, pace, prepared, RunError(cause.message))
        pause = backoff.pause()
        _log.warning(
            "channel %s: Spark is in trouble, again in %.1f s: %s",
            key[0],
            pause,
            cause.message,
        )
        return self._wall() + pause
