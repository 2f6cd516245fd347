"""Feeds: what was fed becomes segments, and is acknowledged once it is on the disk."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.datasets import (
    REASONS,
    Fed,
    Reason,
    Registered,
    answered_before,
    count_fed,
    is_current,
    keep_aside,
    note_answer,
    registered,
)
from brokerwise.runtime.data_cluster.definitions import Dataset
from brokerwise.runtime.data_cluster.records import Parsed, parse_records
from brokerwise.runtime.data_cluster.segments import (
    KeyedState,
    Segment,
    add_segment,
    new_file,
    remove_segment_files,
    write_files,
)
from brokerwise.runtime.data_cluster.store import Store, counter
from brokerwise.runtime.net.refusals import NotFoundError, UnavailableError
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES, ROLL_BYTES, ROLL_SECONDS

MAX_WAITING_BYTES = 64 << 20  # of feeds that are not acknowledged, then no more fit
_NOT_STORED = (OSError, sqlite3.Error, pa.ArrowException)


@dataclass(frozen=True, eq=False)
class Taken:
    """A feed that waits for its answer, for the dataset as it was then."""

    registered: Registered
    body: bytes
    batch: str
    answer: asyncio.Future[Fed]

    @property
    def dataset(self) -> Dataset:
        return self.registered.dataset


@dataclass(frozen=True, eq=False)
class Part:
    """What becomes one segment; its file is on the disk."""

    registered: Registered
    table: pa.Table
    file: str
    bytes: int

    @property
    def dataset(self) -> Dataset:
        return self.registered.dataset


@dataclass(frozen=True)
class Roll:
    """Written, not committed."""

    feeds: tuple[tuple[Taken, Parsed | InputError], ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Done:
    """Committed: what became segments, the answer to each feed, the newest segment."""

    parts: tuple[Part, ...]
    answers: tuple[tuple[Taken, Fed | Exception], ...]
    newest: int


def write_roll(store: Store, feeds: Sequence[Taken]) -> Roll:
    """Parse and write, on the disk when it returns. For any thread. On an error no
    file is left."""
    parsed = tuple((taken, _parse(taken)) for taken in feeds)
    tables: dict[tuple[Dataset, float], tuple[Registered, list[pa.Table]]] = {}
    for taken, records in parsed:
        if isinstance(records, Parsed) and records.table.num_rows:
            found = taken.registered
            group = tables.setdefault((found.dataset, found.created), (found, []))
            group[1].append(records.table)
    files = [
        (found, new_file(found.dataset.name), pa.concat_tables(group))
        for found, group in tables.values()
    ]
    sizes = write_files(store, [(file, table) for _, file, table in files])
    parts = (
        Part(found, table, file, size)
        for (found, file, table), size in zip(files, sizes, strict=True)
    )
    return Roll(parsed, tuple(parts))


def commit_roll(store: Store, roll: Roll, at: float) -> Done:
    """Feeds of datasets that have been dropped meanwhile are answered so."""
    parts = tuple(part for part in roll.parts if is_current(store.sql, part.registered))
    with store.change() as sql:
        for part in parts:
            _add(sql, part, at)
        answers = tuple(
            (taken, _note(sql, taken, parsed, at))
            if is_current(store.sql, taken.registered)
            else (taken, NotFoundError(f"there is no dataset {taken.dataset.name!r}"))
            for taken, parsed in roll.feeds
        )
    remove_segment_files(store, [part.file for part in roll.parts if part not in parts])
    return Done(parts, answers, counter(store.sql, "segment"))


def _parse(taken: Taken) -> Parsed | InputError:
    try:
        return parse_records(taken.dataset, taken.body)
    except InputError as error:
        return error


def _add(sql: Sql, part: Part, at: float) -> None:
    number = count_up(sql, "segment")
    name, rows = part.dataset.name, part.table.num_rows
    add_segment(sql, Segment(number, name, part.file, rows, part.bytes, at))


def _note(
    sql: Sql, taken: Taken, parsed: Parsed | InputError, at: float
) -> Fed | InputError:
    if isinstance(parsed, InputError):
        return parsed
    name = taken.dataset.name
    reasons = (Reason(each.line, each.reason) for each in parsed.rejects[:REASONS])
    fed = Fed(parsed.table.num_rows, parsed.rejected, reasons=tuple(reasons))
    count_fed(sql, name, fed.rows, fed.rejected, at)
    keep_aside(sql, name, taken.batch, parsed.rejects, at)
    if taken.batch:
        note_answer(sql, name, taken.batch, fed, at)
    return fed


class Feeder:
    """Takes feeds, and rolls them into segments while `run` runs.

    One thread, the store's, calls it. Feeds are taken in the order of the calls. A
    roll begins ROLL_SECONDS after the first feed that waits, or at ROLL_BYTES; all its
    segments, batch ids and records kept aside are one transaction. `on_segment` is
    told the newest segment after each commit that made one.
    """

    def __init__(
        self,
        store: Store,
        keyed: KeyedState,
        on_segment: Callable[[int], None],
        clock: Callable[[], float],
        *,
        roll_seconds: float = ROLL_SECONDS,
        roll_bytes: int = ROLL_BYTES,
    ) -> None:
        self._store, self._keyed = store, keyed
        self._on_segment, self._clock = on_segment, clock
        self._roll_seconds, self._roll_bytes = roll_seconds, roll_bytes
        self._waiting: list[Taken] = []
        self._underway: dict[tuple[str, str], Taken] = {}  # by dataset and batch
        self._bytes = 0  # of all that are not answered
        self._waiting_bytes = 0
        self._some, self._full = asyncio.Event(), asyncio.Event()
        self._ended = False

    async def feed(self, dataset: str, body: bytes, batch: str = "") -> Fed:
        """Lines of JSON for a dataset; returns once they are on the disk.

        With a `batch` id that was answered before, or is under way, nothing is fed
        again and the answer is the same. Cancelling takes nothing back: the records
        may be stored or not. Raises NotFoundError if there is no such dataset,
        InputError if the feed cannot be used at all, and UnavailableError if it could
        not be stored: then nothing of it was, and it may be sent again.
        """
        found = registered(self._store.sql, dataset)
        if batch:
            _check_batch(batch)
            answer = answered_before(self._store.sql, dataset, batch)
            if answer is not None:
                return answer
            if (first := self._underway.get((dataset, batch))) is not None:
                return replace(await asyncio.shield(first.answer), repeated=True)
        answer_later = asyncio.get_running_loop().create_future()
        taken = Taken(found, body, batch, answer_later)
        self._admit(taken)
        return await asyncio.shield(taken.answer)

    async def run(self) -> None:
        """Roll until cancelled, which leaves nothing half stored: feeds that are not
        answered then get UnavailableError."""
        try:
            with ThreadPoolExecutor(1, "feed") as worker:
                while True:
                    await self._due()
                    await self._roll(worker)
        finally:
            self._ended = True
            for taken in [*self._waiting, *self._underway.values()]:
                self._answer(taken, _unavailable("the data cluster is ending"))

    def _admit(self, taken: Taken) -> None:
        if self._ended:
            raise _unavailable("the data cluster is ending")
        if self._bytes + len(taken.body) > max(MAX_WAITING_BYTES, len(taken.body)):
            raise _unavailable(f"{self._bytes:,} bytes of feeds wait to be stored")
        self._bytes += len(taken.body)
        self._waiting_bytes += len(taken.body)
        self._waiting.append(taken)
        if taken.batch:
            self._underway[taken.dataset.name, taken.batch] = taken
        self._some.set()
        if self._waiting_bytes >= self._roll_bytes:
            self._full.set()

    async def _due(self) -> None:
        await self._some.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._roll_seconds):
                await self._full.wait()

    async def _roll(self, worker: ThreadPoolExecutor) -> None:
        feeds, self._waiting, self._waiting_bytes = self._waiting, [], 0
        self._some.clear()
        self._full.clear()
        try:
            roll = await asyncio.get_running_loop().run_in_executor(
                worker, write_roll, self._store, feeds
            )
            self._commit(roll)
        except _NOT_STORED as cause:
            error = _unavailable(f"the feed could not be stored ({cause})")
            for taken in feeds:
                self._answer(taken, error)
        finally:
            for taken in feeds:  # cancelled, or an error that nobody thought of
                self._answer(taken, _unavailable("the feed was not stored"))

    def _commit(self, roll: Roll) -> None:
        try:
            done = commit_roll(self._store, roll, self._clock())
        except sqlite3.Error as cause:
            # After any other error the rows may be in the journal, and come back.
            if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                remove_segment_files(self._store, [part.file for part in roll.parts])
            raise
        for part in done.parts:
            if part.dataset.key:
                self._keyed.add(part.dataset.name, part.table)
        for taken, answer in done.answers:
            self._answer(taken, answer)
        if done.parts:
            self._on_segment(done.newest)

    def _answer(self, taken: Taken, answer: Fed | Exception) -> None:
        if taken.answer.done():
            return
        if isinstance(answer, Fed):
            taken.answer.set_result(answer)
        else:
            taken.answer.set_exception(answer)
        self._bytes -= len(taken.body)
        self._underway.pop((taken.dataset.name, taken.batch), None)


def _check_batch(batch: str) -> None:
    if len(batch.encode(errors="replace")) > MAX_NAME_BYTES:
        raise InputError(
            f"found a batch id of {len(batch):,} characters, expected at most "
            f"{MAX_NAME_BYTES} bytes"
        )


def _unavailable(why: str) -> UnavailableError:
    return UnavailableError(
        f"{why}: nothing of it was taken", hint="Send it again in a moment."
    )
