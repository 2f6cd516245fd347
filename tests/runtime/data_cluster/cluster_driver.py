"""Channels on a Spark cluster, in a process of its own.

Arguments: the master, a directory for the state, a file. Prints what a subscription
has received; once there is the file, feeds and prints again; then ends its JVM, and
prints what the scheduler makes of that.
"""

import asyncio
import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from tests.runtime.data_cluster.channel_worlds import (
    NEAR,
    Scheduled,
    make_world,
    play,
    until,
)
from tests.standalone import SETTINGS

from brokerwise.pipeline.session import start_session
from brokerwise.runtime.data_cluster.spark import (
    SparkGoneError,
    SparkRunner,
    service_settings,
)
from brokerwise.runtime.data_cluster.sql.check import check_query


def main(master: str, directory: str, go_on: str) -> None:
    spark = start_session(master, {**service_settings(master), **SETTINGS})
    world = make_world(Path(directory))

    async def scene(on: Scheduled, running: asyncio.Task[None]) -> None:
        await on.scheduler.create(NEAR)
        number = world.subscribe("near", "fire")
        for runs in (1, 2):
            world.report("fire", "flood", "fire")
            await on.pass_time(10)
            await until(lambda n=runs: on.runs() == n, [running], 90)  # type: ignore[misc]
            say("received " + json.dumps(world.log(number)))
            await until(Path(go_on).exists, [running], 60)
        end_java(spark)
        try:
            await running
        except SparkGoneError as error:
            say(f"the scheduler: {error.message}")

    with world.store:
        play(world, SparkRunner(spark), scene, spark=spark, check=check_query)


def end_java(spark: SparkSession) -> None:
    spark.sparkContext._gateway.proc.kill()  # type: ignore[union-attr]  # noqa: SLF001


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
