"""The data cluster: what it is made of, and what operators may do with it. `feeder`
takes feeds, `brokers` answers brokers."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster import (
    channels,
    datasets,
    results,
    segments,
    status,
)
from brokerwise.runtime.data_cluster.brokers import Brokers, Notifier
from brokerwise.runtime.data_cluster.feeds import Feeder
from brokerwise.runtime.data_cluster.schedule import Scheduler
from brokerwise.runtime.data_cluster.segments import KeyedState, Retention
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.protocol.data import (
    Channel,
    ChannelStatus,
    Dataset,
    DatasetStatus,
    DataStatus,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORGET_SECONDS = 60.0  # how often it is seen who and what need not be kept any more
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
        store: Store,
        fleet: str,
        notifier: Notifier,
        spark: "asyncio.Future[SparkSession]",
        *,
        master: str = "",
        wall: Clock = time.time,
    ) -> None:
        self._store, self._spark = store, spark
        self._master, self._wall, self._started = master, wall, wall()
        segments.remove_leftover_segments(store)
        results.remove_leftover_results(store)
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
        parts = (self.feeder, self._retention, self._scheduler)
        works = [self._forget(), *(part.run() for part in parts)]
        tasks = [asyncio.create_task(work) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def create_dataset(self, dataset: Dataset) -> None:
        with self._store.change() as sql:
            datasets.create_dataset(sql, dataset, self._wall())
        log.info("dataset %r is there, %s", dataset.name, dataset.kind)

    async def drop_dataset(self, name: str) -> None:
        with self._store.change() as sql:
            files = datasets.drop_dataset(sql, name)
        await asyncio.to_thread(segments.remove_segment_files, self._store, files)
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
        await asyncio.to_thread(results.remove_result_files, self._store, files)
        log.info("channel %r is dropped", name)

    def channels(self) -> list[ChannelStatus]:
        """Without details."""
        found = channels.all_channels(self._store.sql)
        return [self._scheduler.status(each.name, details=False) for each in found]

    def channel(self, name: str) -> ChannelStatus:
        return self._scheduler.status(name)

    def status(self) -> DataStatus:
        return status.data_status(
            self._store.sql,
            instance=self.brokers.instance,
            started=self._started,
            spark="up" if self._spark.done() else "starting",
            master=self._master,
            cpu=status.cpu_seconds(),
        )

    def metrics(self) -> str:
        up = self._spark.done()
        return status.metrics(self._store.sql, spark_up=up, cpu=status.cpu_seconds())

    async def _forget(self) -> None:
        """A failure is tried again later: nothing depends on it."""
        while True:
            await asyncio.sleep(FORGET_SECONDS)
            try:
                self.brokers.forget()
                results.forget_runs(self._store, self._wall())
            except (OSError, sqlite3.Error) as cause:
                log.warning("what is old could not be forgotten: %s", cause)
