"""The data cluster's client, for operators and feeders.

    async with DataClient.of(read_fleet(state)) as client:
        await client.create_dataset(Dataset(...))
        await client.feed("reports", [{"id": "r1", "x": 1.5}], batch="2026-01-01/1")

`DataClient` asks it anything. A stream of any length is cut into batches (`Batches`,
pure) and fed in order (`Feed`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar
from urllib.parse import quote

import msgspec

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.net.http import HttpClient, read_answer
from brokerwise.runtime.net.tasks import Backoff
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.protocol.data import (
    Channel,
    Channels,
    ChannelStatus,
    Dataset,
    Datasets,
    DatasetStatus,
    DataStatus,
    DropRequest,
    FeedAnswer,
    Rejection,
)
from brokerwise.runtime.protocol.fields import Empty
from brokerwise.runtime.protocol.limits import MAX_RECORD_BYTES

BATCH_BYTES = 4 << 20
ANSWER_SECONDS = 10.0
FEED_SECONDS = 30.0  # a feed is answered when it is on the disk
SPARK_SECONDS = 180.0  # a channel is checked by Spark, which may just be starting
PATIENCE_SECONDS = 90.0  # the data cluster is back within a minute
SHOWN = 10  # reasons why records were kept aside

T = TypeVar("T")
_OURS = (404, 409, 413, 422)  # it was asked for the wrong thing
_LATER = (408, 503)
_FAULT = 500
_TOO_LONG = f"longer than {MAX_RECORD_BYTES:,} bytes; it was left out"


class DataRefusedError(BrokerwiseError):
    """The data cluster will not do it, and says why. The first line of what it says
    is the message, the others are details."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text
        first, *rest = text.split("\n")
        hint = "Its log says more: data-cluster.log." if status == _FAULT else ""
        super().__init__(first, details=rest, hint=hint)


class WrongDataError(DataRefusedError, InputError):
    """What was asked for is not there, is there already, or is not as it must be."""


class NoDataClusterError(InputError):
    """The fleet has none."""

    def __init__(self) -> None:
        super().__init__(
            "this fleet has no data cluster: it has no datasets and no channels",
            hint="Start one that has: brokerwise up --data-cluster",
        )


class FleetAddress(Protocol):
    """How to reach a fleet's data cluster as an operator (`fleet.json` says it)."""

    @property
    def data_cluster(self) -> str: ...

    @property
    def operator_token(self) -> str: ...

    @property
    def authority(self) -> str: ...


