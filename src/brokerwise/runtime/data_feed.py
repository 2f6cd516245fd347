"""Feeding a stream of any length to a dataset: batch after batch, in order."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.data_answers import Fed, Reason
from brokerwise.runtime.data_client import DataClient
from brokerwise.runtime.feed_batches import Batch, Batches
from brokerwise.runtime.limits import MAX_RECORD_BYTES

SHOWN = 10  # reasons


@dataclass(frozen=True)
class FeedResult:
    """How a feed went, so far: `records` are in the dataset now, `repeated` of them
    by an earlier feed of the same; `rejected` were kept aside by the data cluster,
    `too_long` were not sent. `reasons` are the first, by line of the stream."""

    records: int = 0
    rejected: int = 0
    too_long: int = 0
    repeated: int = 0
    reasons: tuple[Reason, ...] = ()

    def after(self, batch: Batch, fed: Fed) -> "FeedResult":
        found = [
            replace(reason, line=batch.first_line + reason.line - 1)
            for reason in fed.reasons
        ]
        found += [Reason(line, _TOO_LONG) for line in batch.too_long]
        reasons = (*self.reasons, *sorted(found, key=lambda reason: reason.line))
        return FeedResult(
            self.records + fed.rows,
            self.rejected + fed.rejected,
            self.too_long + len(batch.too_long),
            self.repeated + (fed.rows if fed.repeated else 0),
            reasons[:SHOWN],
        )


_TOO_LONG = f"longer than {MAX_RECORD_BYTES:,} bytes; it was left out"


class FeedBrokenError(BrokerwiseError):
    """A feed ended before its time; `result` is how far it came."""

    def __init__(self, result: FeedResult, line: int, cause: BrokerwiseError) -> None:
        self.result, self.line = result, line
        super().__init__(
            f"{result.records:,} records are in; from line {line:,} on it failed: "
            f"{cause.message}",
            details=cause.details,
            hint=cause.hint or "Repeat the command: of a file nothing is fed twice.",
        )


@dataclass(frozen=True)
class Feed:
    """Feeds streams to a dataset.

    Attributes
    ----------
    identity
        Of the stream. The same stream under the same identity (and rate) is not fed
        twice, however often.
    rate
        Records a second; None: as fast as they are taken.
    told
        Called after each batch.
    on_retry
        Called when the data cluster does not answer and is asked again.
    """

    client: DataClient
    dataset: str
    identity: str
    rate: float | None = None
    told: Callable[[FeedResult], None] = lambda result: None
    on_retry: Callable[[BrokerwiseError], None] = lambda error: None

    async def run(self, parts: AsyncIterator[bytes | None]) -> FeedResult:
        """Feed parts of a stream as they come; None sends what there is, without
        waiting for more. Cancelling it leaves out what was not fed yet, of one batch
        it is not known. Raises FeedBrokenError, or, if nothing is in, its cause."""
        pace = _Pace(self.rate)
        result = FeedResult()
        async for batch in _batches(parts, Batches(most_records=pace.at_once)):
            await pace.wait_for(batch.records)
            try:
                fed = await self._send(batch)
            except BrokerwiseError as error:
                if not result.records:
                    raise
                raise FeedBrokenError(result, batch.first_line, error) from error
            result = result.after(batch, fed)
            self.told(result)
        return result

    async def _send(self, batch: Batch) -> Fed:
        if not batch.records:
            return Fed(0, 0)
        # The length too: at another rate the stream is cut at other places.
        name = f"{self.identity}-{batch.offset}-{batch.length}"
        return await self.client.feed(
            self.dataset, batch.body, name, on_retry=self.on_retry
        )


class _Pace:
    """So many records a second, a second's worth at once, but at least one."""

    def __init__(self, rate: float | None) -> None:
        self.at_once = None if rate is None else max(1, int(rate))
        self._rate = rate
        self._began: float | None = None
        self._before = 0

    async def wait_for(self, records: int) -> None:
        """Returns when these records' time has come."""
        if self._rate is None:
            return
        now = asyncio.get_running_loop().time()
        if self._began is None:
            self._began = now
        due = self._began + self._before / self._rate
        self._before += records
        await asyncio.sleep(max(0.0, due - now))


async def _batches(
    parts: AsyncIterator[bytes | None], batches: Batches
) -> AsyncIterator[Batch]:
    async for part in parts:
        if part is not None:
            for batch in batches.add(part):
                yield batch
        elif (rest := batches.rest()) is not None:
            yield rest
    for batch in batches.end():
        yield batch
