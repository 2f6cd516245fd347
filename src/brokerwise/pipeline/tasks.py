"""Work in Spark tasks: one for each thing in a list, data that all of them need, and
names for the files that they write. A task may run twice, even at a time."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from pyspark import Broadcast, SparkContext, TaskContext

from brokerwise.model.errors import InputError

T = TypeVar("T")
R = TypeVar("R")
# A task that counts by topic leaves a number for each: with so many pairs to each
# topic, to write and add these up takes a small part of its time.
_PAIRS_A_TOPIC = 16
_first_tasks = iter(range(3))  # of this process


def attempt_name(run: str, number: int, ending: str = "") -> str:
    """A name that no other attempt at the same file has; the driver keeps those that
    Spark reports done."""
    context = TaskContext.get()
    attempt = 0 if context is None else context.taskAttemptId()
    return f"attempt-{run}-{number:05d}-{attempt}{ending}"


@contextmanager
def shared(context: SparkContext, value: T) -> Iterator["Broadcast[T]"]:
    """A value that tasks read as `.value`, freed at the end of the block."""
    broadcast = context.broadcast(value)
    try:
        yield broadcast
    finally:
        with suppress(Exception):  # a context that is gone has freed it
            broadcast.destroy()


def shares(context: SparkContext, pairs: int, topics: int) -> int:
    """Among how many tasks to share pairs that are counted by topic.

    As many as the data is worth; more if there are more cores. Not by cores alone: a
    cluster that grows with the work begins with few.
    """
    worth = pairs // max(1, _PAIRS_A_TOPIC * topics)
    return max(1, worth, context.defaultParallelism)


def in_tasks(
    context: SparkContext, work: Callable[[T], R], things: Sequence[T]
) -> list[R]:
    """What `work` makes of each thing, in order; the first that it refuses is
    raised here."""
    if not things:
        return []
    done = context.parallelize(things, len(things)).map(partial(_answered, work))
    results: list[R] = []
    for result in done.collect():
        if isinstance(result, InputError):
            raise result
        results.append(result)
    return results


def _answered(work: Callable[[T], R], thing: T) -> R | InputError:
    """An error to act on is a result: a task that raised it would run again."""
    keep_imports()
    try:
        return work(thing)
    except InputError as refused:
        return refused


def keep_imports() -> None:
    """Keep what a worker has imported out of its garbage collections.

    Spark's Python workers collect after every task, which looked at 90,000 objects
    of imported modules each time: more than half of the time of small tasks. The
    first tasks of a process import; what a later one holds is not kept.
    """
    if TaskContext.get() is not None and next(_first_tasks, None) is not None:
        gc.freeze()
