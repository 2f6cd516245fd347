"""Commands, one after the other, on one Spark session, whose start takes longest.

Arguments: the master, the settings as a JSON object, a folder, each command as a JSON
list. In all commands but the last one, wherever tasks write what is published, two lose
an attempt that has written all its files: one is so slow that Spark starts another
beside it, one fails. The folder tells of each.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark import RDD, SparkContext, TaskContext
from tests.processes import wait_until

from brokerwise.cli.main import run
from brokerwise.pipeline.ingest import job as ingest
from brokerwise.pipeline.provision import scan
from brokerwise.pipeline.session import start_session
from brokerwise.storage import subscribers


def main(master: str, settings: str, folder: str, *commands: str) -> int:
    """The exit code of the first command that fails, else 0."""
    session = start_session(master, json.loads(settings))
    *first, last = (json.loads(command) for command in commands)
    try:
        with losing_attempts(Path(folder)):
            code = next(filter(None, map(run, first)), 0)
        return code or run(last)
    finally:
        session.stop()


@contextmanager
def losing_attempts(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subscribers, "PAIRS_PER_PART", 50_000)  # several parts
        for module, name in (
            (ingest, "write_parts"),
            (ingest, "write_rejected"),
            (scan, "write_placement"),
        ):
            patch.setattr(module, name, losing(folder, getattr(module, name)))
        yield


def losing(folder: Path, write: Callable[..., Any]) -> Callable[..., Any]:
    """`write`, whose tasks lose attempts just before the driver gets their results."""
    collect, run_job = RDD.collect, SparkContext.runJob
    lost = partial(lose, folder)

    def collect_less(rdd: "RDD[Any]") -> list[Any]:
        return collect(rdd.mapPartitions(lost))

    def run_less(
        context: SparkContext, rdd: "RDD[Any]", use: Any, partitions: list[int]
    ) -> list[Any]:
        return run_job(context, rdd.mapPartitions(lost), use, partitions)

    def write_less(*given: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RDD, "collect", collect_less)
            patch.setattr(SparkContext, "runJob", run_less)
            return write(*given)

    return write_less


def lose(folder: Path, items: Iterator[Any]) -> Iterator[Any]:
    context = TaskContext.get()
    assert context is not None
    made = list(items)
    stage, task = context.stageId(), f"{context.stageId()}-{context.partitionId()}"
    again = folder / f"again-{task}"
    if context.attemptNumber() > 0:
        again.touch()
    elif is_first(folder / f"slow-{stage}"):
        wait_until(again.exists, 60)
    elif is_first(folder / f"failed-{stage}"):
        raise RuntimeError("this attempt is lost")
    return iter(made)


def is_first(file: Path) -> bool:
    """Whether nobody has made this file before."""
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
