"""The data cluster: what it is made of, and what operators may do with it. `feeder`
takes feeds, `brokers` answers brokers."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster import (
    channels,
    datasets,
    results,
    status,
)
from brokerwise.runtime.data_cluster.brokers import Brokers, Notifier
from brokerwise.runtime.data_cluster.feeds import Feeder
from brokerwise.runtime.data_cluster.schedule import Scheduler
from brokerwise.runtime.data_cluster.segments import KeyedState, Retention
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.net.tasks import together
from brokerwise.runtime.process.cpu_time import own_seconds
from brokerwise.runtime.protocol.data import (
    Channel,
    ChannelStatus,
    Dataset,
    DatasetStatus,
    DataStatus,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIDY_SECONDS = 60.0  # how often what need not be kept any more is removed
Clock = Callable[[], float]

log = logging.getLogger(__name__)


class DataCluster:
    """Answers requests from the stored state, and stores what they change.

    `run` does the rest, in this thread, with Spark in others. `spark` comes when it
    is up: until then feeds and subscriptions are taken, and channels wait. `fleet`
    stands for the fleet that this process belongs to. `wall` gives seconds since
    1970. Calls raise RefusalError, or InputError for what cannot be used as it is.
    """

    def __init__(
        self,
        store: DataStore,
        fleet: str,
        notifier: Notifier,
        spark: "asyncio.Future[SparkSession]",
        *,
        master: str = "",
        wall: Clock = time.time,
    ) -> None:
        self._store, self._spark = store, spark
        self._master, self._wall, self._started = master, wall, wall()
        store.remove_leftovers()
        self.brokers = Brokers(store, notifier, fleet, wall)
        self._keyed = KeyedState(store)
        self.feeder = Feeder(store, self._keyed, wall)
        self._retention = Retention(store, self._keyed, wall)
        announce = self.brokers.announce
        self._scheduler = Scheduler(store, spark, self._keyed, announce, wall=wall)

    async def run(self) -> None:
        """Until cancelled, which loses nothing that was answered or committed. An
        error ends it all: a new process starts from the stored state."""
        self.brokers.announce_all()
        async with together() as group:
            for work in (self.feeder.run(), self._scheduler.run(), self._tidy()):
                group.create_task(work)

    def create_dataset(self, dataset: Dataset) -> None:
        with self._store.change() as sql:
            datasets.create_dataset(sql, dataset, self._wall())
        log.info("dataset %r is there, %s", dataset.name, dataset.kind)

    async def drop_dataset(self, name: str) -> None:
        with self._store.change() as sql:
            files = datasets.drop_dataset(sql, name)
        await asyncio.to_thread(self._store.segments.remove, files)
        log.info("dataset %r is dropped", name)

    def datasets(self) -> list[DatasetStatus]:
        """Without details."""
        sql = self._store.sql
        found = datasets.all_datasets(sql)
        return [status.dataset_status(sql, name, details=False) for name in found]

    def dataset(self, name: str) -> DatasetStatus:
        return status.dataset_status(self._store.sql, name)

    async def create_channel(self, channel: Channel) -> None:
        """Waits until Spark is up and has checked the SQL. Cancelling it leaves the
        channel made or not."""
        try:
            await self._scheduler.create(channel)
        except InputError as cause:
            log.info("channel %r is refused: %s", channel.name, cause.message)
            raise
        log.info("channel %r is there, each %g s", channel.name, channel.period)

    async def drop_channel(self, name: str) -> None:
        """Brokers that serve it are told to look, and find it gone."""
        served = self.brokers.serving(name)
        files = self._scheduler.drop(name)
        self.brokers.tell(name, served, self._wall())
        await asyncio.to_thread(self._store.results.remove, files)
        log.info("channel %r is dropped", name)

    def channels(self) -> list[ChannelStatus]:
        """Without details."""
        found = channels.all_channels(self._store.sql)
        names = [state.channel.name for state in found]
        return [self._scheduler.status(name, details=False) for name in names]

    def channel(self, name: str) -> ChannelStatus:
        return self._scheduler.status(name)

    def status(self) -> DataStatus:
        return status.data_status(
            self._store.sql,
            instance=self.brokers.instance,
            started=self._started,
            spark="up" if self._spark.done() else "starting",
            master=self._master,
            cpu=own_seconds(),
        )

    def metrics(self) -> str:
        up = self._spark.done()
        return status.metrics(self._store.sql, spark_up=up, cpu=own_seconds())

    async def _tidy(self) -> None:
        """What fails is tried again later: nothing depends on it."""
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            with _failure_logged():
                self.brokers.forget()
            with _failure_logged():
                results.forget_runs(self._store, self._wall())
            with _failure_logged():
                await self._retention.tidy()


@contextmanager
def _failure_logged() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as cause:
        log.warning("what is old could not be removed: %s", cause)
