"""The data cluster's HTTP API: its paths, who may call them, and the calls.

The docstrings of the calls are what the API page says about them; what they take and
answer is in `protocol/data.py`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.cluster import DataCluster
from brokerwise.runtime.net.api import (
    ANYONE,
    BROKERS,
    OPERATORS,
    Endpoint,
    HttpService,
    Text,
)
from brokerwise.runtime.net.errors import RefusalError
from brokerwise.runtime.net.openapi import About, described_service
from brokerwise.runtime.process import open_files
from brokerwise.runtime.protocol import data
from brokerwise.runtime.protocol.fleet import Health
from brokerwise.runtime.protocol.limits import MAX_FEED_BYTES, MAX_NAME_BYTES
from brokerwise.runtime.protocol.tokens import Keys

NameText = Annotated[str, msgspec.Meta(max_length=MAX_NAME_BYTES)]
_ABOUT = About(
    title="Brokerwise data cluster",
    description="Keeps datasets, takes feeds, runs channels on Spark, and keeps "
    "their results for brokers. Bodies are JSON; a feed has a line of it for each "
    "record.",
)


class UnusableError(RefusalError):
    """The request cannot be used as it is, and says where."""

    status = 422


def make_service(cluster: DataCluster, keys: Keys) -> HttpService:
    """The whole API; it does not run the data cluster."""
    return described_service(_ABOUT, _endpoints(DataCalls(cluster)), keys)


class DataCalls:
    def __init__(self, cluster: DataCluster) -> None:
        self._cluster = cluster
        self._brokers = cluster.brokers

    async def create_dataset(self, body: data.Dataset) -> None:
        """Make a dataset. Of an append one channels see the records since their last
        run, of a keyed one the latest record of each key, of a static one all."""
        with _unusable():
            self._cluster.create_dataset(body)

    async def drop_dataset(self, body: data.DropRequest) -> None:
        """Forget a dataset and all that was fed to it. 409 while a channel reads it."""
        await self._cluster.drop_dataset(body.name)

    async def list_datasets(self) -> data.Datasets:
        """The datasets, by name."""
        return data.Datasets(tuple(self._cluster.datasets()))

    async def show_dataset(self, name: NameText) -> data.DatasetStatus:
        """One dataset, with the last records that were kept aside."""
        return self._cluster.dataset(name)

    async def feed(
        self, body: bytes, dataset: NameText, batch: NameText = ""
    ) -> data.FeedAnswer:
        """Feed records: a body of lines, each a JSON object. It is answered when they
        are on the disk. Those that cannot be used are kept aside, with a reason. A
        batch that was fed before under this id is not fed again."""
        with _unusable():
            return await self._cluster.feeder.feed(dataset, body, batch)

    async def create_channel(self, body: data.Channel) -> None:
        """Make a channel: SQL with parameters as `:name`, run each period for all its
        subscriptions at once. It waits until Spark is up to check the SQL; 422 points
        at the place that is not allowed."""
        with _unusable():
            await self._cluster.create_channel(body)

    async def drop_channel(self, body: data.DropRequest) -> None:
        """Forget a channel, its subscriptions and results."""
        await self._cluster.drop_channel(body.name)

    async def list_channels(self) -> data.Channels:
        """The channels, by name."""
        return data.Channels(tuple(self._cluster.channels()))

    async def show_channel(self, name: NameText) -> data.ChannelStatus:
        """One channel, with its last runs and what it set aside."""
        return self._cluster.channel(name)

    async def create_broker(self, body: data.BrokerCreation) -> data.Instance:
        """A broker is there, and where it hears of news. Under a new epoch it serves
        nobody yet; 409 for one that is older than the newest."""
        return self._brokers.create(body)

    async def subscribe(self, body: data.SubscribeRequest) -> data.SubscribeAnswer:
        """A broker serves users' subscriptions from now on. 409, here and in the
        calls below, if its epoch is not the newest: `/createbroker` again."""
        return self._brokers.subscribe(body)

    async def unsubscribe(self, body: data.UnsubscribeRequest) -> data.Instance:
        """Users whom the broker serves want channels no more."""
        return self._brokers.unsubscribe(body)

    async def acknowledge(self, body: data.AcknowledgeRequest) -> data.Instance:
        """What users have had, and who went offline; each second, also without news:
        the broker lives."""
        return self._brokers.acknowledge(body)

    async def results(self, body: data.PullRequest) -> data.PullAnswer:
        """The results of subscriptions after those that the broker has."""
        return self._brokers.results(body)

    async def status(self) -> data.DataStatus:
        """The data cluster at a glance."""
        return self._cluster.status()

    async def health(self) -> Health:
        """The data cluster answers; Spark may be starting still."""
        return Health("up")

    async def metrics(self) -> Text:
        """For Prometheus."""
        return self._cluster.metrics() + open_files.metrics_text()


def _endpoints(calls: DataCalls) -> list[Endpoint]:
    stale, missing, both = (409,), (404,), (404, 409)
    return [
        Endpoint(
            *("POST", "/feed/{dataset}", ANYONE, calls.feed),
            refusals=(404, 413),
            largest=MAX_FEED_BYTES,
        ),
        Endpoint("POST", "/createbroker", BROKERS, calls.create_broker, stale),
        Endpoint("POST", "/subscribe", BROKERS, calls.subscribe, stale),
        Endpoint("POST", "/unsubscribe", BROKERS, calls.unsubscribe, stale),
        Endpoint("POST", "/acknowledge", BROKERS, calls.acknowledge, stale),
        Endpoint("POST", "/results", BROKERS, calls.results, stale),
        Endpoint("POST", "/createdataset", OPERATORS, calls.create_dataset, (409,)),
        Endpoint("POST", "/dropdataset", OPERATORS, calls.drop_dataset, both),
        Endpoint("GET", "/datasets", OPERATORS, calls.list_datasets),
        Endpoint("GET", "/datasets/{name}", OPERATORS, calls.show_dataset, missing),
        Endpoint("POST", "/createchannel", OPERATORS, calls.create_channel, (409,)),
        Endpoint("POST", "/dropchannel", OPERATORS, calls.drop_channel, missing),
        Endpoint("GET", "/channels", OPERATORS, calls.list_channels),
        Endpoint("GET", "/channels/{name}", OPERATORS, calls.show_channel, missing),
        Endpoint("GET", "/status", OPERATORS, calls.status),
        Endpoint("GET", "/metrics", OPERATORS, calls.metrics),
        Endpoint("GET", "/health", frozenset(), calls.health),
    ]


@contextmanager
def _unusable() -> Iterator[None]:
    """An input that cannot be used is told with all that is known of it."""
    try:
        yield
    except InputError as cause:
        lines = [cause.message, *cause.details, *filter(None, [cause.hint])]
        raise UnusableError("\n".join(lines)) from cause
