"""Feeds: what was fed becomes segments, and is acknowledged once it is on the disk."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.datasets import registered
from brokerwise.runtime.data_cluster.fed_batches import Fed, answered_before
from brokerwise.runtime.data_cluster.keyed import KeyedState
from brokerwise.runtime.data_cluster.rolling import Roll, Taken, commit_roll, write_roll
from brokerwise.runtime.data_cluster.segments import remove_files
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.net.refusals import UnavailableError
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES, ROLL_BYTES, ROLL_SECONDS

__all__ = ["Fed", "Feeder"]

MAX_WAITING_BYTES = 64 << 20  # of feeds that are not acknowledged, then no more fit
_NOT_STORED = (OSError, sqlite3.Error, pa.ArrowException)


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
                remove_files(self._store, [part.file for part in roll.parts])
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
