"""The data cluster, for those who watch: its channels and datasets, as it gives them.

Times are seconds since 1970.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.protocol.data import ChannelStatus, DatasetStatus

ASKED_ALONE = 20  # channels, for their last run; and datasets, for what was wrong

T = TypeVar("T", bound=ChannelStatus | DatasetStatus)


class DataSource(Protocol):
    """As `DataClient`."""

    async def channels(self) -> tuple[ChannelStatus, ...]: ...

    async def channel(self, name: str) -> ChannelStatus: ...

    async def datasets(self) -> tuple[DatasetStatus, ...]: ...

    async def dataset(self, name: str) -> DatasetStatus: ...


async def ask_data(source: DataSource) -> dict[str, Any]:
    """What there is; `problem` says why nobody knows. Cancelling it loses nothing."""
    try:
        datasets, channels = await source.datasets(), await source.channels()
    except BrokerwiseError as error:
        return {"problem": error.message, "channels": [], "datasets": []}
    wrong = [dataset for dataset in datasets if dataset.rejected]
    alone = {d.name: d for d in await _alone(source.dataset, wrong)}
    datasets = tuple(alone.get(dataset.name, dataset) for dataset in datasets)
    channels = await _alone(source.channel, channels)
    return {
        "problem": "",
        "channels": [_channel_view(channel) for channel in channels],
        "datasets": [_dataset_view(dataset) for dataset in datasets],
    }


async def _alone(
    ask: Callable[[str], Awaitable[T]], listed: Sequence[T]
) -> tuple[T, ...]:
    """With what is told of one alone; the others, and those of which that cannot be
    had, as they were listed."""

    async def one(before: T) -> T:
        try:
            return await ask(before.name)
        except BrokerwiseError:  # it may just have been dropped
            return before

    first = await asyncio.gather(*map(one, listed[:ASKED_ALONE]))
    return (*first, *listed[ASKED_ALONE:])


def _channel_view(channel: ChannelStatus) -> dict[str, Any]:
    """`results` are those of the last run, `failures` segments that were set aside,
    and `error` why it does not run, or why the last of those were."""
    last = next(iter(channel.last_runs), None)
    aside = next((each.reason for each in channel.set_aside), "")
    return {
        "name": channel.name,
        "every_seconds": channel.period,
        "subscriptions": channel.subscriptions,
        "last_run": last and last.started,
        "took_ms": last and round(last.seconds * 1000, 1),
        "results": last and last.rows,
        "error": channel.suspended or aside,
        "failures": channel.set_aside_count,
    }


def _dataset_view(dataset: DatasetStatus) -> dict[str, Any]:
    """`records` are kept now; `fed` and `errors` count since it was made; `error` is
    what was wrong last."""
    aside = next((each.reason for each in dataset.last_rejected), "")
    return {
        "name": dataset.name,
        "kind": dataset.kind,
        "records": dataset.rows,
        "fed": dataset.fed,
        "last_fed": dataset.last_fed,
        "errors": dataset.rejected,
        "error": aside,
    }
