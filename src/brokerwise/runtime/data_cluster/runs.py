"""How many segments the next run of a channel takes, after runs that failed. Pure.

A run that fails is tried again once, in case it was a passing trouble; then its
segments are halved, until the one that it cannot process is alone, has failed twice,
and is set aside. What succeeds doubles the number again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from brokerwise.runtime.data_cluster.channels import (
    Attempt,
    ChannelState,
    Key,
    newest_segment,
    state_of,
)
from brokerwise.runtime.data_cluster.datasets import find_dataset
from brokerwise.runtime.data_cluster.definitions import Dataset, DatasetKind
from brokerwise.runtime.data_cluster.results import Run
from brokerwise.runtime.data_cluster.spark import Subscribed, Work
from brokerwise.runtime.data_cluster.store import Store, counter
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.limits import SEGMENTS_PER_RUN

if TYPE_CHECKING:
    from brokerwise.runtime.data_cluster.sql.check import CheckedQuery
import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor

from brokerwise.runtime.data_cluster import channels
from brokerwise.runtime.data_cluster.results import Written, commit_run, write_results
from brokerwise.runtime.data_cluster.spark import (
    CancelledRunError,
    ExecutorLostError,
    RunError,
    SparkTroubleError,
)
from brokerwise.runtime.net.waiting import Backoff

TRIES = 2  # of a run, and of a segment alone
DEATHS = 2  # of the process in the same run, then its segments are halved
DEATHS_ALONE = 3  # over one segment, then it is set aside

T = TypeVar("T")


class Verdict(Enum):
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

    def taken(self, waiting: Sequence[T]) -> Sequence[T]:
        return waiting[: self.most]

    def succeeded(self, taken: int) -> "Pace":
        """After a run over so many segments has succeeded: the one that made others
        fail is among the rest of the suspects."""
        rest = self.suspects - taken
        if rest > 0:
            return Pace(max(1, rest // 2), suspects=rest, careful=True)
        most = min(2 * taken, SEGMENTS_PER_RUN) if self.careful else SEGMENTS_PER_RUN
        return Pace(most, careful=most < SEGMENTS_PER_RUN)

    def failed(self, taken: int) -> tuple["Pace", Verdict]:
        """After a run over so many segments has failed. The next run takes the same
        ones, the first half of them, or those after the one that is set aside.

        Each segment that cannot be processed costs at most 2 log2(n) + 4 runs, with n
        segments in a run.
        """
        failures = self.failures + 1
        if taken == 1 and failures >= TRIES:
            return Pace(1, careful=True), Verdict.SET_ASIDE
        if taken == 1 or not (self.careful or failures >= TRIES):
            return Pace(taken, failures, careful=self.careful), Verdict.AGAIN
        return Pace(taken // 2, suspects=taken, careful=True), Verdict.HALVED


def pace_after(attempt: Attempt) -> Pace:
    """How a channel goes on after a run during which the process died. Once is
    chance: somebody may have killed the process."""
    if attempt.deaths >= DEATHS and attempt.taken > 1:
        return Pace(attempt.taken // 2, suspects=attempt.taken, careful=True)
    return Pace(attempt.taken) if attempt.deaths else Pace()


def is_fatal(attempt: Attempt) -> bool:
    """True if the process died too often over this one segment."""
    return attempt.taken == 1 and attempt.deaths >= DEATHS_ALONE


class Keyed(Protocol):
    """The state of keyed datasets as of the newest segment."""

    def table(self, name: str) -> pa.Table: ...


@dataclass(frozen=True)
class Nothing:
    """No run: there is nothing new up to this segment, or nobody to receive it."""

    before: ChannelState
    segment: int


@dataclass(frozen=True)
class Prepared:
    """A run. `taken` are the numbers of the segments with its new records; `complete`
    says that no more wait after them."""

    run: Run
    work: Work
    taken: tuple[int, ...]
    complete: bool


class Preparing:
    """Reads the state for runs; remembers the subscriptions of each channel while
    they stay the same."""

    def __init__(self, store: Store, keyed: Keyed) -> None:
        self._store = store
        self._keyed = keyed
        self._subscribed: dict[str, Subscribed] = {}

    def prepare(
        self, name: str, query: "CheckedQuery", pace: Pace, now: float
    ) -> Nothing | Prepared:
        """Raises NotFoundError if the channel is gone."""
        sql = self._store.sql
        before = state_of(sql, name)
        newest = max(newest_segment(sql), before.segment)
        datasets = {key: find_dataset(sql, key) for key in before.datasets}
        waiting = _waiting(sql, datasets, before.segment, pace.most + 1)
        subscribed = self._subscriptions(name)
        if not waiting or not subscribed.numbers:
            return Nothing(before, newest)
        taken = pace.taken(waiting)
        complete = len(taken) == len(waiting)
        run = Run(
            before,
            last_segment=newest if complete else taken[-1][0],
            state_segment=newest,
            version=counter(sql, "version"),
            subscriptions=len(subscribed.numbers),
            started=now,
        )
        work = Work(
            before.channel,
            query,
            datasets,
            subscribed,
            new=self._new(taken),
            static=self._static(datasets),
            keyed=self._latest(datasets),
        )
        return Prepared(run, work, tuple(one[0] for one in taken), complete)

    def forget(self, name: str) -> None:
        self._subscribed.pop(name, None)

    def _subscriptions(self, name: str) -> Subscribed:
        """Numbers only grow, and none comes back: of the same count and the same last
        one they are the same."""
        sql = self._store.sql
        count, last = sql.execute(
            "SELECT count(*), coalesce(max(id), 0) FROM subscriptions "
            "WHERE channel = ?",
            (name,),
        ).fetchone()
        known = self._subscribed.get(name)
        if known is None or known.mark != (count, last):
            known = self._subscribed[name] = _read_subscriptions(sql, name)
        return known

    def _new(self, taken: Sequence[tuple[int, str, str]]) -> dict[str, tuple[str, ...]]:
        files: dict[str, list[str]] = {}
        for _, dataset, file in taken:
            files.setdefault(dataset, []).append(self._path(file))
        return {dataset: tuple(found) for dataset, found in files.items()}

    def _static(self, datasets: dict[str, Dataset]) -> dict[str, tuple[str, ...]]:
        return {
            name: tuple(
                self._path(file)
                for (file,) in self._store.sql.execute(
                    "SELECT file FROM segments WHERE dataset = ? ORDER BY number",
                    (name,),
                )
            )
            for name in _of_kind(datasets, DatasetKind.STATIC)
        }

    def _latest(self, datasets: dict[str, Dataset]) -> dict[str, pa.Table]:
        names = _of_kind(datasets, DatasetKind.KEYED)
        return {name: self._keyed.table(name) for name in names}

    def _path(self, file: str) -> str:
        return str(self._store.segment_path(file).absolute())


def _waiting(
    sql: Sql, datasets: dict[str, Dataset], after: int, most: int
) -> list[tuple[int, str, str]]:
    """The next segments (number, dataset, file) with new records."""
    names = _of_kind(datasets, DatasetKind.APPEND)
    marks = ", ".join("?" * len(names))
    return sql.execute(
        f"SELECT number, dataset, file FROM segments WHERE dataset IN ({marks}) "
        "AND number > ? ORDER BY number LIMIT ?",
        (*names, after, most),
    ).fetchall()


def _read_subscriptions(sql: Sql, name: str) -> Subscribed:
    rows = sql.execute(
        "SELECT id, parameters FROM subscriptions WHERE channel = ? ORDER BY id",
        (name,),
    ).fetchall()
    numbers = tuple(number for number, _ in rows)
    mark = (len(rows), numbers[-1] if numbers else 0)
    return Subscribed(mark, numbers, tuple(values for _, values in rows))


def _of_kind(datasets: dict[str, Dataset], kind: DatasetKind) -> list[str]:
    return [name for name, dataset in datasets.items() if dataset.kind is kind]


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
            self._deaths = channels.count_deaths(sql)

    async def take(
        self, key: Key, query: "CheckedQuery", runner: Running, threads: Executor
    ) -> float | None:
        """When the channel wants its next turn; None if it is done until its next
        beat. Raises SparkGoneError. Cancelling it leaves the run committed or not."""
        before = self._deaths.pop(key[0], None)
        if before is not None:
            self._paces[key] = pace_after(before)
        pace = self._paces.get(key, Pace())
        prepared = self._preparing.prepare(key[0], query, pace, self._wall())
        if isinstance(prepared, Nothing):
            self._move_on(key, prepared)
            return None
        if before is not None and is_fatal(before):
            return self._give_up(key, prepared, before)
        with self._store.change() as sql:
            channels.begin_attempt(sql, key[0], prepared.taken[0], len(prepared.taken))
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

    def _give_up(self, key: Key, prepared: Prepared, before: Attempt) -> float:
        """On a segment that the process did not survive, again and again."""
        at, segment = self._wall(), prepared.taken[0]
        reason = f"the process died in its run, {before.deaths} times in a row"
        _log.error("channel %s: segment %d is set aside: %s", key[0], segment, reason)
        with self._store.change() as sql:
            channels.set_aside(sql, prepared.run.before, segment, reason, at)
        self._paces[key] = Pace(1, careful=True)
        return at

    def _survived(self, key: Key) -> None:
        with self._store.change() as sql:
            channels.end_attempt(sql, key[0])

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
            with self._store.change() as sql:
                channels.advance(sql, nothing.before, nothing.segment)

    def _commit(
        self, key: Key, pace: Pace, prepared: Prepared, written: Written
    ) -> float | None:
        at = self._wall()
        self._troubles.pop(key, None)
        if not commit_run(self._store, prepared.run, written, at):
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
            with self._store.change() as sql:
                channels.set_aside(sql, before, taken[0], cause.message, at)
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
