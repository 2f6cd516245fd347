"""Stages of a job, how long each took, and when the time that it was given is over."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from brokerwise.model.errors import InputError
from brokerwise.planners.control import never

if TYPE_CHECKING:
    from pyspark import SparkContext


def deadline(
    seconds: float | None, clock: Callable[[], float] = time.monotonic
) -> Callable[[], bool]:
    """Says whether so many seconds have passed since now; None is never."""
    if seconds is None:
        return never
    if not seconds > 0:
        raise InputError(f"seconds: found {seconds:g}, expected more than 0")
    end = clock() + seconds
    return lambda: clock() >= end


class Progress(Protocol):
    """Told by a job which stage it is in; knows the seconds of those that are over."""

    @property
    def seconds(self) -> Mapping[str, float]: ...

    def stage(self, name: str) -> AbstractContextManager[None]: ...


class Stopwatch:
    """Notes the seconds of each stage; shows nothing."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[name] = round(self.seconds.get(name, 0.0) + elapsed, 3)


def task_counts(context: "SparkContext") -> tuple[int, int]:
    """Tasks done, and all tasks, of the Spark stages that run now."""
    tracker = context.statusTracker()
    done = total = 0
    for stage in tracker.getActiveStageIds():
        info = tracker.getStageInfo(stage)
        if info is not None:
            done += info.numCompletedTasks
            total += info.numTasks
    return done, total