class DataClient:
    """Asks the data cluster at an address.

    Every call raises UnreachableError if there is no answer in time, DataRefusedError
    for one that is an error. Cancelling a call that changes something leaves it
    unknown whether it did. In `async with` it keeps its connection for the next call.
    """

    def __init__(self, url: str, token: str, authority: str = "") -> None:
        self._url, self._token = url.rstrip("/"), token
        self._ssl = client_tls(url, authority)
        self._http = HttpClient()

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    @classmethod
    def of(cls, fleet: FleetAddress) -> Self:
        """As an operator of a fleet. Raises NoDataClusterError."""
        if not fleet.data_cluster:
            raise NoDataClusterError
        return cls(fleet.data_cluster, fleet.operator_token, fleet.authority)

    async def status(self) -> DataStatus:
        return await self._ask("GET", "/status", None, DataStatus)

    async def datasets(self) -> tuple[DatasetStatus, ...]:
        return (await self._ask("GET", "/datasets", None, Datasets)).datasets

    async def dataset(self, name: str) -> DatasetStatus:
        return await self._ask("GET", f"/datasets/{_part(name)}", None, DatasetStatus)

    async def create_dataset(self, dataset: Dataset) -> None:
        await self._ask("POST", "/createdataset", dataset, Empty)

    async def drop_dataset(self, name: str) -> None:
        await self._ask("POST", "/dropdataset", DropRequest(name), Empty)

    async def channels(self) -> tuple[ChannelStatus, ...]:
        return (await self._ask("GET", "/channels", None, Channels)).channels

    async def channel(self, name: str) -> ChannelStatus:
        return await self._ask("GET", f"/channels/{_part(name)}", None, ChannelStatus)

    async def create_channel(self, channel: Channel) -> None:
        """Returns when Spark has found the SQL good. Raises WrongDataError, whose
        details point at the place, if it has not."""
        await self._ask("POST", "/createchannel", channel, Empty, SPARK_SECONDS)

    async def drop_channel(self, name: str) -> None:
        await self._ask("POST", "/dropchannel", DropRequest(name), Empty)

    async def feed(
        self,
        dataset: str,
        records: bytes | Iterable[object],
        batch: str = "",
        *,
        patience: float = PATIENCE_SECONDS,
        on_retry: Callable[[BrokerwiseError], None] = lambda error: None,
    ) -> FeedAnswer:
        """Feed records: lines of JSON, or objects that become such.

        Returns when they are safe. A batch that has an id is tried again while no
        answer comes, for `patience` seconds, and is never fed twice; without one
        a repetition could feed it twice, so it is tried once.
        """
        body = records if isinstance(records, bytes) else _lines(records)
        path = f"/feed/{_part(dataset)}" + (f"?batch={_part(batch)}" if batch else "")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (patience if batch else 0.0)
        backoff = Backoff()
        while True:
            try:
                return await self._request("POST", path, body, FeedAnswer, FEED_SECONDS)
            except BrokerwiseError as error:
                pause = backoff.pause()
                if not _may_pass(error) or loop.time() + pause > deadline:
                    raise
                on_retry(error)
                await asyncio.sleep(pause)

    async def _ask(
        self,
        method: str,
        path: str,
        content: object,
        kind: type[T],
        seconds: float = ANSWER_SECONDS,
    ) -> T:
        body = None if content is None else msgspec.json.encode(content)
        return await self._request(method, path, body, kind, seconds)

    async def _request(
        self, method: str, path: str, body: bytes | None, kind: type[T], seconds: float
    ) -> T:
        url = self._url + path
        answer = await self._http.request(
            method, url, body=body, token=self._token, seconds=seconds, ssl=self._ssl
        )
        try:
            return read_answer(answer, kind, url)
        except RefusedError as error:
            refused = WrongDataError if error.status in _OURS else DataRefusedError
            raise refused(error.status, error.text) from error


def _may_pass(error: BrokerwiseError) -> bool:
    if isinstance(error, DataRefusedError):
        return error.status in _LATER
    return isinstance(error, UnreachableError)


