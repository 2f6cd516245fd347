"""Feeds: what was fed becomes segments, and is acknowledged once it is on the disk.

Decided here: which feeds are taken, refused or answered as repeated (`Feeder`), and
which of them are written and committed together: one roll, one segment for each dataset
and one transaction.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.datasets import (
    REASONS,
    StoredDataset,
    answered_before,
    count_fed,
    is_current,
    keep_aside,
    note_answer,
    stored_dataset,
)
from brokerwise.runtime.data_cluster.records import ParsedFeed, parse_records
from brokerwise.runtime.data_cluster.segments import (
    KeyedState,
    Segment,
    add_segment,
    write_segments,
)
from brokerwise.runtime.data_cluster.store import DataStore, StoredFile
from brokerwise.runtime.net.errors import NotFoundError, UnavailableError
from brokerwise.runtime.process.logs import limited
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.data import Dataset, FeedAnswer, Rejection
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES, ROLL_BYTES, ROLL_SECONDS

MAX_WAITING_BYTES = 64 << 20  # of feeds not acknowledged; beyond it feeds are refused
log = logging.getLogger(__name__)
_NOT_STORED = (OSError, sqlite3.Error, pa.ArrowException)


@dataclass(frozen=True, eq=False)
class PendingFeed:
    """A feed that waits for its answer, for the dataset as it was then."""

    stored: StoredDataset
    body: bytes
    batch: str
    answer: asyncio.Future[FeedAnswer]

    @property
    def dataset(self) -> Dataset:
        return self.stored.dataset


@dataclass(frozen=True, eq=False)
class NewSegment:
    """What becomes one segment; its file is on the disk."""

    stored: StoredDataset
    table: pa.Table
    file: StoredFile

    @property
    def dataset(self) -> Dataset:
        return self.stored.dataset


@dataclass(frozen=True)
class Roll:
    """Written, not committed."""

    feeds: tuple[tuple[PendingFeed, ParsedFeed | InputError], ...]
    segments: tuple[NewSegment, ...]


Answers = tuple[tuple[PendingFeed, FeedAnswer | Exception], ...]


def write_roll(store: DataStore, feeds: Sequence[PendingFeed]) -> Roll:
    """Parse and write, on the disk when it returns. For any thread. On an error no
    file is left."""
    parsed = tuple((feed, _parse(feed)) for feed in feeds)
    tables: dict[tuple[Dataset, float], tuple[StoredDataset, list[pa.Table]]] = {}
    for feed, records in parsed:
        if isinstance(records, ParsedFeed) and records.table.num_rows:
            found = feed.stored
            group = tables.setdefault((found.dataset, found.created), (found, []))
            group[1].append(records.table)
    new = [(found, pa.concat_tables(group)) for found, group in tables.values()]
    files = write_segments(store, [(found.dataset.name, table) for found, table in new])
    segments = (
        NewSegment(found, table, file)
        for (found, table), file in zip(new, files, strict=True)
    )
    return Roll(parsed, tuple(segments))


def commit_roll(
    store: DataStore, roll: Roll, at: float
) -> tuple[tuple[NewSegment, ...], Answers]:
    """What became segments, and the answer to each feed: an error for those of
    datasets that have been dropped meanwhile."""
    segments = tuple(
        segment for segment in roll.segments if is_current(store.sql, segment.stored)
    )
    with store.change() as sql:
        for segment in segments:
            _add(sql, segment, at)
        answers = tuple(
            (feed, _note(sql, feed, parsed, at))
            if is_current(store.sql, feed.stored)
            else (feed, NotFoundError(f"there is no dataset {feed.dataset.name!r}"))
            for feed, parsed in roll.feeds
        )
    store.segments.remove(
        segment.file.name for segment in roll.segments if segment not in segments
    )
    return segments, answers


def _parse(feed: PendingFeed) -> ParsedFeed | InputError:
    try:
        return parse_records(feed.dataset, feed.body)
    except InputError as error:
        return error


def _add(sql: Sql, segment: NewSegment, at: float) -> None:
    number, file = count_up(sql, "segment"), segment.file
    name, rows = segment.dataset.name, segment.table.num_rows
    add_segment(sql, Segment(number, name, file.name, rows, file.bytes, at))


def _note(
    sql: Sql, feed: PendingFeed, parsed: ParsedFeed | InputError, at: float
) -> FeedAnswer | InputError:
    if isinstance(parsed, InputError):
        return parsed
    name = feed.dataset.name
    reasons = (Rejection(each.line, each.reason) for each in parsed.rejects[:REASONS])
    fed = FeedAnswer(parsed.table.num_rows, parsed.rejected, reasons=tuple(reasons))
    count_fed(sql, name, fed.rows, fed.rejected, at)
    keep_aside(sql, name, feed.batch, parsed.rejects, at)
    if feed.batch:
        note_answer(sql, name, feed.batch, fed, at)
    return fed


class Feeder:
    """Takes feeds, and rolls them into segments while `run` runs.

    One thread, the store's, calls it. Feeds are taken in the order of the calls. A
    roll begins ROLL_SECONDS after the first feed that waits, or at ROLL_BYTES; all its
    segments, batch ids and records kept aside are one transaction.
    """

    def __init__(
        self,
        store: DataStore,
        keyed: KeyedState,
        clock: Callable[[], float],
        *,
        roll_seconds: float = ROLL_SECONDS,
        roll_bytes: int = ROLL_BYTES,
    ) -> None:
        self._store, self._keyed = store, keyed
        self._clock = clock
        self._roll_seconds, self._roll_bytes = roll_seconds, roll_bytes
        self._waiting: list[PendingFeed] = []
        self._underway: dict[tuple[str, str], PendingFeed] = {}  # by dataset and batch
        self._bytes = 0  # of all that are not answered
        self._waiting_bytes = 0
        self._some, self._full = asyncio.Event(), asyncio.Event()
        self._ended = False

    async def feed(self, dataset: str, body: bytes, batch: str = "") -> FeedAnswer:
        """Lines of JSON for a dataset; returns once they are on the disk.

        With a `batch` id that was answered before, or is under way, nothing is fed
        again and the answer is the same. Cancelling takes nothing back: the records
        may be stored or not. Raises NotFoundError if there is no such dataset,
        InputError if the feed cannot be used at all, and UnavailableError if it could
        not be stored: then nothing of it was, and it may be sent again.
        """
        found = stored_dataset(self._store.sql, dataset)
        if batch:
            _check_batch(batch)
            answer = answered_before(self._store.sql, dataset, batch)
            if answer is not None:
                return answer
            if (first := self._underway.get((dataset, batch))) is not None:
                answer = await asyncio.shield(first.answer)
                return msgspec.structs.replace(answer, repeated=True)
        answer_later = asyncio.get_running_loop().create_future()
        feed = PendingFeed(found, body, batch, answer_later)
        self._admit(feed)
        return await asyncio.shield(feed.answer)

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
            for feed in [*self._waiting, *self._underway.values()]:
                self._answer(feed, _unavailable("the data cluster is ending"))

    def _admit(self, feed: PendingFeed) -> None:
        if self._ended:
            raise _unavailable("the data cluster is ending")
        if self._bytes + len(feed.body) > max(MAX_WAITING_BYTES, len(feed.body)):
            limited(log, "full").warning(
                "feed refused: %d bytes wait to be stored", self._bytes
            )
            raise _unavailable(f"{self._bytes:,} bytes of feeds wait to be stored")
        self._bytes += len(feed.body)
        self._waiting_bytes += len(feed.body)
        self._waiting.append(feed)
        if feed.batch:
            self._underway[feed.dataset.name, feed.batch] = feed
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
            log.error("%d feeds could not be stored: %s", len(feeds), cause)
            error = _unavailable(f"the feed could not be stored ({cause})")
            for feed in feeds:
                self._answer(feed, error)
        finally:
            for feed in feeds:  # cancelled, or an unexpected error
                self._answer(feed, _unavailable("the feed was not stored"))

    def _commit(self, roll: Roll) -> None:
        try:
            segments, answers = commit_roll(self._store, roll, self._clock())
        except sqlite3.Error as cause:
            # After any other error the rows may be in the journal, and come back.
            if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                self._store.segments.remove(
                    segment.file.name for segment in roll.segments
                )
            raise
        for segment in segments:
            if segment.dataset.key:
                self._keyed.add(segment.dataset.name, segment.table)
        for feed, answer in answers:
            _log_rejected(feed, answer)
            self._answer(feed, answer)
        for segment in segments:
            log.debug(
                "dataset %r: segment written, %d rows, %d bytes",
                segment.dataset.name,
                segment.table.num_rows,
                segment.file.bytes,
            )

    def _answer(self, feed: PendingFeed, answer: FeedAnswer | Exception) -> None:
        if feed.answer.done():
            return
        if isinstance(answer, FeedAnswer):
            feed.answer.set_result(answer)
        else:
            feed.answer.set_exception(answer)
        self._bytes -= len(feed.body)
        self._underway.pop((feed.dataset.name, feed.batch), None)


def _log_rejected(feed: PendingFeed, answer: FeedAnswer | Exception) -> None:
    name, batch = feed.dataset.name, feed.batch
    if isinstance(answer, Exception):
        limited(log, "refused").warning(
            "dataset %r: batch %r is refused: %s", name, batch, answer
        )
    elif answer.rejected:
        limited(log, "rejected").warning(
            "dataset %r: batch %r: %d records rejected, %d taken; line %d: %r",
            name,
            batch,
            answer.rejected,
            answer.rows,
            answer.reasons[0].line,
            answer.reasons[0].reason,
        )


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
