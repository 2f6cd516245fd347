"""Data that every task of a job needs."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from pyspark import Broadcast, SparkContext

T = TypeVar("T")


@contextmanager
def shared(context: SparkContext, value: T) -> Iterator["Broadcast[T]"]:
    """A value that tasks read as `.value`, freed at the end of the block."""
    broadcast = context.broadcast(value)
    try:
        yield broadcast
    finally:
        with suppress(Exception):  # a context that is gone has freed it
            broadcast.destroy()
