"""What callers of the API bring along: paths, and a Spark session if one runs."""

import atexit
from contextlib import AbstractContextManager, nullcontext
from os import PathLike, fspath
from typing import TYPE_CHECKING, TypeAlias

from brokerwise.storage.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Path: TypeAlias = str | PathLike[str]
Paths: TypeAlias = Path | list[Path] | tuple[Path, ...]


def open_session() -> "AbstractContextManager[SparkSession]":
    return nullcontext(session())


def session() -> "SparkSession":
    from brokerwise.pipeline.session import running_session, start_session

    running = running_session()
    if running is None:
        running = start_session()
        atexit.register(running.stop)
    return running


def place_of(path: Path) -> Place:
    return Place(fspath(path))


def paths_of(paths: Paths) -> tuple[str, ...]:
    if isinstance(paths, list | tuple):
        return tuple(fspath(path) for path in paths)
    return (fspath(paths),)
