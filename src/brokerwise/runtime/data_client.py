"""The data cluster, as operators and those who feed it see it.

client = DataClient.of(read_fleet(state))
await client.create_dataset(Dataset(...))
await client.feed("reports", [{"id": "r1", "x": 1.5}], batch="2026-01-01/1")
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar
from urllib.parse import quote

import msgspec

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.data_answers import (
    Channels,
    ChannelStatus,
    Datasets,
    DatasetStatus,
    DataStatus,
    Fed,
)
from brokerwise.runtime.data_cluster.definitions import Channel, Dataset
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.tls import client_tls
from brokerwise.runtime.waiting import Backoff
from brokerwise.runtime.wire.errors import RefusedError, UnreachableError
from brokerwise.runtime.wire.requests import read_answer, request

T = TypeVar("T")
ANSWER_SECONDS = 10.0
FEED_SECONDS = 30.0  # a feed is answered when it is on the disk
SPARK_SECONDS = 180.0  # a channel is checked by Spark, which may just be starting
PATIENCE_SECONDS = 90.0  # the data cluster is back within a minute
_OURS = (404, 409, 413, 422)  # it was asked for the wrong thing
_LATER = (408, 503)
_FAULT = 500
_Object = dict[str, Any]


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


class DataClient:
    """Asks the data cluster at an address.

    Every call raises UnreachableError if there is no answer in time, DataRefusedError
    for one that is an error. Cancelling a call that changes something leaves it
    unknown whether it did.
    """

    def __init__(self, url: str, token: str, authority: str = "") -> None:
        self._url, self._token = url.rstrip("/"), token
        self._ssl = client_tls(url, authority)

    @classmethod
    def of(cls, fleet: FleetFile) -> Self:
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
        await self._ask("POST", "/createdataset", dataset, _Object)

    async def drop_dataset(self, name: str) -> None:
        await self._ask("POST", "/dropdataset", {"name": name}, _Object)

    async def channels(self) -> tuple[ChannelStatus, ...]:
        return (await self._ask("GET", "/channels", None, Channels)).channels

    async def channel(self, name: str) -> ChannelStatus:
        return await self._ask("GET", f"/channels/{_part(name)}", None, ChannelStatus)

    async def create_channel(self, channel: Channel) -> None:
        """Returns when Spark has found the SQL good. Raises WrongDataError, whose
        details point at the place, if it has not."""
        await self._ask("POST", "/createchannel", channel, _Object, SPARK_SECONDS)

    async def drop_channel(self, name: str) -> None:
        await self._ask("POST", "/dropchannel", {"name": name}, _Object)

    async def feed(
        self,
        dataset: str,
        records: bytes | Iterable[object],
        batch: str = "",
        *,
        patience: float = PATIENCE_SECONDS,
        on_retry: Callable[[BrokerwiseError], None] = lambda error: None,
    ) -> Fed:
        """Feed records: lines of JSON, or objects that become such.

        Returns when they are safe. A batch that has an id is tried again while no
        answer comes, for `patience` seconds, and is never fed twice; without one
        nobody could know, so it is tried once.
        """
        body = records if isinstance(records, bytes) else _lines(records)
        path = f"/feed/{_part(dataset)}" + (f"?batch={_part(batch)}" if batch else "")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (patience if batch else 0.0)
        backoff = Backoff()
        while True:
            try:
                return await self._request("POST", path, body, Fed, FEED_SECONDS)
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
        answer = await request(
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
