"""The calls of the HTTP API: each takes a checked body and gives an answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
from fastapi import Path, Query, Request, Response
from fastapi.responses import PlainTextResponse

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster import bodies
from brokerwise.runtime.data_cluster.cluster import DataCluster
from brokerwise.runtime.net.refusals import RefusalError
from brokerwise.runtime.process import open_files
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES

NamePart = Annotated[str, Path(max_length=MAX_NAME_BYTES)]


class UnusableError(RefusalError):
    """The request cannot be used as it is, and says where."""

    status = 422


class Endpoints:
    """Their docstrings are what the API page says about them."""

    def __init__(self, cluster: DataCluster) -> None:
        self._cluster = cluster
        self._brokers = cluster.brokers

    async def create_dataset(self, body: bodies.DatasetBody) -> Response:
        """Make a dataset. Of an append one channels see the records since their last
        run, of a keyed one the latest record of each key, of a static one all."""
        with _unusable():
            self._cluster.create_dataset(body.plain())
        return _json({})

    async def drop_dataset(self, body: bodies.Named) -> Response:
        """Forget a dataset and all that was fed to it. 409 while a channel reads it."""
        await self._cluster.drop_dataset(body.name)
        return _json({})

    async def list_datasets(self) -> Response:
        """The datasets, by name."""
        return _json({"datasets": self._cluster.datasets()})

    async def show_dataset(self, name: NamePart) -> Response:
        """One dataset, with the last records that were kept aside."""
        return _json(self._cluster.dataset(name))

    async def feed(
        self,
        request: Request,
        dataset: NamePart,
        batch: Annotated[str, Query(max_length=MAX_NAME_BYTES)] = "",
    ) -> Response:
        """Feed records: a body of lines, each a JSON object. It is answered when they
        are on the disk. Those that cannot be used are kept aside, with a reason. A
        batch that was fed before under this id is not fed again."""
        with _unusable():
            fed = await self._cluster.feeder.feed(dataset, await request.body(), batch)
        return _json(fed)

    async def create_channel(self, body: bodies.ChannelBody) -> Response:
        """Make a channel: SQL with parameters as `:name`, run each period for all its
        subscriptions at once. It waits until Spark is up to check the SQL; 422 points
        at the place that is not allowed."""
        with _unusable():
            await self._cluster.create_channel(body.plain())
        return _json({})

    async def drop_channel(self, body: bodies.Named) -> Response:
        """Forget a channel, its subscriptions and results."""
        await self._cluster.drop_channel(body.name)
        return _json({})

    async def list_channels(self) -> Response:
        """The channels, by name."""
        return _json({"channels": self._cluster.channels()})

    async def show_channel(self, name: NamePart) -> Response:
        """One channel, with its last runs and what it set aside."""
        return _json(self._cluster.channel(name))

    async def create_broker(self, body: bodies.BrokerCreation) -> Response:
        """A broker is there, and where it hears of news. Under a new epoch it serves
        nobody yet; 409 for one that is older than the newest."""
        return _json(self._brokers.create(body.plain()))

    async def subscribe(self, body: bodies.SubscribeRequest) -> Response:
        """A broker serves users' subscriptions from now on. 409, here and in the
        calls below, if its epoch is not the newest: `/createbroker` again."""
        return _json(self._brokers.subscribe(body.plain()))

    async def unsubscribe(self, body: bodies.UnsubscribeRequest) -> Response:
        """Users whom the broker serves want channels no more."""
        return _json(self._brokers.unsubscribe(body.plain()))

    async def acknowledge(self, body: bodies.AcknowledgeRequest) -> Response:
        """What users have had, and who went offline; each second, also without news:
        the broker lives."""
        return _json(self._brokers.acknowledge(body.plain()))

    async def results(self, body: bodies.PullRequest) -> Response:
        """The results of subscriptions after those that the broker has."""
        return _json(self._brokers.results(body.plain()))

    async def status(self) -> Response:
        """The data cluster at a glance."""
        return _json(self._cluster.status())

    async def health(self) -> Response:
        """The data cluster answers; Spark may be starting still."""
        return _json({"status": "up"})

    async def metrics(self) -> Response:
        """For Prometheus."""
        return PlainTextResponse(self._cluster.metrics() + open_files.metrics_text())


@contextmanager
def _unusable() -> Iterator[None]:
    """An input that cannot be used is told with all that is known of it."""
    try:
        yield
    except InputError as cause:
        lines = [cause.message, *cause.details, *filter(None, [cause.hint])]
        raise UnusableError("\n".join(lines)) from cause


def _json(content: Any) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json")