def _lines(records: Iterable[object]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def _part(text: str) -> str:
    return quote(text, safe="")


# Feeding a stream


@dataclass(frozen=True)
class Batch:
    """Lines in a row of what is fed.

    Attributes
    ----------
    body
        The lines. One that is too long is an empty line here, so that the others
        keep their numbers.
    first_line
        The number of the first, from 1.
    offset, length
        The bytes that it was made from.
    records
        Lines that are neither empty nor too long.
    too_long
        Numbers of the lines that are.
    """

    body: bytes
    first_line: int
    offset: int
    length: int
    records: int
    too_long: tuple[int, ...] = ()


class Batches:
    """Cuts a stream into batches of at most `most_bytes`, and `most_records`.

    The same stream is cut at the same places, whatever parts it comes in, as long as
    `rest` is not called before its end. Holds no more than a batch, a part and
    MAX_RECORD_BYTES.
    """

    def __init__(
        self, most_bytes: int = BATCH_BYTES, most_records: int | None = None
    ) -> None:
        self._most_bytes, self._most_records = most_bytes, most_records
        self._held: list[bytes] = []  # of the line that has not ended yet
        self._held_bytes = 0
        self._line = 1  # the number of that line
        self._begin(0)

    def add(self, part: bytes) -> Iterator[Batch]:
        """Batches that are full now."""
        *lines, rest = part.split(b"\n")
        for line in lines:
            self._hold(line)
            yield from self._end_line(1)
        self._hold(rest)

    def rest(self) -> Batch | None:
        """The whole lines that are in no batch yet."""
        return self._take() if self._lines else None

    def end(self) -> Iterator[Batch]:
        """The stream is over: also what has no end of line is a line."""
        if self._held_bytes:
            yield from self._end_line(0)
        if self._lines:
            yield self._take()

    def _hold(self, part: bytes) -> None:
        self._held_bytes += len(part)
        if self._held_bytes > MAX_RECORD_BYTES:
            self._held.clear()
        elif part:
            self._held.append(part)

    def _end_line(self, ending: int) -> Iterator[Batch]:
        line, size = b"".join(self._held), self._held_bytes
        self._held, self._held_bytes = [], 0
        if self._is_full(len(line) + 1):
            yield self._take()
        if size > MAX_RECORD_BYTES:
            self._too_long.append(self._line)
        self._records += bool(line.strip())
        self._lines.append(line)
        self._size += len(line) + 1
        self._length += size + ending
        self._line += 1

    def _is_full(self, more: int) -> bool:
        over = bool(self._lines) and self._size + more > self._most_bytes
        return over or self._records == self._most_records

    def _take(self) -> Batch:
        batch = Batch(
            b"\n".join([*self._lines, b""]),
            self._first_line,
            self._offset,
            self._length,
            self._records,
            tuple(self._too_long),
        )
        self._begin(self._offset + self._length)
        return batch

    def _begin(self, offset: int) -> None:
        self._offset, self._first_line = offset, self._line
        self._lines: list[bytes] = []
        self._too_long: list[int] = []
        self._size = self._length = self._records = 0


@dataclass(frozen=True)
class FeedResult:
    """How a feed went, so far: `records` are in the dataset now, `repeated` of them
    by an earlier feed of the same; `rejected` were kept aside by the data cluster,
    `too_long` were not sent. `reasons` are the first, by line of the stream."""

    records: int = 0
    rejected: int = 0
    too_long: int = 0
    repeated: int = 0
    reasons: tuple[Rejection, ...] = ()

    def after(self, batch: Batch, fed: FeedAnswer) -> "FeedResult":
        found = [
            msgspec.structs.replace(reason, line=batch.first_line + reason.line - 1)
            for reason in fed.reasons
        ]
        found += [Rejection(line, _TOO_LONG) for line in batch.too_long]
        reasons = (*self.reasons, *sorted(found, key=lambda reason: reason.line))
        return FeedResult(
            self.records + fed.rows,
            self.rejected + fed.rejected,
            self.too_long + len(batch.too_long),
            self.repeated + (fed.rows if fed.repeated else 0),
            reasons[:SHOWN],
        )


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
    on_batch
        Called after each batch.
    on_retry
        Called when the data cluster does not answer and is asked again.
    """

    client: DataClient
    dataset: str
    identity: str
    rate: float | None = None
    on_batch: Callable[[FeedResult], None] = lambda result: None
    on_retry: Callable[[BrokerwiseError], None] = lambda error: None

    async def run(self, parts: AsyncIterator[bytes | None]) -> FeedResult:
        """Feed parts of a stream as they come; None sends what there is, without
        waiting for more. Cancelling it leaves out what was not fed yet, of one batch
        it is not known. Raises FeedBrokenError, or, if nothing is in, its cause."""
        pace = _RateLimit(self.rate)
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
            self.on_batch(result)
        return result

    async def _send(self, batch: Batch) -> FeedAnswer:
        if not batch.records:
            return FeedAnswer(0, 0)
        # The length too: at another rate the stream is cut at other places.
        name = f"{self.identity}-{batch.offset}-{batch.length}"
        return await self.client.feed(
            self.dataset, batch.body, name, on_retry=self.on_retry
        )


class _RateLimit:
    """Limits records to `rate` a second: a second's worth at once, but at least one."""

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
